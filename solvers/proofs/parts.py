"""Certificates ``parts``: of a sum of the bottlenecks of both parts of a training graph, a proof of each alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    InOrder,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.protocols import Checker
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Graph, frozen
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.chain import ChainCertificate
from mtpp_dsl.solvers.proofs.configuration import ConfigurationProof
from mtpp_dsl.solvers.proofs.count import CountProof
from mtpp_dsl.solvers.proofs.cuts import Cuts
from mtpp_dsl.solvers.proofs.halves import HalvesProof
from mtpp_dsl.solvers.proofs.lattice import IdealsProof
from mtpp_dsl.solvers.proofs.leaves import LeavesProof
from mtpp_dsl.solvers.proofs.shares import SharesProof

__all__ = ["SIDES", "PartsProof", "part_of"]

SIDES = ("forward", "backward")
ROUNDED = 1e-15
"""Relative: what the sum of two numbers may be too high by."""
CHECKERS: Mapping[str, type[Checker]] = {
    checker.name: checker
    for checker in (
        SharesProof,
        Cuts,
        CountProof,
        ConfigurationProof,
        ChainCertificate,
        IdealsProof,
        HalvesProof,
        LeavesProof,
    )
}
"""By their kinds, the certificates that a part may have: those about one bottleneck."""


class PartsProof:
    """``{"forward": {"kind": K, ...}, "backward": {...}}``: a certificate of the bottleneck of each part alone.

    Leave out of a plan the nodes of one part, and the tensors that they make or read alone. What is left is a plan of
    the other part's nodes under what the constraints ask of these, and no device has more to do than that part's share
    of its load in the plan. So the largest forward load is no less than what the first certificate proves, the largest
    backward load no less than what the second proves, and the cost, which is their sum (``parts = separate``), no less
    than both together.
    """

    name = "parts"
    summary = "the bottlenecks of the forward and the backward part, each proved alone"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the sum of what both certificates prove; see :class:`mtpp_dsl.contracts.Checker`."""
        total = 0.0
        for side in SIDES:
            given = data.get(side)
            if not isinstance(given, Mapping) or not isinstance(kind := given.get("kind"), str) or kind not in CHECKERS:
                raise Refused(f"the certificate's {side!r} is no certificate of a bottleneck")
            own = {name: value for name, value in given.items() if name != "kind"}
            total += CHECKERS[kind]().prove(part_of(problem, backward=side == "backward"), own, limits)
        return total * (1 - ROUNDED)


def part_of(problem: Problem, *, backward: bool) -> Problem:
    """Return the bottleneck of one part's nodes, of the tensors that they make and read, and of nothing else.

    Parameters are streamed with the forward part, if they are: those of backward nodes then take no time.

    Raises:
        Refused: the cost is no sum of the bottlenecks of two parts on one channel.
    """
    graph, link = problem.graph, problem.interconnect
    asked = problem.objective.quantity == "sum of bottlenecks" and not problem.hierarchical and not problem.phased
    if not asked or not isinstance(link, (Shared, Host)) or any(rule.enlarges for rule in problem.constraints):
        raise Refused("certificates of parts are about sums of the bottlenecks of both parts on shared and host")
    own = [v for v in range(graph.n) if bool(graph.backward[v]) == backward]
    number = {v: i for i, v in enumerate(own)}
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    part = Graph.create(
        [graph.names[v] for v in own],
        [(number[u], number[v]) for u, v in ends if u in number and v in number],
        work=1.0,
        output=graph.output[own],
        params=np.zeros(len(own)) if backward else graph.params[own],
        memory=graph.memory[own],
        workspace=graph.workspace[own],
    )
    rules = list(_rules(problem, number, backward=backward))
    alone = Problem.create(part, problem.devices, link, Objective("bottleneck"), rules)
    return replace(alone, time=frozen(problem.time[own], np.float64))


def _rules(problem: Problem, number: Mapping[int, int], *, backward: bool) -> Iterator[Constraint]:
    """Yield what constraints ask of the nodes of one part, or less; *number* has their numbers in it."""
    for rule in problem.constraints:
        if isinstance(rule, (Acyclic, Contiguous)):
            if rule.parts == "both" or not backward:
                yield replace(rule, parts="both")
        elif isinstance(rule, InOrder) and (rule.devices is None or len(set(rule.devices)) == problem.k):
            yield Acyclic()
        elif isinstance(rule, Memory):
            yield rule
        elif isinstance(rule, (Colocate, Separate, Pin, Forbid)):
            nodes = tuple(number[v] for v in rule.nodes if v in number)
            if len(nodes) >= (1 if isinstance(rule, (Pin, Forbid)) else 2):
                yield replace(rule, nodes=nodes)
