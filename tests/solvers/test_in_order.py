"""Stages in the order of devices: what every method answers, against trying everything."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.api import find_method, method_names
from mtpp_dsl.checks.verification import verify
from tests.oracle import optimum
from tests.order_problems import KINDS, ordered_problem

SOLVED = {
    "exact": set(KINDS),
    "ideals": set(KINDS) - {"training", "part"},
}
"""Which kinds of problems a method proves."""


def hold(method: str, kind: str, seeds: range) -> None:
    """Hold a method against the optima of random problems; it may refuse some, and must take some."""
    taken = 0
    for seed in seeds:
        problem = ordered_problem(seed, kind)
        if find_method(method).accepts(problem) is not None:
            continue
        taken += 1
        best, found = optimum(problem), mtpp_dsl.solve(problem, method)
        if best is None:
            assert found.status == "infeasible", (kind, seed)
            continue
        assert found.status == "optimal", (kind, seed, found)
        assert found.plan is not None
        assert not verify(problem, found.plan)
        assert found.cost == pytest.approx(best, rel=1e-6, abs=1e-9), (kind, seed)
        assert found.bound is None or found.bound.cost <= best + 1e-6 * abs(best) + 1e-9, (kind, seed)
    assert taken > 0


@pytest.mark.parametrize(
    ("method", "kind"), [(method, kind) for method, kinds in SOLVED.items() for kind in KINDS if kind in kinds]
)
def test_least(method: str, kind: str) -> None:
    """Methods that prove find the least cost, or that there is no plan."""
    hold(method, kind, range(14))


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "kind"), [(method, kind) for method, kinds in SOLVED.items() for kind in KINDS if kind in kinds]
)
def test_least_of_many(method: str, kind: str) -> None:
    hold(method, kind, range(14, 90))


@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_above_the_optimum(kind: str) -> None:
    """Bounds that leave the order out are bounds with it, and methods that do not know it refuse."""
    bounds = 0
    for seed in range(4):
        problem = ordered_problem(seed, kind)
        best = optimum(problem)
        for name in method_names():
            method = find_method(name)
            if getattr(method, "gives", "") != "bound" or method.accepts(problem) is not None:
                continue
            found = mtpp_dsl.solve(problem, method)
            bounds += 1
            assert best is not None or found.bound is None or found.status in ("bound", "infeasible")
            if best is not None:
                assert found.status != "infeasible"
                assert found.bound is None or found.bound.cost <= best * (1 + 1e-6) + 1e-9, (name, kind, seed)
    assert bounds > 0 or kind in ("stages", "iteration", "price", "phases", "network")
