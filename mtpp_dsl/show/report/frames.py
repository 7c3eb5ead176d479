"""Results as tables for pandas, which is imported when a table is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.batches import Batch
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.json import result_to_json

TABLES = ("nodes", "devices", "log")


def frame(problem: Problem, result: Result, rows: str = "nodes") -> Any:
    """Return a table of a result.

    Args:
        problem: what was asked.
        result: what was found.
        rows: "nodes": a row for each node and device that runs it, with its time there, its sizes, and start and end
            where the plan says when; "devices": the load of each device, and what it is made of; "log": incumbent and
            bound over time.

    Raises:
        UsageError: pandas is not installed; there is no such table; there is no plan.
    """
    if rows not in TABLES:
        raise UsageError(f"there is no table {rows!r}, only {', '.join(TABLES)}{did_you_mean(rows, TABLES)}")
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise UsageError(
            f"a table needs pandas, which cannot be imported ({error}): pip install pandas; or use result.to_dict()"
        ) from None
    if rows == "log":
        return pandas.DataFrame(result_to_json(problem, result)["log"], columns=["time", "incumbent", "bound"])
    if result.plan is None:
        raise UsageError(f"there is no plan, and so no table of {rows}: the result is {result.status!r}")
    if rows == "devices":
        return pandas.DataFrame(result_to_json(problem, result)["devices"])
    return pandas.DataFrame(list(_nodes(problem, result.plan)))


def _nodes(problem: Problem, plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield a row for each node, and of a batch for each device that runs inputs of it."""
    if plan.batches is not None:
        for batch in sorted(plan.batches, key=lambda batch: (batch.node, batch.device)):
            yield {**_node(problem, batch.node, batch.device), **_when(batch)}
        return
    for v, d in enumerate(plan.assignment.tolist()):
        row = {**_node(problem, v, d), "time": float(problem.time[v, d])}
        if plan.schedule is not None:
            row |= {"start": float(plan.schedule.start[v]), "end": float(plan.schedule.end[v])}
        yield row


def _node(problem: Problem, v: int, d: int) -> dict[str, Any]:
    graph = problem.graph
    sizes = {"params": graph.params, "output": graph.output, "memory": graph.memory}
    row: dict[str, Any] = {"node": graph.names[v], "device": problem.devices[d].name, "kind": graph.kinds[v]}
    return row | {what: float(column[v]) for what, column in sizes.items()}


def _when(batch: Batch) -> dict[str, Any]:
    return {"inputs": batch.size, "time": batch.end - batch.start, "start": batch.start, "end": batch.end}
