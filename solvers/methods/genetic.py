"""Methods that slice orders of the nodes, which are random or bred."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.partition import unmerged
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import SLICES, checking
from mtpp_dsl.solvers.partition.genetic.brkga import GeneticRecipe

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.graph import Floats

__all__ = ["Brkga", "Mla", "MlaWeighted", "Random"]


class _Sliced(Scoped, MethodBase):
    """What these methods share: colocated nodes are made one, and the programme over one order has to fit."""

    gives: Gives = "plan"
    baseline = True
    scopes: tuple[Scope, ...] = (checking(SLICES),)

    def beyond(self, problem: Problem) -> str | None:
        """Return which colocated nodes cannot be made one, or that one order takes too much memory, or None."""
        from mtpp_dsl.solvers.partition.genetic.chromosomes import too_large

        return unmerged(self.name, problem) or too_large(problem, self.name)


class Bred(_Sliced):
    """A method with the parameters of the algorithm.

    Args:
        population, generations, elites, mutants, bias: see
            :class:`~mtpp_dsl.solvers.partition.genetic.brkga.GeneticRecipe`.
    """

    def __init__(
        self,
        population: int = 100,
        generations: int = 100,
        elites: float = 0.2,
        mutants: float = 0.1,
        bias: float = 0.7,
    ) -> None:
        self.recipe = GeneticRecipe(population, generations, elites, mutants, bias)


class Random(_Sliced):
    """Method ``random``: the best slice of orders by Kahn's algorithm with uniform random priorities.

    Args:
        orders: how many to slice.
    """

    name = "random"
    summary = "slices random topological orders optimally (archer2024, 4.2)"

    def __init__(self, orders: int = 10_000) -> None:
        if orders < 1:
            raise UsageError(f"{orders} orders: one is the least")
        self.orders = orders

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.partition.genetic.arrangement import random_slices
        from mtpp_dsl.solvers.partition.genetic.chromosomes import merged

        return merged(self.name, problem, limits, progress, partial(random_slices, orders=self.orders))


class Brkga(Bred):
    """Method ``brkga``: a biased random-key genetic algorithm over the priorities (archer2024, Algorithm 2).

    Args:
        population, generations, elites, mutants, bias: see
            :class:`~mtpp_dsl.solvers.partition.genetic.brkga.GeneticRecipe`.
    """

    name = "brkga"
    summary = "slices topological orders bred by a biased random-key genetic algorithm (archer2024, Algorithm 2)"

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.partition.genetic.arrangement import bred_slices
        from mtpp_dsl.solvers.partition.genetic.chromosomes import merged

        return merged(self.name, problem, limits, progress, partial(bred_slices, recipe=self.recipe))


class Mla(Bred):
    """Method ``mla``: one optimal slice of an order in which the edges are short together.

    The order is bred by a biased random-key genetic algorithm, without a look at devices or costs.

    Args:
        population, generations, elites, mutants, bias: see
            :class:`~mtpp_dsl.solvers.partition.genetic.brkga.GeneticRecipe`.
    """

    name = "mla"
    summary = "slices a minimum linear arrangement of the nodes (archer2024, C.1)"

    def beyond(self, problem: Problem) -> str | None:
        """Return which colocated nodes cannot be made one, or None."""
        return unmerged(self.name, problem)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best plan found, if any; no bound."""
        from mtpp_dsl.solvers.partition.genetic.arrangement import arranged
        from mtpp_dsl.solvers.partition.genetic.chromosomes import merged

        def search(smaller: Problem, limits: Limits, progress: Progress) -> Result:
            return arranged(self.name, smaller, limits, progress, self.recipe, self.weights(smaller))

        return merged(self.name, problem, limits, progress, search)

    def weights(self, problem: Problem) -> Floats:
        """Return [m] what the length of each edge counts."""
        return np.ones(problem.graph.m)


class MlaWeighted(Mla):
    """Method ``mla-weighted``: as ``mla``, with every edge counted by what its tensor costs to transfer."""

    name = "mla-weighted"
    summary = "slices a minimum linear arrangement weighted by the cost of tensors (archer2024, C.1)"

    def weights(self, problem: Problem) -> Floats:
        """Return [m] what the length of each edge counts."""
        weights: Floats = problem.tensor_time[problem.graph.tails]
        return weights
