"""Write what each device runs: stages with their replicas and shards, and routes that share the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import table
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.names import fold_names

MAX_NAMES = 12
"""Families of nodes that are named in a cell; all nodes are in their own table."""
MAX_ROUTES = 40
_CELL = 600


def section(view: View) -> Section | None:
    """Return the stages of a plan, and its routes; None without a plan."""
    plan = view.answer["plan"]
    if plan is None or view.plan is None:
        return None
    parts = [_stages(plan["stages"]) if plan["stages"] is not None else _devices(plan["assignment"], view)]
    if plan.get("routes"):
        parts += [tag("h3", "Routes that share the inputs"), *_routes(view, plan["routes"])]
    return Section("stages", "What each device runs", tag("", parts), nav="Stages")


def _names(names: list[str]) -> Markup:
    return name(fold_names(names, MAX_NAMES), _CELL)


def _stages(stages: list[Mapping[str, Any]]) -> Markup:
    """Return a row for each stage in the order in which data flow, with the columns that any of them needs."""
    extra = {
        "split": any(stage.get("shards", 1) > 1 or stage.get("replicas", 1) > 1 for stage in stages),
        "share of the inputs": any(len(set(stage["share"].values())) > 1 for stage in stages),
        "recomputes": any(stage.get("recompute") is not None for stage in stages),
        "keeps": any(stage.get("kept") is not None for stage in stages),
    }
    rows: list[list[Child]] = []
    for number, stage in enumerate(stages, 1):
        cells: dict[str, Child] = {
            "split": _split(stage),
            "share of the inputs": [
                [", " if i else "", name(device), f" {share:.3g}"]
                for i, (device, share) in enumerate(stage["share"].items())
            ],
            "recomputes": "" if stage.get("recompute") is None else "yes" if stage["recompute"] else "no",
            "keeps": "" if stage.get("kept") is None else counted(stage["kept"], "microbatch"),
        }
        rows.append(
            [
                str(number),
                _names(stage["devices"]),
                f"{len(stage['nodes']):,}",
                *(cells[key] for key, there in extra.items() if there),
                _names(stage["nodes"]),
            ]
        )
    head = ["stage", "devices", "number of nodes", *(key for key, there in extra.items() if there), "nodes"]
    return table("Stages, in the order in which data flow", head, rows, figures=99)


def _split(stage: Mapping[str, Any]) -> str:
    shards, replicas = stage.get("shards", 1), stage.get("replicas", 1)
    return " × ".join(
        [*([counted(shards, "shard")] if shards > 1 else []), *([counted(replicas, "replica")] if replicas > 1 else [])]
    )


def _devices(assignment: Mapping[str, Any], view: View) -> Markup:
    """Return a row for each device of a plan without stages: of a batch a node may be on several."""
    nodes_on: dict[str, list[str]] = {device.name: [] for device in view.problem.devices}
    for node, where in assignment.items():
        for device in [where] if isinstance(where, str) else where:
            nodes_on[device].append(node)
    rows: list[list[Child]] = [[name(device), f"{len(nodes):,}", _names(nodes)] for device, nodes in nodes_on.items()]
    return table("Nodes of each device", ["device", "number of nodes", "nodes"], rows, figures=99)


def _routes(view: View, routes: list[Mapping[str, Any]]) -> list[Markup]:
    """Return a row for each route: its share, and the devices in the order in which it comes to them."""
    order = [view.problem.graph.names[v] for v in view.problem.graph.topological_order]
    rows: list[list[Child]] = []
    for number, route in enumerate(routes[:MAX_ROUTES], 1):
        stages: dict[str, list[str]] = {}
        for node in order:
            stages.setdefault(route["assign"][node], []).append(node)
        path = [[" → " if i else "", name(d), ": ", _names(nodes)] for i, (d, nodes) in enumerate(stages.items())]
        rows.append([str(number), route["share"], path])
    shown = table(
        "Routes, with their shares of the inputs", ["route", "share", "devices and their nodes"], rows, figures=99
    )
    left = len(routes) - MAX_ROUTES
    return [shown, *([tag("p", f"{counted(left, 'route')} more are in the answer's JSON.")] if left > 0 else [])]
