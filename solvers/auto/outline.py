"""Which methods ``auto`` gives a problem to, told before any work."""

from __future__ import annotations

from mtpp_dsl.contracts import refusal
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.registry import FORMULATIONS, METHODS, available, load

__all__ = ["outline"]

ORDERED = ("ideals", "slicegraph", "branching", "configuration", "exact")
UNORDERED = ("annealing", "configuration", "exact")
SCHEDULES = ("heft", "decomposition", "annealing", "lns", "milp-split", "interval", "moirai")
LATENCY = ("path-hull", "latency-search", "latency")
BATCHES = ("heft", "batched", "annealing", "lns", "milp-split", "split-bound")


def outline(problem: Problem) -> tuple[str, ...]:
    """Return the main methods that can be used on the problem here, in the order in which ``auto`` comes to them.

    It ends where plan and bound meet, so that most problems never see the last ones. Left out are bounds that cost next
    to nothing, and what is given only a part of the graph.
    """
    return tuple(name for name in _candidates(problem) if _accepts(name, problem))


def _candidates(problem: Problem) -> tuple[str, ...]:
    if problem.objective.batch is not None:
        return BATCHES
    if problem.objective.quantity == "makespan":
        return SCHEDULES if isinstance(problem.interconnect, Links) else LATENCY
    if problem.acyclic or problem.contiguous or not _accepts("annealing", problem):
        return ORDERED
    return UNORDERED


def _accepts(name: str, problem: Problem) -> bool:
    group = METHODS if name in available(METHODS) else FORMULATIONS
    return refusal(load(group, name)(), problem) is None
