"""Memory against limits."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.show.page.alike import called, together
from mtpp_dsl.show.page.loads import MAX_SHOWN
from mtpp_dsl.show.page.markup import Markup, name, tag
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.tables import bar, bars, legend
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.loads import memory
from mtpp_dsl.show.report.memory_shares import MOST_SHARE, drawn_as_shares

__all__ = ["section"]


def section(view: View) -> Section | None:
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
    groups = together(view, shown, lambda d: (used[d], devices[d].memory, devices[d].reserve))
    rows = [
        _row(view, group, used, fullest * (devices[group[0]].memory or 0.0) if shares else most) for group in groups
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
        tag("p", _told(view, order, used), alike),
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


def _told(view: View, order: list[int], used: list[float]) -> Markup:
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


def _row(view: View, group: Sequence[int], used: Sequence[float], most: float) -> Markup:
    """Return the row of devices with equal figures, whose bar is full at *most*."""
    assert view.evaluation is not None
    d = group[0]
    device, taken = view.problem.devices[d], used[d]
    over = device.memory is not None and taken + device.reserve > device.memory * (1 + 1e-6)
    marks = [] if device.memory is None else [("limit", device.memory)]
    return tag(
        "tr",
        tag("th", called(view, group), scope="row"),
        tag("td", bar([("memory", taken), ("deviation", device.reserve)], most, marks), class_="picture"),
        tag("td", memory(view.problem, view.evaluation, d), " (over)" if over else None, class_="figure"),
    )
