"""Results as JSON: one schema, versioned (``schema.json`` beside this file describes it)."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from math import inf
from typing import Any

from mtpp_dsl.core.plans.cache_pool import cache_pool
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.pipeline import iteration_of
from mtpp_dsl.core.plans.result import Bound, Reached, Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.time_sources import counted_sources
from mtpp_dsl.core.text.visible import escaped

__all__ = ["SCHEMA_VERSION", "dumps", "families", "result_to_json", "schema"]

SCHEMA_VERSION = 2


def schema(version: int = SCHEMA_VERSION) -> dict[str, Any]:
    """Return the JSON schema of results; of version 1, that of answers from before there were several objectives."""
    loaded: dict[str, Any] = json.loads(files("mtpp_dsl.solving.answers").joinpath("schema.json").read_text())
    return loaded if version == SCHEMA_VERSION else _first_version(loaded)


def _first_version(rule: dict[str, Any]) -> dict[str, Any]:
    """Return schema 1: this one without what version 2 has added."""
    properties = rule["properties"]
    properties["schema"] = {"const": 1}
    del properties["iteration"], properties["channels"], properties["target"]
    for added in ("objectives", "penalties"):
        del properties[added]
        rule["required"].remove(added)
    objective = properties["objective"]
    for added in ("kind", "microbatches", "schedule"):
        del objective["properties"][added]
    objective["required"].remove("kind")
    objective["properties"]["name"] = {"enum": ["bottleneck", "makespan", "throughput"]}
    objective["properties"]["unit"] = {"enum": ["s", "1/s", ""]}
    plan = next(form for form in properties["plan"]["oneOf"] if form["type"] == "object")
    del plan["properties"]["stages"]
    plan["required"].remove("stages")
    return rule


LONG = 1_000
"""A list or object of more members has one on each line, which is written ten times as fast as indented ones."""


def dumps(data: object, encoding: str = "utf-8") -> str:
    """Return JSON text for people and programs: indented, no NaN or infinity; ASCII where *encoding* has no more."""
    text = escaped("".join(_indented(data, json.JSONEncoder(allow_nan=False, ensure_ascii=False), "\n")))
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = "".join(_indented(data, json.JSONEncoder(allow_nan=False), "\n"))
    return text + "\n"


def _indented(data: object, encoder: json.JSONEncoder, line: str) -> Iterator[str]:
    """Yield pieces of the text of *data*, as ``json.dumps(data, indent=2)`` has it but for what is long.

    Args:
        data: what is written.
        encoder: of what is on one line.
        line: a line break, and as many spaces as the line of *data* begins with.
    """
    if not isinstance(data, (dict, list, tuple)) or not data:
        yield encoder.encode(data)
        return
    names = (key if isinstance(key, str) else encoder.encode(key) for key in data)
    keys = [f"{encoder.encode(name)}: " for name in names] if isinstance(data, dict) else [""] * len(data)
    opening, closing = "{}" if isinstance(data, dict) else "[]"
    inner = f"{line}  "
    separator = opening
    for key, value in zip(keys, data.values() if isinstance(data, dict) else data, strict=True):
        yield f"{separator}{inner}{key}"
        separator = ","
        if len(data) > LONG:
            yield encoder.encode(value)
        else:
            yield from _indented(value, encoder, inner)
    yield f"{line}{closing}"


def result_to_json(problem: Problem, result: Result) -> dict[str, Any]:
    """Return the answer: floats in base units (s, B, or the spec's own), absent is null."""
    objective = problem.objective
    bound = result.bound
    return {
        "schema": SCHEMA_VERSION,
        "status": result.status,
        "termination": result.termination,
        "objective": _objective(problem, objective, result.cost),
        "objectives": _objectives(problem, result),
        **_iteration(problem, result),
        "penalties": _penalties(problem, result),
        "bound": _bound(objective, bound),
        "gap": result.gap,
        "infeasible": result.infeasibility
        and {
            "reason": result.infeasibility.reason,
            "clash": list(result.infeasibility.clash),
            "minimal": result.infeasibility.minimal,
        },
        "method": result.method,
        "solver": result.solver,
        "seed": result.seed,
        "time": {phase: float(seconds) for phase, seconds in result.time.items()},
        "plan": None if result.plan is None else result.plan.to_json(problem),
        "devices": _devices(problem, result),
        **_channels(problem, result),
        **_cache(problem, result),
        **_target(problem, result),
        **_largest(result),
        **_times(problem),
        "verified": result.verified,
        "notes": list(result.notes),
        "spec": {
            "path": problem.origin.path,
            "sha256": problem.origin.sha256,
            "params": dict(problem.origin.params),
            "scenario": problem.origin.scenario,
            "files": dict(problem.origin.files),
        },
        "versions": versions(),
        **_turns(result),
        "log": [
            {
                "time": entry.time,
                "incumbent": None if entry.incumbent is None else _finite(objective.value(entry.incumbent)),
                "bound": None if entry.bound is None else _finite(objective.value(entry.bound)),
            }
            for entry in result.log
        ],
    }


def _turns(result: Result) -> dict[str, Any]:
    """Return which methods another one has run; nothing where it has run none."""
    return {"turns": [vars(turn) for turn in result.turns]} if result.turns else {}


def _objective(problem: Problem, objective: Objective, cost: float | None) -> dict[str, Any]:
    """Return what an objective is, and its value in a plan of that cost."""
    return {
        "name": objective.called,
        "kind": objective.kind,
        "sense": objective.sense,
        "parts": objective.parts,
        "batch": objective.batch,
        **({"microbatches": objective.microbatches, "schedule": objective.schedule} if objective.is_iteration else {}),
        **_value(None if cost is None else objective.value(cost)),
        "unit": objective.unit(problem.time_unit),
    }


def _objectives(problem: Problem, result: Result) -> list[dict[str, Any]]:
    """Return every objective with its value in the plan, the best one found for it, and the bound."""
    reached = result.objectives or (
        Reached(problem.objective, result.cost, best=result.cost, bound=result.bound, gap=result.gap),
        *(Reached(objective) for objective in problem.later),
    )
    return [
        {
            **_objective(problem, one.objective, one.cost),
            "best": None if one.best is None else _finite(one.objective.value(one.best)),
            "within": {one.objective.within_is: one.objective.within} if one.objective.within else None,
            "under": one.under or None,
            "bound": _without_certificate(_bound(one.objective, one.bound)),
            "gap": one.gap,
        }
        for one in reached
    ]


def _iteration(problem: Problem, result: Result) -> dict[str, Any]:
    """Return what an iteration of the plan takes, pass by pass, by the name of the field; {} for other objectives."""
    if not problem.objective.is_iteration:
        return {}
    if result.plan is None or result.evaluation is None:
        return {"iteration": None}
    return {"iteration": asdict(iteration_of(problem, result.plan, result.evaluation))}


def _times(problem: Problem) -> dict[str, Any]:
    """Return how many times are from where, by the name of the field; {} where all are given."""
    counted = counted_sources(problem)
    return {"times": dict(counted)} if counted else {}


def _channels(problem: Problem, result: Result) -> dict[str, Any]:
    """Return the channels that carry anything and their loads, by the name of the field; {} where there are none."""
    if not problem.networked or result.evaluation is None:
        return {}
    loads = zip(problem.network.channels, result.evaluation.channels.tolist(), strict=False)
    return {"channels": [{"name": name, "load": float(load)} for name, load in loads if load > 0]}


def _cache(problem: Problem, result: Result) -> dict[str, Any]:
    """Return what the caches of the plan hold, by the name of the field; {} without a pool of caches or a limit."""
    pool = None if result.plan is None else cache_pool(problem, result.plan)
    return {} if pool is None else {"cache": {**asdict(pool), "device": problem.devices[pool.device].name}}


def _target(problem: Problem, result: Result) -> dict[str, Any]:
    """Return what the limits of the target cost, by the name of the field; {} where there is no target."""
    target = result.target
    if target is None:
        return {}
    value, bound = (None if x is None else _finite(problem.objective.value(x)) for x in (target.cost, target.bound))
    return {
        "target": {
            "name": target.name,
            "free": {"value": value, "bound": bound},
            "cost": target.share,
            "at_least": target.least,
            "at_most": target.most,
        }
    }


def _largest(result: Result) -> dict[str, Any]:
    """Return what is known of the largest value of a param, by the name of the field; {} where it was not requested."""
    largest = result.largest
    return {} if largest is None else {"largest": {**asdict(largest), "proved": largest.proved}}


def _penalties(problem: Problem, result: Result) -> list[dict[str, Any]]:
    """Return what the soft rows of each labelled constraint cost, and those rows that the plan breaks."""
    if result.evaluation is None:
        return []
    return [
        {"constraint": label, "paid": sum(rows.values()), "rows": {row: paid for row, paid in rows.items() if paid}}
        for label, rows in families(problem, result.evaluation.penalties).items()
    ]


def families(problem: Problem, paid: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return what soft rows cost, by the labels of their constraints: the rows of one ``forall`` together."""
    by_label: dict[str, dict[str, float]] = {}
    for row in problem.soft_rows:
        by_label.setdefault(row.label.partition("[")[0], {})[row.label] = float(paid[row.label])
    return by_label


def _bound(objective: Objective, bound: Bound | None) -> dict[str, Any] | None:
    if bound is None:
        return None
    return {
        **_value(objective.value(bound.cost)),
        "method": bound.method,
        "proof": bound.proof,
        "by": bound.by,
        "detail": bound.detail or None,
        "certificate": None if bound.certificate is None else bound.certificate.to_json(),
    }


def _without_certificate(bound: dict[str, Any] | None) -> dict[str, Any] | None:
    return bound and {name: value for name, value in bound.items() if name != "certificate"}


def _devices(problem: Problem, result: Result) -> list[dict[str, Any]]:
    evaluation = result.evaluation
    if evaluation is None:
        return []
    training = bool(problem.graph.backward.any()) or problem.objective.is_iteration
    return [
        {
            "name": device.name,
            "load": float(evaluation.load[d]),
            "forward": float(evaluation.forward[d]) if training else None,
            "backward": float(evaluation.backward[d]) if training else None,
            "work": float(evaluation.work[d]),
            "input": float(evaluation.input[d]),
            "output": float(evaluation.output[d]),
            "overflow": float(evaluation.overflow[d]),
            "sync": float(evaluation.sync[d]),
            **({} if problem.robust is None else {"deviation": float(evaluation.deviation[d])}),
            "memory": float(evaluation.memory[d]),
            **({"workspace": float(evaluation.workspace[d])} if problem.graph.workspace.any() else {}),
            "memory_limit": device.memory,
            **_by_phase(evaluation, d),
        }
        for d, device in enumerate(problem.devices)
    ]


def _by_phase(evaluation: Evaluation, d: int) -> dict[str, Any]:
    """Return the load of a device in each phase; nothing where the problem has no phases."""
    if not evaluation.phases:
        return {}
    return {"phases": {name: {"load": float(phase.load[d])} for name, phase in evaluation.phases.items()}}


def versions() -> dict[str, str]:
    """Return the versions of what takes part in an answer, without importing any of it."""
    return dict(_versions())


@cache
def _versions() -> Mapping[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("mtpp-dsl", "pyomo", "highspy", "numpy", "ortools"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _value(value: float | None) -> dict[str, Any]:
    """Return a value as JSON has it, which has no infinite numbers."""
    if value == inf:
        return {"value": None, "infinite": True}
    return {"value": None if value is None else _finite(value)}


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
