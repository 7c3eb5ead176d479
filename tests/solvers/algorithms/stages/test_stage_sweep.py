"""The programme over stages finds every undominated value, against chains of ideals counted one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.views.hypergraph import compressed
from mtpp_dsl.solvers.algorithms.ideals.lattice import lattice_of
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.stages.costs import Aggregate, ShapeStates, StageCosts, nothing_outside, shape_states
from mtpp_dsl.solvers.algorithms.stages.kernel import STAGE_SWEEP
from mtpp_dsl.solvers.algorithms.stages.sweep import sweep_stages

N = 4
ROWS, LOADS, RATES = 3, 2, 2


class Case:
    """A random table of stages; the order of the supernodes is that of the programme, from the empty ideal on."""

    def __init__(self, seed: int) -> None:
        r = np.random.default_rng(seed)
        self.n = n = int(r.integers(0, N + 1))
        self.before = tuple((a, b) for b in range(n) for a in range(b) if r.random() < 0.4)
        self.nets = [tuple(np.flatnonzero(r.random(n) < 0.5).tolist()) for _ in range(3)]
        self.nets = [pins for pins in self.nets if len(pins) > 1]
        self.flows = [(int(pins[r.integers(len(pins))]), pins, float(r.integers(0, 5))) for pins in self.nets]
        self.counts = r.integers(1, 4, size=2)
        shapes = [(0, 1), (0, 2), (1, 1), (0, 1)][: int(r.integers(1, 5))]
        self.take = np.array([[m if q == kind else 0 for q in range(2)] for kind, m in shapes], np.int64)
        self.stages = int(r.integers(0, 2)) * int(self.counts.sum())
        if self.stages == 0:
            self.take = np.minimum(self.take, 1)
        s = len(shapes)
        at, tensor = compressed([[i for i, pins in enumerate(self.nets) if v in pins] for v in range(n)])
        flows = [[(i, made == v) for i, (made, pins, _) in enumerate(self.flows) if v in pins] for v in range(n)]
        flow_start, flow = compressed([[i for i, _ in row] for row in flows])
        fixed = r.integers(0, 5, size=(s, n)).astype(np.float64)
        fixed[r.random((s, n)) < 0.1] = np.inf
        self.costs = StageCosts(
            start=at,
            tensor=tensor,
            pins=np.array([len(pins) for pins in self.nets], np.int64),
            cost=r.integers(0, 6, size=(RATES, len(self.nets))),
            time=r.integers(0, 9, size=(ROWS, s, n)),
            base=r.integers(0, 3, size=(ROWS, s)),
            rate=r.integers(-1, RATES, size=(ROWS, s)),
            parts=r.integers(1, 3, size=s),
            sync=r.integers(0, 9, size=(s, n)),
            stream=r.integers(0, 4, size=(s, n)),
            spared=r.integers(0, 6, size=s),
            loads=LOADS,
            streams=r.random(ROWS) < 0.5,
            exchanges=r.random(ROWS) < 0.5,
            remains=np.array([-1, int(r.integers(-1, 1)), -1]),
            ulp=int(r.integers(0, 2)),
            fixed=fixed,
            further=r.integers(0, 3, size=(s, n)).astype(np.float64),
            kept=np.cumsum(r.integers(0, 2, size=(s, 12)), axis=1).astype(np.float64),
            enter=np.cumsum(r.integers(0, 2, size=(s, 12)), axis=1).astype(np.float64),
            room=r.integers(4, 30, size=s).astype(np.float64),
            flow_start=flow_start,
            flow=flow,
            makes=np.array([makes for row in flows for _, makes in row], np.bool_),
            size=np.array([size for _, _, size in self.flows], np.float64),
        )

    def stage(self, block: frozenset[int], a: int, j: int) -> list[int] | None:
        """Return the rows of a stage, None where it does not fit; written down from the definition."""
        c, inside = self.costs, sorted(block)
        entering = sum(size for made, pins, size in self.flows if made not in block and block & set(pins))
        size = c.fixed[a, inside].sum() + c.kept[a, j] * c.further[a, inside].sum() + c.enter[a, j] * entering
        if size > c.room[a]:
            return None
        found = []
        for p in range(ROWS):
            total = int(c.base[p, a] + c.time[p, a, inside].sum())
            if p < LOADS:
                for t, pins in enumerate(self.nets):
                    if c.rate[p, a] >= 0 and block & set(pins) and not set(pins) <= block:
                        total += int(c.cost[c.rate[p, a], t])
                total += max(0, int(c.stream[a, inside].sum() - c.spared[a])) * int(c.streams[p])
                m = int(c.parts[a])
                total = max(total // m, int(c.sync[a, inside].sum()) * (m - 1) // m * int(c.exchanges[p]))
                if c.remains[p] >= 0:
                    exchange = int(c.sync[a, inside].sum()) * (m - 1) // m
                    total = max(total, exchange - found[int(c.remains[p])] - c.ulp)
            found.append(total)
        return found

    def ideals(self) -> list[frozenset[int]]:
        """Return all ideals."""
        sets = [frozenset(v for v in range(self.n) if mask >> v & 1) for mask in range(1 << self.n)]
        return [one for one in sets if all(a in one for a, b in self.before if b in one)]

    def chains(self, aggregate: Aggregate, states: ShapeStates) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the state and the value of every chain."""
        ideals, full = self.ideals(), frozenset(range(self.n))

        def go(done: frozenset[int], state: int, value: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
            if done == full:
                yield state, value
            for more in ideals:
                if not done < more:
                    continue
                for a in range(len(self.take)):
                    if not states.open[state, a]:
                        continue
                    rows = self.stage(more - done, a, int(states.after[state]))
                    if rows is None or any(rows[p] >= aggregate.limit[p] for p in range(ROWS)):
                        continue
                    pairs = zip(value, aggregate.row, aggregate.adds, strict=True)
                    new = tuple(v + rows[p] if adds else max(v, rows[p]) for v, p, adds in pairs)
                    yield from go(more, int(states.to[state, a]), new)

        for state, value in go(frozenset(), 0, tuple(aggregate.begin.tolist())):
            if all(v < most for v, most in zip(value, aggregate.ceiling.tolist(), strict=True)):
                yield state, value


AGGREGATES: list[tuple[list[tuple[int, bool]], dict[str, Any]]] = [
    ([(0, False)], {}),
    ([(0, False)], {"limit": {0: 9}}),
    ([(0, True)], {"limit": {0: 12}}),
    ([(1, True)], {"limit": {0: 10, 1: 20}, "ceiling": {0: 25}}),
    ([(0, False), (1, False)], {}),
    ([(0, False), (0, True), (2, True)], {"ceiling": {2: 20}}),
]


@given(st.integers(0, 10**9), st.sampled_from(AGGREGATES))
@settings(max_examples=60)
def test_labels_are_all_undominated_values(seed: int, kind: tuple[list[tuple[int, bool]], dict[str, Any]]) -> None:
    case = Case(seed)
    aggregate = Aggregate.create(ROWS, kind[0], **kind[1])
    states = shape_states(case.counts, case.take, stages=case.stages)
    found = _swept(case, aggregate, states)
    every = set(case.chains(aggregate, states))

    def beaten(state: int, value: tuple[int, ...]) -> bool:
        return any(
            (other, better) != (state, value)
            and (states.used[other] <= states.used[state]).all()
            and all(b <= v for b, v in zip(better, value, strict=True))
            for other, better in every
        )

    front = {(state, value) for state, value in every if not beaten(state, value)}
    assert front <= found <= every


def _swept(case: Case, aggregate: Aggregate, states: ShapeStates) -> set[tuple[int, tuple[int, ...]]]:
    """Return the states and values of a sweep, after each chain has been added up again."""
    nodes = OrderedSupernodes(
        members=tuple((v,) for v in range(case.n)), time=np.zeros((case.n, 1)), memory=np.zeros(case.n),
        params=np.zeros(case.n), nets=(), before=case.before,
    )  # fmt: skip
    lattice = lattice_of(nodes, 1e9, print, lambda: None)
    assert lattice is not None
    nothing = nothing_outside(lattice.size, len(states.used), len(aggregate.row))
    swept = sweep_stages(lattice, case.costs, states, aggregate, nothing, print, lambda: None)
    assert swept is not None
    found = {(int(s), tuple(v)) for s, v in zip(swept.states, swept.values.tolist(), strict=True)}
    assert len(found) == len(swept.values)
    for label in range(len(swept.values)):
        state, value = 0, tuple(aggregate.begin.tolist())
        for block, a in reversed(swept.steps(label)):
            rows = case.stage(frozenset(block.tolist()), a, int(states.after[state]))
            assert rows is not None
            pairs = zip(value, aggregate.row, aggregate.adds, strict=True)
            value = tuple(v + rows[p] if adds else max(v, rows[p]) for v, p, adds in pairs)
            state = int(states.to[state, a])
        assert (state, value) == (swept.states[label], tuple(swept.values[label].tolist()))
    return found


@pytest.mark.long
def test_machine_code_does_the_same() -> None:
    for seed in range(60):
        case = Case(seed)
        aggregate = Aggregate.create(ROWS, *AGGREGATES[seed % 6][:1], **AGGREGATES[seed % 6][1])
        states = shape_states(case.counts, case.take, stages=case.stages)
        plain = _swept(case, aggregate, states)
        was, STAGE_SWEEP._pace = STAGE_SWEEP._pace, 0.0
        try:
            assert _swept(case, aggregate, states) == plain
        finally:
            STAGE_SWEEP._pace, STAGE_SWEEP._ready = was, False
