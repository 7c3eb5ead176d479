"""What settles sets and what cuts the cheapest of them, on networks of a few nodes, held against all sets.

What is put aside is never a set that may be; how much is put aside is counted, and the counts are recorded: they change
if a rule is lost, and if one is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from random import Random
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.proofs.flow import FREE, IN, OUT, _least_cut
from mtpp_dsl.solvers.proofs.heaviest import closure
from mtpp_dsl.solvers.proofs.settle import _settle

NODES = 6


def sets(state: Ints) -> Iterator[Bools]:
    """Yield all sets with what is in and without what is out."""
    for held in product([True, False], repeat=len(state)):
        inside = np.array(held)
        if inside[state == IN].all() and not inside[state == OUT].any():
            yield inside


class Network(NamedTuple):
    """A network for a cut: the arguments of :data:`mtpp_dsl.solvers.proofs.flow.LEAST_CUT` without the last."""

    state: Ints
    price: Ints
    starts: Ints
    pins: Ints
    cost: Ints
    tails: Ints
    heads: Ints
    falls: Bools
    climbs: Bools

    def value(self, inside: Bools) -> int:
        """Return the prices and cut tensors of a set."""
        counts = [inside[self.pins[a:b]] for a, b in pairwise(self.starts)]
        cut = sum(c for c, net in zip(self.cost, counts, strict=True) if net.any() and not net.all())
        return int(self.price[inside].sum() + cut)

    def parts(self, inside: Bools) -> bool:
        """Return whether a set has one end of an edge between free nodes that needs the other."""
        return any(
            (self.falls[u] and inside[v] and not inside[u]) or (self.climbs[v] and inside[u] and not inside[v])
            for u, v in zip(self.tails, self.heads, strict=True)
            if self.state[u] == self.state[v] == FREE
        )


def network(seed: int) -> Network:
    """Return a network of a few nodes with ties and zeros."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, NODES + 1))
    nets = [sorted(random.choice(n, random.integers(1, min(n, 4) + 1), replace=False)) for _ in range(n)]
    ends = np.array(sorted({(int(u), int(v)) for u, v in random.integers(n, size=(n, 2)) if u != v}), np.int64)
    tails, heads = ends.reshape(-1, 2).T.copy()
    falls, climbs = random.random((2, n)) < 0.5
    return Network(
        random.choice([FREE, IN, OUT], n, p=[0.7, 0.15, 0.15]).astype(np.int64),
        random.integers(-6, 7, n),
        np.cumsum([0, *map(len, nets)]),
        np.array([pin for net in nets for pin in net], np.int64),
        random.choice([0, 1, 2, 5], len(nets)).astype(np.int64),
        tails,
        heads,
        falls,
        climbs,
    )


def test_the_cut_is_the_cheapest_set() -> None:
    for seed in range(300):
        one = network(seed)
        side = np.zeros(len(one.state), np.bool_)
        least = _least_cut(*one, side)
        assert least == one.value(side) == min(one.value(s) for s in sets(one.state) if not one.parts(s))
        assert not one.parts(side)
        assert side[one.state == IN].all()
        assert not side[one.state == OUT].any()


def test_no_set_that_may_be_is_settled_away() -> None:
    settled = empty = free = 0
    for seed in range(500):
        random = Random(seed)
        n = random.randrange(2, NODES + 1)
        backward = 0.2 if random.random() < 0.3 else 0.0
        arcs = [(u, v) for u in range(n) for v in range(n) if random.random() < (0.4 if u < v else backward) and u != v]
        reach = closure(n, np.array(sorted(arcs), np.int64).reshape(-1, 2))
        work = np.array([random.choice([0, 1, 2, 3]) for _ in range(n)], np.int64)
        memory = np.array([random.choice([0.0, 1.0, 2.0]) for _ in range(n)])
        state = np.array([random.choice([FREE, FREE, FREE, FREE, IN, OUT]) for _ in range(n)], np.int64)
        ideal, filter_ = random.random() < 0.2, random.random() < 0.2
        below, limit = random.randrange(2, 9), random.choice([2.0, 4.0, 99.0])
        early, late = (0 if one else random.randrange(9) for one in (ideal, filter_))
        after = state.copy()
        falls, climbs = np.zeros((2, n), np.bool_)
        left = _settle(after, reach, work, memory, below, limit, early, late, ideal, filter_, falls, climbs)
        for inside in sets(state):
            before = reach[:, inside].any(axis=1) & ~inside
            behind = reach[inside].any(axis=0) & ~inside
            if (
                not (before & behind).any()
                and work[inside].sum() <= below
                and memory[inside].sum() <= limit
                and work[before].sum() <= early
                and work[behind].sum() <= late
                and not (ideal and before.any())
                and not (filter_ and behind.any())
            ):
                assert left
                assert inside[after == IN].all()
                assert not inside[after == OUT].any()
        empty += not left
        free += int((after == FREE).sum()) if left else 0
        settled += int((after != state).sum()) if left else 0
        if left:
            assert (falls == (ideal | reach[after == IN].any(axis=0))).all()
            assert (climbs == (filter_ | reach[:, after == IN].any(axis=1))).all()
    assert (empty, settled, free) == (87, 343, 781)


def test_settling_goes_on_until_nothing_changes() -> None:
    """In a set that is an ideal and a filter, c takes its ancestors a and b out with it, and these d."""
    arcs = np.array([(0, 2), (0, 3), (1, 2), (1, 3)])
    state, flags = np.array([FREE, FREE, OUT, FREE]), np.zeros((2, 4), np.bool_)
    work, memory = np.ones(4, np.int64), np.zeros(4)
    assert _settle(state, closure(4, arcs), work, memory, 4, 1.0, 4, 4, True, True, flags[0], flags[1])
    assert (state == OUT).all()
