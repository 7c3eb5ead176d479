"""The gap over time: how the best plan and the bound came closer while the method searched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import display_unit, format_gap
from mtpp_dsl.core.plans.result import searched_for
from mtpp_dsl.show.page.layout.axis import marks
from mtpp_dsl.show.page.markup import Markup, svg, tag
from mtpp_dsl.show.page.tables import fold, legend, table
from mtpp_dsl.show.page.view import Section, View

WIDTH, HEIGHT = 720, 240
BESIDE = 0.04
"""The share of the width that stays free behind the end of the search, where the gap often closes."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 16, 12, 34
MOST_ROWS = 200
"""Entries of the log in the table; of more the first and the last."""


def section(view: View) -> Section | None:
    """Return the picture of the log, and the log as a table; None where there is no log."""
    log: Sequence[Mapping[str, Any]] = view.answer["log"]
    if not log:
        return None
    entries = [entry for entry in log if entry["incumbent"] is not None or entry["bound"] is not None]
    if not entries:
        return None
    drawn = len(entries) > 1
    shown = entries if len(entries) <= MOST_ROWS else [*entries[: MOST_ROWS // 2], *entries[-MOST_ROWS // 2 :]]
    rows = [
        [f"{entry['time']:.3g} s", _shown(view, entry, "incumbent"), _shown(view, entry, "bound"), _gap(view, entry)]
        for entry in shown
    ]
    skipped = len(entries) - len(shown)
    closed = [("dot", "the gap closes")] if _closed(entries) is not None else []
    key = legend([("bottleneck", "best plan"), ("bound", "bound"), *closed])
    listed = table("The best plan and the bound over time", ["time", "plan", "bound", "gap"], rows)
    left = tag("p", f"{skipped:,} entries in the middle are left out.") if skipped else None
    picture = tag("figure", _picture(view, entries), key) if drawn else None
    body = tag("", picture, fold("As a table", listed, left, is_open=not drawn))
    return Section("progress", "Gap over time", body, folded=True)


def _shown(view: View, entry: Mapping[str, Any], what: str) -> str:
    return "none" if entry[what] is None else view.value(entry[what])


def _gap(view: View, entry: Mapping[str, Any]) -> str:
    plan, bound = entry["incumbent"], entry["bound"]
    if plan is None or bound is None or plan == 0:
        return ""
    worse, better = (
        (plan, bound) if view.problem.objective.sense == "minimize" else (1 / plan, 1 / bound if bound else 0)
    )
    return format_gap(max(0.0, (worse - better) / abs(worse)))


def _picture(view: View, entries: Sequence[Mapping[str, Any]]) -> Markup:
    """Return two lines of steps over the time, each a value that holds until the next."""
    total = searched_for(view.answer["time"])
    last = max(total, entries[-1]["time"], 1e-9)
    end = last / (1 - BESIDE)
    values = [entry[what] for entry in entries for what in ("incumbent", "bound") if entry[what] is not None]
    low, high = min(values), max(values)
    high, low = (high, low) if high > low else (high + abs(high) * 0.05 + 1e-12, low - abs(low) * 0.05)
    base = view.problem.objective.unit(view.problem.time_unit)
    unit, factor = display_unit(values, base, decimal=view.problem.origin.decimal)

    def place(time: float, value: float) -> tuple[float, float]:
        x = _LEFT + (WIDTH - _LEFT - _RIGHT) * time / end
        return x, _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    lines = []
    for what, line in (("incumbent", "bottleneck"), ("bound", "bound")):
        known = [(entry["time"], entry[what]) for entry in entries if entry[what] is not None]
        if known:
            lines.append(tag("path", d=_steps([place(*point) for point in known], place(last, known[-1][1])[0]),
                             class_=f"line {line}"))  # fmt: skip
    closed = _closed(entries)
    if closed is not None:
        x, y = place(closed["time"], closed["bound"])
        lines.append(tag("circle", tag("title", f"the gap closes after {closed['time']:.3g} s"), cx=x, cy=y, r=5,
                         class_="dot"))  # fmt: skip
    ticks = []
    for value, text in marks(low, high, factor, 5):
        y = place(0, value)[1]
        ticks.append(tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        ticks.append(tag("text", text, x=_LEFT - 8, y=y + 4, class_="tick end"))
    unit_of_time, second = display_unit([end], "s")
    for time, text in marks(0.0, last, second, 6):
        anchor = "tick middle" if time else "tick start"
        ticks.append(tag("text", f"{text} {unit_of_time}", x=place(time, low)[0], y=HEIGHT - 12, class_=anchor))
    first, final = entries[0], entries[-1]
    sentence = (
        f"Over {last:.3g} s: plan from {_shown(view, first, 'incumbent')} to {_shown(view, final, 'incumbent')}, "
    )
    sentence += f"bound from {_shown(view, first, 'bound')} to {_shown(view, final, 'bound')}."
    if closed is not None:
        sentence += f" The gap closes after {closed['time']:.3g} s."
    label = tag("text", unit, x=8, y=_TOP + 4, class_="tick start") if unit else None
    picture = svg(WIDTH, HEIGHT, ticks, label, lines, title=sentence, class_="chart")
    return tag("div", picture, class_="wide", role="region", tabindex=0, aria_label="Picture of the gap over time")


def _closed(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the first entry whose plan is as good as its bound; None where the gap does not close."""
    both = (entry for entry in entries if entry["incumbent"] is not None and entry["bound"] is not None)
    return next((entry for entry in both if math.isclose(entry["incumbent"], entry["bound"], rel_tol=1e-9)), None)


def _steps(places: Sequence[tuple[float, float]], end: float) -> str:
    """Return the path of a line that keeps each value until the next."""
    x, y = places[0]
    path = [f"M{x:.1f} {y:.1f}"]
    for x, y in places[1:]:
        path.append(f"H{x:.1f}V{y:.1f}")
    return "".join([*path, f"H{end:.1f}"])
