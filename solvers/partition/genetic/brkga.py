"""Run the biased random-key genetic algorithm (Gonçalves and Resende, 2011), of whatever keys mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Floats


@dataclass(frozen=True)
class GeneticRecipe:
    """The parameters of the algorithm.

    Attributes:
        population: chromosomes in a generation. Recommended: the number of genes, or a multiple; archer2024 takes
            100, whatever the graph.
        generations: how many, the first, which is random, among them.
        elites: share of a generation that lives on unchanged; recommended 0.10 to 0.25.
        mutants: share of a generation that is random; recommended 0.10 to 0.30.
        bias: probability with which a child takes a key of its elite parent; recommended above 0.5, to 0.8.

    Raises:
        UsageError: no population, no generation, or shares that leave no elite, no other, or no child.
    """

    population: int = 100
    generations: int = 100
    elites: float = 0.2
    mutants: float = 0.1
    bias: float = 0.7

    def __post_init__(self) -> None:
        if self.population < 3 or self.generations < 1:
            raise UsageError("brkga needs a population of 3 or more, and a generation or more")
        if not (0 < self.elites < 1 and 0 <= self.mutants < 1 and self.elites + self.mutants < 1):
            raise UsageError("the shares of elites and mutants are above zero and zero or more, and together below 1")
        if not 0 <= self.bias <= 1:
            raise UsageError(f"the bias is {self.bias:g}; it is a probability")

    @property
    def counts(self) -> tuple[int, int]:
        """How many elites and mutants a generation has; at least one elite, and one child of an elite and another."""
        elites = min(max(1, round(self.elites * self.population)), self.population - 2)
        return elites, min(round(self.mutants * self.population), self.population - elites - 1)

    @property
    def evaluations(self) -> int:
        """How many chromosomes are decoded: elites keep their cost."""
        return self.population + (self.generations - 1) * (self.population - self.counts[0])


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
