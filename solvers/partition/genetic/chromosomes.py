"""Slice the orders that chromosomes stand for, and keep the best plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan, device_order
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types, fits
from mtpp_dsl.solvers.algorithms.slicing.many_orders import Programme
from mtpp_dsl.solvers.algorithms.slicing.one_order import OrderBlock, assignment_of
from mtpp_dsl.solvers.algorithms.slicing.pins import paid_tensors, pins_of
from mtpp_dsl.solvers.reductions.all_reductions import reduce
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

__all__ = ["Decoder", "GeneticRun", "Slices", "kahn_orders", "merged", "too_large"]


def too_large(problem: Problem, name: str) -> str | None:
    """Return why the programme over one order does not fit, or None."""
    count = entries(problem)
    if count <= MAX_ENTRIES:
        return None
    return f"{name} holds one entry for every node and device, at most {MAX_ENTRIES:,.0f}, and here {count:,}"


def merged(
    name: str,
    problem: Problem,
    limits: Limits,
    progress: Progress,
    search: Callable[[Problem, Limits, Progress], Result],
) -> Result:
    """Return what *search* finds, with colocated nodes as one where there are any."""
    smaller, lift = _reduced(problem)
    if lift is identity:
        result = search(problem, limits, progress)
    else:
        listener = Reduced(problem, smaller, lift, progress).listener()
        result = replace(search(smaller, replace(limits, start=None), listener), log=tuple(progress.log))
        if result.plan is not None:
            lifted = lift(result.plan)
            result = replace(result, plan=lifted, evaluation=evaluate(problem, lifted))
    return replace(result, notes=(*_unasked(name, problem), *result.notes))


def _reduced(problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
    return reduce(problem) if any(problem.of(Colocate)) else (problem, identity)


def _unasked(name: str, problem: Problem) -> tuple[str, ...]:
    if not problem.acyclic:
        return (f"{name} looks only at plans whose quotient graph is acyclic, which the problem does not ask",)
    if problem.graph.backward.any():
        return (f"{name} looks only at plans that are acyclic over forward and backward nodes together",)
    return ()


class GeneticRun:
    """What is known so far, and whether to stop.

    Args:
        name: of the method.
        problem: what is asked.
        limits: when to stop.
        progress: told of plans.

    Attributes:
        incumbent: takes the plans.
    """

    def __init__(self, name: str, problem: Problem, limits: Limits, progress: Progress) -> None:
        self.problem, self._limits = problem, limits
        self.incumbent = Incumbent(name, problem, limits, progress)

    def pause(self) -> None:
        """Raise :class:`SearchEnded` if it is time to stop, or the best plan is within the gap of the bound known."""
        if self.incumbent.done:
            raise SearchEnded

    def start(self) -> tuple[Plan, tuple[int, ...]] | None:
        """Take the plan to start from; return it with the sequence of its blocks, if it has one and fits."""
        plan = self._limits.start
        if plan is None:
            return None
        self.incumbent.take(plan)
        sequence = device_order(self.problem, plan.assignment)
        if sequence is None or plan.replicas or not fits(self.problem, plan.assignment):
            return None
        return plan, sequence

    def result(self) -> Result:
        """Return the best plan."""
        result = self.incumbent.result()
        if result.plan is not None or result.termination != "complete":
            return result
        self.incumbent.note("no slice of the orders tried is a plan; this does not prove that there is none")
        return self.incumbent.result()


class Slices:
    """The fitness of chromosomes: the costs of their best slices, of which those that are better become plans.

    Args:
        run: where plans go.
        progress: told when code has to be compiled.
        evaluations: how many chromosomes are to come.

    Attributes:
        decoder: what makes slices of keys.
        evaluated: how many chromosomes have been decoded.
        least: the least cost so far.
    """

    def __init__(self, run: GeneticRun, progress: Progress, evaluations: int) -> None:
        self._run = run
        self.decoder = Decoder(run.problem, progress.say, evaluations)
        self.evaluated = 0
        self.least = float("inf")

    def first(self) -> Floats | None:
        """Return the keys of the plan to start from, if there is one."""
        start = self._run.start()
        return None if start is None else self.decoder.keys_of(start[0].assignment, start[1])

    def __call__(self, keys: Floats, below: float) -> Floats:
        """Return [count] the costs of [count, genes] *keys*, ``inf`` where they are not less than *below*.

        The first batch of all is sliced even if there is no time: one order is a plan in most cases.
        """
        costs = np.empty(len(keys))
        for begin in range(0, len(keys), self.decoder.batch):
            if self.evaluated:
                self._run.pause()
            some = keys[begin : begin + self.decoder.batch]
            values = self.decoder.costs(some, below)
            self.evaluated += len(some)
            if values.min() < self.least:
                self.least = float(values.min())
                self._take(some[values.argmin()])
            costs[begin : begin + len(some)] = values
        return costs

    def _take(self, keys: Floats) -> None:
        problem = self._run.problem
        order, blocks = self.decoder.slicing(keys, self.least)
        self._run.incumbent.take(Plan.create(problem, *assignment_of(blocks, order, self.decoder.devices)))

    def note(self) -> None:
        """Tell the user how many orders were sliced."""
        self._run.incumbent.note(f"{self.evaluated:,} orders were sliced")


# From random keys to slices (archer2024, Algorithm 2), many at once.

MAX_ENTRIES = 5e7
"""The programme over one order holds (n + 1)(k + 1) entries of 16 bytes."""

STEPS_AT_ONCE = 2e6


def entries(problem: Problem) -> int:
    """Return how many entries the programme over one order holds."""
    return (problem.graph.n + 1) * (problem.k + 1)


class Decoder:
    """Slices the orders that keys stand for.

    A chromosome has a key for every node, and where devices differ one for every device: larger keys come first,
    in the topological order and in the sequence of devices. So the keys of an optimal plan with an
    acyclic quotient graph decode to its cost (archer2024, Theorem 4.3), whatever the devices.

    Args:
        problem: what is asked.
        say: told when code has to be compiled.
        evaluations: how many chromosomes are to come, for whether compiling pays.

    Attributes:
        devices: the device classes.
        genes: how many keys a chromosome has.
        batch: how many chromosomes to decode between looks at the clock.
    """

    def __init__(self, problem: Problem, say: Callable[[str], None], evaluations: int) -> None:
        graph, devices = problem.graph, device_types(problem)
        self._graph, self.devices, self._say = graph, devices, say
        self._equal = len(devices.members) == 1
        places = min(problem.k, graph.n) if self._equal else problem.k
        self.genes = graph.n + (0 if self._equal else problem.k)
        steps = float(graph.n) * graph.n + graph.m
        self.batch = int(np.clip(STEPS_AT_ONCE / max(steps, 1.0), 1, 100))
        self._steps = evaluations * float(graph.n + graph.m)
        self._paid = paid_tensors(graph, devices.tensor)
        least = devices.time.min(axis=1)
        self._floor = max(float(least.max(initial=0.0)), float(least.sum()) / max(places, 1) * (1 - 1e-12))
        self._places = places
        self._programme = Programme(graph, devices, self._paid, places, evaluations * steps / 4, say)

    def orders(self, keys: Floats) -> Ints:
        """Return [count, n] the topological orders of [count, genes] *keys*."""
        return kahn_orders(self._graph, keys[:, : self._graph.n], self._say, self._steps)

    def sequences(self, keys: Floats) -> Ints:
        """Return [count, places] the classes of the devices in the sequences that *keys* stand for."""
        if self._equal:
            return np.zeros((len(keys), self._places), np.int64)
        return self.devices.of[np.argsort(-keys[:, self._graph.n :], axis=1, kind="stable")]

    def costs(self, keys: Floats, below: float = np.inf) -> Floats:
        """Return [count] the least largest load of any slicing of each, ``inf`` where it is not less than *below*."""
        return self._sliced(self.orders(keys), self.sequences(keys), below)

    def slicing(self, keys: Floats, cost: float) -> tuple[Ints, tuple[OrderBlock, ...]]:
        """Return the order of one chromosome, and the blocks of its best slicing, which costs *cost*."""
        order, sequence = self.orders(keys[None]), self.sequences(keys[None])
        self._sliced(order, sequence, float(np.nextafter(cost, np.inf)))
        return order[0], self._programme.blocks(sequence[0])

    def keys_of(self, assignment: Ints, sequence: tuple[int, ...]) -> Floats:
        """Return [genes] keys that decode to no more than the plan costs whose blocks come in *sequence*."""
        first = 1.0 - np.argsort(sequence) / len(sequence)
        return first[assignment] if self._equal else np.concatenate((first[assignment], first))

    def _sliced(self, orders: Ints, sequences: Ints, below: float) -> Floats:
        pins = pins_of(self._graph, self._paid, orders, self._say, self._steps)
        return self._programme.costs(orders, sequences, pins, below, self._floor)


# Topological orders from node priorities, many at once (archer2024, Algorithm 3).

STEPS_A_SECOND = 5e5


def kahn_orders(graph: Graph, keys: Floats, say: Callable[[str], None], steps: float = 0.0) -> Ints:
    """Return [count, n] the orders in which, among ready nodes, the one of the largest key comes first.

    Args:
        graph: the graph.
        keys: [count, n] the priorities; of equal ones the node given first counts as the larger.
        say: told when code has to be compiled.
        steps: further nodes and edges of orders that are to follow.
    """
    ranked = np.argsort(-keys, axis=1, kind="stable")
    orders = np.empty(ranked.shape, np.int64)
    run = KAHN.pick(steps + float(len(keys)) * (graph.n + graph.m), say)
    run(ranked, graph.offsets, graph.heads, np.diff(graph.offsets_in), orders)
    return orders


def _kahn(ranked: Ints, offsets: Ints, heads: Ints, indegree: Ints, orders: Ints) -> None:
    """Fill *orders* by Kahn's algorithm; ``ranked[i]`` are the nodes, those to prefer first."""
    count, n = ranked.shape
    rank = np.empty(n, np.int64)
    for i in range(count):
        waiting = indegree.copy()
        ready = [0]
        ready.pop()
        for place in range(n):
            v = ranked[i, place]
            rank[v] = place
            if waiting[v] == 0:
                ready.append(place)  # ascending, and so a heap
        for position in range(n):
            v = ranked[i, heappop(ready)]
            orders[i, position] = v
            for e in range(offsets[v], offsets[v + 1]):
                waiting[heads[e]] -= 1
                if waiting[heads[e]] == 0:
                    heappush(ready, rank[heads[e]])


KAHN = Kernel(_kahn, STEPS_A_SECOND)
