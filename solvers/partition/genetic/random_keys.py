"""Methods ``random`` and ``brkga``: searches over the orders that Kahn's algorithm gives (archer2024, 4.2)."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.genetic.brkga import evolve
from mtpp_dsl.solvers.partition.genetic.chromosomes import Run, Slices
from mtpp_dsl.solvers.partition.genetic.recipe import Recipe
from mtpp_dsl.solvers.runtime.incumbent import Ended

__all__ = ["bred_slices", "random_slices"]


def random_slices(problem: Problem, limits: Limits, progress: Progress, orders: int) -> Result:
    """Return the best slice of so many *orders* by Kahn's algorithm with random priorities."""
    run = Run("random", problem, limits, progress)
    slices = Slices(run, progress, orders)
    random = np.random.default_rng(limits.seed)
    with suppress(Ended):
        start = slices.first()
        if start is not None:
            slices(start[None], np.inf)
        batch = slices.decoder.batch
        for done in range(0, orders, batch):
            slices(random.random((min(batch, orders - done), slices.decoder.genes)), slices.least)
    slices.note()
    return run.result()


def bred_slices(problem: Problem, limits: Limits, progress: Progress, recipe: Recipe) -> Result:
    """Return the best slice of orders whose priorities are bred by *recipe*."""
    run = Run("brkga", problem, limits, progress)
    slices = Slices(run, progress, recipe.evaluations)
    random = np.random.default_rng(limits.seed)
    with suppress(Ended):
        evolve(slices, slices.decoder.genes, recipe, random, slices.first())
    slices.note()
    return run.result()
