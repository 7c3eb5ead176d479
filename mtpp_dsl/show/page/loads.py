"""The loads of devices against the bound: what each does, and what holds the plan back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import alike_devices, bar, bars, device_names, fold, legend, table
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.loads import MOST_SHARE, drawn_as_shares, memory

PARTS = {
    "work": "work",
    "input": "input: tensors read from others",
    "output": "output: tensors that others read",
    "overflow": "overflow: parameters streamed",
    "deviation": "deviation: what nodes may take longer",
    "sync": "sync with replicas",
    "forward": "forward",
    "backward": "backward",
}
"""What a load consists of: by node and tensor, and by pass."""
PASSES = ("forward", "backward")
SUMMED = ("work", "input", "output", "overflow", "deviation")
"""What adds up to a load, where nothing overlaps."""
MAX_SHOWN = 64
"""Devices with bars; those with less to do are in the folded table."""


def section(view: View) -> Section | None:
    """Return the loads of all devices, the busiest marked; None without a plan."""
    devices: Sequence[Mapping[str, Any]] = view.answer["devices"]
    if not devices or view.evaluation is None:
        return None
    timed = view.evaluation.makespan is not None
    order = _ordered(view, devices)
    shown = order
    if len(order) > MAX_SHOWN:
        busiest = set(sorted(order, key=lambda d: -devices[d]["load"])[:MAX_SHOWN])
        shown = [d for d in order if d in busiest]
    parts = [part for part in PARTS if any(device.get(part) for device in devices)] or ["work"]
    overlapped = _overlapped(view, devices)
    drawn = {d: _bar_parts(view, devices[d], overlapped=overlapped) for d in shown}
    lines = _lines(view)
    most = max([*(device["load"] for device in devices), *(value for _, value, _ in lines)])
    groups = alike_devices(view, shown, lambda d: (devices[d]["load"], *drawn[d]))
    rows = [_row(view, group, devices[group[0]]["load"], drawn[group[0]], most, lines) for group in groups]
    there = [part for part in PARTS if any(kind == part and value > 0 for bar in drawn.values() for kind, value in bar)]
    left = len(order) - len(shown)
    body = tag(
        "",
        tag("p", _busiest_words(view, devices)),
        bars("How long each device is busy" if timed else "Load of each device", "Busy" if timed else "Load", rows),
        legend([*((part, PARTS[part]) for part in there), *((kind, words) for kind, _, words in lines)]),
        tag("p", "Work, input and output overlap: a load is the largest of the three.") if overlapped else None,
        tag("p", f"{left:,} devices with less to do are in the table below.") if left else None,
        fold("All figures", _figures(view, order, devices, parts), is_open=bool(view.evaluation.phases)),
    )
    return Section("loads", "How busy the devices are" if timed else "Loads of the devices", body, nav="Loads")


def _ordered(view: View, devices: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the devices in the order of the plan; those that it does not name after them."""
    order = list(view.plan.order or ()) if view.plan is not None else []
    return [*order, *(d for d in range(len(devices)) if d not in set(order))]


def _bound(view: View) -> float | None:
    """Return the bound as a load, or as a makespan; None where the objective is neither."""
    objective, bound = view.problem.objective, view.answer["bound"]
    is_time = objective.quantity in ("bottleneck", "makespan") and not view.problem.soft_rows
    if bound is None or not bound["value"] or not is_time:
        return None
    return float((objective.batch or 1) / bound["value"] if objective.sense == "maximize" else bound["value"])


def _lines(view: View) -> list[tuple[str, float, str]]:
    """Return what loads are held against: a line of the palette, its value, and words."""
    limit, evaluation = _bound(view), view.evaluation
    lines = []
    if limit is not None:
        what = "the bound" if evaluation is None or evaluation.makespan is None else "the bound of the makespan"
        lines.append(("bound", limit, f"{what}, {view.time(limit)}"))
    if evaluation is not None and evaluation.makespan is not None:
        lines.append(("bottleneck", evaluation.makespan, f"the makespan, {view.time(evaluation.makespan)}"))
    return lines


def _busy(view: View, load: float) -> str:
    """Return a load for people; in a schedule also which share of the makespan it is."""
    whole = None if view.evaluation is None else view.evaluation.makespan
    return f"{view.time(load)} ({format_share(load / whole)})" if whole else view.time(load)


def _overlapped(view: View, devices: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether devices send and work at once, so that a load is not the sum of its parts."""
    if view.problem.timed:
        return False
    return any(device["load"] < sum(device.get(part) or 0.0 for part in SUMMED) * (1 - 1e-9) for device in devices)


def _bar_parts(view: View, device: Mapping[str, Any], *, overlapped: bool) -> list[tuple[str, float]]:
    """Return the parts of the bar of a device, which add up to its load."""
    if view.evaluation is not None and view.evaluation.separate:
        return [(part, device[part]) for part in PASSES]
    drawn = [(part, device.get(part) or 0.0) for part in SUMMED]
    if overlapped:
        drawn = sorted(drawn, key=lambda part: -part[1])[:1]
    if view.problem.timed and device["load"] <= device["work"] * (1 + 1e-9):  # transfers are beside the work
        drawn = [("work", device["work"])]
    rest = device["load"] - sum(value for _, value in drawn)
    return [*drawn, ("sync", max(0.0, rest) if device.get("sync") else 0.0)]


def _busiest_words(view: View, devices: Sequence[Mapping[str, Any]]) -> Markup:
    """Return in words which device or channel holds the plan back."""
    loads = [loaded["load"] for loaded in devices]
    peak = max(range(len(loads)), key=lambda d: loads[d])
    idle = sum(load == 0 for load in loads)
    makespan = None if view.evaluation is None else view.evaluation.makespan
    words: list[Child] = ["The busiest device is ", name(devices[peak]["name"])]
    if makespan:
        share = format_share(loads[peak] / makespan)
        words.append(f": it is busy for {view.time(loads[peak])}, {share} of the makespan")
    else:
        words.append(f" with {view.time(loads[peak])}")
    channels = view.answer.get("channels") or []
    busy = max(channels, key=lambda loaded: loaded["load"], default=None)
    if busy is not None and busy["load"] > loads[peak]:
        words += ["; the channel ", name(busy["name"]), f" is busier still, with {view.time(busy['load'])}"]
    words.append(". ")
    working = [load for load in loads if load > 0]
    if len(working) > 1:
        mean = _busy(view, sum(working) / len(working))
        words.append(f"Mean load of the {len(working):,} active devices: {mean}. ")
    if idle:
        words.append(f"{idle:,} {'does' if idle == 1 else 'do'} nothing. ")
    return tag("", words)


def _row(
    view: View,
    group: Sequence[int],
    load: float,
    drawn: Sequence[tuple[str, float]],
    most: float,
    lines: Sequence[tuple[str, float, str]],
) -> Markup:
    """Return devices with the bar and the load of each of them."""
    picture = bar(drawn, most, [(kind, value) for kind, value, _ in lines])
    return tag(
        "tr",
        tag("th", device_names(view, group), scope="row"),
        tag("td", picture, class_="picture"),
        tag("td", _busy(view, load), class_="figure"),
    )


def _figures(view: View, order: Sequence[int], devices: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> Markup:
    """Return all parts of all loads, with those of forward and backward passes and of phases."""
    training = any(device["forward"] is not None for device in devices)
    phases = list(devices[0].get("phases", ()))
    columns = ["load", *(part for part in parts if part not in PASSES), *(PASSES if training else ())]

    def cells(d: int) -> tuple[str, ...]:
        parts = (view.time(devices[d].get(column) or 0.0) for column in columns)
        return *parts, *(view.time(devices[d]["phases"][phase]["load"]) for phase in phases)

    rows = [[device_names(view, group), *cells(group[0])] for group in alike_devices(view, order, cells)]
    return table("Loads and what they consist of", ["device", *columns, *phases], rows)


# Memory against limits.


def memory_section(view: View) -> Section | None:
    """Return what each device holds, against what it has; None where nothing takes memory and nothing limits it."""
    if view.evaluation is None:
        return None
    used, devices = view.evaluation.memory.tolist(), view.problem.devices
    limited = [d for d, device in enumerate(devices) if device.memory is not None]
    if not limited and not any(used):
        return None
    order = sorted(range(len(devices)), key=lambda d: (-_share(view, d, used[d]), d))
    shown = sorted(order[:MAX_SHOWN])
    shares = drawn_as_shares(view.problem, view.evaluation, shown)
    most = max([*(used[d] for d in shown), *(devices[d].memory or 0.0 for d in shown)])
    fullest = max([1.0, *(min(_share(view, d, used[d]), MOST_SHARE) for d in shown)])
    groups = alike_devices(view, shown, lambda d: (used[d], devices[d].memory, devices[d].reserve))
    rows = [
        _memory_row(view, group, used, fullest * (devices[group[0]].memory or 0.0) if shares else most)
        for group in groups
    ]
    left = len(order) - len(shown)
    entries = [("memory", "taken"), ("deviation", "kept free"), ("limit", "the memory of the device")]
    if not any(device.reserve for device in devices):
        entries.pop(1)
    if not limited:
        entries.pop()
    alike = "" if not shares else " Limits differ by much: each bar is a share of what its own device has."
    body = tag(
        "",
        tag("p", _memory_words(view, order, used), alike),
        bars("Memory of each device", "Memory", rows),
        legend(entries),
        tag("p", f"{left:,} devices that are less full are not shown.") if left else None,
    )
    return Section("memory", "Memory against limits", body, nav="Memory")


def _share(view: View, d: int, used: float) -> float:
    """Return how full a device is; of one without a limit a share below that of all that have one."""
    limit = view.problem.devices[d].memory
    taken = used + view.problem.devices[d].reserve
    return -1 / (1 + taken) if limit is None else taken / limit if limit > 0 else float(taken > 0)


def _memory_words(view: View, order: list[int], used: list[float]) -> Markup:
    """Return in words which device is fullest, and what keeps memories."""
    first = order[0]
    device = view.problem.devices[first]
    if device.memory is None:
        return tag(
            "", "No device has a limit. The most is on ", name(device.name), f": {view.problem.size(used[first])}."
        )
    share = format_share(_share(view, first, used[first]))
    kept = [d for d in range(view.problem.k) if view.problem.memory_limit[d] < float("inf")]
    stages = any(rule is not None for rule in view.problem.stage_memory)
    streamed = view.problem.overflow_limit.min() < float("inf")
    rule = (
        ""
        if kept or stages
        else " No constraint keeps to the memories" + (": what does not fit is streamed." if streamed else ".")
    )
    return tag("", "The fullest device is ", name(device.name), f": {share} of its memory.{rule}")


def _memory_row(view: View, group: Sequence[int], used: Sequence[float], most: float) -> Markup:
    """Return the row of devices with equal figures, whose bar is full at *most*."""
    assert view.evaluation is not None
    d = group[0]
    device, taken = view.problem.devices[d], used[d]
    over = device.memory is not None and taken + device.reserve > device.memory * (1 + 1e-6)
    marks = [] if device.memory is None else [("limit", device.memory)]
    return tag(
        "tr",
        tag("th", device_names(view, group), scope="row"),
        tag("td", bar([("memory", taken), ("deviation", device.reserve)], most, marks), class_="picture"),
        tag("td", memory(view.problem, view.evaluation, d), " (over)" if over else None, class_="figure"),
    )
