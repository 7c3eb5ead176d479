"""Problems with room for what is streamed meanwhile: what their plans and their lack of plans say."""

from __future__ import annotations

from random import Random

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Linear, Load, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.auto.streamed_within import bracket, with_room
from mtpp_dsl.solvers.methods.partition import Ideals
from tests.amount import part
from tests.core.problem.test_prefetch import instance


def by_brute_force(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Report the best plan, and its cost as the bound; or that there is none."""
    del limits
    possible = [plan for plan in plans(problem) if not verify(problem, plan)]
    if not possible:
        return Result("infeasible")
    best = min(possible, key=lambda plan: cost_of(problem, plan))
    progress.report_plan(best, cost_of(problem, best))
    progress.report_bound(Bound(cost_of(problem, best), "brute force", "checked", "mtpp"))
    return Result("gap")


@pytest.mark.parametrize("seed", range(part(40, 10)))
def test_plans_within_a_cost_are_plans_with_room(seed: int) -> None:
    """Each plan of at most a cost is a plan of the problem with room for that, where it costs no more."""
    for number in range(10):
        problem = instance(Random(f"room {seed} {number}"), phases=False)
        costs = [(cost_of(problem, plan), plan) for plan in plans(problem)]
        for cost in sorted({cost for cost, _ in costs})[:4]:
            wider = with_room(problem, cost)
            if wider is None:
                assert not problem.prefetches
                continue
            for own, plan in costs:
                if own <= cost:
                    assert verify(wider, plan) == []
                    assert cost_of(wider, plan) <= own * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(part(40, 10)))
def test_brackets_hold_the_least_cost(seed: int) -> None:
    """The bound is below the least cost by no more than what is sent, and rounding; plans are plans."""
    for number in range(10):
        problem = instance(Random(f"bracket {seed} {number}"), phases=False)
        costs = {cost_of(problem, plan): plan for plan in plans(problem)}
        progress = Progress()
        progress.report_plan(costs[max(costs)], max(costs))
        bracket(problem, Limits(), progress, by_brute_force)
        assert progress.cost is not None
        assert min(costs) <= progress.cost
        if progress.bound is not None:
            assert progress.bound.cost <= min(costs)
        sent = float(problem.graph.output.sum()) / problem.channel.bandwidth
        if problem.prefetches:
            bound = 0.0 if progress.bound is None else progress.bound.cost
            assert min(costs) <= bound + 2 * sent + 3e-4 * max(costs)


def chain(*rules: object) -> Problem:
    """Return a chain whose parameters do not fit, on devices that differ."""
    return mtpp_dsl.load("""graph {
  node v[i in 0..19] (work = 2 + mod(i, 3), params = 3 + mod(i, 4), output = 0.01)
  edge v[i] -> v[i + 1] for i in 0..18
}
device a    (memory = 20, speed = 2)
device b[2] (memory = 8)
interconnect shared (bandwidth = 1, overflow = prefetch)
minimize bottleneck
constraint acyclic
""").with_constraints([Acyclic(), *rules])  # type: ignore[list-item]


def test_a_chain_is_nearly_closed_by_ideals() -> None:
    problem, progress = chain(), Progress()
    first = Plan.create(problem, [0] * problem.graph.n)
    progress.report_plan(first, cost_of(problem, first))
    bracket(problem, Limits(threads=1), progress, Ideals().solve)
    assert progress.plan is not None
    assert progress.bound is not None
    assert verify(problem, progress.plan) == []
    assert cost_of(problem, progress.plan) <= progress.bound.cost * 1.05
    assert "room for all that is streamed" in progress.bound.detail


def test_what_speaks_of_loads_or_memories_has_none() -> None:
    assert with_room(chain(Pin(nodes=(0,), devices=(0,)), BreakSymmetry(by="time")), 1.0) is not None
    load = Linear(label="least", terms=((Load(0), 1.0),), sense=">=", rhs=1.0)
    for rule in (load, Memory(devices=(0,))):
        assert with_room(chain(rule), 1.0) is None
