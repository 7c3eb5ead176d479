"""The heaviest sets that devices can hold below a target, held against all sets of small problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import inf
from random import Random

import numpy as np
import pytest

from mtpp_dsl.checks.verification import loads
from mtpp_dsl.core.constraints import Acyclic, Colocate, Memory
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.configuration import _lighter
from mtpp_dsl.solvers.proofs.heaviest import Sets, StagePlace
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading
from tests.split_problems import split_problem

SEEDS = 36
PLACES = ((None, None), (0, None), (None, 0), (1, 0), (0, 1), (1, 1))
"""How many sets below the target are before and after one: any number, or so many."""


def sets_below(
    reading: ProofReading, kind: DeviceKind, target: float, arcs: list[tuple[int, int]], place: tuple[int | None, ...]
) -> Iterator[tuple[tuple[bool, ...], float]]:
    """Yield all sets of groups that a kind of device can hold below a target, each with its load.

    Beside the set, a group that takes more than the target counts as if it took that.
    """
    problem, n = reading.problem, len(reading.members)
    pair = Problem.create(
        problem.graph, [*problem.devices, Device("else")], problem.interconnect, None, problem.of(Memory)
    )
    d = problem.device_index[kind.devices[0]]
    reach = {(a, b) for a, b in arcs}
    for b, a, c in product(range(n), repeat=3):
        reach |= {(a, c)} if {(a, b), (b, c)} <= reach else set()
    for held in product([True, False], repeat=n):
        inside = [g for g in range(n) if held[g]]
        ahead = [g for g in range(n) if not held[g] and any((g, h) in reach for h in inside)]
        behind = [g for g in range(n) if not held[g] and any((h, g) in reach for h in inside)]
        if any(kind.time[g] == inf for g in inside) or sum(reading.memory[g] for g in inside) > kind.memory:
            continue
        sides = zip((ahead, behind), place, strict=True)
        if {*ahead} & {*behind} or any(
            most is not None
            and (
                len(side) > 0
                if most == 0
                else sum(min(kind.time[g], target) for g in side) > most * target * (1 + 1e-9)
            )
            for side, most in sides
        ):
            continue
        where = [d if held[reading.group[v]] else problem.k for v in range(problem.graph.n)]
        load = float(loads(pair, where)[d])
        if load < target:
            yield held, load


@pytest.mark.parametrize("seed", range(SEEDS))
def test_sets_are_those_of_the_definition(seed: int) -> None:
    """The heaviest, the cheapest with a group, and which are possible; by branch and bound and by HiGHS."""
    rng = Random(seed)
    reading = ProofReading(split_problem(seed, 5))
    n = len(reading.members)
    weights = [rng.choice([0, 1, 2, 5]) for _ in range(n)]
    for kind in reading.kinds:
        finite = [t for t in kind.time if t < inf]
        target = (sum(finite) + sum(reading.tensors.values())) * rng.choice([0.2311, 0.4177, 0.7373])
        if target == 0.0:
            continue
        arcs = reading.arcs(kind)
        sets = Sets(reading, kind, target, arcs)
        place = PLACES[seed % len(PLACES)] if arcs and all(t < inf for t in kind.time) else PLACES[0]
        below = dict(sets_below(reading, kind, target, arcs, place))
        heaviest = max((sum(w for w, there in zip(weights, held, strict=True) if there) for held in below), default=-1)
        for most in {max(heaviest - 1, 0), max(heaviest, 0)}:
            heavier = sets.heavier(weights, most, sets.place(*place))
            assert (heavier is not None) == (heaviest > most)
            assert heavier is None or tuple(heavier.tolist()) in below
        for held in product([True, False], repeat=n):
            assert sets.possible(np.array(held), sets.place(*place)) == (held in below)
        for held, load in below.items():
            assert sets.load(np.array(held)) / sets.units == pytest.approx(load, rel=1e-6, abs=1e-6 * target)
        if place != PLACES[0]:
            below = dict(sets_below(reading, kind, target, arcs, PLACES[0]))
        for g in range(n):
            cheapest = min((load for held, load in below.items() if held[g]), default=inf)
            least = sets.least_with(np.array([g])) / sets.units
            assert least <= cheapest * (1 + 1e-9)
            if not arcs and kind.memory == kind.free == inf:  # then a cut is all there is to it
                assert least == pytest.approx(cheapest, rel=1e-6) if cheapest < inf else least >= target * (1 - 1e-6)
        if len(reading.members) == reading.problem.graph.n:
            heaviest = max((sum(w for w, there in zip(weights, h, strict=True) if there) for h in below), default=-1)
            for most in {max(heaviest - 1, 0), max(heaviest, 0)} if sum(weights) else ():
                assert _lighter(reading, kind, target, weights, most, inf) == (heaviest <= most)


def test_colocated_nodes_may_be_in_a_convex_set() -> None:
    """By HiGHS, too, an edge within a group leaves no path out of the set that has the group."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=1.0)
    rules = [Acyclic(), Colocate(nodes=(0, 1))]
    reading = ProofReading(Problem.create(graph, [Device("p"), Device("q")], Shared(1.0), constraints=rules))
    weights = [2 if 0 in members else 1 for members in reading.members]
    assert not _lighter(reading, reading.kinds[0], 2.5, weights, 1, inf)
    assert _lighter(reading, reading.kinds[0], 2.5, weights, 2, inf)


def test_one_unit_less_is_below() -> None:
    """A node that takes the target but for one unit is a set below it, and may be first or last in a pipeline."""
    unit = 2.0**-32
    graph = Graph.create("ab", [(0, 1)], work=[1 - unit, 1.0])
    reading = ProofReading(Problem.create(graph, [Device("p"), Device("q")], Shared(1.0), constraints=[Acyclic()]))
    sets = Sets(reading, reading.kinds[0], 1.0, [(0, 1)])
    assert sets.units == 1 / unit
    assert sets.possible(np.array([True, False]), sets.place(None, None))
    assert not sets.possible(np.array([False, True]), sets.place(None, None))
    assert sets.heavier([1, 0], 0, sets.place(None, None)) is not None
    assert sets.heavier([0, 1], 0, sets.place(None, None)) is None
    assert sets.place(2, 0) == StagePlace(early=2 * (sets.below + 1), late=0, ideal=False, filter=True)
    assert [int(rank[0]) for rank in sets.ranks(np.array([0]), 2)] == [0, 0]
    assert [int(rank[0]) for rank in sets.ranks(np.array([1]), 2)] == [1, 0]


def test_loads_far_above_the_target_are_still_counted() -> None:
    """Parameters that fit are a million times what could be streamed below the target: sums stay whole numbers."""
    much = 2.0**20
    graph = Graph.create("ab", [], work=[0.5, 0.75], params=[much, 2 * much])
    device = Device("p", memory=3 * much)
    reading = ProofReading(Problem.create(graph, [device], Shared(1.0, overflow=True)))
    for target, heavy in ((1.0, [False, True]), (1.5, [True, True])):
        sets = Sets(reading, reading.kinds[0], target, [])
        most = 2 if target > 1.25 else 1
        found = sets.heavier([1, 2], most, sets.place(None, None))
        assert found is not None
        assert found.tolist() == heavy
        assert sets.heavier([1, 2], most + 1, sets.place(None, None)) is None
        assert sets.sharp(3) * 3 * much * sets.units < 2**62


def test_searches_are_as_short_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often they settle and cut: more often if a price or a rule is lost, seldom less often."""
    count: Counter[str] = Counter()

    def counted(sets: Sets, name: str) -> None:
        inner = getattr(sets, name)

        def run(*arguments: object) -> object:
            count[name] += 1
            return inner(*arguments)

        monkeypatch.setattr(sets, name, run)

    for seed in range(100, 130):
        rng = Random(seed)
        reading = ProofReading(split_problem(seed, 8))
        kind = reading.kinds[0]
        target = sum(t for t in kind.time if t < inf) * rng.choice([0.2311, 0.4177, 0.7373])
        if target == 0.0:
            continue
        sets = Sets(reading, kind, target, reading.arcs(kind))
        weights = [rng.choice([0, 1, 2, 5]) for _ in reading.members]
        for name in ("_settle", "_least_cut"):
            counted(sets, name)
        for place in PLACES:
            for most in (1, sum(weights) // 4, sum(weights) // 2):
                sets.heavier(weights, most, sets.place(*place))
        for g in range(len(weights)):
            count["least"] += sets.least_with(np.array([g])) <= sets.below
            count["ranks"] += int(np.subtract(*sets.ranks(np.array([g]), 4))[0])
    assert count == {"_settle": 651, "_least_cut": 459, "least": 64, "ranks": -202}
