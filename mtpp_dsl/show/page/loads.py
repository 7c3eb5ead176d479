"""The loads of devices against the bound: what each does, and what holds the plan back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.show.page.alike import called, together
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.tables import bar, bars, fold, legend, table
from mtpp_dsl.show.page.view import View

__all__ = ["section"]

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
    parts = [part for part in PARTS if any(each.get(part) for each in devices)] or ["work"]
    overlapped = _overlapped(view, devices)
    drawn = {d: _drawn(view, devices[d], overlapped=overlapped) for d in shown}
    lines = _lines(view)
    most = max([*(each["load"] for each in devices), *(value for _, value, _ in lines)])
    groups = together(view, shown, lambda d: (devices[d]["load"], *drawn[d]))
    rows = [_row(view, group, devices[group[0]]["load"], drawn[group[0]], most, lines) for group in groups]
    there = [part for part in PARTS if any(kind == part and value > 0 for bar in drawn.values() for kind, value in bar)]
    left = len(order) - len(shown)
    body = tag(
        "",
        tag("p", _told(view, devices)),
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
    found = []
    if limit is not None:
        what = "the bound" if evaluation is None or evaluation.makespan is None else "the bound of the makespan"
        found.append(("bound", limit, f"{what}, {view.time(limit)}"))
    if evaluation is not None and evaluation.makespan is not None:
        found.append(("bottleneck", evaluation.makespan, f"the makespan, {view.time(evaluation.makespan)}"))
    return found


def _busy(view: View, load: float) -> str:
    """Return a load for people; in a schedule also which share of the makespan it is."""
    whole = None if view.evaluation is None else view.evaluation.makespan
    return f"{view.time(load)} ({format_share(load / whole)})" if whole else view.time(load)


def _overlapped(view: View, devices: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether devices send and work at once, so that a load is not the sum of its parts."""
    if view.problem.timed:
        return False
    return any(each["load"] < sum(each.get(part) or 0.0 for part in SUMMED) * (1 - 1e-9) for each in devices)


def _drawn(view: View, device: Mapping[str, Any], *, overlapped: bool) -> list[tuple[str, float]]:
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


def _told(view: View, devices: Sequence[Mapping[str, Any]]) -> Markup:
    """Return in words which device or channel holds the plan back."""
    loads = [each["load"] for each in devices]
    peak = max(range(len(loads)), key=lambda d: loads[d])
    idle = sum(load == 0 for load in loads)
    makespan = None if view.evaluation is None else view.evaluation.makespan
    said: list[Child] = ["The busiest device is ", name(devices[peak]["name"])]
    if makespan:
        share = format_share(loads[peak] / makespan)
        said.append(f": it is busy for {view.time(loads[peak])}, {share} of the makespan")
    else:
        said.append(f" with {view.time(loads[peak])}")
    channels = view.answer.get("channels") or []
    busy = max(channels, key=lambda each: each["load"], default=None)
    if busy is not None and busy["load"] > loads[peak]:
        said += ["; the channel ", name(busy["name"]), f" is busier still, with {view.time(busy['load'])}"]
    said.append(". ")
    working = [load for load in loads if load > 0]
    if len(working) > 1:
        mean = _busy(view, sum(working) / len(working))
        said.append(f"The mean of the {len(working):,} devices that work is {mean}. ")
    if idle:
        said.append(f"{idle:,} {'does' if idle == 1 else 'do'} nothing. ")
    return tag("", said)


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
        tag("th", called(view, group), scope="row"),
        tag("td", picture, class_="picture"),
        tag("td", _busy(view, load), class_="figure"),
    )


def _figures(view: View, order: Sequence[int], devices: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> Markup:
    """Return all parts of all loads, with those of forward and backward passes and of phases."""
    training = any(each["forward"] is not None for each in devices)
    phases = list(devices[0].get("phases", ()))
    columns = ["load", *(part for part in parts if part not in PASSES), *(PASSES if training else ())]

    def cells(d: int) -> tuple[str, ...]:
        parts = (view.time(devices[d].get(column) or 0.0) for column in columns)
        return *parts, *(view.time(devices[d]["phases"][phase]["load"]) for phase in phases)

    rows = [[called(view, group), *cells(group[0])] for group in together(view, order, cells)]
    return table("Loads and what they consist of", ["device", *columns, *phases], rows)
