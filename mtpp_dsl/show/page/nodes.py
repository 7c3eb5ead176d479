"""The nodes by name: a table that a script fills from data, so that 20,000 of them open at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from mtpp_dsl.core.base.units import counted, display_unit
from mtpp_dsl.show.page.markup import Markup, data_block, name, seen, short, tag
from mtpp_dsl.show.page.tables import scrolled
from mtpp_dsl.show.page.view import Section, View

STATIC = 50
"""Rows that stand in the page itself, for readers without scripts; scripts put all others in their place."""
MAX_NAME, MAX_DEVICE = 300, 60
_DIGITS = 6


def section(view: View) -> Section:
    """Return the table of all nodes: where each is, how long it takes there, and what it takes of memory."""
    columns, devices = _columns(view), [seen(device.name, MAX_DEVICE) for device in view.problem.devices]
    n = view.problem.graph.n
    caption = tag("caption", "Nodes, by name")
    heads = [
        tag("th", column["title"], scope="col", class_="figure" if "unit" in column else None) for column in columns
    ]
    rows = [_row(columns, devices, v) for v in range(min(n, STATIC))]
    whole = tag("table", caption, tag("thead", tag("tr", heads)), tag("tbody", rows), id="nodes-table")
    body = tag(
        "",
        _controls(view),
        scrolled("Nodes, by name", whole),
        tag("p", _counted(n), id="nodes-count", role="status"),
        tag("p", tag("button", "Show more", type="button", id="nodes-more"), id="nodes-paging", hidden=True),
        data_block("nodes-data", {"columns": columns, "devices": devices}),
    )
    return Section("nodes", "Nodes by name", body, nav="Nodes", folded=True)


def _counted(n: int) -> str:
    return counted(n, "node") if n <= STATIC else f"The first {STATIC} of {n:,} nodes; all of them need a script."


def _controls(view: View) -> Markup:
    """Return the search and the choice of a device, which work by script and are hidden without one."""
    options = [tag("option", "all devices", value="")]
    if view.plan is not None:
        options += [
            tag("option", seen(device.name, MAX_DEVICE), value=d) for d, device in enumerate(view.problem.devices)
        ]
    return tag(
        "div",
        tag("label", "Search ", tag("input", type="search", id="nodes-search", autocomplete="off", spellcheck="false")),
        tag("label", "Device ", tag("select", options, id="nodes-device")) if view.plan is not None else None,
        class_="controls",
        id="nodes-controls",
        hidden=True,
    )


def _columns(view: View) -> list[dict[str, Any]]:
    """Return the columns: a title and a value for each node; of figures the unit, None where there is none."""
    problem, graph = view.problem, view.problem.graph
    columns: list[dict[str, Any]] = [{"title": "node", "values": [seen(text, MAX_NAME) for text in graph.names]}]
    for title, texts in (("kind", graph.kinds), ("label", graph.labels)):
        if any(texts):
            columns.append({"title": title, "values": [short(text, MAX_NAME) for text in texts]})
    time, where = times_of(view), view.plan
    if where is not None:
        columns.append({"title": "device", "devices": devices_of(view)})
        columns.append(_figures("time there", time, problem.time_unit))
    else:
        columns.append(_figures("least time", time, problem.time_unit))
    sizes = (("memory", graph.memory, graph.memory_unit), ("parameters", graph.params, graph.size_unit),
             ("output", graph.output, graph.size_unit))  # fmt: skip
    for title, values, unit in sizes:
        columns.append(_figures(title, values.tolist(), unit, decimal=problem.origin.decimal))
    return [column for column in columns if "unit" not in column or any(column["values"])]


def _figures(title: str, values: Iterable[float], unit: str, *, decimal: bool = False) -> dict[str, Any]:
    """Return a column of figures in the unit that fits the largest of them; None for one that is not finite.

    Args:
        title: of the column, without the unit.
        values: in base units.
        unit: the base unit.
        decimal: whether the spec writes sizes in kB, MB and GB.
    """
    values = list(values)
    finite = [value for value in values if math.isfinite(value)]
    shown, factor = display_unit(finite, unit, decimal=decimal)
    rounded = [float(f"{value / factor:.{_DIGITS}g}") if math.isfinite(value) else None for value in values]
    whole = [int(value) if value is not None and value == int(value) else value for value in rounded]
    return {"title": f"{title} ({shown})" if shown else title, "values": whole, "unit": shown}


def times_of(view: View) -> list[float]:
    """Return how long each node takes where it is; without a plan, where it is fastest. Of a batch, one input."""
    time = view.problem.time
    if view.plan is None:
        return [float(value) for value in time.min(axis=1)]
    assignment = view.plan.assignment
    return [float(value) for value in time[np.arange(len(assignment)), assignment]]


def devices_of(view: View) -> list[int | list[int]]:
    """Return the device of each node, or all of its devices."""
    assert view.plan is not None
    plan, leads = view.plan, view.plan.replicas
    homes: list[int | list[int]] = []
    shared = _shared(view)
    for v, d in enumerate(plan.assignment.tolist()):
        more = shared[v] if shared is not None else list(leads.get(d, (d,)))
        homes.append(more if len(more) > 1 else d)
    return homes


def _shared(view: View) -> list[list[int]] | None:
    """Return the devices of each node where routes or batches put one on several; None elsewhere."""
    assert view.plan is not None
    answer = view.answer["plan"]["assignment"]
    if not view.plan.routes and view.problem.objective.batch is None:
        return None
    if view.plan.routes:
        return [sorted({int(route.assignment[v]) for route in view.plan.routes}) for v in range(view.problem.graph.n)]
    index = view.problem.device_index
    given = [answer[home] for home in view.problem.graph.names]
    return [[index[home]] if isinstance(home, str) else [index[one] for one in home] for home in given]


def _row(columns: list[dict[str, Any]], devices: list[str], v: int) -> Markup:
    """Return a row of the table as the script makes it."""
    first, *others = columns
    return tag("tr", tag("th", name(first["values"][v], MAX_NAME), scope="row"), [_cell(c, devices, v) for c in others])


def _cell(column: dict[str, Any], devices: list[str], v: int) -> Markup:
    if "devices" in column:
        homes = column["devices"][v]
        homes = homes if isinstance(homes, list) else [homes]
        return tag("td", [[", " if i else "", name(devices[d])] for i, d in enumerate(homes)])
    value = column["values"][v]
    if "unit" in column:
        return tag("td", "" if value is None else f"{value:.5g}", class_="figure")
    return tag("td", name(value, MAX_NAME))
