"""Methods ``decomposition`` and ``chain-relaxation``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.constraints import Colocate, Separate
from mtpp_dsl.contracts import Availability, Gives, Limits, Progress
from mtpp_dsl.errors import Refused
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, modules
from mtpp_dsl.solvers.backends.cpsat.engine import availability
from mtpp_dsl.solvers.schedule.decomposition.anchors import chain_of
from mtpp_dsl.solvers.schedule.decomposition.parts import Parts
from mtpp_dsl.views.tasks import why_not

__all__ = ["ChainRelaxation", "Decomposition"]

SIZES = (120, 240, 480, 960)
"""Nodes between two anchors, at most: of the first so many CP-SAT often solves, of the last not."""


class _ByParts(ABC):
    """What both methods share."""

    name: ClassVar[str]
    gives: Gives = "plan and bound"
    uses_solver = True

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* cannot be solved by parts, or None."""
        return why_not(problem, self.name)

    def available(self) -> Availability:
        """Return whether ortools is installed, which solves the modules."""
        return availability()

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan and the best bound found.

        Raises:
            Refused: the method cannot honour the problem; another solver than CP-SAT, or a file for a model, is asked.
            SolverError: ortools is missing, or a process of it died.
            UsageError: an option that CP-SAT does not have.
        """
        from mtpp_dsl.solvers.backends.cpsat.unsupported import check
        from mtpp_dsl.solvers.schedule.decomposition.decomposition_run import Run

        reason = self.accepts(problem)
        if reason is not None:
            raise Refused(reason)
        if limits.solver not in ("highs", "cp-sat"):
            raise Refused(f"{self.name} solves its modules by cp-sat, not by {limits.solver}")
        check(limits)
        impossible = quick(problem)
        if impossible is not None:
            return Result("infeasible", method=self.name, infeasibility=impossible, seed=limits.seed)
        return Run(self.name, problem, limits, progress, self._parts(problem)).solve()

    @abstractmethod
    def _parts(self, problem: Problem) -> Parts:
        """Return what of the graph is solved."""


class Decomposition(_ByParts):
    """Method ``decomposition``: modules between cut nodes, solved for the devices of their ends as far as it matters.

    Whatever is in a module, transfers included, happens between the end of the cut node before it and the start of the
    one behind it. So the shortest way through the modules, over the devices of the cut nodes, is the least makespan,
    with exclusive links too. Colocated and separated nodes are kept in one module. Memory limits hold in every module
    by itself: where they bind between modules the shortest way is a bound still, and a plan only if it keeps them.

    Modules are bounded by device-aware longest paths and scheduled by lists; those on the shortest way by the bounds
    are solved by CP-SAT, in parallel, with growing time limits, until the way is proved. Equal modules are solved once,
    modules of one graph and similar times learn from each other. With exclusive links the bounds without come first.
    """

    name = "decomposition"
    summary = "optimal schedule of a chain of modules between cut nodes, which CP-SAT solves only where they matter"

    def _parts(self, problem: Problem) -> Parts:
        held = [c.nodes for c in problem.of(Colocate)] + [c.nodes for c in problem.of(Separate)]
        found = modules(problem.graph, bound=held)
        cuts = sum(module.exit != NONE for module in found)
        words = (
            f"nothing is left out between {cuts} cut nodes" if cuts else "no cut node, so that the whole is one module"
        )
        return Parts(found, np.ones(problem.graph.n, np.bool_), words)


class ChainRelaxation(_ByParts):
    """Method ``chain-relaxation``: the same between anchors, with what lies beside them left out, and put in again.

    Anchors are a chain of nodes between which as much work as possible lies. Tasks that are not between two consecutive
    ones, and edges that bypass one, are left out: a relaxation, in which the anchors are cut nodes. Its bound holds for
    the whole. For a plan its schedule is kept and the rest put in by a list, by latest starts.

    Args:
        largest: nodes between two anchors, at most; None for 120, or up to 960 where that keeps much more.
    """

    name = "chain-relaxation"
    summary = "bound from the modules along a chain of nodes; the plan has the other nodes put into its gaps"

    def __init__(self, largest: int | None = None) -> None:
        self.largest = largest

    def _parts(self, problem: Problem) -> Parts:
        weight = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
        chain = chain_of(problem.graph, weight, SIZES if self.largest is None else (self.largest,))
        found = modules(problem.graph, kept=chain.kept, edges=chain.edges)
        left = int((~chain.kept).sum())
        dropped = int((chain.kept[problem.graph.tails] & chain.kept[problem.graph.heads] & ~chain.edges).sum())
        words = f"a relaxation: {left} of {problem.graph.n} nodes, and {dropped} edges between others, are left out"
        return Parts(found, chain.kept, f"{words}, beside a chain of {len(chain.anchors)} anchors")
