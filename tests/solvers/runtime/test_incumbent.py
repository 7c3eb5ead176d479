"""The incumbent of one run: what it keeps, reports and returns."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mtpp_dsl.core.constraints import Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded


def chain(*constraints: Pin) -> Problem:
    """Return a chain of four nodes that take a second each, on two devices; a transfer takes half a second."""
    names = ["a", "b", "c", "d"]
    graph = Graph.create(names, [(0, 1), (1, 2), (2, 3)], work=[1.0] * 4, output=[0.5] * 4)
    return Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=constraints)


def plan_of(problem: Problem, *devices: int) -> Plan:
    return Plan.create(problem, list(devices))


def bound(cost: float, method: str = "test") -> Bound:
    return Bound(cost, method, "checked", "mtpp")


def test_it_keeps_and_reports_the_best() -> None:
    """The best plan is kept with its cost; one that is no better changes nothing, and is reported to nobody."""
    problem, progress = chain(), Progress()
    incumbent = Incumbent("test", problem, Limits(), progress)
    assert incumbent.plan is None
    assert incumbent.cost == float("inf")
    half, all_on_one = plan_of(problem, 0, 0, 1, 1), plan_of(problem, 0, 0, 0, 0)
    assert incumbent.take(all_on_one)
    assert incumbent.take(half)
    assert incumbent.take(all_on_one)
    assert incumbent.plan is half
    assert incumbent.cost == progress.cost == evaluate(problem, half).cost == 2.5
    assert len(progress.log) == 2


def test_infeasible_plans_are_not_kept() -> None:
    """A plan that breaks a constraint is refused with the reason, also as a start."""
    problem, progress = chain(Pin(nodes=(0,), devices=(1,))), Progress()
    start = plan_of(problem, 0, 0, 0, 0)
    incumbent = Incumbent("test", problem, Limits(start=start), progress)
    assert not incumbent.take(start)
    assert "pin" in incumbent.broken
    assert incumbent.plan is None
    assert progress.plan is None
    assert not incumbent.take_start()
    assert incumbent.result().notes == (f"the start was dropped, it is no plan: {incumbent.broken}",)


def test_a_check_of_the_method_counts_as_well() -> None:
    """What the method's own check finds wrong is the reason; the plan is neither kept nor reported."""
    problem, progress = chain(), Progress()
    incumbent = Incumbent("test", problem, Limits(), progress, misfit=lambda _: "a memory is exceeded")
    assert not incumbent.take(plan_of(problem, 0, 0, 1, 1))
    assert incumbent.broken == "a memory is exceeded"
    assert progress.plan is None


def test_bounds_only_rise() -> None:
    """A bound is kept and reported if it is better than those of the run; those of others are not its own."""
    progress = Progress()
    incumbent = Incumbent("test", chain(), Limits(), progress)
    progress.report_bound(bound(2.0, "other"))
    assert incumbent.prove(bound(1.0))
    assert not incumbent.prove(bound(0.5))
    assert not incumbent.prove(None)
    assert incumbent.bound == bound(1.0)
    assert progress.bound == bound(2.0, "other")
    assert incumbent.prove(bound(2.25))
    assert progress.bound == bound(2.25)


@pytest.mark.parametrize("by", ["itself", "others", "known"])
def test_it_is_closed_by_any_bound(by: str) -> None:
    """A bound that meets the plan ends the run, whoever has proved it; without one even a cost of 0 does not."""
    problem, progress = chain(), Progress()
    incumbent = Incumbent("test", problem, Limits(gap=0.2), progress, known=2.0 if by == "known" else None)
    assert not incumbent.closed()
    assert incumbent.closed(0.0) == (by == "known")
    if by == "itself":
        incumbent.prove(bound(2.0))
    elif by == "others":
        progress.report_bound(bound(2.0))
    incumbent.take(plan_of(problem, 0, 0, 0, 0))
    assert not incumbent.closed()
    assert incumbent.closed(2.5)
    incumbent.take(plan_of(problem, 0, 0, 1, 1))
    assert incumbent.closed()
    assert incumbent.done
    assert incumbent.result().termination == "gap"
    assert incumbent.result("limit").termination == "limit"


def test_it_ends_when_asked_and_when_time_is_up() -> None:
    """A run that has to end says why: somebody asked, or the clock; a closed gap counts first."""
    problem, stopped = chain(), Progress()
    stopped.stop()
    for limits, progress, why in (
        (Limits(), stopped, "interrupted"),
        (Limits(time=0.0), Progress(), "time_limit"),
    ):
        incumbent = Incumbent("test", problem, limits, progress)
        assert incumbent.done
        with pytest.raises(SearchEnded):
            incumbent.pause()
        incumbent.take(plan_of(problem, 0, 0, 1, 1))
        assert incumbent.result().termination == why
        assert incumbent.result().plan is incumbent.plan
        incumbent.prove(bound(2.5))
        assert incumbent.result().termination == "gap"
    incumbent = Incumbent("test", problem, Limits(), Progress())
    incumbent.pause()
    assert not incumbent.done
    assert incumbent.result().termination == "complete"


@pytest.mark.parametrize("shared", [False, True])
def test_plans_of_others(shared: bool) -> None:
    """Plans that others have reported are the run's own only where it says so."""
    problem, progress = chain(), Progress()
    incumbent = Incumbent("test", problem, Limits(), progress, shared=shared)
    mine, theirs = plan_of(problem, 0, 0, 0, 0), plan_of(problem, 0, 0, 1, 1)
    incumbent.take(mine)
    progress.report_plan(theirs, 2.5)
    assert incumbent.result().plan is (theirs if shared else mine)
    assert incumbent.result().cost == incumbent.cost == (2.5 if shared else 4.0)


def test_the_result_says_all_of_the_run() -> None:
    """Name, seed, solver, phases, log, notes and evaluation are in the result; of an infeasible problem no plan is."""
    problem, progress = chain(), Progress()
    incumbent = Incumbent("test", problem, Limits(seed=7), progress)
    incumbent.take(plan_of(problem, 0, 0, 1, 1))
    incumbent.prove(bound(1.0))
    incumbent.note("one")
    incumbent.note("two")
    incumbent.note("one")
    result = incumbent.result(solver="highs", time={"build": 1.5})
    assert (result.method, result.seed, result.solver, result.notes) == ("test", 7, "highs", ("one", "two"))
    assert (result.cost, result.bound, result.log) == (2.5, bound(1.0), tuple(progress.log))
    assert set(result.time) == {"build", "total"}
    none = incumbent.result(infeasibility=Infeasibility("nothing fits"))
    assert (none.termination, none.status, none.plan, none.bound) == ("infeasible", "infeasible", None, None)


def test_threads_share_it() -> None:
    """The best of many plans taken at the same time is kept, and every one reported is better than that before."""
    problem, progress = chain(), Progress()
    incumbent = Incumbent("test", problem, Limits(), progress)
    plans = [plan_of(problem, *(v >> i & 1 for i in range(4))) for v in range(16)] * 4
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(incumbent.take, plans))
    assert incumbent.cost == 2.5
    costs = [entry.incumbent for entry in progress.log if entry.incumbent is not None]
    assert costs == sorted(set(costs), reverse=True)
