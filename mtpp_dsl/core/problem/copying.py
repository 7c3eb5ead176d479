"""Check what has to hold before a plan may be several routes (``constraint copies``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Copies,
    Forbid,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.errors import ConstraintError
from mtpp_dsl.core.problem.graph import Graph

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.interconnects import Interconnect
    from mtpp_dsl.core.problem.objective import Objective

__all__ = ["check_copies", "is_chain"]

BESIDE = (Acyclic, BreakSymmetry, Colocate, Contiguous, Copies, Forbid, Memory, Pin, Separate)
"""Kinds that every route keeps by itself, or that all routes keep together."""


def check_copies(
    constraints: Sequence[Constraint], graph: Graph, interconnect: Interconnect, objectives: Sequence[Objective]
) -> None:
    """Check that ``copies`` is there once, and that everything beside it has a meaning for several routes.

    Raises:
        ConstraintError: otherwise; says which part has none.
    """
    rules = [constraint for constraint in constraints if isinstance(constraint, Copies)]
    if not rules:
        return
    rule = rules[0]
    if rules[1:]:
        raise ConstraintError(
            f"there is constraint {rule} already; say once how the inputs are shared", rules[1].origin
        )
    objective = objectives[0]
    if objectives[1:] or objective.quantity != "bottleneck" or objective.batch is not None or objective.is_linear:
        said = " and ".join(f"'{one}'" for one in objectives)
        raise ConstraintError(
            f"copies share the inputs of a pipeline: say 'maximize throughput', not {said}", rule.origin
        )
    other = next((constraint for constraint in constraints if not isinstance(constraint, BESIDE)), None)
    if other is not None:
        raise ConstraintError(
            f"constraint {other} speaks of plans with one device for each node, and constraint {rule} allows several: "
            "the two do not go together",
            other.origin,
        )
    if getattr(interconnect, "overflow", False):
        raise ConstraintError(
            "copies keep their parameters in memory; say 'constraint memory' in place of overflow = stream", rule.origin
        )
    if getattr(interconnect, "overlap", "none") != "none" or getattr(interconnect, "send", "once") != "once":
        raise ConstraintError("the loads of several routes are defined for overlap = none and send = once", rule.origin)
    if rule.share == "ranges" and not is_chain(graph):
        raise ConstraintError(
            "share = ranges is for a chain of nodes; this graph is none: say share = any", rule.origin
        )


def is_chain(graph: Graph) -> bool:
    """Return whether the graph is one path through all nodes."""
    tails, heads = graph.tails.tolist(), graph.heads.tolist()
    return graph.n > 0 and graph.m == graph.n - 1 and len(set(tails)) == len(set(heads)) == graph.m
