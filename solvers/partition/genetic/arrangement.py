"""Run the methods ``mla`` and ``mla-weighted`` (archer2024, C.1), ``random`` and ``brkga`` (archer2024, 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.slicing.one_order import assignment_of
from mtpp_dsl.solvers.algorithms.slicing.slicer import Slicer
from mtpp_dsl.solvers.partition.genetic.brkga import GeneticRecipe, evolve
from mtpp_dsl.solvers.partition.genetic.chromosomes import GeneticRun, Slices, kahn_orders
from mtpp_dsl.solvers.runtime.incumbent import SearchEnded

__all__ = ["arranged", "bred_slices", "random_slices"]

STEPS_AT_ONCE = 1e6
SHARE = 0.75
"""Of a time limit goes into the arrangement, where slicing an order takes long."""


class Arrangements:
    """The fitness of chromosomes as arrangements: the sum of the weighted lengths of the edges of their orders.

    Args:
        graph: the graph.
        weights: [m] of the edges.
        evaluations: how many chromosomes are to come.
        pause: called between batches; may raise to end the search.
        say: told when code has to be compiled.

    Attributes:
        evaluated: how many orders have been measured.
        order, length: the shortest so far; None and ``inf`` before the first.
    """

    def __init__(
        self,
        graph: Graph,
        weights: Floats,
        evaluations: int,
        pause: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._graph, self._weights, self._pause, self._say = graph, weights, pause, say
        self._steps = float(evaluations) * (graph.n + graph.m)
        self._batch = int(np.clip(STEPS_AT_ONCE / max(graph.n + graph.m, 1), 1, 100))
        self.evaluated = 0
        self.order: Ints | None = None
        self.length = float("inf")

    def __call__(self, keys: Floats, _below: float) -> Floats:
        """Return [count] the lengths of [count, n] *keys*: all of them, as that takes no longer."""
        return np.concatenate([self._measure(keys[i : i + self._batch]) for i in range(0, len(keys), self._batch)])

    def _measure(self, keys: Floats) -> Floats:
        self._pause()
        graph = self._graph
        orders = kahn_orders(graph, keys, self._say, self._steps)
        position = np.empty_like(orders)
        np.put_along_axis(position, orders, np.arange(graph.n)[None], axis=1)
        lengths: Floats = (position[:, graph.heads] - position[:, graph.tails]) @ self._weights
        self.evaluated += len(keys)
        shortest = int(lengths.argmin())
        if lengths[shortest] < self.length:
            self.order, self.length = orders[shortest], float(lengths[shortest])
        return lengths


def arranged(
    name: str, problem: Problem, limits: Limits, progress: Progress, recipe: GeneticRecipe, weights: Floats
) -> Result:
    """Return one slice of an order bred to have short edges; [m] *weights* say what the length of each counts."""
    graph, devices = problem.graph, device_types(problem)
    run = GeneticRun(name, problem, limits, progress)
    run.start()
    slicer = Slicer(graph, devices, progress.say)
    first = limits if slicer.dense else limits.within(SHARE * limits.remaining)

    def pause() -> None:
        run.pause()
        if first.remaining <= 0:
            raise SearchEnded

    random = np.random.default_rng(limits.seed)
    arrangements = Arrangements(graph, weights, recipe.evaluations, pause, progress.say)
    with suppress(SearchEnded):
        evolve(arrangements, graph.n, recipe, random)
    order = graph.topological_order if arrangements.order is None else arrangements.order
    sliced = slicer.slice(order, stopped=lambda: progress.stopped or limits.remaining <= 0)
    if sliced is not None:
        run.incumbent.take(Plan.create(problem, *assignment_of(sliced.blocks, order, devices)))
    run.incumbent.note(f"{arrangements.evaluated:,} orders were measured, and one was sliced")
    return run.result()


# Methods ``random`` and ``brkga``: searches over the orders that Kahn's algorithm gives (archer2024, 4.2).


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
