"""The network: devices, what joins them, and what each link or channel carries."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.units import RATE, counted, format_exact, format_quantity, format_share
from mtpp_dsl.core.problem.devices import Host, Links, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.alike import called, together
from mtpp_dsl.show.page.layout.network import diagram
from mtpp_dsl.show.page.layout.stages import placed
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.network_picture import drawn
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.tables import fold, table
from mtpp_dsl.show.page.traffic import Carrying, bottleneck, channels, pairs, tensor_size
from mtpp_dsl.show.page.view import View

__all__ = ["section"]

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
    found = diagram(problem, stages, sent)
    whole = bottleneck(view)
    body = tag(
        "",
        tag("p", _introduction(view, carried, whole)),
        tag(
            "div",
            drawn(view, found, carried, whole, stages),
            class_="network-frame",
            tabindex="0",
            role="region",
            aria_label="Picture of the network",
        )
        if found is not None
        else tag("p", f"There is no picture of so many devices ({problem.k:,})."),
        _of_devices(view) if isinstance(problem.interconnect, (Shared, Host)) else _of_channels(view, carried, whole),
        _of_pairs(view, sent),
    )
    return Section("network", "The network", body, folded=True)


def _carried(view: View, sent: dict[tuple[int, int], Carrying]) -> dict[str, Carrying]:
    """Return what is written beside wires: loads of channels, of devices on one channel, or of pairs."""
    problem, found = view.problem, view.evaluation
    if isinstance(problem.interconnect, (Shared, Host)):
        if found is None:
            return {}
        sides = (("out", found.output), ("in", found.input))
        return {f"{side} {d}": Carrying(0.0, time=float(times[d])) for side, times in sides for d in range(problem.k)}
    by_name = channels(view)
    if by_name or problem.networked:
        return by_name
    names = [device.name for device in problem.devices]
    return {f"{names[d]} -> {names[e]}": each for (d, e), each in sent.items()}


def _introduction(view: View, carried: dict[str, Carrying], whole: float) -> str:
    problem = view.problem
    told = f"{_joined(problem)} joins {counted(problem.k, 'device')}."
    busy = {each: one.time for each, one in carried.items() if one.time}
    if not busy:
        return told if view.plan is None else f"{told} Nothing is sent."
    if isinstance(problem.interconnect, (Shared, Host)):
        return f"{told} Beside each device: how long it reads (↓) and writes (↑) tensors, as a share of {_whole(view)}."
    most = max(busy, key=lambda each: busy[each] or 0.0)
    share = f", {format_share((busy[most] or 0.0) / whole)} of {_whole(view)}" if whole > 0 else ""
    return f"{told} The busiest way is {most}, for {view.time(busy[most] or 0.0)}{share}."


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
    busy = sorted(((each, one) for each, one in carried.items() if one.time), key=lambda item: -(item[1].time or 0.0))
    if view.plan is None:
        rows: list[list[Child]] = [[name(each, MAX_NAME), _rate(problem, rate)] for each, rate in rates.items()]
        return fold("All channels", table("Channels and their bandwidth", ["Channel", "Bandwidth"], rows[:ROWS]))
    if not busy:
        return None
    sized = _sized(problem)
    rows = [
        [
            name(each, MAX_NAME),
            *([_rate(problem, rates[each]) if each in rates else "", tensor_size(problem, one.size)] if sized else []),
            view.time(one.time or 0.0),
            format_share((one.time or 0.0) / whole, 1) if whole > 0 else "",
        ]
        for each, one in busy[:ROWS]
    ]
    heads = ["Channel", *(["Bandwidth", "Carries"] if sized else []), "Takes", f"Of {_whole(view)}"]
    idle = count - len(busy)
    told = []
    if len(busy) > ROWS:
        told.append(f"{counted(len(busy) - ROWS, 'channel')} with less")
    if idle > 0:
        told.append(f"{counted(idle, 'channel')} with nothing to carry")
    more = tag("p", f"… and {' and '.join(told)}.") if told else None
    shown = table("What channels carry", heads, rows)
    return tag("", shown if len(rows) <= 12 else fold(f"All {len(rows):,} that carry something", shown), more)


def _of_devices(view: View) -> Markup | None:
    """Return what every device reads and writes over the one channel."""
    found = view.evaluation
    if found is None:
        return None
    whole = bottleneck(view)
    times = [(float(read), float(written)) for read, written in zip(found.input, found.output, strict=True)]
    rows: list[list[Child]] = []
    for group in together(view, (d for d, each in enumerate(times) if sum(each) > 0), times.__getitem__):
        read, written = times[group[0]]
        share = format_share((read + written) / whole, 1) if whole > 0 else ""
        rows.append([called(view, group, MAX_NAME), view.time(read), view.time(written), share])
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
            *(name(names[d], MAX_NAME), name(names[e], MAX_NAME), f"{each.tensors:,}"),
            tensor_size(view.problem, each.size) if sized else view.time(each.time or 0.0),
        ]
        for (d, e), each in order[:ROWS]
    ]
    more = f"… and {counted(len(order) - ROWS, 'pair')} with less." if len(order) > ROWS else None
    what = "in the whole schedule" if view.problem.objective.batch is not None else "for one input"
    pair = counted(len(order), "pair")
    return fold(
        f"What devices send each other, {what}: {pair}",
        table("What devices send each other", ["From", "To", "Tensors", "Size" if sized else "Takes"], rows, figures=2),
        tag("p", more) if more else None,
    )
