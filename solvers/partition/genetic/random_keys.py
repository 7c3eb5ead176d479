"""Methods ``random`` and ``brkga``: searches over the orders that Kahn's algorithm gives (archer2024, 4.2)."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from mtpp_dsl.contracts import Gives, Limits, Progress
from mtpp_dsl.errors import UsageError
from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.partition.genetic.brkga import Bred, evolve
from mtpp_dsl.solvers.partition.genetic.chromosomes import Run, Slices, merged, refuses, too_large
from mtpp_dsl.solvers.runtime.incumbent import Ended

__all__ = ["Brkga", "Random"]


class Random:
    """Method ``random``: the best slice of orders by Kahn's algorithm with uniform random priorities.

    Args:
        orders: how many to slice.
    """

    name = "random"
    gives: Gives = "plan"
    baseline = True
    summary = "slices random topological orders optimally (archer2024, 4.2)"

    def __init__(self, orders: int = 10_000) -> None:
        if orders < 1:
            raise UsageError(f"{orders} orders: one is the least")
        self.orders = orders

    def accepts(self, problem: Problem) -> str | None:
        """Return why slices cannot honour the problem, or None."""
        return refuses(problem, self.name) or too_large(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        return merged(self.name, problem, limits, progress, self._search)

    def _search(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        run = Run(self.name, problem, limits, progress)
        slices = Slices(run, progress, self.orders)
        random = np.random.default_rng(limits.seed)
        with suppress(Ended):
            start = slices.first()
            if start is not None:
                slices(start[None], np.inf)
            batch = slices.decoder.batch
            for done in range(0, self.orders, batch):
                slices(random.random((min(batch, self.orders - done), slices.decoder.genes)), slices.least)
        slices.note()
        return run.result()


class Brkga(Bred):
    """Method ``brkga``: a biased random-key genetic algorithm over the priorities (archer2024, Algorithm 2).

    Args:
        population, generations, elites, mutants, bias: see :class:`~mtpp_dsl.solvers.partition.genetic.brkga.Recipe`.
    """

    name = "brkga"
    gives: Gives = "plan"
    baseline = True
    summary = "slices topological orders bred by a biased random-key genetic algorithm (archer2024, Algorithm 2)"

    def accepts(self, problem: Problem) -> str | None:
        """Return why slices cannot honour the problem, or None."""
        return refuses(problem, self.name) or too_large(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        return merged(self.name, problem, limits, progress, self._search)

    def _search(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        run = Run(self.name, problem, limits, progress)
        slices = Slices(run, progress, self.recipe.evaluations)
        random = np.random.default_rng(limits.seed)
        with suppress(Ended):
            evolve(slices, slices.decoder.genes, self.recipe, random, slices.first())
        slices.note()
        return run.result()
