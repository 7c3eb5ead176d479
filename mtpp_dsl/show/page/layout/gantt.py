"""Where the bars of a schedule are: tracks below each other, and of a part of the time what can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Protocol

from mtpp_dsl.show.report.activities import Activity, Step
from mtpp_dsl.show.report.names import fold_names

__all__ = ["Bar", "Chart", "Timed", "Track", "bars", "chart", "together"]

ROW, LINK_ROW, LANE, GAP = 26, 16, 9, 6
"""Heights of the track of a device, of a link, and of one of several lanes; and what is between tracks."""
MAX_LANES = 8
"""Activities of more lanes of a track are drawn over those of the last."""
MAX_LINKS = 48
"""The busiest links are drawn."""
AXIS = 26
"""Height of the axis above the tracks."""
LEAST = 1.5
"""Narrower bars are put together."""
BIN = 2
"""Width of what stands for narrow bars: the more of it they fill, the darker it is."""
EXACT = 1e-9
"""Activities that overlap by no more than this share of the time do not: it is rounding."""


class Timed(Protocol):
    """What has activities on tracks: the schedule of a plan, or the steady state of a pipeline."""

    activities: list[Activity]
    makespan: float
    runs: str

    @property
    def devices(self) -> list[str]:
        """The names of the devices."""

    @property
    def links(self) -> list[str]:
        """The names of the other tracks, busiest first."""

    @property
    def on(self) -> dict[str, list[Activity]]:
        """The activities of every track, by start."""

    @property
    def critical(self) -> list[Step]:
        """The critical path."""


@dataclass(frozen=True)
class Track:
    """A row of the chart.

    Attributes:
        names: of the link, or of the devices that do the same at the same times, as the shards of a stage do.
        of_device: whether it is that of devices.
        top, height: where it is.
        lanes: how many activities at once it has room for.
        activities: their numbers, by start.
        lane: [activities] in which lane each is.
    """

    names: tuple[str, ...]
    of_device: bool
    top: int
    height: int
    lanes: int
    activities: tuple[int, ...]
    lane: tuple[int, ...]

    @property
    def name(self) -> str:
        """What the track is called."""
        return fold_names(self.names)


@dataclass(frozen=True, eq=False)
class Chart:
    """The tracks of a schedule; *hidden* links have no place in it."""

    tracks: tuple[Track, ...]
    height: int
    hidden: int


@dataclass(frozen=True)
class Bar:
    """A bar: of one activity, or, with its number -1, of several that are too narrow to be told apart.

    Attributes:
        activity: its number.
        track: number of its track.
        x, y, width, height: where it is.
        share: how much of it is busy, 1 for one activity.
    """

    activity: int
    track: int
    x: float
    y: float
    width: float
    height: float
    share: float


def chart(timeline: Timed) -> Chart:
    """Return the tracks: devices, then the busiest links; activities that overlap share the height of their track."""
    number = {id(activity): i for i, activity in enumerate(timeline.activities)}
    tracks: list[Track] = []
    top = AXIS
    links = timeline.links[:MAX_LINKS]
    devices = together(timeline)
    for place, names in enumerate([*devices, *((link,) for link in links)]):
        of_device = place < len(devices)
        on = timeline.on[names[0]]
        lanes = _lanes(on, EXACT * timeline.makespan)
        count = min(max(lanes, default=0) + 1, MAX_LANES)
        height = max(ROW if of_device else LINK_ROW, LANE * count)
        held = tuple(number[id(activity)] for activity in on)
        tracks.append(
            Track(names, of_device, top, height, count, held, tuple(min(lane, MAX_LANES - 1) for lane in lanes))
        )
        top += height + GAP
    return Chart(tuple(tracks), top, len(timeline.links) - len(links))


def together(timeline: Timed) -> list[tuple[str, ...]]:
    """Return the devices, those that do the same at the same times as one: the shards of a stage, and all idle ones."""
    groups: dict[tuple[tuple[str, str, float, float], ...], list[str]] = {}
    for name in timeline.devices:
        done = tuple((each.kind, each.name, each.start, each.end) for each in timeline.on[name])
        groups.setdefault(done, []).append(name)
    return [tuple(names) for names in groups.values()]


def _lanes(activities: Sequence[Activity], slack: float) -> list[int]:
    """Return a lane for each activity, given by start, so that none overlaps another of its lane by more than slack."""
    ends: list[float] = []
    found = []
    for activity in activities:
        lane = next((i for i, end in enumerate(ends) if end <= activity.start + slack), len(ends))
        if lane == len(ends):
            ends.append(activity.end)
        ends[lane] = activity.end
        found.append(lane)
    return found


def bars(found: Chart, activities: Sequence[Activity], begin: float, end: float, width: float) -> list[Bar]:
    """Return what is seen of the time from *begin* to *end* in so many units of width."""
    scale = width / (end - begin) if end > begin else 0.0
    drawn: list[Bar] = []
    for t, track in enumerate(found.tracks):
        each = track.height / track.lanes
        filled: dict[tuple[int, int], float] = {}
        for i, lane in zip(track.activities, track.lane, strict=True):
            one = activities[i]
            x = (max(one.start, begin) - begin) * scale
            to = (min(one.end, end) - begin) * scale
            if to < 0 or x > width or one.end <= begin or one.start >= end:
                continue
            if to - x >= LEAST:
                drawn.append(Bar(i, t, x, track.top + lane * each, to - x, each, 1.0))
            else:
                at = floor(x / BIN), lane
                filled[at] = filled.get(at, 0.0) + to - x
        for (place, lane), busy in sorted(filled.items()):
            share = min(busy / BIN, 1.0)
            drawn.append(Bar(-1, t, place * BIN, track.top + lane * each, BIN, each, share))
    return drawn
