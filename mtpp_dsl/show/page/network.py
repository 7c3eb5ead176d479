"""The network: devices, what joins them, and what each link or channel carries."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import numpy as np

from mtpp_dsl.core.base.units import RATE, counted, format_exact, format_quantity, format_share
from mtpp_dsl.core.problem.devices import Host, Links, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.network import MARGIN, TALL, Diagram, NetworkLine, Spot, diagram
from mtpp_dsl.show.page.layout.stages import placed
from mtpp_dsl.show.page.markup import Child, Markup, coordinate, name, short, tag
from mtpp_dsl.show.page.tables import alike_devices, device_names, fold, table
from mtpp_dsl.show.page.traffic import Carrying, bottleneck, channels, pairs, tensor_size
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.palette import STAGES

ROWS = 200
"""Rows of a table; further ones carry less and are counted."""
MAX_NAME = 60
MAX_RATE = len("12.345 GiB/s")
"""A bandwidth that takes more digits is rounded."""


def section(view: View) -> Section | None:
    """Return the section; None for one device, which has nothing to be joined to."""
    problem, plan = view.problem, view.plan
    if problem.k < 2:
        return None
    sent = {} if plan is None else pairs(problem, plan)
    carried = _carried(view, sent)
    stages = {} if plan is None else {d: i for i, s in enumerate(placed(problem, plan).stages) for d in s.devices}
    picture = diagram(problem, stages, sent)
    whole = bottleneck(view)
    body = tag(
        "",
        tag("p", _introduction(view, carried, whole)),
        tag(
            "div",
            drawn(view, picture, carried, whole, stages),
            class_="network-frame",
            tabindex="0",
            role="region",
            aria_label="Picture of the network",
        )
        if picture is not None
        else tag("p", f"There is no picture of so many devices ({problem.k:,})."),
        _of_devices(view) if isinstance(problem.interconnect, (Shared, Host)) else _of_channels(view, carried, whole),
        _of_pairs(view, sent),
    )
    return Section("network", "The network", body, folded=True)


def _carried(view: View, sent: dict[tuple[int, int], Carrying]) -> dict[str, Carrying]:
    """Return what is written beside wires: loads of channels, of devices on one channel, or of pairs."""
    problem, evaluation = view.problem, view.evaluation
    if isinstance(problem.interconnect, (Shared, Host)):
        if evaluation is None:
            return {}
        sides = (("out", evaluation.output), ("in", evaluation.input))
        return {f"{side} {d}": Carrying(0.0, time=float(times[d])) for side, times in sides for d in range(problem.k)}
    by_name = channels(view)
    if by_name or problem.networked:
        return by_name
    names = [device.name for device in problem.devices]
    return {f"{names[d]} -> {names[e]}": carrying for (d, e), carrying in sent.items()}


def _introduction(view: View, carried: dict[str, Carrying], whole: float) -> str:
    problem = view.problem
    sentence = f"{_joined(problem)} joins {counted(problem.k, 'device')}."
    busy = {channel: one.time for channel, one in carried.items() if one.time}
    if not busy:
        return sentence if view.plan is None else f"{sentence} Nothing is sent."
    if isinstance(problem.interconnect, (Shared, Host)):
        beside = f"how long it reads (↓) and writes (↑) tensors, as a share of {_whole(view)}"
        return f"{sentence} Beside each device: {beside}."
    most = max(busy, key=lambda channel: busy[channel] or 0.0)
    share = f", {format_share((busy[most] or 0.0) / whole)} of {_whole(view)}" if whole > 0 else ""
    return f"{sentence} The busiest way is {most}, for {view.time(busy[most] or 0.0)}{share}."


def _whole(view: View) -> str:
    return "the schedule" if view.evaluation is not None and view.evaluation.makespan is not None else "the bottleneck"


def _joined(problem: Problem) -> str:
    """Return what joins the devices, in words."""
    joined = problem.interconnect
    if isinstance(joined, (Shared, Host)):
        rate = _rate(problem, joined.bandwidth)
        what = f"Host memory, at {rate} per device," if isinstance(joined, Host) else f"A shared channel of {rate}"
        return what + (f" ({_rate(problem, joined.between)} between groups)" if joined.between is not None else "")
    if isinstance(joined, Links):
        count = int(((joined.bandwidth > 0) & ~np.eye(problem.k, dtype=np.bool_)).sum())
        return f"A network of {counted(count, 'link')}, each in one direction,"
    return f"A tree of {len(joined.switches):,} {'switch' if len(joined.switches) == 1 else 'switches'}"


def _rate(problem: Problem, value: float) -> str:
    """Return a bandwidth in words: in the unit in which few digits say all of it, as specs write it, or in GB/s."""
    unit = problem.graph.size_unit
    if not np.isfinite(value):
        return "any rate"
    if unit != "B":
        return f"{value:.5g}"
    exact = format_exact(value, RATE)
    return exact if len(exact) <= MAX_RATE else f"{format_quantity(value, 'B', decimal=True)}/s"


def _sized(problem: Problem) -> bool:
    """Return whether transfers take what sizes and bandwidths say: the times of each may be given instead."""
    return not isinstance(problem.interconnect, Links) or problem.interconnect.transfers is None


def _of_channels(view: View, carried: dict[str, Carrying], whole: float) -> Markup | None:
    """Return the table of channels, or of the links of a schedule, busiest first."""
    problem = view.problem
    rates = dict(zip(problem.network.channels, problem.network.bandwidth.tolist(), strict=True))
    count = len(rates)
    if not problem.networked:  # a schedule may send over several links as if they were one
        names, rate = [device.name for device in problem.devices], problem.network.rate
        rates |= {f"{a} -> {b}": float(rate[d, e]) for d, a in enumerate(names) for e, b in enumerate(names) if d != e}
    busy = sorted(
        ((channel, one) for channel, one in carried.items() if one.time), key=lambda item: -(item[1].time or 0.0)
    )
    if view.plan is None:
        rows: list[list[Child]] = [[name(channel, MAX_NAME), _rate(problem, rate)] for channel, rate in rates.items()]
        return fold("All channels", table("Channels and their bandwidth", ["Channel", "Bandwidth"], rows[:ROWS]))
    if not busy:
        return None
    sized = _sized(problem)
    rows = [
        [
            name(channel, MAX_NAME),
            *(
                [_rate(problem, rates[channel]) if channel in rates else "", tensor_size(problem, one.size)]
                if sized
                else []
            ),
            view.time(one.time or 0.0),
            format_share((one.time or 0.0) / whole, 1) if whole > 0 else "",
        ]
        for channel, one in busy[:ROWS]
    ]
    heads = ["Channel", *(["Bandwidth", "Carries"] if sized else []), "Takes", f"Of {_whole(view)}"]
    idle = count - len(busy)
    left_out = []
    if len(busy) > ROWS:
        left_out.append(f"{counted(len(busy) - ROWS, 'channel')} with less")
    if idle > 0:
        left_out.append(f"{counted(idle, 'channel')} with nothing to carry")
    more = tag("p", f"… and {' and '.join(left_out)}.") if left_out else None
    shown = table("What channels carry", heads, rows)
    return tag("", shown if len(rows) <= 12 else fold(f"All {len(rows):,} that carry something", shown), more)


def _of_devices(view: View) -> Markup | None:
    """Return what every device reads and writes over the one channel."""
    evaluation = view.evaluation
    if evaluation is None:
        return None
    whole = bottleneck(view)
    times = [(float(read), float(written)) for read, written in zip(evaluation.input, evaluation.output, strict=True)]
    rows: list[list[Child]] = []
    for group in alike_devices(view, (d for d, amounts in enumerate(times) if sum(amounts) > 0), times.__getitem__):
        read, written = times[group[0]]
        share = format_share((read + written) / whole, 1) if whole > 0 else ""
        rows.append([device_names(view, group, MAX_NAME), view.time(read), view.time(written), share])
    if not rows:
        return None
    heads = ["Device", "Reads", "Writes", f"Both, of {_whole(view)}"]
    shown = table("What devices read and write", heads, rows[:ROWS])
    return shown if len(rows) <= 12 else fold(f"All {len(rows):,} devices that read or write", shown)


def _of_pairs(view: View, sent: dict[tuple[int, int], Carrying]) -> Markup | None:
    """Return what is sent from one device to another, most first."""
    if not sent:
        return None
    names, sized = [device.name for device in view.problem.devices], _sized(view.problem)
    order = sorted(sent.items(), key=lambda item: (-item[1].size, -(item[1].time or 0.0), item[0]))
    rows: list[list[Child]] = [
        [
            *(name(names[d], MAX_NAME), name(names[e], MAX_NAME), f"{carrying.tensors:,}"),
            tensor_size(view.problem, carrying.size) if sized else view.time(carrying.time or 0.0),
        ]
        for (d, e), carrying in order[:ROWS]
    ]
    more = f"… and {counted(len(order) - ROWS, 'pair')} with less." if len(order) > ROWS else None
    what = "in the whole schedule" if view.problem.objective.batch is not None else "for one input"
    pair = counted(len(order), "pair")
    return fold(
        f"What devices send each other, {what}: {pair}",
        table("What devices send each other", ["From", "To", "Tensors", "Size" if sized else "Takes"], rows, figures=2),
        tag("p", more) if more else None,
    )


# The network as SVG: boxes for devices and switches, wires as wide as they are busy, with what they carry.

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
    view: View, picture: Diagram, carried: Mapping[str, Carrying], whole: float, stages: Mapping[int, int]
) -> Markup:
    """Return the picture.

    Args:
        view: of the page.
        picture: where everything is.
        carried: what every channel carries, by its name.
        whole: the time that a full wire is busy for; 0 where it is unknown.
        stages: the place of each device in the pipeline, for its colour.
    """
    busy = sorted((wire for wire in picture.wires if _most(wire, carried) > 0), key=lambda w: -_most(w, carried))
    labels = [_label(view, wire, place, carried, whole) for wire, place in _labelled(picture, busy)]
    largest = max((_most(wire, carried) for wire in picture.wires), default=0.0)
    return tag(
        "svg",
        tag("g", _groups(picture), class_="groups"),
        tag("g", [_wire(wire, carried, largest) for wire in picture.wires], class_="wires"),
        tag("g", [_box(spot, stages) for spot in picture.spots], class_="spots"),
        tag("g", labels),
        role="img",
        aria_label="The network: devices, what joins them, and what is carried. The table below has the figures.",
        viewBox=f"0 0 {coordinate(picture.width)} {coordinate(picture.height)}",
        width=coordinate(picture.width),
        height=coordinate(picture.height),
        class_="network-picture fit",
    )


def _most(wire: NetworkLine, carried: Mapping[str, Carrying]) -> float:
    """Return what a wire is busy for in the direction that is busier; its size where no time is known."""
    carrying = [carried[name] for name in (wire.up, wire.down) if name in carried]
    return max((one.size if one.time is None else one.time for one in carrying), default=0.0)


def _wire(wire: NetworkLine, carried: Mapping[str, Carrying], largest: float) -> Markup:
    most = _most(wire, carried)
    (x, y), (u, v) = wire.start, wire.end
    width = 1.0 + (5.0 * most / largest if largest > 0 else 0.0)
    kind = "wire" if most > 0 else "wire idle"
    way = (
        f"M{coordinate(x)},{coordinate(y)}V{coordinate(v + ELBOW)}H{coordinate(u)}V{coordinate(v)}"
        if wire.upright
        else f"M{coordinate(x)},{coordinate(y)}L{coordinate(u)},{coordinate(v)}"
    )
    return tag("path", d=way, stroke_width=coordinate(width), class_=kind)


def _box(spot: Spot, stages: Mapping[int, int]) -> Markup:
    tint = f" s{stages[spot.device] % len(STAGES)}" if spot.device in stages else ""
    place = {"x": coordinate(spot.x), "y": coordinate(spot.y), "width": coordinate(spot.width), "height": TALL}
    letters = max(LETTERS, int(spot.width / LETTER) - 2)
    middle = {"x": coordinate(spot.x + spot.width / 2), "y": coordinate(spot.y + TALL / 2 + 4)}
    return tag(
        "g",
        tag("title", spot.name),
        tag("rect", **place, rx=5 if spot.device >= 0 else 15, class_="spot" if spot.device >= 0 else "spot switch"),
        tag("text", short(spot.name, letters), **middle, class_="spot-name"),
        class_=f"device{tint}" if spot.device >= 0 else "joint",
    )


def _labelled(picture: Diagram, busy: list[NetworkLine]) -> list[tuple[NetworkLine, tuple[float, float]]]:
    """Return the wires that have a label, busiest first, and where: in a place where it touches no other and no box."""
    taken = [(spot.x + spot.width / 2, spot.y + TALL / 2, (spot.width + WIDE) / 2) for spot in picture.spots]
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
    for sign, channel in zip(signs, dict.fromkeys((wire.up, wire.down)), strict=False):
        carrying = carried.get(channel)
        if carrying is not None and (carrying.time or carrying.size):
            lines.append(f"{'↔' if wire.up == wire.down else sign} {_carried_words(view, carrying, whole)}")
    across, down = place[0], place[1] + 4 - 6.5 * (len(lines) - 1)
    return tag(
        "",
        [
            tag("text", text, x=coordinate(across), y=coordinate(down + 13 * i), class_="carried")
            for i, text in enumerate(lines)
        ],
    )


def _signs(across: float, down: float) -> tuple[str, str]:
    """Return arrows that point along a wire and back."""
    if abs(down) > abs(across):
        return ("↓", "↑") if down > 0 else ("↑", "↓")
    return ("→", "←") if across > 0 else ("←", "→")


def _carried_words(view: View, carrying: Carrying, whole: float) -> str:
    if carrying.time is None:
        return tensor_size(view.problem, carrying.size)
    share = f" ({format_share(carrying.time / whole)})" if whole > 0 else ""
    return f"{view.time(carrying.time)}{share}"


def _groups(picture: Diagram) -> list[Markup]:
    """Return frames around the devices of groups."""
    frames = []
    for group, members in groupby([spot for spot in picture.spots if spot.group], key=lambda spot: spot.group):
        spots = list(members)
        left, right = spots[0].x - MARGIN / 2, spots[-1].x + spots[-1].width + MARGIN / 2
        top = spots[0].y - MARGIN / 2
        frame = {
            "x": coordinate(left),
            "y": coordinate(top),
            "width": coordinate(right - left),
            "height": TALL + 2 * MARGIN + 4,
        }
        frames.append(tag("rect", **frame, rx=6, class_="group"))
        frames.append(
            tag(
                "text",
                short(group, 40),
                x=coordinate(left + 6),
                y=coordinate(top + TALL + 2 * MARGIN - 2),
                class_="small",
            )
        )
    return frames
