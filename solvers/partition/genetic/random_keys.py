"""Methods ``random`` and ``brkga``: searches over the orders that Kahn's algorithm gives (archer2024, 4.2)."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.genetic.brkga import evolve
from mtpp_dsl.solvers.partition.genetic.chromosomes import GeneticRun, Slices
from mtpp_dsl.solvers.partition.genetic.recipe import GeneticRecipe
from mtpp_dsl.solvers.runtime.incumbent import SearchEnded

__all__ = ["bred_slices", "random_slices"]


def random_slices(problem: Problem, limits: Limits, progress: Progress, orders: int) -> Result:
    """Return the best slice of so many *orders* by Kahn's algorithm with random priorities."""
    run = GeneticRun("random", problem, limits, progress)
    slices = Slices(run, progress, orders)
    random = np.random.default_rng(limits.seed)
    with suppress(SearchEnded):
        start = slices.first()
        if start is not None:
            slices(start[None], np.inf)
        batch = slices.decoder.batch
        for done in range(0, orders, batch):
            slices(random.random((min(batch, orders - done), slices.decoder.genes)), slices.least)
    slices.note()
    return run.result()


def bred_slices(problem: Problem, limits: Limits, progress: Progress, recipe: GeneticRecipe) -> Result:
    """Return the best slice of orders whose priorities are bred by *recipe*."""
    run = GeneticRun("brkga", problem, limits, progress)
    slices = Slices(run, progress, recipe.evaluations)
    random = np.random.default_rng(limits.seed)
    with suppress(SearchEnded):
        evolve(slices, slices.decoder.genes, recipe, random, slices.first())
    slices.note()
    return run.result()
