"""Results as JSON: one schema, versioned (``schema.json`` beside this file describes it)."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.text.visible import escaped

__all__ = ["SCHEMA_VERSION", "dumps", "result_to_json", "schema"]

SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """Return the JSON schema of results."""
    loaded: dict[str, Any] = json.loads(files("mtpp_dsl.report").joinpath("schema.json").read_text())
    return loaded


def dumps(data: object, encoding: str = "utf-8") -> str:
    """Return JSON text for people and programs: indented, no NaN or infinity; ASCII where *encoding* has no more."""
    text = escaped(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)) + "\n"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(data, indent=2, allow_nan=False) + "\n"
    return text


def result_to_json(problem: Problem, result: Result) -> dict[str, Any]:
    """Return the answer: floats in base units (s, B, or the spec's own), absent is null."""
    objective = problem.objective
    bound = result.bound
    return {
        "schema": SCHEMA_VERSION,
        "status": result.status,
        "termination": result.termination,
        "objective": {
            "name": objective.name,
            "sense": objective.sense,
            "parts": objective.parts,
            "batch": objective.batch,
            "value": None if result.cost is None else _finite(objective.value(result.cost)),
            "unit": objective.unit(problem.time_unit),
        },
        "bound": bound
        and {
            "value": _finite(objective.value(bound.cost)),
            "method": bound.method,
            "proof": bound.proof,
            "by": bound.by,
            "detail": bound.detail or None,
            "certificate": None if bound.certificate is None else bound.certificate.to_json(),
        },
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
        "verified": result.verified,
        "notes": list(result.notes),
        "spec": {
            "path": problem.origin.path,
            "sha256": problem.origin.sha256,
            "params": dict(problem.origin.params),
            "files": dict(problem.origin.files),
        },
        "versions": versions(),
        "log": [
            {
                "time": entry.time,
                "incumbent": None if entry.incumbent is None else _finite(objective.value(entry.incumbent)),
                "bound": None if entry.bound is None else _finite(objective.value(entry.bound)),
            }
            for entry in result.log
        ],
    }


def _devices(problem: Problem, result: Result) -> list[dict[str, Any]]:
    evaluation = result.evaluation
    if evaluation is None:
        return []
    training = bool(problem.graph.backward.any())
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
            "memory": float(evaluation.memory[d]),
            "memory_limit": device.memory,
        }
        for d, device in enumerate(problem.devices)
    ]


def versions() -> dict[str, str]:
    """Return the versions of what takes part in an answer, without importing any of it."""
    found = {"python": platform.python_version()}
    for package in ("mtpp-dsl", "pyomo", "highspy", "numpy", "ortools"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
