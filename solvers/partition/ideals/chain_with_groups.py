"""A chain of nodes over groups of devices, as links between pairs of devices."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Forbid, Memory, Pin
from mtpp_dsl.core.problem.copying import is_chain
from mtpp_dsl.core.problem.interconnects import Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain

__all__ = ["chain_with_groups"]

KEPT = (Acyclic, BreakSymmetry, Forbid, Memory, Pin)


def chain_with_groups(problem: Problem) -> NodeChain | None:
    """Return the chain whose splits are the plans of *problem*, where groups may be entered more than once; or None.

    Of a chain, a tensor has one reader, so that what it costs depends on two devices alone. Devices may hold what the
    check allows.
    """
    graph, link, k = problem.graph, problem.channel, problem.k
    strange = any(not isinstance(constraint, KEPT) for constraint in problem.constraints)
    if strange or not is_chain(graph) or graph.backward.any() or not np.isinf(problem.overflow_limit).all():
        return None
    order = np.array(graph.topological_order, np.int64)
    group = problem.group
    between = link.bandwidth if link.between is None else link.between
    rate = np.where(group[:, None] == group, link.bandwidth, between)
    pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices])
    cost = graph.output[order][:, None, None] / rate
    cost[:, range(k), range(k)] = np.inf
    return NodeChain(
        time=np.where(problem.allowed, problem.time, np.inf)[order],
        memory=graph.memory[order],
        room=problem.memory_limit * (1 + TOLERANCE),
        sent=np.where(pays[:, None], cost, np.where(np.isinf(cost), np.inf, 0.0)),
        received=np.where(pays, cost, np.where(np.isinf(cost), np.inf, 0.0)),
    )
