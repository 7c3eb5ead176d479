"""Auto under rows with a penalty: what is found and proved without them, and on sets of devices."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.penalties import RowsAside
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

SPEC = """mtpp 1
graph {{
  node a (work = 2 ms, output = 4 MB)
  node b[2] (work = 3 ms, output = 2 MB, params = 1 GB)
  node c (work = 1 ms)
  edge a -> b
  edge b -> c
}}
device fast (speed = 1.5, memory = 5 GB, price = 4 USD)
device slow[2] (memory = 4 GB, price = 1 USD)
interconnect {interconnect}
minimize {objective}
constraint memory
constraint {row}
"""
LINKS = "links (bandwidth = 4 GB/s, latency = 50 us)"
BUDGET = "budget: sum(price(d) * used(d) for d in devices) <= 4 USD (penalty = {} ms / (1 USD))"


def asked(objective: str = "makespan", interconnect: str = LINKS, row: str = BUDGET.format(0.2)) -> Problem:
    """Return a small problem under one soft row."""
    return mtpp_dsl.load(SPEC.format(objective=objective, interconnect=interconnect, row=row))


CASES = [
    ("makespan", LINKS, BUDGET.format(0.2)),
    ("makespan", LINKS, "keep: sum(on(v, slow[1]) for v in nodes) >= 2 (penalty = 0.3 ms)"),
    ("bottleneck", LINKS, BUDGET.format(0.5)),
    ("bottleneck", "shared (bandwidth = 4 GB/s)", BUDGET.format(1)),
    ("bottleneck", "host (bandwidth = 4 GB/s)", "load: load(slow[0]) <= 1 ms (penalty = 0.5)"),
    (
        "makespan",
        "shared (bandwidth = 4 GB/s)",
        "contiguous\nconstraint one: sum(used(d) for d in devices) <= 1 (penalty = 1 ms)",
    ),
]


@pytest.mark.parametrize("case", CASES)
def test_no_bound_is_above_the_optimum(case: tuple[str, str, str]) -> None:
    """Plans that are found without the soft rows count under them, and bounds hold, also those of sets of devices."""
    problem, progress = asked(*case), Progress()
    best = min(cost_of(problem, plan) for plan in plans(problem))
    search = RowsAside(problem, Limits(time=1), progress, lambda: False)
    assert search.whole(0.5) is None
    search.sets()
    assert progress.plan is not None
    assert progress.bound is not None
    assert progress.cost is not None
    assert not verify(problem, progress.plan)
    assert best * (1 - 1e-9) <= progress.cost == pytest.approx(cost_of(problem, progress.plan))
    assert progress.bound.cost <= best * (1 + 1e-6)


def test_sets_of_devices_prove_what_the_budget_costs() -> None:
    """What is proved on each set, with what its devices cost, is more than what is proved without the row."""
    problem, progress = asked("bottleneck", "shared (bandwidth = 4 GB/s)", BUDGET.format(3)), Progress()
    best = min(cost_of(problem, plan) for plan in plans(problem))
    search = RowsAside(problem, Limits(time=30), progress, lambda: False)
    search.whole(0.5)
    assert progress.bound is not None
    without = progress.bound.cost
    search.sets()
    assert without < progress.bound.cost == pytest.approx(best, rel=1e-5)
    assert progress.cost == pytest.approx(best)


def test_no_cost_counts_without_the_plan() -> None:
    """What a solver says that its plan costs without the soft rows is no cost of the problem asked."""
    outer = Progress()
    problem = asked()
    Reduced(problem, problem, identity, outer).listener(problem).report_cost(1e-3)
    assert outer.held is None
    Reduced(problem, problem, identity, outer).listener().report_cost(1e-3)
    assert outer.held == 1e-3


def test_annealing_counts_penalties_of_schedules() -> None:
    """Annealing of places finds the best schedule under a budget with a penalty; so it does under rows on loads."""
    for row in (BUDGET.format(0.5), "most: bottleneck <= 6 ms"):
        problem = asked(row=row)
        best = min(cost_of(problem, plan) for plan in plans(problem))
        found = Annealing(patience=2).solve(problem, Limits(time=5), Progress())
        assert found.plan is not None
        assert not verify(problem, found.plan)
        assert cost_of(problem, found.plan) == pytest.approx(best)
