"""Windows of batched schedules: they contain the schedule they are of, and what is found in them is a plan."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Colocate, Memory, PinChunks, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.batch_problem import WholeBatches, lower_batches
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, availability, solve_request
from mtpp_dsl.solvers.backends.cpsat.request import Effort
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.lns.batch_parts import BatchParts, BatchTimeline, BatchWindow
from mtpp_dsl.solvers.schedule.lns.neighbourhoods import improve_parts
from mtpp_dsl.solving.api import solve
from tests.solvers.backends.test_cpsat_batches import module, random_batches

pytestmark = pytest.mark.skipif(not availability().ok, reason=f"CP-SAT is not installed: {availability().install}")


def constrained() -> Problem:
    """Return a network of which nodes are held together, apart and to places, in devices with little memory."""
    problem = module(14, 8)
    total = float((problem.graph.params + 8 * (problem.graph.memory - problem.graph.params)).sum())
    devices = tuple(replace(device, memory=0.7 * total) for device in problem.devices)
    more = [
        Colocate(nodes=(3, 4)),
        Separate(nodes=(6, 7)),
        PinChunks(nodes=(0,), places=(1, 1, 2, 2)),
        Memory(),
    ]
    return replace(problem, devices=devices).with_constraints([*problem.constraints, *more])


def started(problem: Problem) -> tuple[WholeBatches, Plan]:
    plan = solve(problem, "heft").plan
    assert plan is not None
    return lower_batches(problem, plan, strict=True), plan


def windows(whole: WholeBatches, line: BatchTimeline, number: int) -> Iterator[BatchWindow]:
    random = np.random.default_rng(number)
    batches = int(line.rank.max()) + 1
    for _ in range(number):
        first = int(random.integers(batches))
        yield BatchWindow.of(
            whole, line, first, first + int(random.integers(1, 9)), random.random(len(line.rank)) < 0.5
        )


@pytest.mark.parametrize("problem", [module(12, 8), constrained()], ids=["plain", "constrained"])
def test_a_window_contains_its_schedule_and_gives_plans(problem: Problem) -> None:
    """Asked for what is no longer, there is something; put in, it is a plan that takes no longer than said."""
    whole, plan = started(problem)
    line = BatchTimeline.of(whole, plan)
    asked = 0
    for window in windows(whole, line, 14):
        request = window.request()
        if request is None:
            continue
        asked += 1
        most = line.makespan
        answer = solve_request(
            replace(request, cutoff=most), Effort(options={"max_deterministic_time": 0.05, "interleave_search": False})
        )
        assert answer.status != "infeasible"
        if answer.solution is None or answer.value is None:
            continue
        (found,) = whole.plans(window.schedule(answer.solution, answer.value))
        assert not verify(problem, found)
        assert found.batches is not None
        assert cost_of(problem, found) <= whole.scale.unit * (answer.value + 100)
        places = found.batches.device[:, :: problem.batching.chunk]
        assert (places == line.device)[~window.free].all()
    assert asked > 3


def test_a_window_of_everything_is_the_problem() -> None:
    """With all nodes free in an optimal schedule there is nothing to find, but for what rounding leaves."""
    for seed in range(20):
        problem = random_batches(seed)
        free = lower_batches(problem)
        best = solve_request(free.request)
        if best.solution is None:
            continue
        (plan,) = free.plans(best.solution)
        whole = lower_batches(problem, plan, strict=True)
        line = BatchTimeline.of(whole, plan)
        every = np.ones(problem.graph.n, bool)
        request = BatchWindow.of(whole, line, 0, int(line.rank.max()), every).request()
        value = None if request is None else solve_request(request).value
        assert value is None or value >= line.makespan - 20


def test_the_search_makes_schedules_shorter() -> None:
    """Of a network that a list scheduler is far from it finds a shorter schedule by windows alone."""
    problem = module(12, 8)
    whole, plan = started(problem)
    cost = cost_of(problem, plan)
    progress = Progress(lambda progress, _: progress.stop() if (progress.cost or cost) < cost else None)
    limits = Limits(time=60.0)
    incumbent = Incumbent("lns", problem, limits, progress)
    incumbent.take(plan)
    with ProcessPool(1) as pool, contextlib.suppress(SearchEnded):
        improve_parts(BatchParts(whole, np.random.default_rng(0)), plan, pool, incumbent, limits, progress)
    assert incumbent.plan is not None
    assert not verify(problem, incumbent.plan)
    assert incumbent.cost < cost
