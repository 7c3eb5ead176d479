"""Minimum cuts are compared with all sets of small graphs, and with the checkers' own flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.algorithms.cheapest_set import CHEAPEST_SET, FREE, IN, OUT, CheapestSets
from mtpp_dsl.solvers.partition.branching.halves_run import CUT, IdealCuts
from mtpp_dsl.solvers.proofs.flow import LEAST_CUT

Net = tuple[list[int], int]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Net], Ints, Ints, Ints]:
    """Return nets, edges that rise, states and prices of a small graph."""
    n = draw(st.integers(1, 7))
    nodes = st.lists(st.integers(0, n - 1), min_size=1, max_size=4, unique=True)
    nets = draw(st.lists(st.tuples(nodes, st.integers(0, 9)), max_size=6))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8))
    edges = np.array([pair for pair in pairs if pair[0] < pair[1]], np.int64).reshape(-1, 2)
    state = np.array(draw(st.lists(st.sampled_from([FREE, FREE, IN, OUT]), min_size=n, max_size=n)), np.int64)
    return nets, edges, state, np.array(draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n)), np.int64)


def around(n: int, edges: Ints, inside: Bools) -> tuple[Bools, Bools]:
    """Return what comes after, and what comes before, any node of a set."""
    after, before = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for _ in range(n):
        for u, v in edges.tolist():
            after[v] |= inside[u] or after[u]
            before[u] |= inside[v] or before[v]
    return after, before


def sets(state: Ints) -> Iterator[Bools]:
    """Yield the sets that a state leaves."""
    for chosen in product(*({FREE: (False, True), IN: (True,), OUT: (False,)}[int(s)] for s in state)):
        yield np.array(chosen)


def cost(held: Bools, nets: Sequence[Net], price: Ints) -> int:
    """Return what a set pays for its nodes and for the nets of which it has some pins and not all."""
    return int(price[held].sum()) + sum(paid for pins, paid in nets if 0 < held[pins].sum() < len(pins))


@given(cases())
def test_cheapest_set_is_the_smallest_of_all(case: tuple[list[Net], Ints, Ints, Ints]) -> None:
    """The value is that of the best set that the arcs allow, and the set is within each of the best ones."""
    nets, edges, state, price = case
    n = len(state)
    after, before = around(n, edges, state == IN)
    state[(state == FREE) & after & before] = OUT  # searches put these in, or give up: their arcs would be left out
    falls = [(v, u) for u, v in edges.tolist() if after[u] and state[u] == FREE and state[v] == FREE]
    climbs = [(u, v) for u, v in edges.tolist() if before[v] and state[u] == FREE and state[v] == FREE]
    allowed = [held for held in sets(state) if all(held[b] or not held[a] for a, b in falls + climbs)]
    least = min(cost(held, nets, price) for held in allowed)
    value, found = CheapestSets(n, nets, edges, 0.0).least(state, after, before, price)
    assert value == least == cost(found, nets, price)
    assert all((found <= held).all() for held in allowed if cost(held, nets, price) == least)
    for enough in (least - 1, least, least + 1):
        some, _ = CheapestSets(n, nets, edges, 0.0).least(state, after, before, price, enough)
        assert some == min(least, enough)
    starts = np.cumsum([0, *(len(pins) for pins, _ in nets)])
    pins = np.array([v for net, _ in nets for v in net], np.int64)
    paid, side = np.array([paid for _, paid in nets], np.int64), np.zeros(n, np.bool_)
    tails, heads = edges.T.copy()
    assert LEAST_CUT.plain(state, price, starts, pins, paid, tails, heads, after, before, side) == least
    assert (side == found).all()


@given(cases(), st.integers(1, 5))
def test_cheapest_ideal_is_the_smallest_of_all(case: tuple[list[Net], Ints, Ints, Ints], scale: int) -> None:
    """Of all sets that hold what their nodes read, and which hold or leave out what they must."""
    nets, edges, state, weight = case
    n = len(state)
    tensors = [(min(pins), sorted(set(pins) - {min(pins)}), paid) for pins, paid in nets if len(pins) > 1]
    edges = np.array([*edges.tolist(), *([u, v] for u, readers, _ in tensors for v in readers)]).reshape(-1, 2)
    after, before = around(n, edges, state == IN)
    fixed = np.where((state == IN) | before, 1, 0)
    fixed[(fixed == 0) & (state == OUT)] = -1
    fixed[(fixed == 0) & around(n, edges, fixed < 0)[0]] = -1
    del after

    def value(held: Bools) -> int:
        cut = sum(paid for u, readers, paid in tensors if held[u] and not held[readers].all())
        return scale * cut + int(weight[held].sum())

    ideals = list(sets(np.where(fixed > 0, IN, np.where(fixed < 0, OUT, FREE))))
    ideals = [held for held in ideals if all(held[u] or not held[v] for u, v in edges.tolist())]
    inside = np.zeros(n, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CUT, "compiled", lambda _: CUT.plain)
        reads = [[int(u) for u, v in edges.tolist() if v == w] for w in range(n)]
        least = IdealCuts(reads, tensors, str).least(fixed, weight, scale, inside)
    assert least == min(map(value, ideals)) == value(inside > 0)
    assert all(((inside > 0) <= held).all() for held in ideals if value(held) == least)


@pytest.mark.long
def test_compiled_cuts_are_the_same() -> None:
    """Machine code finds the sets that plain Python finds, one network after another in the same memory."""
    random = np.random.default_rng(0)
    n = 30
    nets = [(random.choice(n, int(random.integers(2, 5)), replace=False).tolist(), int(c)) for c in range(40)]
    edges = np.sort(random.integers(0, n, (40, 2)), axis=1)
    edges = edges[edges[:, 0] < edges[:, 1]]
    plain, fast = CheapestSets(n, nets, edges, 0.0), CheapestSets(n, nets, edges, float("inf"))
    plain._run = CHEAPEST_SET.plain  # where another test has compiled the kernel, that is what is taken
    assert fast._run is not CHEAPEST_SET.plain
    for _ in range(20):
        state = random.choice([FREE, FREE, FREE, IN, OUT], n)
        price, nowhere = random.integers(-20, 40, n), np.zeros(n, np.bool_)
        one, other = (sets.least(state, nowhere, nowhere, price) for sets in (plain, fast))
        assert one[0] == other[0]
        assert (one[1] == other[1]).all()
