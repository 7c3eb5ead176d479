"""Apply every reduction that keeps the optimum, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from mtpp_dsl.core.contracts.protocols import Reduction
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse
from mtpp_dsl.solvers.runtime.reduced import identity


def reduce(problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
    """Reduce *problem*; return the smaller problem, and a function that maps its plans back.

    Where no reduction applies, these are the problem itself and :func:`mtpp_dsl.solvers.runtime.reduced.identity`.
    """
    lift: Callable[[Plan], Plan] = identity
    steps: tuple[Reduction, ...] = (Fuse(), Contract())
    for step in steps:
        if step.accepts(problem) is None:
            smaller, back = step.apply(problem)
            if smaller.graph.n < problem.graph.n:
                problem, lift = smaller, _after(lift, back)
    return problem, lift


def _after(outer: Callable[[Plan], Plan], inner: Callable[[Plan], Plan]) -> Callable[[Plan], Plan]:
    return inner if outer is identity else lambda plan: outer(inner(plan))
