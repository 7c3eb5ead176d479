"""The search without a lattice: the same optima, bounds that hold whenever it is stopped, bounded memory."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered, regal
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.partition.ideals import lazy_search as lazy
from mtpp_dsl.solvers.partition.ideals import raise_target as search
from mtpp_dsl.solvers.partition.ideals.lazy_store import enlarged, entries
from mtpp_dsl.solvers.partition.ideals.lazy_walk import WALK
from tests.amount import part
from tests.core.problem import test_replicas
from tests.oracle import optimum
from tests.solvers.partition.test_ideals import check, random_problem

NEAR = 1e-9


@pytest.fixture
def _no_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be no room for a lattice, and all the room for the search."""
    monkeypatch.setattr(search, "lattice_of", lambda *_: None)


class Impatient(Progress):
    """Asks to stop when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    @property
    def stopped(self) -> bool:
        self._looks -= 1
        return self._looks < 0


def stages(graph: Graph, k: int) -> Problem:
    return Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), constraints=[Acyclic()])


def mixed(seed: int) -> Problem:
    """Return a problem of some thirty nodes on accelerators and CPUs, or two speeds of stages, with some memory."""
    graph = layered(28, 4, seed=seed, output=2.0, params=1.0)
    graph = Graph.create(
        graph.names,
        list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)),
        work=graph.work,
        output=graph.output,
        params=graph.params,
        times={"cpu": graph.work * np.random.default_rng(seed).choice([3.0, 8.0], graph.n)},
    )
    room = float(graph.memory.sum()) / 3 * 1.3
    devices = [Device(f"a{i}", memory=room) for i in range(3)]
    if seed % 2:
        devices += [Device("c0", type="cpu", pays_io=False)]
        return Problem.create(graph, devices, Host(2.0), constraints=[Acyclic(), Memory()])
    devices += [Device("fast", memory=room / 2, speed=2.0)]
    return Problem.create(graph, devices, Shared(2.0, overflow=seed % 4 == 0), constraints=[Acyclic()])


def solve(problem: Problem, most_bytes: float = 1e9, progress: Progress | None = None, **limits: object) -> Result:
    bounds = Limits(**limits)  # type: ignore[arg-type]
    result = Ideals(most_bytes=most_bytes).solve(problem, bounds, progress or Progress())
    check_result(problem, result)
    return result


def bounds_of(result: Result) -> list[float]:
    """Return all bounds that were ever reported."""
    last = [] if result.bound is None else [result.bound.cost]
    return [entry.bound for entry in result.log if entry.bound is not None] + last


@pytest.fixture
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the compiled loop on small problems too."""
    monkeypatch.setattr(WALK, "plain", WALK.compiled())


@pytest.mark.usefixtures("_no_lattice", "_compiled")
def test_random_inference_graphs_are_solved_to_the_optimum() -> None:
    """Mixtures of CPUs, memory, overflow, unsupported nodes, colocation, pins: the optimum or the proof of none."""
    statuses = Counter(check(random_problem(seed)) for seed in range(3000, 3000 + part(200, 12)))
    assert set(statuses) == {"optimal", "infeasible"}
    assert min(statuses.values()) >= part(20, 12)


@pytest.mark.usefixtures("_no_lattice", "_compiled")
def test_random_training_graphs_get_plans_and_bounds_that_hold() -> None:
    """Mixtures with backward nodes: never a wrong bound; mostly the optimum."""
    statuses = Counter(check(random_problem(seed, training=True)) for seed in range(4100 - part(100, 8), 4100))
    assert statuses["optimal"] > part(65, 8)


@pytest.mark.usefixtures("_no_lattice", "_compiled")
def test_replicas_are_found_and_bounded() -> None:
    """Mixtures with stages on several devices: the optimum, or the proof of none."""
    statuses = Counter(
        test_replicas.check(test_replicas.random_problem(seed, training=False))
        for seed in range(7000, 7000 + part(80, 10))
    )
    assert set(statuses) <= {"optimal", "infeasible"}
    assert statuses["optimal"] > part(50, 10)


@pytest.mark.usefixtures("_no_lattice")
def test_the_loop_can_be_left_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left after every few steps and taken up again, compiled or plain, it does the same."""
    problems = [random_problem(seed, training=seed % 3 == 0) for seed in range(5000, 5000 + part(20, 4))]
    plain = [solve(problem) for problem in problems]
    monkeypatch.setattr(lazy, "CHUNK", 300)
    monkeypatch.setattr(WALK, "plain", WALK.compiled())
    for problem, before in zip(problems, plain, strict=True):
        after = solve(problem)
        assert after.status == before.status
        assert (after.cost, bounds_of(after)) == (before.cost, bounds_of(before))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_the_lattice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On graphs too large to try everything, with several kinds of devices, memory and overflow."""
    problem = mixed(seed)
    best = solve(problem)
    monkeypatch.setattr(search, "lattice_of", lambda *_: None)
    found = solve(problem)
    assert best.status == found.status == "optimal"
    assert found.cost == pytest.approx(best.cost, rel=2e-6)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_whenever_it_is_stopped(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after any number of looks at the clock: what was reported until then is true."""
    problem = mixed(seed)
    best = solve(problem).cost
    assert best is not None
    monkeypatch.setattr(search, "lattice_of", lambda *_: None)
    monkeypatch.setattr(lazy, "CHUNK", 200)
    random = np.random.default_rng(seed)
    for looks in random.integers(10, 4_000, 4).tolist():
        result = solve(problem, progress=Impatient(looks))
        assert all(bound <= best * (1 + NEAR) for bound in bounds_of(result))
        assert result.cost is None or result.cost >= best * (1 - NEAR)
        assert result.infeasibility is None


@pytest.mark.parametrize("seed", range(part(40, 4)))
def test_bounds_hold_with_hardly_any_memory(seed: int) -> None:
    """Where nothing fits it gives up target after target; it proves nothing by that."""
    problem = random_problem(6000 + seed)
    best = optimum(problem)
    result = solve(problem, most_bytes=1.0)
    if best is None:
        assert result.plan is None
    else:
        assert result.infeasibility is None
        assert all(bound <= best * (1 + NEAR) for bound in bounds_of(result))


@pytest.mark.usefixtures("_no_lattice")
def test_no_classes_at_all_have_an_empty_split() -> None:
    """Where every node is free to be anywhere, nothing is proved beyond what all nodes take together."""
    graph = Graph.create("abcd", [(0, 3), (1, 2), (2, 3)], work=[3, 2, 4, 0], output=[2, 0, 1, 2], backward=True)
    devices = [Device("d0"), Device("d1")]
    check(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(parts="forward")]))


def test_memory_is_bounded() -> None:
    """Old and new arrays together stay within the budget; entries are found again after growing."""
    store = entries(2, 0)
    store.hashes[:] = np.arange(len(store.hashes)) % 50
    room = sum(array.nbytes for array in store)
    assert enlarged(store, 2 * room) is None
    larger = enlarged(store, 4 * room)
    assert larger is not None
    assert np.array_equal(larger.hashes[: len(store.hashes)], store.hashes)
    for entry, hashed in enumerate(store.hashes.tolist()):
        place = hashed
        while larger.table[place] != entry:
            assert larger.table[place] >= 0
            place = (place + 1) % len(larger.table)
    result = solve(stages(regal(36, "er", "own-memory", 1), 6), most_bytes=1e5, time=20.0)
    assert result.plan is not None
    assert result.bound is not None


def test_a_lattice_too_large_is_not_needed() -> None:
    """With room for a fraction of the ideals the optimum is proved."""
    problem = stages(layered(60, 6, seed=1, output=0.5), 4)
    best = solve(problem)
    result = solve(problem, most_bytes=1e5)
    assert any("MB" in note for note in result.notes)
    assert result.status == best.status == "optimal"
    assert result.cost == pytest.approx(best.cost, rel=2e-6)
