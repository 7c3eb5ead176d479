"""Statistics of runs, held against the definitions written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.statistics import (
    AGGREGATES,
    best_in_groups,
    geometric_mean,
    profile,
    ratios,
    step_values,
    winners,
)

NAN = float("nan")
amounts = st.floats(0.001, 1000)
runs = st.lists(
    st.tuples(st.one_of(amounts, st.just(NAN)), st.integers(0, 4), st.booleans()), min_size=1, max_size=20
).map(lambda rows: [(value, group, group % 2 == 1) for value, group, _ in rows])


@given(st.lists(amounts, min_size=1, max_size=20))
def test_means_follow_their_definitions(values):
    array = np.array(values)
    assert geometric_mean(array) == pytest.approx(math.prod(values) ** (1 / len(values)))
    ordered = sorted(values + values)
    assert AGGREGATES["median"](array) == pytest.approx((ordered[len(values) - 1] + ordered[len(values)]) / 2)
    assert AGGREGATES["mean"](array) == pytest.approx(math.fsum(values) / len(values))


def test_means_at_their_limits():
    assert all(math.isnan(aggregate(np.array([]))) for aggregate in AGGREGATES.values())
    assert geometric_mean(np.array([0.0, 2.0])) == 0
    assert AGGREGATES["median"](np.array([1.0, np.inf, np.inf])) == np.inf
    assert AGGREGATES["median"](np.array([1.0, 2.0, np.inf])) == 2
    with pytest.raises(UsageError, match="mean or median"):
        geometric_mean(np.array([-1.0, 2.0]))


@given(runs)
def test_best_and_ratios_by_brute_force(rows):
    values, groups, maximize = (np.array(column) for column in zip(*rows, strict=True))
    best = best_in_groups(values, groups, maximize, 5)
    for group in range(5):
        known = [value for value, of, _ in rows if of == group and not math.isnan(value)]
        expected = (max if group % 2 else min)(known) if known else NAN
        assert best[group] == pytest.approx(expected, nan_ok=True)
    for (value, group, up), ratio in zip(rows, ratios(values, best[groups], maximize), strict=True):
        assert math.isnan(ratio) == math.isnan(value)
        if not math.isnan(value):
            assert ratio == pytest.approx(best[group] / value if up else value / best[group])
            assert ratio >= 1 - 1e-12


def test_a_ratio_of_nothing_and_of_different_signs():
    found = ratios(np.array([0.0, 1.0, -1.0]), np.array([0.0, 0.0, 2.0]), np.array([False, False, False]))
    assert found[0] == 1
    assert found[1] == np.inf
    assert np.isnan(found[2])


@given(
    st.lists(st.one_of(st.sampled_from([1.0, 2.0, 3.0]), st.just(NAN)), min_size=6, max_size=6),
    st.lists(st.lists(st.integers(0, 5), unique=True), max_size=5),
)
def test_wins_by_brute_force(values, contests):
    array, smaller = np.array(values), np.zeros(6, dtype=bool)
    found = winners(array, contests, smaller, 1e-9)
    for run in range(6):
        met = [contest for contest in contests if run in contest]
        won = [contest for contest in met if all(not values[other] < values[run] for other in contest)]
        expected = 0 if math.isnan(values[run]) or not met else len(won) / len(met)
        assert found[run] == pytest.approx(expected)
    assert winners(-array, contests, ~smaller, 1e-9) == pytest.approx(found), "largest of the negated"


@given(
    st.lists(st.tuples(st.one_of(st.floats(1, 9), st.sampled_from([1.0, np.inf, NAN])), st.floats(0.1, 2)), max_size=12)
)
def test_a_profile_is_the_share_of_problems_within_each_ratio(rows):
    ratio, weights = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    points, shares = profile(ratio, weights)
    assert list(points) == sorted({value for value, _ in rows if math.isfinite(value)})
    for point, share in zip(points, shares, strict=True):
        within = sum(weight for value, weight in rows if value <= point)
        assert share == pytest.approx(within / sum(weight for _, weight in rows))


@given(st.lists(st.floats(0, 10), max_size=8), st.lists(st.floats(-1, 11), min_size=1, max_size=8))
def test_a_step_function_keeps_its_last_value(times, grid):
    times = sorted(times)
    values = [float(place) for place in range(len(times))]
    for at, found in zip(grid, step_values(np.array(times), np.array(values), np.array(grid), -1.0), strict=True):
        before = [value for time, value in zip(times, values, strict=True) if time <= at]
        assert found == (before[-1] if before else -1.0)
