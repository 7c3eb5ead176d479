"""Solve the graph in parts: modules between cut nodes, or along a chain of anchors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, modules
from mtpp_dsl.solvers.backends.cpsat.unsupported import check
from mtpp_dsl.solvers.schedule.decomposition.anchors import chain_of
from mtpp_dsl.solvers.schedule.decomposition.decomposition_run import DecompositionRun
from mtpp_dsl.solvers.schedule.decomposition.parts import SolvedParts

__all__ = ["by_parts", "chain_parts", "whole_parts"]

SIZES = (120, 240, 480, 960)
"""Nodes between two anchors, at most: of the first so many CP-SAT often solves, of the last not."""


def by_parts(
    name: str, problem: Problem, limits: Limits, progress: Progress, parts: Callable[[Problem], SolvedParts]
) -> Result:
    """Return the best plan and the best bound found by solving the *parts* of the problem with CP-SAT.

    Raises:
        Refused: another solver than CP-SAT, or a file for a model, is asked for.
        SolverError: ortools is missing, or a process of it died.
        UsageError: an option that CP-SAT does not have.
    """
    if limits.solver not in ("highs", "cp-sat"):
        raise Refused(f"{name} solves its modules by cp-sat, not by {limits.solver}")
    check(limits)
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(name, limits, "infeasible", infeasibility=impossible)
    return DecompositionRun(name, problem, limits, progress, parts(problem)).solve()


def whole_parts(problem: Problem) -> SolvedParts:
    """Return the whole graph, in modules between cut nodes."""
    held = [c.nodes for c in problem.of(Colocate)] + [c.nodes for c in problem.of(Separate)]
    found = modules(problem.graph, bound=held)
    cuts = sum(module.exit != NONE for module in found)
    words = f"nothing is left out between {cuts} cut nodes" if cuts else "no cut node, so that the whole is one module"
    return SolvedParts(found, np.ones(problem.graph.n, np.bool_), words)


def chain_parts(problem: Problem, largest: int | None) -> SolvedParts:
    """Return the part of the graph along a chain of anchors, with at most *largest* nodes between two; None for any."""
    weight = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
    chain = chain_of(problem.graph, weight, SIZES if largest is None else (largest,))
    found = modules(problem.graph, kept=chain.kept, edges=chain.edges)
    left = int((~chain.kept).sum())
    dropped = int((chain.kept[problem.graph.tails] & chain.kept[problem.graph.heads] & ~chain.edges).sum())
    words = f"a relaxation: {left} of {problem.graph.n} nodes, and {dropped} edges between others, are left out"
    return SolvedParts(found, chain.kept, f"{words}, beside a chain of {len(chain.anchors)} anchors")
