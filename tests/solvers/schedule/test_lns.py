"""Large neighbourhoods: a window is what it says, and the search makes schedules shorter and never wrong."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Colocate, Constraint, Finish, Linear, Load, Memory, On, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.backends.cpsat.engine import availability, solve_request
from mtpp_dsl.solvers.backends.cpsat.request import Effort
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower, timetable
from mtpp_dsl.solvers.methods.schedules import Lns
from mtpp_dsl.solvers.schedule.lns.sample_search import PartKind
from mtpp_dsl.solvers.schedule.lns.sample_window import SampleTimeline, Window
from mtpp_dsl.solving.api import solve
from tests.oracle import optimum
from tests.solvers.algorithms.test_timing import linked

pytestmark = pytest.mark.skipif(not availability().ok, reason=f"CP-SAT is not installed: {availability().install}")


def with_memory(problem: Problem, share: float, *constraints: Constraint) -> Problem:
    """Return *problem* on devices that hold that share of all memory each."""
    room = share * float(problem.graph.memory.sum())
    devices = [Device(device.name, memory=max(room, 2.0)) for device in problem.devices]
    return Problem.create(
        problem.graph,
        devices,
        problem.interconnect,
        Objective("makespan"),
        [*problem.constraints, Memory(), *constraints],
    )


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("whole_numbers", [False, True])
def test_a_window_holds_the_schedule_and_what_is_better(exclusive: bool, whole_numbers: bool) -> None:
    """Any window of any schedule: it has an answer no longer than what there is, which is a plan as long as it says."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        problem = linked(seed, 14, 3, exclusive=exclusive, whole=whole_numbers)
        instance = ScheduleInstance.of(problem)
        plan = timed(instance, random.integers(0, 3, 14), random.random(14), random.random(instance.m))
        whole = lower(problem, plan, strict=True)
        line = SampleTimeline.of(whole, plan)
        first = int(random.integers(0, 12))
        last = int(random.integers(first + 1, 15))
        may = (random.random((14, 3)) < 0.5) | (np.arange(3) == line.device[:, None])
        window = Window(whole, line, first, last, may)
        answer = solve_request(
            window.request(line.makespan, hint=True), Effort(options={"max_deterministic_time": 0.05})
        )
        assert answer.value is not None, seed
        assert answer.value <= line.makespan, seed
        assert answer.solution is not None
        found = timetable(instance, whole.request, window.schedule(answer.solution, answer.value))
        assert not verify(problem, found)
        assert cost_of(problem, found) <= (answer.value + 3 * (14 + instance.m)) * whole.scale.unit, seed
        changed = found.assignment != plan.assignment
        assert not changed[np.setdiff1d(np.arange(14), window.inside)].any()
        assert may[np.flatnonzero(changed), found.assignment[changed]].all()


def test_a_window_keeps_rows_on_placements() -> None:
    """Whatever is inside and outside, a plan with an answer put in keeps the rows; at their limits, too."""
    moved = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        bare = linked(seed, 14, 3)
        plan = timed(
            ScheduleInstance.of(bare), random.integers(0, 3, 14), random.random(14), random.random(bare.graph.m)
        )
        some = random.choice(14, 8, replace=False).tolist()
        counts = np.bincount(plan.assignment[some], minlength=3).tolist()
        loads = evaluate(bare, plan).load.tolist()
        rules = [
            Linear(label=f"few[{d}]", terms=tuple((On(v, d), 1.0) for v in some), sense="<=", rhs=float(counts[d] + 1))
            for d in range(2)
        ]
        rules.append(Linear(label="most", terms=((Load(2), 1.0),), sense="<=", rhs=loads[2]))
        rules.append(Linear(label="soon", terms=((Finish(3), 1.0),), sense="<=", rhs=1e6))
        problem = bare.with_constraints([*bare.constraints, *rules])
        whole = lower(problem, plan, strict=True)
        line = SampleTimeline.of(whole, plan)
        first = int(random.integers(0, 8))
        window = Window(whole, line, first, int(random.integers(first + 3, 15)), np.ones((14, 3), np.bool_))
        answer = solve_request(
            window.request(line.makespan, hint=True), Effort(options={"max_deterministic_time": 0.05})
        )
        assert answer.solution is not None, seed
        found = timetable(whole.instance, whole.request, window.schedule(answer.solution, answer.value))
        assert not verify(problem, found), seed
        moved += bool((found.assignment != plan.assignment).any())
    assert moved > 6


def test_rests_are_what_is_left() -> None:
    """No node ends later than its rest before the end; on a chain on one device it is the time of what comes after."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[1.0, 2.0, 3.0])
    links = Links(np.ones((2, 2)), np.ones((2, 2)))
    problem = Problem.create(graph, [Device("x"), Device("y")], links, Objective("makespan"))
    plan = timed(ScheduleInstance.of(problem), [0, 0, 1], [0, 1, 2])
    whole = lower(problem, plan)
    line = SampleTimeline.of(whole, plan)
    units = (np.array([1.0, 2.0, 3.0]) / whole.scale.unit).astype(np.int64)
    assert line.takes.tolist() == units.tolist()
    assert (line.end + line.rest == line.makespan).all()
    for seed in range(20):
        problem = linked(seed, 12, 3, exclusive=True)
        random = np.random.default_rng(seed)
        plan = timed(ScheduleInstance.of(problem), random.integers(0, 3, 12), random.random(12))
        line = SampleTimeline.of(lower(problem, plan), plan)
        assert (line.end + line.rest <= line.makespan).all()
        assert (line.sent + line.carried + line.rest_sent <= line.makespan).all()


def test_the_optimum_of_small_problems_is_found() -> None:
    """Where a window is everything the search ends with the optimum; plans keep every constraint, memory exactly."""
    for seed in range(2):
        problem = linked(seed, 5, 2, exclusive=bool(seed % 2))
        problem = with_memory(problem, 0.7, Colocate(nodes=(0, 1)), Separate(nodes=(2, 3)))
        best = optimum(problem)
        result = solve(problem, "lns", threads=1, time_limit=20)
        assert result.cost == (best if best is None else pytest.approx(best, rel=1e-7))
        assert (result.infeasibility is None) == (best is not None)


@pytest.mark.long
@pytest.mark.parametrize("exclusive", [False, True])
def test_it_improves_and_repeats(exclusive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Better than the list schedule it starts from, within memory limits; and the same for the same seed."""
    # what annealing comes to depends on the clock
    monkeypatch.setattr("mtpp_dsl.solvers.schedule.lns.lns.SECONDS", 0.0)
    monkeypatch.setattr("mtpp_dsl.solvers.schedule.lns.neighbourhoods.PATIENCE", 6)
    monkeypatch.setattr("mtpp_dsl.solvers.schedule.lns.neighbourhoods.WORK", 0.02)
    problem = with_memory(linked(8, 20, 3, exclusive=exclusive), 0.5)
    heft = solve(problem, "heft").cost
    results = [Lns().solve(problem, Limits(time=90.0, threads=1, seed=1), Progress()) for _ in range(2)]
    one, other = (result.plan for result in results)
    assert one is not None
    assert other is not None
    assert not verify(problem, one)
    assert results[0].cost is not None
    assert heft is None or results[0].cost < heft
    if all(result.termination == "complete" for result in results):
        assert one.assignment.tolist() == other.assignment.tolist()


def test_first_plans_come_from_cp_sat_where_memory_is_short() -> None:
    """Devices that are full to the last byte: a plan is found; one byte less, and none is claimed."""
    graph = Graph.create([f"v{i}" for i in range(12)], [], work=1.0, memory=[7, 7, 7, 6, 6, 6, 5, 5, 5, 4, 4, 4])
    links = Links(np.ones((3, 3)), np.zeros((3, 3)))
    for rooms, there in (((22, 22, 22), True), ((22, 22, 21), False)):
        devices = [Device(f"d{d}", memory=room) for d, room in enumerate(rooms)]
        problem = Problem.create(graph, devices, links, Objective("makespan"), [Memory()])
        result = solve(problem, "lns", threads=1, time_limit=20)
        assert (result.plan is not None) == there
        assert there == (result.infeasibility is None)


def test_a_stop_is_heard() -> None:
    """Stopped before it began it returns at once, with the plan that was given."""
    problem = linked(3, 60, 3)
    start = timed(ScheduleInstance.of(problem), np.zeros(60, np.int64), np.arange(60))
    progress = Progress()
    progress.stop()
    result = Lns().solve(problem, Limits(time=60.0, threads=1, start=start), progress)
    assert result.termination == "interrupted"


def test_what_it_does_not_use_is_refused() -> None:
    """Another solver than CP-SAT, and a model to be written, would mean nothing to it."""
    problem = linked(3, 6, 2)
    with pytest.raises(Refused, match="uses cp-sat, not scip"):
        solve(problem, "lns", solver="scip")
    with pytest.raises(UsageError, match=r"solves no MIP that could be written .* choose --method moirai"):
        solve(problem, "lns", write_model="model.lp")


def test_sizes_follow_what_can_be_solved() -> None:
    """Windows grow while they are solved and shrink when they are not, and what helps comes more often."""
    kind = PartKind("all", 20.0)
    kind.learn("optimal", True)
    assert kind.size > 20.0
    assert kind.success > 0.5
    for _ in range(40):
        kind.learn("unknown", False)
    assert 0 < kind.size < 20.0
    assert kind.success < 0.1
