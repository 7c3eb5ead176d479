"""A problem without its soft rows has the same plans, and none of them costs more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Linear, Penalties
from mtpp_dsl.core.problem.penalties import without_penalties
from tests.amount import part
from tests.weighted_problems import random_problem


@pytest.mark.parametrize("seed", range(part(20)))
def test_plans_stay_and_cost_no_more(seed: int) -> None:
    """Every plan is one of the problem without soft rows, at no larger cost."""
    problem = random_problem(seed, rows=2, soft=0.8)
    relaxed = without_penalties(problem)
    assert (relaxed is None) == (not problem.soft_rows)
    for plan in plans(problem) if relaxed is not None else ():
        assert relaxed is not None
        assert not verify(relaxed, plan)
        assert cost_of(relaxed, plan) <= cost_of(problem, plan) + 1e-9 * abs(cost_of(problem, plan))


def test_rows_over_penalties_need_the_soft_rows() -> None:
    """Nothing is left out where a row that must hold speaks of what soft rows cost, or where the objective does not."""
    problem = next(p for p in (random_problem(seed, rows=2, soft=1.0) for seed in range(9)) if p.soft_rows)
    row = Linear(label="paid", terms=((Penalties(), 1.0),), sense=">=", rhs=1.0)
    assert without_penalties(problem.with_constraints([*problem.constraints, row])) is None
    assert without_penalties(replace(problem, objective=replace(problem.objective, penalised=False))) is None
