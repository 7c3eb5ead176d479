"""Profiles, gaps over time and times against sizes, held against the definitions written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.curves import along, gaps, profiles, sizes
from mtpp_dsl.sweeps.tables.figures import FigureRule
from mtpp_dsl.sweeps.tables.runs import Runs
from tests.sweeps.made_runs import columns

drawn_runs = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 1)),
    st.one_of(st.floats(1, 9), st.none()),
    min_size=1,
).filter(lambda drawn: any(drawn.values()))


def runs_of(drawn):
    return Runs(
        columns(
            *(
                {"problem": p, "label": m, "seed": s, "value": value, "status": "feasible" if value else "killed"}
                for (p, m, s), value in drawn.items()
            )
        )
    )


def ratios_by_hand(drawn, method, problem):
    """The ratio of each run of a method on a problem to the best in its contest, once for each contest."""
    of = {m: {s: v for (p, other, s), v in drawn.items() if (p, other) == (problem, m)} for m in "xyz"}
    several = [seeds for seeds in of.values() if len(seeds) > 1]
    contests = {seed for seeds in several for seed in seeds} if several else {None}
    found = []
    for seed in contests:
        met = {m: next(iter(v.values())) if len(v) == 1 else v.get(seed, "absent") for m, v in of.items() if v}
        values = [v for v in met.values() if v not in (None, "absent")]
        if method in met and met[method] != "absent":
            found.append(met[method] / min(values) if met[method] is not None else math.inf)
    return found


@given(drawn_runs)
def test_profiles_by_brute_force(drawn):
    problems = {problem for problem, *_ in drawn}
    for method, curve in profiles(runs_of(drawn)).items():
        by_problem = {problem: ratios_by_hand(drawn, method, problem) or [math.inf] for problem in problems}
        for tau, share in zip(curve.x, curve.y, strict=True):
            expected = sum(sum(r <= tau for r in one) / len(one) for one in by_problem.values()) / len(problems)
            assert share == pytest.approx(expected)
        last = sum(sum(r < math.inf for r in one) / len(one) for one in by_problem.values()) / len(problems)
        assert (curve.y[-1] if len(curve.y) else 0) == pytest.approx(last), "what failed is never reached"
        assert not (curve.low > curve.y + 1e-9).any()
        assert not (curve.high < curve.y - 1e-9).any()


def test_a_profile_of_times_counts_what_is_solved():
    runs = Runs(
        columns(
            {"label": "fast", "seconds": 1.0},
            {"label": "sure", "seconds": 4.0, "status": "optimal"},
            {"label": "none", "status": "infeasible", "value": None, "seconds": 2.0},
        )
    )
    plans = profiles(runs, "seconds")
    assert list(plans["sure"].x) == [4]
    assert list(plans["none"].x) == [2]
    proved = profiles(runs, "seconds", "proved")
    assert len(proved["fast"].x) == 0
    assert list(proved["sure"].x) == [2]
    with pytest.raises(UsageError, match="not of 'gap'"):
        profiles(runs, "gap")


def test_gaps_begin_at_one_and_keep_their_last_value():
    log = [[1.0, 4.0, None], [2.0, None, 2.0], [4.0, 2.5, None]]
    runs = Runs(
        columns(
            {"problem": "a", "value": 2.5, "bound": 2.0, "seconds": 8.0, "log": log},
            {"problem": "b", "status": "killed", "value": None},
        )
    )
    curve = gaps(runs)["heft"]
    for time, expected in ((0.9, 1.0), (1.5, 1.0), (3.0, 0.5), (8.0, 0.2)):
        at = np.searchsorted(curve.x, time, side="right") - 1
        assert curve.y[at] == pytest.approx((expected + 1.0) / 2), "the run that failed stays at 1"
    to_best = gaps(runs, "best")["heft"]
    assert to_best.y[np.searchsorted(to_best.x, 1.5)] == pytest.approx((1 - 2.5 / 4 + 1) / 2)
    up = Runs(columns({"sense": "maximize", "value": 4.0, "log": [[1.0, 4.0, 5.0]], "seconds": 2.0}))
    assert gaps(up)["heft"].y[-1] == pytest.approx(0.2)
    with pytest.raises(UsageError, match="no run has a log"):
        gaps(Runs(columns({})))


def test_gaps_spread_over_seeds():
    rows = [
        {"label": "sa", "seed": seed, "value": 2.0, "log": [[1.0, 2.0, 2.0 - seed]], "problem": problem, "seconds": 2.0}
        for seed in range(2)
        for problem in "ab"
    ]
    curve = gaps(Runs(columns(*rows)))["sa"]
    assert (curve.low[-1], curve.y[-1], curve.high[-1]) == pytest.approx((0.0, 0.25, 0.5))


def test_times_against_sizes_keep_what_failed():
    runs = Runs(
        columns(
            *({"problem": f"p{n}", "nodes": 10, "seconds": float(n)} for n in (1, 2, 6)),
            {"problem": "big", "nodes": 100, "status": "memory", "value": None, "seconds": 3.0},
        )
    )
    points = sizes(runs)["heft"]
    assert list(points.medians.y) == [2.0]
    assert (points.medians.low[0], points.medians.high[0]) == (1.0, 6.0)
    assert (list(points.failed_x), list(points.failed_y)) == ([100.0], [10.0])


def test_a_figure_along_a_param():
    runs = Runs(columns(*({"params": {"k": k}, "seed": s, "value": k + s} for k in (4.0, 2.0) for s in range(3))))
    curve = along(runs, "k", "value", FigureRule())["heft"]
    assert (list(curve.x), list(curve.y), list(curve.low), list(curve.high)) == ([2, 4], [3, 5], [2, 4], [4, 6])
    with pytest.raises(UsageError, match="no field of numbers"):
        along(runs, "problem", "value", FigureRule())
