"""The biased random-key genetic algorithm (Gonçalves and Resende, 2011), of whatever keys mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.partition.genetic.recipe import GeneticRecipe

__all__ = ["Fitness", "evolve"]

Fitness: TypeAlias = Callable[[Floats, float], Floats]
"""From [count, genes] keys and a limit to [count] costs, of which those not below the limit may be ``inf``."""


def evolve(
    fitness: Fitness, genes: int, recipe: GeneticRecipe, random: np.random.Generator, first: Floats | None = None
) -> None:
    """Show *fitness* the chromosomes of all generations; it keeps what it wants of them, and may raise to end it.

    Who is not among the elite becomes a parent with equal probability, whatever its cost. So costs are asked for only
    where they are below that of the worst elite: the evolution is the same as with all of them.

    Args:
        fitness: the costs, to be minimised.
        genes: how many keys a chromosome has, each in [0, 1).
        recipe: the parameters.
        random: where keys and parents come from.
        first: [genes] one chromosome to begin with.
    """
    elites, mutants = recipe.counts
    keys = random.random((recipe.population, genes))
    if first is not None:
        keys[0] = first
    costs = fitness(keys[:elites], np.inf)
    costs = np.append(costs, fitness(keys[elites:], float(costs.max())))
    for _ in range(recipe.generations - 1):
        fittest = np.argsort(costs, kind="stable")[:elites]
        parents = np.append(fittest, np.setdiff1d(np.arange(recipe.population), fittest))
        keys, costs = keys[parents], costs[parents]
        children = _children(keys, elites, recipe.population - elites - mutants, recipe.bias, random)
        keys = np.concatenate((keys[:elites], children, random.random((mutants, genes))))
        costs = np.append(costs[:elites], fitness(keys[elites:], float(costs[elites - 1])))


def _children(keys: Floats, elites: int, count: int, bias: float, random: np.random.Generator) -> Floats:
    """Return [count, genes] children of an elite and another each, by parametrised uniform crossover."""
    elite = keys[random.integers(elites, size=count)]
    other = keys[random.integers(elites, len(keys), size=count)]
    return np.where(random.random(elite.shape) < bias, elite, other)
