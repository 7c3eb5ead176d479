"""What an answer says beside its plan, held against the spec: objective, status, gap, bound, log, source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, isclose
from typing import Any

from mtpp_dsl.plans.result import OPTIMAL_GAP, relative_gap
from mtpp_dsl.problem import Problem

__all__ = ["CLOSE", "NOT_CHECKED", "cost_of_value", "false_claims", "false_source", "near"]

CLOSE = 1e-9
"""Relative: figures of an answer are sums of many numbers, added in another order, and may be inverted."""

EXACT = 1e-12
"""Of a gap, which is a share."""

PASSED = 1e-6
"""Relative: what a bound, or a cost, that a solver reports on the way may be beyond what is held in the end."""

NOT_CHECKED = {
    "method": "",
    "solver": "",
    "seed": "",
    "time": "",
    "versions": "",
    "notes": "",
    "bound.method": "",
    "bound.proof": "",
    "bound.by": "",
    "bound.detail": "",
    "infeasible": "except as said above",
    "termination": "except that it fits the status",
    "log": "except that it is in order and contradicts neither plan nor bound",
    "spec.path": "",
}
"""The fields of an answer that do not follow from a spec, and how far they are checked all the same."""


def near(one: float, other: float, slack: float = 0.0) -> bool:
    """Return whether two figures are the same but for rounding."""
    return isclose(one, other, rel_tol=CLOSE, abs_tol=slack)


def cost_of_value(problem: Problem, value: float | None) -> float:
    """Return the cost behind a value of the objective; None stands for one without end."""
    if problem.objective.sense == "minimize":
        return inf if value is None else value
    return 0.0 if value is None else problem.objective.value(value)


def false_claims(problem: Problem, data: Mapping[str, Any], cost: float | None) -> Iterator[str]:
    """Yield what an answer says that is not so.

    Args:
        problem: what is asked.
        data: the answer, of the right shape.
        cost: of its plan, counted again; None without a plan.
    """
    yield from _objective(problem, data["objective"], cost)
    bound = None if data["bound"] is None else cost_of_value(problem, data["bound"]["value"])
    if bound is not None and not bound < inf:
        yield "bound.value: the answer says that no plan has a value, and not that the spec is infeasible"
        return
    if bound is not None and bound < 0:
        yield f"bound.value: {data['bound']['value']!r} is no value that an objective can have"
    if cost is not None and bound is not None and bound > cost * (1 + CLOSE):
        value = problem.objective.value(cost)
        yield f"bound.value: the answer says that no plan beats {data['bound']['value']!r}; this one has {value!r}"
    yield from _status(data, cost, bound)
    yield from _log(problem, data, cost, bound)


def _objective(problem: Problem, said: Mapping[str, Any], cost: float | None) -> Iterator[str]:
    objective = problem.objective
    asked = {
        "name": objective.name,
        "sense": objective.sense,
        "parts": objective.parts,
        "batch": objective.batch,
        "unit": objective.unit(problem.time_unit),
    }
    for name, wanted in asked.items():
        if said[name] != wanted:
            yield f"objective.{name}: the answer says {said[name]!r}, the spec {wanted!r}"
    value = None if cost is None else objective.value(cost)
    if value == inf:  # no limit to the throughput
        value = None
    given = said["value"]
    if (given is None) != (value is None) or (value is not None and not near(given, value)):
        has = "there is no plan" if cost is None else f"the plan has {value!r}"
        yield f"objective.value: the answer says {given!r}, {has}"


def _status(data: Mapping[str, Any], cost: float | None, bound: float | None) -> Iterator[str]:
    gap = None if cost is None or bound is None else relative_gap(cost, bound)
    if (gap is None) != (data["gap"] is None) or (gap is not None and not near(gap, data["gap"], EXACT)):
        yield f"gap: the answer says {data['gap']!r}, plan and bound leave {gap!r}"
    status = _held(data, cost, bound, gap)
    if data["status"] != status:
        yield f"status: the answer says {data['status']!r}, and what it holds makes it {status!r}"
    if data["infeasible"] is not None and (cost is not None or bound is not None):
        yield f"infeasible: the answer says so, and has a {'plan' if cost is not None else 'bound'}"
    if (data["infeasible"] is not None) != (data["termination"] == "infeasible"):
        yield f"termination: {data['termination']!r} does not go with the status {status!r}"
    if data["termination"] == "gap" and cost is not None and bound is None:
        yield "termination: 'gap' is said of an answer without a bound, which has no gap"
    if data["verified"] != (cost is not None):
        yield f"verified: the answer says {data['verified']}, and there is {'a' if cost is not None else 'no'} plan"


def _held(data: Mapping[str, Any], cost: float | None, bound: float | None, gap: float | None) -> str:
    if data["infeasible"] is not None:
        return "infeasible"
    if cost is not None:
        return "optimal" if gap is not None and gap <= OPTIMAL_GAP else "feasible"
    return "unknown" if bound is None else "bound"


def _log(problem: Problem, data: Mapping[str, Any], cost: float | None, bound: float | None) -> Iterator[str]:
    """Yield where the history is out of order, or contradicts what came of it."""
    last, best, most = 0.0, inf, 0.0
    for i, entry in enumerate(data["log"]):
        if entry["time"] < last:
            yield f"log[{i}].time: {entry['time']!r} comes after {last!r}"
        last = entry["time"]
        for name in ("incumbent", "bound"):
            value = entry[name]
            if value is None:
                continue
            at = cost_of_value(problem, value)
            if at < 0:
                yield f"log[{i}].{name}: {value!r} is no value that an objective can have"
            if name == "incumbent":
                best = min(best, at)
            else:
                most = max(most, at)
    if bound is not None and best < bound * (1 - PASSED):
        yield f"log: an incumbent of {problem.objective.value(best)!r} is better than the bound"
    if cost is not None and most > cost * (1 + PASSED):
        yield f"log: a bound of {problem.objective.value(most)!r} is better than the plan"


def false_source(problem: Problem, said: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the spec, the files that it reads or its params are others than the answer's."""
    origin = problem.origin
    if said["sha256"] is None and said["path"] is not None:
        yield "spec.sha256: the answer does not say of which spec it is"
    if said["sha256"] is not None and said["sha256"] != origin.sha256:
        yield f"spec.sha256: the answer is one for another text: {said['sha256']:.16}…, here {origin.sha256:.16}…"
    files: Mapping[str, str] = said.get("files", origin.files)
    for name in sorted({*origin.files, *files}):
        if name not in origin.files:
            yield f"spec.files: the answer comes from {name}, which the spec does not read"
        elif name not in files:
            yield f"spec.files: the spec reads {name}, of which the answer does not say that it did"
        elif files[name] != origin.files[name]:
            yield f"spec.files: {name} has changed since the answer was made"
    for name in sorted({*origin.params, *said["params"]}):
        if name not in said["params"]:
            yield f"spec.params: the answer gives no {name}, which is a param of the spec"
        elif name not in origin.params:
            yield f"spec.params: the answer gives {name}, which is no param of the spec"
