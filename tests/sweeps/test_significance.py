"""The test of paired differences is exact, with ties too, and agrees with scipy's where that is exact."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mtpp_dsl.sweeps.tables.comparison import greater, holm


@pytest.mark.parametrize("seed", range(6))
def test_against_all_signs(seed: int) -> None:
    """With ties and zeros, the chance is the share of all ways to give the ranks signs."""
    given = np.random.default_rng(seed).integers(-3, 5, 10).astype(float)
    left = given[given != 0]
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(left))
    reached = ranks[left > 0].sum()
    sums = np.array([*product((0, 1), repeat=len(left))]) @ ranks
    assert greater(given) == pytest.approx(np.mean(sums >= reached - 1e-9))


@pytest.mark.parametrize("number", [4, 17, 50, 51, 300])
def test_against_scipy(number: int) -> None:
    given = np.random.default_rng(number).normal(0.3, 1, number)
    method = "exact" if number <= 50 else "auto"
    from scipy.stats import wilcoxon

    expected = wilcoxon(given, alternative="greater", correction=True, method=method).pvalue
    assert greater(given) == pytest.approx(expected, rel=1e-9)


def test_normal_goes_on_where_exact_ends() -> None:
    given = np.random.default_rng(0).normal(0.2, 1, 50)
    assert greater([*given, 1e-9]) == pytest.approx(greater(given), abs=0.01)


def test_lost_is_the_largest_difference() -> None:
    assert greater([np.inf] * 6) == pytest.approx(1 / 64)
    assert greater([np.inf, -0.1, -0.2]) == greater([9.0, -0.1, -0.2])


def test_false_reports_are_as_rare_as_the_level() -> None:
    """Of samples without a direction, at most 5 % are called greater at that level, and not far fewer."""
    random = np.random.default_rng(1)
    found = np.mean([greater(random.normal(0, 1, 12)) <= 0.05 for _ in range(600)])
    assert 0.02 <= found <= 0.07


def test_holm_never_falls_and_never_exceeds_one() -> None:
    corrected = holm({"a": 0.5, "b": 0.001, "c": 0.02, "d": 0.9})
    assert corrected == {"b": 0.004, "c": 0.06, "a": 1.0, "d": 1.0}
