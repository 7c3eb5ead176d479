"""A problem as its models see it: nodes that every plan has together are one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.colocation import together
from mtpp_dsl.problem.graph import Bools, Floats, Ints

__all__ = ["Merged", "Net", "merged"]


@dataclass(frozen=True)
class Net:
    """Tensors with the same producer's and consumers' classes.

    Attributes:
        pins: the classes, two or more, that of a producer first.
        cost: of one payment of all of them.
        backward: the part of the producers, where parts count by themselves; else False.
    """

    pins: tuple[int, ...]
    cost: float
    backward: bool = False


@dataclass(frozen=True, eq=False)
class Merged:
    """Classes of nodes in place of nodes; see :func:`mtpp_dsl.problem.colocation.together`.

    A device has a class or it has not: one binary in place of one for each node, and no equations. Loads and memory are
    sums over classes, a tensor is cut where its pins' classes are apart, and an edge within a class joins nothing.

    Attributes:
        home: [n] the class of each node.
        first: [classes] the first node of each.
        allowed: [classes, devices] where all its nodes may go.
        time: [classes, devices] what they take together; 0 where they may not go.
        backward_time: [classes, devices] the share of the backward nodes.
        memory, params: [classes] sums.
    """

    home: Ints
    first: Ints
    allowed: Bools
    time: Floats
    backward_time: Floats
    memory: Floats
    params: Floats

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.first)

    @property
    def least_work(self) -> Floats:
        """[classes] the time of each where it is fastest; 0 where none may be."""
        return _least(self.time, self.allowed)

    @property
    def least_work_of_parts(self) -> tuple[Floats, Floats]:
        """[classes] the same for the forward nodes of each by themselves, and for the backward nodes."""
        return _least(self.time - self.backward_time, self.allowed), _least(self.backward_time, self.allowed)

    def total(self, values: Floats) -> Floats:
        """Return [classes] the sums of *values*, which are [n]."""
        sums: Floats = np.bincount(self.home, weights=values, minlength=self.count).astype(np.float64)
        return sums

    def edges(self, tails: Ints, heads: Ints) -> list[tuple[int, int]]:
        """Return the pairs of different classes that edges between these nodes join, each once."""
        ends = np.unique(np.stack([self.home[tails], self.home[heads]], axis=1), axis=0)
        return [(a, b) for a, b in ends.tolist() if a != b]

    def nets(self, problem: Problem, costs: Floats, most: float = np.inf) -> list[Net]:
        """Return the tensors that cost something when cut; those with the same pins are one.

        Args:
            problem: whose tensors.
            costs: [n] of one payment of each tensor.
            most: what no net need cost more than.
        """
        graph = problem.graph
        apart = graph.backward if problem.objective.parts == "separate" else np.zeros(graph.n, np.bool_)
        found: dict[tuple[frozenset[int], bool], tuple[tuple[int, ...], float]] = {}
        for u in np.flatnonzero(costs > 0).tolist():
            maker = int(self.home[u])
            pins = {maker, *self.home[graph.successors(u)].tolist()}
            if len(pins) > 1:
                key = frozenset(pins), bool(apart[u])
                known, cost = found.get(key, ((maker, *sorted(pins - {maker})), 0.0))
                found[key] = known, cost + float(costs[u])
        return [Net(pins, min(cost, most), side) for (_, side), (pins, cost) in found.items()]


def merged(problem: Problem) -> Merged:
    """Return *problem* with the nodes that every plan has together as one."""
    graph = problem.graph
    home = together(problem)
    count = int(home.max(initial=-1)) + 1
    allowed = np.ones((count, problem.k), np.bool_)
    np.logical_and.at(allowed, home, problem.allowed)
    time = np.where(problem.allowed, problem.time, 0.0)

    def total(values: Floats) -> Floats:
        sums = np.zeros((count, *values.shape[1:]))
        np.add.at(sums, home, values)
        return sums

    return Merged(
        home=home,
        first=_first(home, count),
        allowed=allowed,
        time=np.where(allowed, total(time), 0.0),
        backward_time=np.where(allowed, total(np.where(graph.backward[:, None], time, 0.0)), 0.0),
        memory=total(graph.memory),
        params=total(graph.params),
    )


def _first(home: Ints, count: int) -> Ints:
    first = np.full(count, len(home), np.int64)
    np.minimum.at(first, home, np.arange(len(home)))
    return first


def _least(time: Floats, allowed: Bools) -> Floats:
    least = np.where(allowed, time, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, 0.0)
