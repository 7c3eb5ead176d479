"""Where the bars of a schedule are, in the whole and in parts of it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.axis import marks, ticks
from mtpp_dsl.show.page.layout.gantt import LEAST, placed_bars, placed_tracks
from mtpp_dsl.show.report.activities import Activity, Timeline, Tracks
from mtpp_dsl.show.report.bars import chart_rows
from tests.strategies import link_problems

WIDTH = 900.0


@given(link_problems(), st.floats(0, 0.9), st.floats(0.05, 1))
@settings(max_examples=40, deadline=None)
def test_bars(problem: Problem, begin: float, share: float) -> None:
    """Every activity that takes any of the time shown has a bar in its place, and no two bars of a lane overlap."""
    plan = next(plans(problem), None)
    if plan is None:
        return
    timeline = Timeline(problem, plan)
    tracks = placed_tracks(chart_rows(timeline, {}))
    start = begin * timeline.makespan
    end = start + share * timeline.makespan
    if not end > start:
        return
    drawn = placed_bars(tracks, start, end, WIDTH)
    scale = WIDTH / (end - start)
    alone = {id(bar.bar.activity): bar for bar in drawn if bar.bar is not None}
    for activity in timeline.activities:
        i = id(activity)
        seen = (min(activity.end, end) - max(activity.start, start)) * scale
        assert (i in alone) == (seen >= LEAST and activity.end > start and activity.start < end)
        if i in alone:
            assert alone[i].width == pytest.approx(seen)
            assert tracks[alone[i].track].row.name == activity.track
    for bar in drawn:
        track = tracks[bar.track]
        assert track.top <= bar.y
        assert bar.y + bar.height <= track.top + track.height + 1e-9
        assert -1e-6 <= bar.x <= WIDTH
    lanes: dict[float, list[tuple[float, float]]] = {}
    for bar in alone.values():
        lanes.setdefault(bar.y, []).append((bar.x, bar.x + bar.width))
    for spans in lanes.values():
        assert all(b[0] >= a[1] - 1e-6 for a, b in pairwise(sorted(spans)))
    assert all(a.top + a.height <= b.top for a, b in pairwise(tracks))


class Many(Tracks):
    """A schedule of very many short activities on two devices."""

    def __init__(self, count: int) -> None:
        self.activities = [
            Activity("node", f"{i}", f"d{i % 2}", i, i + 0.9, (), (f"d{i % 2}",), i) for i in range(count)
        ]
        self.makespan, self.runs = float(count), "node"

    @property
    def devices(self) -> list[str]:
        """The names of both devices."""
        return ["d0", "d1"]


def test_many_activities_are_few_bars() -> None:
    """20,000 activities are at most two bars for each pixel of a track; a small part shows them one by one."""
    every = Many(20_000)
    tracks = placed_tracks(chart_rows(every, {}))
    whole = placed_bars(tracks, 0.0, every.makespan, WIDTH)
    assert {bar.bar for bar in whole} == {None}
    assert len(whole) <= WIDTH
    busy = sum(bar.share * bar.width for bar in whole)
    assert busy == pytest.approx(0.9 * WIDTH, rel=0.02)
    part = placed_bars(tracks, 100.0, 120.0, WIDTH)
    assert [bar.bar.activity.number for bar in part if bar.bar is not None] == [
        *range(100, 120, 2),
        *range(101, 120, 2),
    ]


@pytest.mark.parametrize(
    ("begin", "end", "factor", "expected"),
    [
        (0.0, 10.0, 1.0, [0, 2, 4, 6, 8, 10]),
        (0.0021, 0.0042, 1e-3, [0.0025, 0.003, 0.0035, 0.004]),
        (3.0, 3.0, 1.0, [3.0]),
    ],
)
def test_ticks(begin: float, end: float, factor: float, expected: list[float]) -> None:
    """Marks are at round times of the part that is shown."""
    assert ticks(begin, end, factor) == pytest.approx(expected)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(3, 10))
def test_marks_are_told_apart(begin: float, length: float, most: int) -> None:
    """The marks of an axis lie on it, are some three at least, and no two have the same text."""
    length = max(length, abs(begin) * 1e-9)
    found = marks(begin, begin + length, 1.0, most)
    assert 1 <= len(found) <= most + 2
    assert all(begin - 1e-6 * length <= value <= begin + length * (1 + 1e-6) for value, _ in found)
    texts = [text for _, text in found]
    assert len(set(texts)) == len(texts)
    assert [float(text) for text in texts] == pytest.approx([value for value, _ in found], abs=1e-3 * length)
