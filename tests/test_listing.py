"""List schedulers: plans or none, never an invalid one; a way on is kept; what they are known to do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.problem import Problem
from mtpp_dsl.registry import METHODS, load
from mtpp_dsl.samples import plans
from mtpp_dsl.solvers.listing.methods import Cpop, Etf, Greedy, Heft, ListScheduler, Met, Peft
from mtpp_dsl.verification import verify
from tests.strategies import link_problems

SCHEDULERS: list[type[ListScheduler]] = [Met, Greedy, Heft, Cpop, Peft, Etf]


def solved(scheduler: type[ListScheduler], problem: Problem):
    return scheduler().solve(problem, Limits(time=60.0), Progress())


@settings(max_examples=300)
@given(link_problems(5))
def test_a_plan_if_there_is_one(problem: Problem) -> None:
    """With memory, links missing, nodes held together, apart, on or off devices: a plan where there is any, else a note."""
    there_is = next(plans(problem), None) is not None
    for scheduler in SCHEDULERS:
        result = solved(scheduler, problem)
        assert (result.plan is not None) == there_is, (scheduler.name, result.notes)
        if result.plan is not None:
            assert verify(problem, result.plan) == []
        else:
            assert result.notes
