"""A front of two objectives: its picture, its points, and how to get the page of each."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import counted, display_unit, format_gap, format_quantity
from mtpp_dsl.show.page.document import frame
from mtpp_dsl.show.page.layout.axis import marks
from mtpp_dsl.show.page.markup import Child, Markup, name, svg, tag
from mtpp_dsl.show.page.tables import facts, legend, table
from mtpp_dsl.show.page.view import Section

WIDTH, HEIGHT = 720, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 24, 34, 44


def front_page(data: Mapping[str, Any], path: str = "FRONT.json") -> str:
    """Return the page of a front.

    Args:
        data: JSON of the front.
        path: what the file of the front is called in commands.
    """
    points: Sequence[Mapping[str, Any]] = data["front"]
    source = next((point["spec"]["path"] for point in points if point["spec"]["path"]), None)
    sections = [_head(data, points), *([_points(points, path)] if points else [])]
    if points:
        sections.append(_origin(points))
    return frame(source or "a front", sections)


def _head(data: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> Section:
    if not points:
        return Section("answer", "A front without points", tag("p", "No plan was found.", class_="verdict"), "Front")
    first, second = (one["name"] for one in points[0]["objectives"])
    whole = (
        "every plan is no better in both than one of them, as the search that made it says"
        if data["complete"]
        else f"there may be others{' between them' if len(points) > 1 else ''}"
    )
    sentence = f"{counted(len(points), 'plan')} of which none is better in both objectives than another: {whole}."
    open_ones = any(one["gap"] for point in points for one in point["objectives"])
    key = legend([("dot", "plans"), *([("bound", "down to the bound")] if open_ones else [])])
    body = tag("", tag("p", sentence, class_="verdict"), tag("figure", _picture(points), key))
    return Section("answer", f"{first} against {second}", body, nav="Front")


def _values(points: Sequence[Mapping[str, Any]], i: int, what: str) -> list[float | None]:
    values = [point["objectives"][i][what] for point in points]
    return [one["value"] if isinstance(one, Mapping) else one for one in values]


def _picture(points: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the points, joined by steps, with lines down to the bound of each in both objectives."""
    axes = []
    for i, (low, high) in enumerate(((_LEFT, WIDTH - _RIGHT), (HEIGHT - _BOTTOM, _TOP))):
        values, bounds = _values(points, i, "value"), _values(points, i, "bound")
        known = [value for value in (*values, *bounds) if value is not None]
        least, most = min(known), max(known)
        room = (most - least) * 0.05 or abs(most) * 0.05 or 1.0
        unit, factor = display_unit(known, points[0]["objectives"][i]["unit"])
        axes.append((least - room, most + room, low, high, unit, factor))

    def at(i: int, value: float) -> float:
        least, most, low, high, _, _ = axes[i]
        return low + (high - low) * (value - least) / (most - least)

    shown: list[Markup] = []
    for i in (0, 1):
        least, most, _, _, unit, factor = axes[i]
        for value, text in marks(least, most, factor, 6):
            if i == 0:
                shown.append(tag("text", text, x=at(0, value), y=HEIGHT - 24, class_="tick middle"))
            else:
                shown.append(tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=at(1, value), y2=at(1, value), class_="grid"))
                shown.append(tag("text", text, x=_LEFT - 8, y=at(1, value) + 4, class_="tick end"))
        label = points[0]["objectives"][i]["name"] + (f" ({unit})" if unit else "")
        place = {"x": WIDTH - _RIGHT, "y": HEIGHT - 6} if i == 0 else {"x": 8, "y": 16}
        shown.append(tag("text", label, **place, class_="tick end" if i == 0 else "tick start"))
    pairs = zip(_values(points, 0, "value"), _values(points, 1, "value"), strict=True)
    places = [(at(0, x), at(1, y)) for x, y in pairs if x is not None and y is not None]
    shown.append(tag("path", d=_steps(places), class_="line grid"))
    for i in (0, 1):
        for (x, y), bound in zip(places, _values(points, i, "bound"), strict=True):
            if bound is not None:
                end = {"x2": at(0, bound), "y2": y} if i == 0 else {"x2": x, "y2": at(1, bound)}
                shown.append(tag("line", x1=x, y1=y, **end, class_="line bound"))
    shown += [
        tag("circle", tag("title", f"point {n}"), cx=x, cy=y, r=5, class_="dot") for n, (x, y) in enumerate(places, 1)
    ]
    title = f"{counted(len(points), 'point')} of a front; the table below has their values."
    return tag("div", svg(WIDTH, HEIGHT, shown, title=title, class_="chart"), class_="wide", role="region", tabindex=0,
               aria_label="Picture of the front")  # fmt: skip


def _steps(places: Sequence[tuple[float, float]]) -> str:
    (x, y), *others = places
    return f"M{x:.1f} {y:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in others)


def _points(points: Sequence[Mapping[str, Any]], path: str) -> Section:
    """Return a row for each point, with what it is in both objectives, and the command that makes its page."""
    names = [one["name"] for one in points[0]["objectives"]]
    rows: list[list[Child]] = []
    for number, point in enumerate(points, 1):
        cells: list[Child] = [str(number)]
        for one in point["objectives"]:
            cells += [
                "none" if one["value"] is None else format_quantity(one["value"], one["unit"]),
                "no bound" if one["gap"] is None else format_gap(one["gap"]),
            ]
        used = {
            stage for stage in (point["plan"] or {"assignment": {}})["assignment"].values() if isinstance(stage, str)
        }
        rows.append([*cells, f"{len(used):,}"])
    head = ["point", names[0], "gap", names[1], "gap", "devices used"]
    body = tag(
        "",
        table("Points of the front", head, rows),
        tag("p", "The page of one of them, with its plan, its loads and its certificate:"),
        tag("pre", tag("code", shlex.join(["mtpp", "report", path, "--point", "1"])), class_="command", tabindex=0),
    )
    return Section("points", "The points", body)


def _origin(points: Sequence[Mapping[str, Any]]) -> Section:
    first = points[0]
    pairs: list[tuple[Child, Child]] = [
        ("method", name(first["method"])),
        ("seed", str(first["seed"])),
        ("versions", ", ".join(f"{package} {version}" for package, version in first["versions"].items())),
    ]
    pairs += [(name(key), name(str(value))) for key, value in first["spec"]["params"].items()]
    return Section("origin", "How it was found", facts(pairs))
