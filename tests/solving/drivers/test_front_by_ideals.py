"""Fronts of a price and a bottleneck by the programme over ideals, against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtpp_dsl import front
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import Linear, Robust, Used
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.solvers.partition.test_ideals_priced import priced


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_whole_front(seed: int) -> None:
    """Every point of the front is found and proved, also where times are off."""
    one = priced(5 * seed)
    rules = [c for c in one.constraints if not isinstance(c, Linear)]
    if seed % 2:
        rules.append(Robust(most=2, share=0.5))
    price = Objective.linear([(Used(d), 1.0 + 2 * (d % 2)) for d in range(one.k)], label="price")
    problem = Problem.create(one.graph, one.devices, one.interconnect, price, rules)
    loads = replace(problem, objective=Objective("bottleneck"))
    pairs = sorted({(cost_of(problem, plan), round(cost_of(loads, plan), 6)) for plan in plans(problem)})
    least = np.minimum.accumulate([np.inf, *(load for _, load in pairs)])
    wanted = [pair for pair, before in zip(pairs, least[:-1], strict=True) if pair[1] < before]
    found = front(problem, ["price", "bottleneck"], points=60, method="ideals", time_limit=30)
    assert found.values == [pytest.approx(pair, abs=1e-5) for pair in wanted]
    assert found.complete == bool(pairs)
