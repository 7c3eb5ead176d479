"""The network as SVG: boxes for devices and switches, wires as wide as they are busy, with what they carry."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.show.page.layout.network import MARGIN, TALL, Diagram, NetworkLine, Spot
from mtpp_dsl.show.page.markup import Markup, short, tag
from mtpp_dsl.show.page.traffic import Carrying, tensor_size
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.palette import STAGES

__all__ = ["drawn"]

LETTERS, LETTER = 15, 7.2
MAX_LABELS = 14
"""The busiest wires have what they carry written beside them."""
PLACES = (0.5, 0.36, 0.64, 0.28, 0.72)
"""Where on a wire a label may be, as shares of its length."""
WIDE, HIGH = 104, 28
"""A label has so much room."""
ELBOW = 16
"""So far below a switch the wires from its devices turn to it."""


def drawn(
    view: View, found: Diagram, carried: Mapping[str, Carrying], whole: float, stages: Mapping[int, int]
) -> Markup:
    """Return the picture.

    Args:
        view: of the page.
        found: where everything is.
        carried: what every channel carries, by its name.
        whole: the time that a full wire is busy for; 0 where nobody knows.
        stages: the place of each device in the pipeline, for its colour.
    """
    busy = sorted((wire for wire in found.wires if _most(wire, carried) > 0), key=lambda w: -_most(w, carried))
    labels = [_label(view, wire, place, carried, whole) for wire, place in _labelled(found, busy)]
    largest = max((_most(wire, carried) for wire in found.wires), default=0.0)
    return tag(
        "svg",
        tag("g", _groups(found), class_="groups"),
        tag("g", [_wire(wire, carried, largest) for wire in found.wires], class_="wires"),
        tag("g", [_box(spot, stages) for spot in found.spots], class_="spots"),
        tag("g", labels),
        role="img",
        aria_label="The network: devices, what joins them, and what is carried. The table below has the figures.",
        viewBox=f"0 0 {_n(found.width)} {_n(found.height)}",
        width=_n(found.width),
        height=_n(found.height),
        class_="network-picture fit",
    )


def _most(wire: NetworkLine, carried: Mapping[str, Carrying]) -> float:
    """Return what a wire is busy for in the direction that is busier; its size where no time is known."""
    found = [carried[name] for name in (wire.up, wire.down) if name in carried]
    return max((each.size if each.time is None else each.time for each in found), default=0.0)


def _wire(wire: NetworkLine, carried: Mapping[str, Carrying], largest: float) -> Markup:
    most = _most(wire, carried)
    (x, y), (u, v) = wire.start, wire.end
    width = 1.0 + (5.0 * most / largest if largest > 0 else 0.0)
    kind = "wire" if most > 0 else "wire idle"
    way = f"M{_n(x)},{_n(y)}V{_n(v + ELBOW)}H{_n(u)}V{_n(v)}" if wire.upright else f"M{_n(x)},{_n(y)}L{_n(u)},{_n(v)}"
    return tag("path", d=way, stroke_width=_n(width), class_=kind)


def _box(spot: Spot, stages: Mapping[int, int]) -> Markup:
    tint = f" s{stages[spot.device] % len(STAGES)}" if spot.device in stages else ""
    place = {"x": _n(spot.x), "y": _n(spot.y), "width": _n(spot.width), "height": TALL}
    letters = max(LETTERS, int(spot.width / LETTER) - 2)
    middle = {"x": _n(spot.x + spot.width / 2), "y": _n(spot.y + TALL / 2 + 4)}
    return tag(
        "g",
        tag("title", spot.name),
        tag("rect", **place, rx=5 if spot.device >= 0 else 15, class_="spot" if spot.device >= 0 else "spot switch"),
        tag("text", short(spot.name, letters), **middle, class_="spot-name"),
        class_=f"device{tint}" if spot.device >= 0 else "joint",
    )


def _labelled(found: Diagram, busy: list[NetworkLine]) -> list[tuple[NetworkLine, tuple[float, float]]]:
    """Return the wires that have a label, busiest first, and where: in a place where it touches no other and no box."""
    taken = [(spot.x + spot.width / 2, spot.y + TALL / 2, (spot.width + WIDE) / 2) for spot in found.spots]
    labels: list[tuple[NetworkLine, tuple[float, float]]] = []
    for wire in busy[:MAX_LABELS]:
        (x, y), (u, v) = wire.start, wire.end
        places = [(x + t * (u - x), y + t * (v - y)) for t in PLACES]
        if wire.upright:
            places = [(x, (y + v + ELBOW) / 2)]
        free = [at for at in places if all(abs(at[0] - p) >= w or abs(at[1] - q) >= HIGH for p, q, w in taken)]
        if free:
            labels.append((wire, free[0]))
            taken.append((*free[0], WIDE))
    return labels


def _label(
    view: View, wire: NetworkLine, place: tuple[float, float], carried: Mapping[str, Carrying], whole: float
) -> Markup:
    """Return what a wire carries: towards *b*, which is often above, and back."""
    (x, y), (u, v) = wire.start, wire.end
    lines = []
    signs = ("↑", "↓") if wire.upright else _signs(u - x, v - y)
    for sign, name in zip(signs, dict.fromkeys((wire.up, wire.down)), strict=False):
        each = carried.get(name)
        if each is not None and (each.time or each.size):
            lines.append(f"{'↔' if wire.up == wire.down else sign} {_said(view, each, whole)}")
    across, down = place[0], place[1] + 4 - 6.5 * (len(lines) - 1)
    return tag(
        "",
        [tag("text", text, x=_n(across), y=_n(down + 13 * i), class_="carried") for i, text in enumerate(lines)],
    )


def _signs(across: float, down: float) -> tuple[str, str]:
    """Return arrows that point along a wire and back."""
    if abs(down) > abs(across):
        return ("↓", "↑") if down > 0 else ("↑", "↓")
    return ("→", "←") if across > 0 else ("←", "→")


def _said(view: View, each: Carrying, whole: float) -> str:
    if each.time is None:
        return tensor_size(view.problem, each.size)
    share = f" ({format_share(each.time / whole)})" if whole > 0 else ""
    return f"{view.time(each.time)}{share}"


def _groups(found: Diagram) -> list[Markup]:
    """Return frames around the devices of groups."""
    frames = []
    for name, members in groupby([spot for spot in found.spots if spot.group], key=lambda spot: spot.group):
        held = list(members)
        left, right = held[0].x - MARGIN / 2, held[-1].x + held[-1].width + MARGIN / 2
        top = held[0].y - MARGIN / 2
        frame = {"x": _n(left), "y": _n(top), "width": _n(right - left), "height": TALL + 2 * MARGIN + 4}
        frames.append(tag("rect", **frame, rx=6, class_="group"))
        frames.append(tag("text", short(name, 40), x=_n(left + 6), y=_n(top + TALL + 2 * MARGIN - 2), class_="small"))
    return frames


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
