"""Place the bars of a schedule on a page: tracks below each other, and of a part of the time what can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from mtpp_dsl.show.report.bars import ChartBar, ChartRow

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


@dataclass(frozen=True)
class Track:
    """A row of the chart with its place.

    Attributes:
        row: what is in it.
        top, height: where it is.
        lanes: how many activities at once it has room for.
    """

    row: ChartRow
    top: int
    height: int
    lanes: int


@dataclass(frozen=True)
class PlacedBar:
    """A bar with its place.

    Attributes:
        bar: what it is; None for several bars that are too narrow to be told apart.
        number: its place among all bars, track by track; -1 for several.
        track: number of its track.
        x, y, width, height: where it is.
        share: how much of it is busy, 1 for one bar.
    """

    bar: ChartBar | None
    number: int
    track: int
    x: float
    y: float
    width: float
    height: float
    share: float


def placed_tracks(rows: Sequence[ChartRow]) -> list[Track]:
    """Return the tracks: devices, then the busiest links; activities that overlap share the height of their track."""
    tracks: list[Track] = []
    top = AXIS
    for row in [*(row for row in rows if row.of_device), *[row for row in rows if not row.of_device][:MAX_LINKS]]:
        lanes = min(row.lanes, MAX_LANES)
        height = max(ROW if row.of_device else LINK_ROW, LANE * lanes)
        tracks.append(Track(row, top, height, lanes))
        top += height + GAP
    return tracks


def height_of(tracks: Sequence[Track]) -> int:
    """Return the height of the whole chart."""
    return tracks[-1].top + tracks[-1].height + GAP if tracks else AXIS


def placed_bars(tracks: Sequence[Track], begin: float, end: float, width: float) -> list[PlacedBar]:
    """Return what is seen of the time from *begin* to *end* in so many units of width."""
    scale = width / (end - begin) if end > begin else 0.0
    drawn: list[PlacedBar] = []
    number = -1
    for t, track in enumerate(tracks):
        thick = track.height / track.lanes
        filled: dict[tuple[int, int], float] = {}
        for bar in track.row.bars:
            number += 1
            activity, lane = bar.activity, min(bar.lane, track.lanes - 1)
            x = (max(activity.start, begin) - begin) * scale
            to = (min(activity.end, end) - begin) * scale
            if to < 0 or x > width or activity.end <= begin or activity.start >= end:
                continue
            if to - x >= LEAST:
                drawn.append(PlacedBar(bar, number, t, x, track.top + lane * thick, to - x, thick, 1.0))
            else:
                at = floor(x / BIN), lane
                filled[at] = filled.get(at, 0.0) + to - x
        for (place, lane), busy in sorted(filled.items()):
            share = min(busy / BIN, 1.0)
            drawn.append(PlacedBar(None, -1, t, place * BIN, track.top + lane * thick, BIN, thick, share))
    return drawn
