"""Auto for linear objectives and soft rows, and the bound with nodes that may be divided."""

from __future__ import annotations

import pytest

from mtpp_dsl import solve
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.solvers.algorithms.device_sets import cheapest_sets
from mtpp_dsl.solvers.methods.auto.weighted import WeightedRun
from mtpp_dsl.solvers.methods.bounds import Simple
from mtpp_dsl.solving.api import find_method
from tests.amount import part
from tests.weighted_problems import all_costs, random_problem


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(part(100)))
def test_auto_meets_brute_force(seed: int) -> None:
    """Auto finds the best plan of small problems, with a proof, or proves that there is none."""
    problem = random_problem(seed, rows=2, soft=0.7)
    best = min((costs[0] for costs in all_costs(problem)), default=None)
    found = solve(problem, time_limit=20)
    assert (found.infeasibility is not None) == (best is None)
    if best is not None:
        assert found.cost == pytest.approx(best, abs=1e-5)
        assert found.status == "optimal"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(part(120)))
def test_divided_bounds_every_plan(seed: int) -> None:
    """The bound with divided nodes is above no plan, and calls no problem infeasible that has one."""
    problem = random_problem(seed, rows=3, soft=0.3, linear=seed % 3 > 0)
    costs = [costs[0] for costs in all_costs(problem)]
    found = solve(problem, "divided", time_limit=10)
    if costs:
        assert found.infeasibility is None
        assert found.bound is None or found.bound.cost <= min(costs) + 1e-6 * max(1.0, abs(min(costs)))


@pytest.mark.parametrize("seed", range(part(60)))
def test_sets_of_devices_leave_no_plan_out(seed: int) -> None:
    """The devices of every plan are among the sets, and using them costs what the set says."""
    problem = random_problem(seed, rows=2, soft=0.0, linear=True)
    sets = {devices for devices, _ in cheapest_sets(problem)}
    prices = [price for _, price in cheapest_sets(problem)]
    assert prices == sorted(prices)
    if sets:
        from mtpp_dsl.checks.brute_force import plans

        for plan in plans(problem):
            assert tuple(sorted(set(plan.assignment.tolist()))) in sets


def test_outline_names_what_auto_would_run() -> None:
    """The methods that check lists for a linear objective are those of its run."""
    problem = random_problem(1, linear=True, rows=0)
    assert {"exact", "divided", "annealing"} <= set(find_method("auto").outline(problem))  # type: ignore[attr-defined]


def test_there_is_a_bound_before_anything_takes_time() -> None:
    """A run that is stopped by its first bound has the cheap one, also beside a penalty."""

    class Stopping(Progress):
        def report_bound(self, bound: Bound) -> None:
            super().report_bound(bound)
            self.stop()

    seeds = (seed for seed in range(50) if Simple().accepts(random_problem(seed, rows=1, soft=1.0)) is None)
    problem = random_problem(next(seeds), rows=1, soft=1.0)
    bound = WeightedRun(problem, Limits(), Stopping()).result().bound
    assert bound is not None
    assert bound.method == Simple.name
