"""From random keys to slices (archer2024, Algorithm 2), many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.slicing.many_orders import Programme
from mtpp_dsl.solvers.algorithms.slicing.one_order import OrderBlock
from mtpp_dsl.solvers.algorithms.slicing.pins import paid_tensors, pins_of
from mtpp_dsl.solvers.partition.genetic.kahn import kahn_orders

__all__ = ["MAX_ENTRIES", "Decoder", "entries"]

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
