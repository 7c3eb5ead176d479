"""Method ``ideals``: the best split into contiguous blocks, proved."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.constraints import Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin, Replicate
from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Links, Problem
from mtpp_dsl.solvers.partition.ideals.levels import one_level, unlike
from mtpp_dsl.views.device_types import device_types

__all__ = ["Ideals"]

HONOURS = (Acyclic, BreakSymmetry, Contiguous, Memory, Colocate, Pin, Forbid, Replicate)
MOST_STATES = 2_000
MOST_BYTES = 1e9


class Ideals:
    """Method ``ideals``: an optimal split whose quotient graph is acyclic (tarnawski2020, 5.1).

    Such splits are chains of ideals of the graph in which colocated nodes are one. The best is found by dynamic
    programming below a target, which is raised until it is proved. Where there are more ideals than memory allows, a
    search stores only those it reaches; if these are too many as well, it returns the best split and the bound so far.

    In a training graph the ideals are those of the forward part. Their optimum is one for ``constraint acyclic
    (parts = "forward")``; for both parts, when the plan satisfies it, and a bound otherwise; then plans are looked for
    whose backward part is in the order of the forward part, or in the opposite one. Groups of colocated nodes that
    are all backward nodes are free to be anywhere: plans place them along their backward edges, reversed, as
    tarnawski2020's program does, and the bound only counts what they cost everybody.

    Args:
        most_bytes: how much memory the ideals and their labels may take.
        patience: seconds after which it gives up, before its limits, unless it has found that there are few ideals.
    """

    name = "ideals"
    gives: Gives = "plan and bound"
    summary = "optimal partition with acyclic quotient graph, by dynamic programming over ideals (tarnawski2020, 5.1)"

    def __init__(self, most_bytes: float = MOST_BYTES, patience: float = float("inf")) -> None:
        self.most_bytes, self.patience = most_bytes, patience

    def accepts(self, problem: Problem) -> str | None:
        """Return why ideals cannot honour the problem, or None."""
        if problem.objective.quantity != "bottleneck":
            return f"ideals minimises a bottleneck, not a {problem.objective.quantity}"
        if isinstance(problem.interconnect, Links):
            return "ideals knows the shared and host interconnects, not links"
        other = next((c for c in problem.constraints if not isinstance(c, HONOURS)), None)
        if other is not None:
            return f"ideals cannot honour constraint {other}"
        flat = one_level(problem) if problem.hierarchical else problem
        apart = told_apart(flat) or (unlike(problem) if problem.hierarchical else None)
        if apart is not None:
            return apart
        kinds = device_types(flat).members
        states = np.prod([len(members) + 1.0 for members in kinds])
        if states > MOST_STATES:
            return (
                f"there are {len(kinds)} kinds of devices, and {states:,.0f} ways to have used some of each; "
                f"ideals goes through at most {MOST_STATES:,}"
            )
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return an optimal plan and its proof, or the best of both within the limits."""
        from mtpp_dsl.solvers.partition.ideals.flat_run import Run
        from mtpp_dsl.solvers.partition.ideals.hierarchy_run import NestedRun

        run = NestedRun if problem.hierarchical else Run
        return run(problem, limits, progress, self.most_bytes, self.patience).result()


def told_apart(problem: Problem) -> str | None:
    """Return which devices may be replicas of each other and are not equal under the other constraints, or None."""
    kind = device_types(problem).of
    for rule in problem.of(Replicate):
        members = range(problem.k) if rule.devices is None else rule.devices
        other = next((d for d in members if kind[d] != kind[members[0]]), None)
        if other is not None:
            one, two = problem.devices[members[0]].name, problem.devices[other].name
            return f"ideals replicates on equal devices; other constraints tell {one} and {two} of {rule} apart"
    return None
