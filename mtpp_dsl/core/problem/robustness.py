"""Check what has to hold before loads count times that are off, and by how much each node may deviate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.constraints import Constraint, Copies, Latency, Linear, Load, Replicate, Robust, Shard, StageMemory
from mtpp_dsl.core.errors import ConstraintError

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.graph import Floats, Graph
    from mtpp_dsl.core.problem.interconnects import Interconnect
    from mtpp_dsl.core.problem.objective import Objective

__all__ = ["check_robust", "deviations"]


def check_robust(
    constraints: Sequence[Constraint], graph: Graph, interconnect: Interconnect, objectives: Sequence[Objective]
) -> None:
    """Check ``constraint robust`` against the rest: worst cases are defined of largest loads alone.

    Raises:
        ConstraintError: there are two of them; the problem asks for another quantity than a largest load, or adds up
            loads, whose worst cases are not that of the sum; or devices share nodes.
    """
    rules = [constraint for constraint in constraints if isinstance(constraint, Robust)]
    if not rules:
        return
    rule = rules[0]
    if len(rules) > 1:
        raise ConstraintError(f"constraint {rule} says already how many nodes may deviate", rules[1].origin)
    reason = next(_unfit(graph, constraints, interconnect, objectives), None)
    if reason is not None:
        raise ConstraintError(f"constraint robust counts the worst case of a largest load: {reason}", rule.origin)
    if not (rule.share or np.nan_to_num(graph.deviation).any() or np.nan_to_num(graph.deviation_share).any()):
        raise ConstraintError(
            "no time deviates: give a share of all times, constraint robust up to 2 (deviation = 10 %), or nodes "
            "(deviation = ...)",
            rule.origin,
        )


def _unfit(
    graph: Graph, constraints: Sequence[Constraint], interconnect: Interconnect, objectives: Sequence[Objective]
) -> Iterator[str]:
    """Yield what of the problem has no such worst case."""
    if graph.phases:
        yield "several phases have one each"
    if interconnect.keyword not in ("shared", "host"):
        yield f"on {interconnect.keyword} times that are off are not supported"
    for objective in objectives:
        usual = objective.quantity == "bottleneck" and objective.batch is None
        if objective.timed or not (usual or objective.is_linear):
            yield f"'{objective}' is none"
        if any(isinstance(decision, (Latency, Load)) for decision, _ in objective.terms):
            yield f"'{objective}' adds up loads"
    for constraint in constraints:
        if isinstance(constraint, (Copies, Replicate, Shard, StageMemory)):
            yield f"constraint {constraint} does not go with it"
        if isinstance(constraint, Linear):
            several = sum(isinstance(decision, Load) for decision, _ in constraint.terms) > 1
            if several or any(isinstance(decision, Latency) for decision, _ in constraint.terms):
                yield f"constraint {constraint} adds up loads"


def deviations(rule: Robust | None, graph: Graph, time: Floats) -> Floats:
    """Return [n, devices] by how much a node may take longer on each device; 0 where it cannot run, or without *rule*.

    Args:
        rule: says by which share nodes deviate that say nothing themselves.
        graph: with what nodes say.
        time: [n, devices] running times; ``inf``: not supported.
    """
    if rule is None:
        return np.zeros(time.shape)
    share = np.where(np.isnan(graph.deviation_share), rule.share, graph.deviation_share)
    known = np.where(np.isfinite(time), time, 0.0)
    given = np.where(np.isnan(graph.deviation)[:, None], share[:, None] * known, graph.deviation[:, None])
    return np.where(np.isfinite(time), given, 0.0)
