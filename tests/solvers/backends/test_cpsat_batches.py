"""Batches by CP-SAT: optima, bounds and what becomes of rounding, chunks that pins tell apart, requests from pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import (
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Constraint,
    Forbid,
    Memory,
    Pin,
    PinChunks,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.backends.cpsat.batch_problem import lower_batches
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, availability, solve_request
from mtpp_dsl.solvers.backends.cpsat.questions import ask
from mtpp_dsl.solvers.backends.cpsat.request import Effort
from mtpp_dsl.solvers.backends.cpsat.time_windows import narrowed_batches
from mtpp_dsl.solvers.methods.cp_sat import BatchScheduling, Scheduling
from mtpp_dsl.solving.api import solve
from tests.batched_cases import built, cases
from tests.oracle import optimum
from tests.solvers.algorithms.test_timing import linked

pytestmark = pytest.mark.skipif(not availability().ok, reason=f"CP-SAT is not installed: {availability().install}")


def random_batches(seed: int) -> Problem:
    """Return a random small problem: times that follow no law, missing links, constraints of every kind."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, 4)), int(random.integers(2, 4))
    count = int(random.integers(1, {4: 5, 5: 4, 6: 3}[n + k]))
    chunk = int(random.integers(1, 3))
    unit = 10.0 ** random.integers(-9, 10) if random.random() < 0.3 else 1.0
    tables = {f"d{d}": {chunk * p: _times(random, n, unit) for p in range(1, count + 1)} for d in range(k)}
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.7],
        output=random.choice([0.0, 1.0, 2.0, 3.3], n),
        params=random.integers(0, 4, n).astype(float),
        batch_times=tables,
    )
    bandwidth = np.where(random.random((k, k)) < 0.25, 0.0, random.choice([1.0, 2.0, 0.7], (k, k))) / unit
    latency = random.choice([0.0, 0.5, 1.0], (k, k)) * unit
    links = Links(bandwidth, latency, routing="direct" if random.random() < 0.5 else "widest")
    objective = Objective(
        "throughput", batch=chunk * count, transfer="per_batch" if random.random() < 0.5 else "per_input"
    )
    room = float(graph.memory.sum()) * chunk * count
    devices = [Device(f"d{d}", memory=room * float(random.choice([0.4, 0.6, 1.0]))) for d in range(k)]
    return Problem.create(graph, devices, links, objective, list(_constraints(random, n, k, count, chunk)))


def _times(random: np.random.Generator, n: int, unit: float) -> list[float]:
    values = random.choice([0.0, 1.0, 2.0, 5.0, 1.5, np.pi], n) if random.random() < 0.7 else 9 * random.random(n)
    return [unit * x if random.random() < 0.95 else np.inf for x in values.tolist()]


def _constraints(random: np.random.Generator, n: int, k: int, count: int, chunk: int) -> Iterator[Constraint]:
    def some(number: int) -> tuple[int, ...]:
        return tuple(sorted(random.choice(n, number, replace=False).tolist()))

    yield BatchSizes(sizes=tuple(chunk * p for p in range(1, count + 1)))
    first: list[tuple[float, Constraint]] = [
        (0.4, BatchSizes(sizes=(chunk * count, chunk * int(random.integers(1, count + 1))), devices=(0,))),
        (0.15, Pin(nodes=some(1), devices=(0, 1))),
        (0.15, Forbid(nodes=some(1), devices=(k - 1,))),
        (0.15, Colocate(nodes=some(2))),
        (0.15, Separate(nodes=some(2))),
        (0.5, Memory()),
        (0.3, PinChunks(nodes=some(1), places=tuple(random.integers(k, size=count).tolist()))),
        (0.3, BreakSymmetry(by="batches")),
    ]
    yield from (constraint for share, constraint in first if random.random() < share)


def module(nodes: int = 32, batch: int = 16) -> Problem:
    """Return a randomly wired network on three devices, too large for a proof in a moment."""
    devices = [Device("cpu", speed=0.141), Device("t4", speed=0.794), Device("a100")]
    links = Links(12e9 * np.ones((3, 3)), 1e-5 * np.ones((3, 3)))
    sizes = BatchSizes(sizes=tuple(batch * quarter // 4 for quarter in range(1, 5)))
    return Problem.create(rwnn(nodes=nodes), devices, links, Objective("throughput", batch=batch), [sizes])


def barred(problem: Problem, plan: Plan) -> bool:
    """Return whether all batches of a node end before any of a node that reads it starts."""
    assert plan.batches is not None
    first, last = np.nanmin(plan.batches.start, axis=1), np.nanmax(plan.batches.end, axis=1)
    late: np.bool_ = (last[problem.graph.tails] <= first[problem.graph.heads] * (1 + 1e-9)).all()
    return bool(late)


def test_reference_cases(data: Path) -> None:
    """Every case has its two optima: of the corrected rule, and of the rule as published, behind barriers."""
    for name, case in cases(data).items():
        problem = built(case)
        for barrier, best in ((False, case["opt_corrected"]), (True, case["opt_printed"])):
            whole = lower_batches(problem, barrier=barrier)
            answer = solve_request(whole.request)
            if best is None:
                assert answer.status == "infeasible"
                continue
            assert answer.solution is not None
            (plan,) = whole.plans(answer.solution)
            assert not verify(problem, plan)
            assert cost_of(problem, plan) == pytest.approx(best, rel=1e-12), name
            assert best * (1 - 1e-9) <= whole.scale.cost(answer.bound) <= best, name
            assert barred(problem, plan) or not barrier


@pytest.mark.parametrize(("method", "field"), [("batched", "opt_corrected"), ("batched-printed", "opt_printed")])
def test_a_reference_case_from_the_outside(data: Path, method: str, field: str) -> None:
    """The methods of the engine give the two optima, the corrected one with proof."""
    case = cases(data)["chain3_K3_L2_mem"]
    result = solve(built(case), method, solver="cp-sat", threads=1)
    assert result.cost == pytest.approx(case[field], rel=1e-9)
    assert (result.status == "optimal") == (method == "batched")
    none = solve(built(cases(data)["infeasible_chain37"]), method, solver="cp-sat", threads=1)
    assert none.status == "infeasible"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(0, 80, 20))
def test_it_finds_and_proves_what_trying_everything_finds(start: int) -> None:
    """The optimum in whole numbers is the optimum, the bound no more, and behind barriers nothing is better."""
    for seed in range(start, start + 20):
        problem = random_batches(seed)
        best, whole = optimum(problem), lower_batches(problem)
        answer = solve_request(whole.request)
        printed = lower_batches(problem, barrier=True)
        behind = solve_request(printed.request)
        if best is None:
            assert answer.status == behind.status == "infeasible", seed
            continue
        assert answer.solution is not None, seed
        assert behind.solution is not None, seed
        (plan,), (other,) = whole.plans(answer.solution), printed.plans(behind.solution)
        assert not verify(problem, plan), seed
        assert cost_of(problem, plan) == pytest.approx(best, rel=1e-6), seed
        assert best * (1 - 1e-6) <= whole.scale.cost(answer.bound) <= best * (1 + 1e-12), seed
        assert not verify(problem, other), seed
        assert barred(problem, other), seed
        assert cost_of(problem, other) >= best * (1 - 1e-9), seed


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.floats(1e-9, 1e12), min_size=8, max_size=8),
    st.lists(st.floats(1e-9, 1e12), min_size=2, max_size=2),
    st.sampled_from(["per_batch", "per_input"]),
)
def test_bounds_survive_the_rounding(times: list[float], sizes: list[float], transfer: Any) -> None:
    """Whatever the times are, from 1e-9 to 1e12, the bound is none that a plan is below."""
    tables = {"x": {1: times[:2], 2: times[2:4]}, "y": {1: times[4:6], 2: times[6:]}}
    graph = Graph.create("ab", [(0, 1)], output=sizes, batch_times=tables)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(
        graph, [Device("x"), Device("y")], links, Objective("throughput", batch=2, transfer=transfer)
    )
    best, whole = optimum(problem), lower_batches(problem)
    assert best is not None
    for _ in range(2):  # the second time in units that suit the first plan
        answer = solve_request(whole.request)
        assert whole.scale.cost(answer.bound) <= best
        assert answer.solution is not None
        plan = whole.plans(answer.solution)[0]
        whole = lower_batches(problem, plan)
    assert cost_of(problem, plan) == pytest.approx(best, rel=1e-6)


def test_nothing_is_lost_by_narrowing() -> None:
    """Asked for no more than the optimum it is found; asked for less, there is nothing."""
    for seed in (1, 4, 6, 9, 13, 20):
        asked = lower_batches(random_batches(seed)).request
        best = solve_request(asked).value
        if not best:
            continue
        assert solve_request(replace(asked, cutoff=best)).value == best
        less = solve_request(replace(asked, cutoff=best - 1, at_least=0))
        assert (less.status, less.bound) == ("infeasible", best)
        least = narrowed_batches(asked)
        assert least is not None
        assert least.at_least <= best


def alike(seed: int, *constraints: Constraint, batch: int | None = 2) -> Problem:
    """Return a problem on two groups of two equal devices, or on two of a kind in each, and links slower between."""
    random = np.random.default_rng(seed)
    graph = Graph.create(
        "abcd",
        [(0, 1), (0, 2), (1, 3)],
        work=random.integers(1, 9, 4).astype(float),
        output=random.integers(0, 4, 4).astype(float),
    )
    speeds = [1.0, 2.0] if seed % 2 else [1.0, 1.0]
    devices = [Device(f"d{d}", group=f"g{d // 2}", speed=speeds[d % 2], fixed=0.5) for d in range(4)]
    between = np.kron(np.array([[1.0, 0.5], [0.5, 1.0]]), np.ones((2, 2)))
    objective = Objective("makespan") if batch is None else Objective("throughput", batch=batch)
    return Problem.create(graph, devices, Links(between, np.zeros((4, 4))), objective, constraints)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch", [None, 1, 2])
def test_symmetry_never_cuts_off_the_optimum(batch: int | None) -> None:
    """Broken by anything, within groups, between them or both, the optimum stays, also from a plan in another order."""
    for seed in range(2):
        plain = ask(alike(seed, batch=batch))
        best = plain.found(solve_request(plain.request))
        assert best.settled
        for by in ("tasks", "batches", "time"):
            for scope in ("within", "between", "both"):
                problem = alike(seed, BreakSymmetry(by=by, scope=scope), batch=batch)  # type: ignore[arg-type]
                for plan in (None, best.plan):
                    asked = ask(problem, plan)
                    assert asked.found(solve_request(asked.request)).cost == pytest.approx(best.cost, rel=1e-6)


def test_a_batch_of_one_is_a_makespan() -> None:
    """The throughput of a batch of one input is one over the least makespan."""
    for seed in range(6):
        one = linked(seed, 7, 3)
        batch = Problem.create(one.graph, one.devices, one.interconnect, Objective("throughput", batch=1))
        makespan = ask(one)
        best = makespan.found(solve_request(makespan.request))
        asked = ask(batch)
        found = asked.found(solve_request(asked.request))
        assert best.settled
        assert found.settled
        assert found.cost == pytest.approx(best.cost, rel=1e-9)


def test_plans_keep_limits_that_bounds_need_not() -> None:
    """A plan that only the tolerance of the check lets pass is not taken; the bound holds for it all the same."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 1.0], output=0.0, memory=[1e7, 1e7 + 1])
    links = Links(np.ones((2, 2)), 5 * np.ones((2, 2)))
    devices = [Device("x", memory=2e7), Device("y", memory=2e7)]
    objective = Objective("throughput", batch=1)
    problem = Problem.create(graph, devices, links, objective, [Memory()])
    result = solve(problem, "batched", solver="cp-sat", threads=1)
    assert result.cost == 7.0
    assert result.bound is not None
    assert result.bound.cost == pytest.approx(2.0)


def test_constraints_without_a_plan_are_named() -> None:
    """What cannot hold together is said, and no more than that."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 1.0], output=1.0)
    links = Links(np.zeros((2, 2)), np.zeros((2, 2)), routing="direct")
    pins = [PinChunks(nodes=(0,), places=(0, 1)), PinChunks(nodes=(1,), places=(1, 0)), Memory()]
    problem = Problem.create(graph, [Device("x"), Device("y")], links, Objective("throughput", batch=2), pins)
    result = solve(problem, "batched", solver="cp-sat", threads=1)
    assert result.infeasibility is not None
    assert result.infeasibility.clash == ("pin chunks", "pin chunks")


def test_a_pool_takes_requests_of_both_kinds() -> None:
    """Requests of one sample and of batches share the processes; each has its own answer."""
    asked = [ask(linked(seed, 6, 2)) if seed % 2 else ask(random_batches(seed)) for seed in range(8)]
    with ProcessPool(2) as pool:
        futures = [pool.submit(one.request) for one in asked]
        found = [one.found(future.result()) for one, future in zip(asked, futures, strict=True)]
        alone = [one.found(solve_request(one.request)) for one in asked]
    assert [one.cost for one in found] == [one.cost for one in alone]
    assert all(one.settled for one in found)


def test_asked_within_a_cost_it_finds_that_or_shows_there_is_nothing() -> None:
    """Plans that cost more are left out; where none is left the bound is above that cost."""
    problem = module(4, 4)
    free = ask(problem)
    best = free.found(solve_request(free.request))
    assert best.settled
    assert best.plan is not None
    assert best.bound == pytest.approx(best.cost, rel=1e-6)
    for plan in (None, best.plan):
        asked = ask(problem, plan, within=best.cost)
        found = asked.found(solve_request(asked.request))
        assert found.cost == pytest.approx(best.cost, rel=1e-6)
        asked = ask(problem, plan, within=best.cost * 0.99, at_least=0.5 * best.cost)
        found = asked.found(solve_request(asked.request))
        assert found.plan is None
        assert found.settled
        assert best.cost * 0.99 < found.bound <= best.cost
    nowhere = ask(problem.with_constraints([BatchSizes(sizes=(4,)), Separate(nodes=(0, 1, 2, 3))]))
    assert nowhere.found(solve_request(nowhere.request)).bound == float("inf")


def test_limits_and_stops_are_heard() -> None:
    """A second is a second, and what was found counts; a stop before the beginning ends at once."""
    problem = module()
    result = BatchScheduling("batched").solve(problem, Limits(time=1.0, threads=1), Progress())
    assert result.termination in ("time_limit", "gap")
    assert result.plan is not None
    assert result.bound is not None
    assert result.bound.cost <= (result.cost or 0.0)
    assert not verify(problem, result.plan)
    progress = Progress()
    progress.stop()
    assert BatchScheduling("batched").solve(problem, Limits(threads=1), progress).termination == "interrupted"


def test_the_restricted_model_says_so() -> None:
    """Behind barriers the answer is a plan without a bound, and the better plans of others are not passed off as it."""
    problem = module(5, 4)
    best = solve(problem, "batched", solver="cp-sat", threads=1)
    result = BatchScheduling("batched-printed", barrier=True).solve(
        problem, Limits(threads=1, start=best.plan), Progress()
    )
    assert result.bound is None
    assert result.status == "feasible"
    assert result.plan is not None
    assert barred(problem, result.plan)
    assert any("bounds no other plan" in note for note in result.notes)
    assert best.cost is not None
    assert (result.cost or 0.0) >= best.cost


def test_what_is_not_a_batch_is_refused() -> None:
    """Each model takes its own objective, and says so of the other."""
    with pytest.raises(Refused, match="batch"):
        BatchScheduling("batched").solve(linked(1, 5, 2), Limits(), Progress())
    with pytest.raises(Refused, match="one sample"):
        Scheduling("moirai").solve(module(), Limits(), Progress())


def test_more_threads_and_options_are_passed_on() -> None:
    """Effort is the same for both kinds of requests."""
    asked = ask(module(4, 4))
    one = asked.found(solve_request(asked.request, Effort(threads=2, options={"linearization_level": 2})))
    two = asked.found(solve_request(asked.request))
    assert one.cost == pytest.approx(two.cost, rel=1e-9)


def test_what_batches_there_are_is_not_left_out_of_a_clash() -> None:
    """Of a problem without a plan those constraints are named that clash; measured sizes stay what they are."""
    tables = {"x": {2: [1.0, 1.0]}, "y": {2: [1.0, 1.0]}}
    graph = Graph.create("ab", [(0, 1)], output=1.0, params=1.0, batch_times=tables)
    devices = [Device("x", memory=6.5), Device("y", memory=6.5)]
    apart = Links(np.zeros((2, 2)), np.zeros((2, 2)), routing="direct")
    rules = [BatchSizes(sizes=(2,)), Memory(), Separate(nodes=(0, 1))]
    problem = Problem.create(graph, devices, apart, Objective("throughput", batch=4), rules)
    result = solve(problem, method="batched", solver="cp-sat")
    assert result.infeasibility is not None
    assert result.infeasibility.clash == ("separate",)
    assert result.infeasibility.minimal
