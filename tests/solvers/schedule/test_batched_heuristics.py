"""Heuristics for batches: every plan is one and costs what it should, and one is found where there is one."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, BatchSizes, Memory, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance, ScheduleInstance
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.list_schedules import Heft
from mtpp_dsl.solvers.methods.schedules import Ea
from mtpp_dsl.solvers.schedule.list.chunk_splits import best_sizes, by_arrival, menus, parted
from mtpp_dsl.solvers.schedule.search.batch_moves import BATCH_SEARCH, BestBatch, most_draws
from mtpp_dsl.solvers.schedule.search.schedule_annealing import BATCH_MOVES, improve
from mtpp_dsl.solvers.schedule.state.batch_state import (
    BatchField,
    BatchState,
    batch_field_of,
    batch_order_of,
    batch_plan_of,
    batch_state_of,
    is_plan,
)
from mtpp_dsl.solvers.schedule.state.batch_timing import trial_of
from tests.batch_problems import random_batches
from tests.makespans import makespan_problem
from tests.oracle import optimum

METHODS = ["met", "greedy", "heft", "single-device", "ea", "annealing"]
SEEDS = range(30)


@cache
def case(seed: int) -> tuple[Problem, float | None]:
    """Return a random problem of at most three nodes, and its optimum by trying everything."""
    problem = random_batches(seed, devices=2 + seed % 2, chunks=3 - seed % 2)
    return problem, optimum(problem)


def solved(name: str, problem: Problem, **limits: Any) -> Result:
    quick = {"annealing": Annealing(patience=3, moves=20), "ea": Ea(patience=20)}
    method = quick[name] if name in quick else registry.load(registry.METHODS, name)()
    assert method.accepts(problem) is None
    result: Result = method.solve(problem, Limits(**limits), Progress())
    return result


def network(channels: int = 2, chunks: int = 4, **options: Any) -> Problem:
    """Return a randomly wired network on three unequal devices, in chunks."""
    graph = rwnn(nodes=5, modules=2, channels=channels)
    devices = [Device("cpu", speed=0.15), Device("t4", speed=0.8, fixed=0.2), Device("a100", fixed=0.4)]
    links = Links(2e9 * np.ones((3, 3)), 1e-5 * np.ones((3, 3)))
    sizes = BatchSizes(sizes=tuple(32 // chunks * p for p in range(1, chunks + 1)))
    return Problem.create(graph, devices, links, Objective("throughput", batch=32), [sizes], **options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", METHODS)
def test_plans_are_plans(name: str) -> None:
    """Arbitrary times, sizes, memory, links: a plan breaks nothing and is no better than the best; none is claimed."""
    found = there = 0
    for seed in SEEDS:
        problem, best = case(seed)
        result = solved(name, problem, seed=seed)
        assert result.infeasibility is None
        assert result.bound is None
        assert (result.plan is None) <= bool(result.notes)
        there += best is not None
        if result.plan is not None:
            found += 1
            assert verify(problem, result.plan) == []
            assert best is not None
            assert result.cost is not None
            assert result.cost >= best * (1 - 1e-9), seed
    assert found == there or (name == "single-device" and found > there / 2)


def test_annealing_finds_the_best_of_small_ones() -> None:
    """On a few nodes it ends at the optimum nearly always."""
    bests = [case(seed) for seed in SEEDS]
    costs = [solved("annealing", problem).cost for problem, best in bests if best is not None]
    hits = [
        cost is not None and cost <= best * (1 + 1e-9)
        for cost, best in zip(costs, [best for _, best in bests if best is not None], strict=True)
    ]
    assert sum(hits) >= 0.9 * len(hits)


def searched(problem: Problem, seed: int, steps: int, *, compiled: bool) -> tuple[BatchField, BatchState, BestBatch]:
    """Run the search for some moves at a high temperature, from batches on any devices."""
    instance = BatchInstance.of(problem)
    field = batch_field_of(instance)
    assert field is not None
    plan = solved("heft", problem).plan
    assert plan is not None
    where, begun = batch_order_of(instance, plan)
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    home[field.group] = where
    state = batch_state_of(field, home, begun)
    best = BestBatch(home.copy(), state.place.copy(), np.full(1, np.inf))
    draws = np.random.default_rng(seed).random(most_draws(instance.k) + 64 * steps)
    run = BATCH_SEARCH.compiled() if compiled else BATCH_SEARCH.plain
    run(draws, steps, 0.1 * cost_of(problem, plan), 1.0, BATCH_MOVES, field, state, trial_of(field, state), best)
    return field, state, best


def test_the_kernel_times_as_plans_are_timed() -> None:
    """Whatever moves have made of it, what the search believes of its state is what the plan of it costs."""
    checked = 0
    for seed in SEEDS:
        problem, best = case(seed)
        if best is None:
            continue
        field, state, _ = searched(problem, seed, 150, compiled=False)
        if is_plan(field, state):
            plan = batch_plan_of(BatchInstance.of(problem), state.home, state.place)
            assert verify(problem, plan) == []
            assert cost_of(problem, plan) == pytest.approx(float(state.cost[0]), rel=1e-12, abs=1e-12)
            checked += 1
    assert checked > 5


@pytest.mark.long
def test_compiled_or_not_it_is_the_same_search() -> None:
    """Plain Python and machine code come to the same state and the same best."""
    problem = network()
    _, plain, one = searched(problem, 1, 300, compiled=False)
    _, fast, other = searched(problem, 1, 300, compiled=True)
    assert one.cost == other.cost
    assert plain.order.tolist() == fast.order.tolist()
    assert plain.home.tolist() == fast.home.tolist()
    assert one.place.tolist() == other.place.tolist()


def test_a_batch_of_one_is_a_sample() -> None:
    """With one input, chunks on devices and an order cost what nodes on devices in that order do."""
    compared = 0
    for seed in range(40):
        sample = makespan_problem(seed, plain=True)
        batch = Problem.create(
            sample.graph, sample.devices, sample.interconnect, Objective("throughput", batch=1), sample.constraints
        )
        plan = solved("heft", batch).plan
        if plan is None or plan.batches is None:
            continue
        instance = BatchInstance.of(batch)
        device, begun = batch_order_of(instance, plan)
        own = timed(ScheduleInstance.of(sample), device[:, 0], begun[np.arange(sample.graph.n), device[:, 0]])
        assert cost_of(sample, own) <= cost_of(batch, plan) * (1 + 1e-12)
        other = Heft().solve(sample, Limits(), Progress())
        assert other.cost is not None
        assert cost_of(batch, plan) == pytest.approx(other.cost)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("name", METHODS)
def test_the_seed_decides(name: str) -> None:
    """Two runs with one seed end at the same plan."""
    one, other = (solved(name, network(chunks=2), seed=3) for _ in range(2))
    assert one.plan is not None
    assert other.plan is not None
    assert one.cost == other.cost
    assert one.plan.batches is not None
    assert other.plan.batches is not None
    assert one.plan.batches.device.tolist() == other.plan.batches.device.tolist()


def test_searches_are_better_than_what_they_start_from() -> None:
    """On a network of modules: annealing below the evolutionary algorithm, that below met; list schedules between."""
    cost = {name: solved(name, network(chunks=2)).cost for name in METHODS}
    values = {name: value for name, value in cost.items() if value is not None}
    assert len(values) == len(METHODS)
    assert values["annealing"] <= min(values.values()) * (1 + 1e-12)
    assert values["ea"] <= values["met"] * (1 + 1e-12)
    assert values["heft"] < values["single-device"]


def test_improving_starts_from_a_plan() -> None:
    """It returns no worse a plan than it is given, better ones as they are found, and stops when asked."""
    problem = network()
    plan = solved("greedy", problem).plan
    assert plan is not None
    progress = Progress()
    better = improve(problem, plan, Limits(time=1.0), progress)
    assert verify(problem, better) == []
    assert cost_of(problem, better) < cost_of(problem, plan)
    assert progress.cost == cost_of(problem, better)
    stopped = Progress()
    stopped.stop()
    assert improve(problem, plan, Limits(), stopped) is plan


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["ea", "annealing"])
def test_a_start_is_kept(name: str) -> None:
    """The plan that it is given is the worst that it returns, and one that breaks something is dropped and said so."""
    problem = network()
    best = solved("heft", problem).plan
    result = solved(name, problem, start=best, time=1.0)
    assert result.cost is not None
    assert best is not None
    assert result.cost <= cost_of(problem, best)
    other = network(channels=1)
    stray = problem.with_constraints([*problem.constraints, Separate(nodes=(0, 1))])
    wrong = solved(name, stray, start=solved("single-device", other).plan, time=1.0)
    assert any("dropped" in note for note in wrong.notes)


def test_many_chunks_share() -> None:
    """Masks of several words: batches of a hundred chunks, each an input, with transfers that grow with them."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[1.0, 2.0, 1.0], output=1.0)
    devices = [Device("x", fixed=0.1), Device("y", speed=0.7, fixed=0.1)]
    links = Links(4.0 * np.ones((2, 2)), 0.5 * np.ones((2, 2)))
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=100, transfer="per_input"))
    for name in METHODS:
        result = solved(name, problem)
        assert result.plan is not None
        assert verify(problem, result.plan) == []
        if name not in ("single-device", "met"):
            assert result.cost is not None
            assert result.cost < 0.75 * (0.1 * 4 + 0.9 * 400)


def test_memory_is_kept() -> None:
    """Where no device holds everything, or half of it, plans are found within all memories."""
    graph = Graph.create(
        [f"v{i}" for i in range(9)], [(i, i + 1) for i in range(8)], work=1.0, params=3.0, memory=4.0, output=0.1
    )
    links = Links(np.ones((4, 4)), np.zeros((4, 4)))
    devices = [Device(f"d{d}", memory=24.0) for d in range(4)]
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=4), [Memory()])
    for name in ("greedy", "heft", "ea", "annealing"):
        result = solved(name, problem)
        assert result.plan is not None, name
        assert verify(problem, result.plan) == []
    assert "no way" in " ".join(solved("single-device", problem).notes)


def test_inputs_are_parted_alike() -> None:
    """Without a device for all inputs, one spread for all nodes: the one that ends first, by trying all."""
    for seed in range(60):
        problem, _ = case(seed) if seed in SEEDS else (random_batches(seed), None)
        if any(problem.of(Memory)):
            continue
        instance = BatchInstance.of(problem)
        total = instance.time.sum(axis=0)
        ends = [
            max(total[d, row.count(d)] for d in range(instance.k))
            for row in product(range(instance.k), repeat=instance.chunks)
        ]
        row = parted(instance)
        assert (row is None) == bool(min(ends) == np.inf)
        if row is not None:
            sizes = np.bincount(row, minlength=instance.k)
            assert total[np.arange(instance.k), sizes].max() == min(ends)


def test_single_device_says_how_it_parts_inputs() -> None:
    """All inputs on the fastest device that can, else a note with the inputs of each."""
    limited = [BatchSizes(sizes=(16, 32), devices=(0, 1)), BatchSizes(sizes=(8, 16, 24), devices=(2,))]
    problem = network().with_constraints(limited)
    result = solved("single-device", problem)
    assert result.plan is not None
    assert result.plan.batches is not None
    assert result.plan.batches.sizes.tolist() == [[0, 32, 0]] * problem.graph.n
    result = solved("single-device", problem.with_constraints([BatchSizes(sizes=(8, 16, 24))]))
    assert result.plan is not None
    assert result.plan.batches is not None
    shown = ", ".join(f"{d.name} {size}" for d, size in zip(problem.devices, result.plan.batches.sizes[0], strict=True))
    assert any("parted" in note and shown[len("cpu 0, ") :] in note for note in result.notes)


def test_spreads_are_all_there_are() -> None:
    """Menus hold every way to add sizes up, and the best sizes are those of the best of them."""
    random = np.random.default_rng(0)
    for seed in SEEDS:
        instance = BatchInstance.of(case(seed)[0])
        field = batch_field_of(instance)
        if field is None:
            continue
        offsets, menu = menus(field)
        for kind in range(len(field.reach)):
            c = int(np.flatnonzero(field.kind == kind)[0])
            every = {
                sizes
                for sizes in product(range(instance.chunks + 1), repeat=instance.k)
                if sum(sizes) == instance.chunks and all(field.may[c, d, p] for d, p in enumerate(sizes))
            }
            listed = [tuple(row) for row in menu[offsets[kind] : offsets[kind + 1]].tolist()]
            assert len(listed) == len(every)
            assert set(listed) == every
            cost = np.where(field.may[c], random.random(field.may[c].shape), np.inf)
            for add in (True, False):
                size = np.zeros(instance.k, np.int64)
                assert best_sizes(cost, add, size)
                values = [[cost[d, p] for d, p in enumerate(sizes)] for sizes in (*every, tuple(size.tolist()))]
                worth = [sum(row) if add else max(row) for row in values]
                assert worth[-1] == pytest.approx(min(worth))


def test_chunks_go_where_their_inputs_are() -> None:
    """Of given sizes, chunks stay on the devices at which they arrive first."""
    arrival = np.array([[0.0, 5.0], [5.0, 0.0], [0.0, 5.0], [5.0, 0.0]])
    row = np.zeros(4, np.int64)
    assert by_arrival(np.array([2, 2]), arrival, np.arange(4), row)
    assert row.tolist() == [0, 1, 0, 1]
    assert not by_arrival(np.array([4, 0]), np.where(arrival > 0, np.inf, 0.0), np.arange(4), row)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_said_of_one_sample_is_refused(name: str) -> None:
    """A constraint that means nothing for a batch is refused with its name; so is a batch by other list schedulers."""
    method = registry.load(registry.METHODS, name)()
    assert "acyclic" in (method.accepts(network().with_constraints([Acyclic()])) or "")
    assert "batch" in (registry.load(registry.METHODS, "peft")().accepts(network()) or "")


@pytest.mark.parametrize("name", METHODS)
def test_it_stops(name: str) -> None:
    """Without time there may be no plan, and no error."""
    result = solved(name, network(), time=0.0)
    assert result.plan is None or verify(network(), result.plan) == []
    assert result.termination == "time_limit"
