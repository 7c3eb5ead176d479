"""The critical path of a schedule, how much later everything else could be, and what devices wait for.

The slack of an activity is by how much it could start later without a longer makespan, with all durations as they are:
those after it may start later too, but on devices and on exclusive links all that take time keep their order. Delayed
by its slack alone, an activity leaves the makespan as it is; delayed by more, it makes it longer. Slacks of several
activities are not for the taking at once: what lies behind each other shares it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.constraints import Finish, Start, decisions_in
from mtpp_dsl.show.explaining.question import Question
from mtpp_dsl.show.report.activities import Activity, Step, Timeline
from mtpp_dsl.show.report.names import short_name, short_names

MOST_STEPS, MOST_SLACK, MOST_IDLE = 12, 5, 5
"""What is told in words; JSON has all."""
SAME = 1e-9
WAITED = {"device": "which it waited for", "link": "which was busy until then"}


@dataclass(frozen=True, repr=False)
class IdleTime(Short):
    """A time in which a device runs nothing, though it runs something later.

    Attributes:
        device: its name.
        start, end: of the time.
        before: what it runs next.
        waits: what that waits for: what arrives, or ends, just then; None where nothing does.
    """

    device: str
    start: float
    end: float
    before: Activity
    waits: Activity | None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "device": self.device,
            "start": self.start,
            "end": self.end,
            "before": self.before.name,
            "waits_for": None if self.waits is None else {"kind": self.waits.kind, "name": self.waits.name},
        }


@dataclass(frozen=True, repr=False)
class Critical(Short):
    """What makes a schedule as long as it is.

    Attributes:
        timeline: the schedule.
        time_unit: of its times.
        idle: what devices wait for, the longest first.
        rows: labels of rows that speak of when nodes run: slack does not look at them.
    """

    timeline: Timeline
    time_unit: str
    idle: tuple[IdleTime, ...]
    rows: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        every = zip(self.timeline.activities, self.timeline.slack, strict=True)
        return {
            "makespan": self.timeline.makespan,
            "path": [{**_activity(step.activity), "waited": step.waited} for step in self.timeline.critical],
            "activities": [{**_activity(activity), "slack": slack} for activity, slack in every],
            "idle": [idle.to_json() for idle in self.idle],
            "rows": list(self.rows),
        }

    def words(self) -> list[str]:
        """Return it in words."""
        timeline, shown = self.timeline, self._shown
        path = timeline.critical
        lines = [
            f"critical path: {counted(len(path), 'step')} that take {shown(timeline.makespan)} one after the other"
        ]
        groups = list(_folded(path))
        shown_groups = (
            groups if len(groups) <= MOST_STEPS else [*groups[: MOST_STEPS // 2], *groups[-MOST_STEPS // 2 :]]
        )
        for i, steps in enumerate(shown_groups):
            if len(groups) > MOST_STEPS and i == MOST_STEPS // 2:
                lines.append(f"  … {counted(len(groups) - len(shown_groups), 'part')} of it left out here …")
            lines.append(f"  {self._steps(steps)}")
        lines += self._slack_words()
        for idle in self.idle[:MOST_IDLE]:
            took = shown(idle.end - idle.start)
            why = "nothing that it needs"
            if idle.waits is not None:
                why = f"{_kind(idle.waits)} {short_name(idle.waits.name)}"
            before = f"before {short_name(idle.before.name)}, which waits for {why}"
            lines.append(f"{short_name(idle.device)} is idle for {took} {before}")
        if len(self.idle) > MOST_IDLE:
            lines.append(f"and {counted(len(self.idle) - MOST_IDLE, 'shorter wait')}")
        if self.rows:
            lines.append(f"slack does not look at rows that speak of times: {short_names(self.rows)}")
        return lines

    def _shown(self, time: float) -> str:
        return format_quantity(time, self.time_unit)

    def _steps(self, steps: list[Step]) -> str:
        """Return steps that follow each other on one device, or one transfer, in words."""
        first, last = steps[0].activity, steps[-1].activity
        names = short_names([step.activity.name for step in steps])
        where = "over" if first.kind == "transfer" else "on"
        kind = f"{_kind(first)} " if first.kind == "transfer" else ""
        why = WAITED.get(steps[0].waited)
        begins = f"{self._shown(first.start)} to {self._shown(last.end)}"
        return f"{begins}: {kind}{names} {where} {short_name(first.track)}{f', {why}' if why else ''}"

    def _slack_words(self) -> list[str]:
        every = list(zip(self.timeline.activities, self.timeline.slack, strict=True))
        lines = []
        for what, kinds in (("node", ("node",)), ("transfer", ("transfer",))):
            mine = [(activity, slack) for activity, slack in every if activity.kind in kinds]
            if not mine:
                continue
            tight = sum(slack == 0 for _, slack in mine)
            lines.append(f"{counted(tight, what)} of {len(mine):,} cannot be later without a longer makespan")
            loose = sorted((pair for pair in mine if pair[1] > 0), key=lambda pair: -pair[1])
            if loose:
                amounts = [
                    f"{short_names([activity.name for activity, _ in same])} {shown}"
                    for shown, same in groupby(loose, lambda pair: self._shown(pair[1]))
                ]
                more = (
                    f", and {counted(len(amounts) - MOST_SLACK, 'group')} with less"
                    if len(amounts) > MOST_SLACK
                    else ""
                )
                lines.append(f"  the most slack: {'; '.join(amounts[:MOST_SLACK])}{more}")
        return lines


def critical(question: Question, seconds: float = 0.0) -> Critical | None:  # noqa: ARG001  takes next to no time
    """Return what makes the schedule of an answer as long as it is; None of a plan without one."""
    problem, plan = question.problem, question.plan
    if plan is None or not plan.timed:
        return None
    timeline = Timeline(problem, plan)
    rows = [
        row.label
        for row in problem.hard_rows
        if any(isinstance(decision, (Start, Finish)) for decision in decisions_in(row.terms))
    ]
    return Critical(timeline, problem.time_unit, tuple(_idle(timeline)), tuple(dict.fromkeys(rows)))


def _activity(activity: Activity) -> dict[str, Any]:
    return {
        "kind": activity.kind,
        "name": activity.name,
        "track": activity.track,
        "start": activity.start,
        "end": activity.end,
    }


def _kind(activity: Activity) -> str:
    return {"node": "node", "transfer": "transfer", "read": "a", "write": "a"}[activity.kind]


def _folded(path: list[Step]) -> Iterator[list[Step]]:
    """Yield steps on one track that follow each other; transfers each by itself."""
    place = 0

    def key(step: Step) -> tuple[str, int]:
        nonlocal place
        place += step.activity.kind == "transfer"
        return step.activity.track, place

    for _, steps in groupby(path, key):
        yield list(steps)


def _idle(timeline: Timeline) -> list[IdleTime]:
    """Return the times in which devices wait, the longest first; what comes after their last activity is none."""
    near = SAME * timeline.makespan
    waits_of_devices = []
    for device in timeline.devices:
        free = 0.0
        for activity in timeline.on[device]:
            if activity.start > free + near:
                needed = [timeline.activities[i] for i in activity.needs]
                just = [other for other in needed if abs(other.end - activity.start) <= near]
                waits = max(just, key=lambda other: other.end - other.start, default=None)
                waits_of_devices.append(IdleTime(device, free, activity.start, activity, waits))
            free = max(free, activity.end)
    return sorted(waits_of_devices, key=lambda idle: (idle.start - idle.end, idle.start))
