"""The parameters of the biased random-key genetic algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError

__all__ = ["GeneticRecipe"]


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
