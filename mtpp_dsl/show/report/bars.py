"""Compute the bars of a chart of time: in which row each is, from when to when, with which label and colour.

The text of a report, pages, pictures and notebooks draw the same rows and bars, each in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mtpp_dsl.show.report.activities import Activity, Tracks
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import BESIDE, STAGES, Tint, paler, stage_tint

RUNS = ("node", "forward", "backward")
"""The kinds of what devices run, in the colours of their stages; all others are grey."""
TINTS = {
    "node": stage_tint(0),
    "read": BESIDE["read"],
    "write": BESIDE["write"],
    "transfer": BESIDE["read"],
    "stream": BESIDE["read"],
    "reserve": BESIDE["reserve"],
    "exchange": BESIDE["exchange"],
    "forward": stage_tint(0),
    "backward": paler(stage_tint(0)),
}
"""The tints of all kinds of activities; of what devices run as in legends, where the first stage stands for all."""
EXACT = 1e-9
"""Activities that overlap by no more than this share of the time do not: it is rounding."""


@dataclass(frozen=True)
class ChartBar:
    """A bar of a chart.

    Attributes:
        activity: what it stands for, from its start to its end.
        lane: in which lane of its row it is, from 0; no two bars of a lane overlap.
        label: what may be written into it: a name, or the number of a microbatch; "" for nothing.
        tint: its colour and its pattern.
        critical: whether it is on the critical path.
    """

    activity: Activity
    lane: int
    label: str
    tint: Tint
    critical: bool


@dataclass(frozen=True)
class ChartRow:
    """A row of a chart.

    Attributes:
        names: of the link, or of the devices that do the same at the same times, as the shards of a stage do.
        of_device: whether it is that of devices.
        stage: number of the stage whose colour its bars have, from 0 up to the number of colours; -1 of links.
        bars: by start.
    """

    names: tuple[str, ...]
    of_device: bool
    stage: int
    bars: tuple[ChartBar, ...]

    @property
    def name(self) -> str:
        """What the row is called: a name as it is, several with families folded."""
        return self.names[0] if len(self.names) == 1 else fold_names(self.names)

    @property
    def lanes(self) -> int:
        """How many lanes it has: one at least."""
        return max((bar.lane for bar in self.bars), default=0) + 1

    @cached_property
    def busy(self) -> float:
        """How long at least one of its bars goes on."""
        total, until = 0.0, 0.0
        for bar in self.bars:
            total += max(0.0, bar.activity.end - max(bar.activity.start, until))
            until = max(until, bar.activity.end)
        return total


def chart_rows(tracks: Tracks, stages: Mapping[str, int], *, each_device: bool = False) -> list[ChartRow]:
    """Return the rows of devices, then those of links, busiest first.

    Args:
        tracks: what is drawn.
        stages: numbers of the stages by names of devices.
        each_device: whether each device has a row of its own; else the shards of a stage have one, and idle devices.
    """
    critical = {id(step.activity) for step in tracks.critical}
    groups: dict[object, list[str]] = {}
    for name in tracks.devices:
        done = tuple((one.kind, one.name, one.start, one.end) for one in tracks.on[name])
        groups.setdefault(name if each_device else done, []).append(name)
    rows = []
    for names, of_device in [
        *((group, True) for group in groups.values()),
        *(([link], False) for link in tracks.links),
    ]:
        activities = tracks.on[names[0]]
        stage = stages.get(names[0], 0) % len(STAGES) if of_device else -1
        bars = tuple(
            ChartBar(activity, lane, _label(activity), _tint(activity, stage), id(activity) in critical)
            for activity, lane in zip(activities, lanes(activities, EXACT * tracks.makespan), strict=True)
        )
        rows.append(ChartRow(tuple(names), of_device, stage, bars))
    return rows


def lanes(activities: Sequence[Activity], slack: float) -> list[int]:
    """Return a lane for each activity, given by start, so that none overlaps another of its lane by more than slack.

    >>> one, two = (Activity("transfer", "a -> b", "x -> y", t, t + 2, (), (), 0) for t in (0, 1))
    >>> lanes([one, two], 0.0)
    [0, 1]
    """
    ends: list[float] = []
    chosen = []
    for activity in activities:
        lane = next((i for i, end in enumerate(ends) if end <= activity.start + slack), len(ends))
        if lane == len(ends):
            ends.append(activity.end)
        ends[lane] = activity.end
        chosen.append(lane)
    return chosen


def _label(activity: Activity) -> str:
    """Return the name of an activity; in a pipeline the number of its microbatch, for what devices run alone."""
    if activity.microbatch is None:
        return activity.name
    return str(activity.microbatch + 1) if activity.kind in RUNS else ""


def _tint(activity: Activity, stage: int) -> Tint:
    """Return the tint of an activity: that of the stage of its row, if a device runs something."""
    if activity.kind not in RUNS:
        return TINTS[activity.kind]
    return paler(stage_tint(stage)) if activity.kind == "backward" else stage_tint(stage)
