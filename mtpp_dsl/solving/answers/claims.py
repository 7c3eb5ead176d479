"""Check what an answer says beside its plan, held against the spec: objective, status, gap, bound, log, source."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from math import inf, isclose
from typing import Any

import numpy as np

from mtpp_dsl.checks.cache_check import held_by_caches, whole_blocks
from mtpp_dsl.checks.stage_check import iteration_times
from mtpp_dsl.checks.verification import costs_of, penalties_of, size_of
from mtpp_dsl.core.base.answered import value_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, relative_gap
from mtpp_dsl.core.plans.target_cost import TargetCost
from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

CLOSE = 1e-9
"""Relative: figures of an answer are sums of many numbers, added in another order, and may be inverted."""

EXACT = 2e-12
"""Of a gap, which is a share: one as small as the rounding of sums may be 0 of costs, and not 0 of their values."""

PASSED = 1e-6
"""Relative: what a bound, or a cost, that a solver reports on the way may be beyond what is held in the end."""

NOT_CHECKED = {
    "method": "",
    "solver": "",
    "seed": "",
    "time": "",
    "versions": "",
    "turns": "",
    "notes": "",
    "bound.method": "",
    "bound.proof": "",
    "bound.by": "",
    "bound.detail": "",
    "objectives.under": "",
    "objectives.bound.method": "",
    "objectives.bound.proof": "",
    "objectives.bound.by": "",
    "objectives.bound.detail": "",
    "infeasible": "except as said above",
    "termination": "except that it fits the status",
    "log": "except that it is in order and contradicts neither plan nor bound",
    "spec.path": "",
    "target.free": "except that it contradicts neither plan nor bound",
    "largest": "except that the plan is for its value, and that its figures fit together",
}
"""The fields of an answer that do not follow from a spec, and how far they are checked all the same."""


def near(one: float, other: float, slack: float = 0.0) -> bool:
    """Return whether two figures are the same but for rounding."""
    return isclose(one, other, rel_tol=CLOSE, abs_tol=slack)


def cost_of_value(objective: Objective, value: float | None) -> float:
    """Return the cost behind a value of an objective; None stands for one without end."""
    if objective.name == "throughput":
        return 0.0 if value is None else objective.value(value)
    return inf if value is None else -value if objective.maximized else value


def false_claims(
    problem: Problem, data: Mapping[str, Any], plan: Plan | None, *, in_front: bool = False
) -> Iterator[str]:
    """Yield what an answer says that is not so.

    Args:
        problem: what is asked.
        data: the answer, of the right shape.
        plan: its plan; None without one.
        in_front: whether it is a point of a front, each of whose objectives is held to the other one.
    """
    costs = [None] * len(problem.objectives) if plan is None else costs_of(problem, plan)
    objective, cost = problem.objective, costs[0]
    yield from _objective(problem, objective, data, "objective", cost)
    bound = None if data["bound"] is None else cost_of_value(objective, data["bound"]["value"])
    if bound is not None and not bound < inf:
        yield "bound.value: the answer says that no plan has a value, and not that the spec is infeasible"
        return
    size = 0.0 if plan is None else size_of(problem, plan)
    yield from _bounded(objective, "bound", data["bound"], cost, size)
    gaps = yield from _objectives(problem, data, plan, costs, in_front=in_front)
    yield from _status(data, cost, bound, size, gaps)
    yield from _log(problem, data, cost, bound, size)
    yield from _penalties(problem, data, plan)
    yield from _iteration(problem, data, plan)
    yield from _cache(problem, data, plan)
    yield from _target(objective, data, cost, bound)
    yield from _largest(problem, data, plan)
    yield from _times(problem, data)


def _target(objective: Objective, data: Mapping[str, Any], cost: float | None, bound: float | None) -> Iterator[str]:
    """Yield what an answer says of the cost of its target's limits that does not follow from its other figures."""
    claim = data.get("target")
    if claim is None:
        return
    free_cost, free_bound = (
        None if claim["free"][name] is None else cost_of_value(objective, claim["free"][name])
        for name in ("value", "bound")
    )
    if free_cost is not None and cost is not None and free_cost > cost + CLOSE * abs(cost):
        yield "target.free.value: a plan for the target is one without its limits, and is better than this"
    if free_bound is not None and free_cost is not None and free_bound > free_cost + CLOSE * abs(free_cost):
        yield "target.free.bound: the answer says that no plan beats it, and has one that does"
    target_cost = TargetCost.between(
        claim["name"], (cost, bound), (free_cost, free_bound), of_rate=objective.name == "throughput"
    )
    for name, share in (("cost", target_cost.share), ("at_least", target_cost.least), ("at_most", target_cost.most)):
        if (claim[name] is None) != (share is None) or (share is not None and not near(claim[name], share, EXACT)):
            yield f"target.{name}: {claim[name]!r} in the answer; its values and bounds give {share!r}"


def _largest(problem: Problem, data: Mapping[str, Any], plan: Plan | None) -> Iterator[str]:
    """Yield what an answer says of the largest value of a param that does not fit together."""
    claim = data.get("largest")
    if claim is None:
        return
    value, refuted, high = claim["value"], claim["refuted"], claim["high"]
    if (value is None) != (plan is None):
        yield "largest.value: there is a value where there is a plan, and none where there is none"
    elif value is not None and problem.origin.params.get(claim["param"]) != value:
        yield f"largest.value: the answer is not for {claim['param']} = {value}"
    if value is not None and (not claim["low"] <= value <= high or (refuted is not None and refuted <= value)):
        yield "largest.value: it is not among those asked about, or not below the one that is refuted"
    if refuted is not None and not claim["low"] <= refuted <= high:
        yield "largest.refuted: it is not among the values asked about"
    if claim["proved"] != (value is not None and (value == high or refuted == value + 1)):
        yield "largest.proved: it is so where the next value is refuted, or beyond those asked about, and only there"


def _times(problem: Problem, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an answer says of where times are from that is not so; an older one says nothing."""
    claim = data.get("times")
    if claim is None:
        return
    counts = {"given": 0, "modelled": 0, "measured": 0}
    graphs = [phase.graph for phase in problem.graph.phases] or [problem.graph]
    for d, device in enumerate(problem.devices):
        rows = [graph.time_sources.get(device.name, np.zeros(graph.n)) for graph in graphs]
        runs = problem.time[:, d] < inf
        modelled = np.any([row == TimeSource.MODELLED for row in rows], axis=0) & runs
        measured = np.any([row == TimeSource.MEASURED for row in rows], axis=0) & runs & ~modelled
        counts["modelled"] += int(modelled.sum())
        counts["measured"] += int(measured.sum())
        counts["given"] += int((runs & ~modelled & ~measured).sum())
    for source, count in counts.items():
        if claim[source] != count:
            yield f"times.{source}: {claim[source]} in the answer; the spec has {count}"


def _iteration(problem: Problem, data: Mapping[str, Any], plan: Plan | None) -> Iterator[str]:
    """Yield what an answer says an iteration of its plan takes that is not so."""
    claim = data.get("iteration")
    if (claim is None) != (plan is None or not problem.objective.is_iteration):
        yield "iteration: it is what an iteration of the plan takes, where the objective is one, and nothing else"
    if claim is None or plan is None or not problem.objective.is_iteration:
        return
    time, bound = iteration_times(problem, plan)
    for what, computed in (("simulated", time), ("bound", bound)):
        if (claim[what] is None and computed is not None) or (computed is not None and not near(claim[what], computed)):
            yield f"iteration.{what}: {claim[what]!r} in the answer; the plan has {computed!r}"


def _cache(problem: Problem, data: Mapping[str, Any], plan: Plan | None) -> Iterator[str]:
    """Yield what an answer says of the caches of its plan that is not so."""
    claim = data.get("cache")
    counted = None if plan is None else held_by_caches(problem, plan)
    if (claim is None) != (counted is None):
        yield "cache: it is what the caches of the plan hold, where a constraint asks for it, and nothing else"
    if claim is None or counted is None:
        return
    times, fullest = counted
    names = [problem.devices[d].name for d in sorted(fullest)]
    if not near(claim["times"], float(times)):
        yield f"cache.times: {claim['times']!r} in the answer; the plan has {float(times)!r}"
    if claim["device"] not in names:
        yield f"cache.device: {claim['device']!r} in the answer; the fullest is {' or '.join(names)}"
    pool = problem.cache_blocks
    if pool is None or pool.tokens is None:
        known = claim["blocks"] is None and claim["tokens"] is None
    else:
        known = claim["blocks"] in whole_blocks(times, pool.tokens, pool.block)
        known = known and claim["tokens"] == claim["blocks"] * pool.block
    if not known:
        yield f"cache: {claim['blocks']!r} blocks and {claim['tokens']!r} tokens do not follow from the plan"


def _bounded(
    objective: Objective, place: str, claim: Mapping[str, Any] | None, cost: float | None, size: float
) -> Iterator[str]:
    """Yield what is wrong with the value of a bound, for an objective whose plan has *cost*."""
    bound = None if claim is None else cost_of_value(objective, claim["value"])
    if claim is None or bound is None:
        return
    if bound < 0 and not objective.is_linear:
        yield f"{place}.value: {claim['value']!r} is no value that an objective can have"
    if cost is not None and bound > cost + CLOSE * max(abs(cost), size):
        value = objective.value(cost)
        yield f"{place}.value: the answer says that no plan beats {claim['value']!r}; this one has {value!r}"


def _objective(
    problem: Problem, objective: Objective, data: Mapping[str, Any], place: str, cost: float | None
) -> Iterator[str]:
    """Yield what an answer says of an objective that is not so; *place* leads to it in *data*."""
    claim = data[place] if place in data else data["objectives"][int(place.partition("[")[2][:-1])]
    asked = {
        "name": objective.called,
        "kind": objective.kind,
        "sense": objective.sense,
        "parts": objective.parts,
        "batch": objective.batch,
        "unit": objective.unit(problem.time_unit),
    }
    for name, wanted in asked.items():
        if claim.get(name, wanted) != wanted:
            yield f"{place}.{name}: the answer says {claim[name]!r}, the spec {wanted!r}"
    for name, wanted in (("microbatches", objective.microbatches), ("schedule", objective.schedule)):
        if claim.get(name) != wanted:
            yield f"{place}.{name}: the answer says {claim.get(name)!r}, the spec {wanted!r}"
    value = None if cost is None else objective.value(cost)
    given = value_of(claim)
    if given is None or value is None:
        same = given is value
    else:
        same = given == value or (value < inf and near(given, value, CLOSE * abs(value)))
    if not same:
        has = "there is no plan" if cost is None else f"the plan has {value!r}"
        yield f"{place}.value: the answer says {given!r}, {has}"


def _objectives(
    problem: Problem,
    data: Mapping[str, Any],
    plan: Plan | None,
    costs: Sequence[float | None],
    *,
    in_front: bool,
) -> Generator[str, None, list[float | None]]:
    """Yield what an answer says of several objectives that is not so; return the gap that each of them leaves."""
    rows = data.get("objectives")
    if rows is None:  # schema 1
        return []
    if len(rows) != len(problem.objectives):
        yield f"objectives: the answer has {len(rows)}, the spec {len(problem.objectives)}"
        return []
    gaps: list[float | None] = []
    for number, (objective, row, cost) in enumerate(zip(problem.objectives, rows, costs, strict=True)):
        place = f"objectives[{number}]"
        yield from _objective(problem, objective, data, place, cost)
        size = 0.0 if plan is None else size_of(problem, plan, objective)
        yield from _bounded(objective, f"{place}.bound", row["bound"], cost, size)
        within = {objective.within_is: objective.within} if objective.within else None
        if row["within"] != within:
            yield f"{place}.within: the answer says {row['within']!r}, the spec {within!r}"
        known = row["best"] is not None or row.get("infinite")
        best = cost_of_value(objective, row["best"]) if known else None
        last = number + 1 == len(rows) or rows[number + 1]["best"] is None  # the plan is of its turn
        yield from _best(objective, row, place, cost, best, size, last=last)
        gap = None
        if best is not None and row["bound"] is not None:
            gap = relative_gap(best, cost_of_value(objective, row["bound"]["value"]), size)
        gaps.append(gap)
        if (gap is None) != (row["gap"] is None) or not _same_gap(gap, row["gap"], loose=bool(size) and not last):
            yield f"{place}.gap: the answer says {row['gap']!r}, best and bound leave {gap!r}"
        if not in_front and (row["under"] is None) != (number == 0 or best is None):
            yield f"{place}.under: the answer says {row['under']!r} of what holds it to the objectives before it"
    known = data["bound"] and {name: value for name, value in data["bound"].items() if name != "certificate"}
    if rows[0]["bound"] != known:
        yield "objectives[0].bound: it is not the bound of the answer"
    return gaps


def _best(
    objective: Objective,
    row: Mapping[str, Any],
    place: str,
    cost: float | None,
    best: float | None,
    size: float,
    *,
    last: bool,
) -> Iterator[str]:
    """Yield what is wrong with the best value that an answer gives for an objective."""
    if cost is None or best is None:
        if cost is None and best is not None:
            yield f"{place}.best: the answer says {row['best']!r}, and there is no plan"
        return
    slack = PASSED * max(abs(best), size)
    if last and not near(best, cost, CLOSE * size):
        yield f"{place}.best: the answer says {row['best']!r}, and the plan has {objective.value(cost)!r}"
    elif cost > objective.allowed_cost(best) + slack:
        value = objective.value(cost)
        yield f"{place}.best: the plan has {value!r}, which is not within the tolerance of {row['best']!r}"


def _same_gap(computed: float | None, claimed: float | None, *, loose: bool) -> bool:
    """Return whether two gaps are the same; those of a turn before the last may be 0 by the size of another plan."""
    if computed is None or claimed is None:
        return True
    return near(computed, claimed, EXACT) or (loose and max(computed, claimed) <= 2 * OPTIMAL_GAP)


def _penalties(problem: Problem, data: Mapping[str, Any], plan: Plan | None) -> Iterator[str]:
    """Yield what an answer says of soft rows that is not so."""
    if "penalties" not in data:
        return
    paid = {} if plan is None else penalties_of(problem, plan)
    size = 0.0 if plan is None else size_of(problem, plan)
    by_label: dict[str, dict[str, float]] = {}
    for row, cost in paid.items():
        by_label.setdefault(row.partition("[")[0], {})[row] = cost
    given = {row["constraint"]: row for row in data["penalties"]}
    if [row["constraint"] for row in data["penalties"]] != list(by_label):
        yield f"penalties: the answer has {', '.join(given) or 'none'}; the spec has {', '.join(by_label) or 'none'}"
        return
    for label, rows in by_label.items():
        claim, total = given[label], sum(rows.values())
        slack = CLOSE * size
        if not near(claim["paid"], total, slack):
            yield f"penalties: {label} costs {total!r}, the answer says {claim['paid']!r}"
        for row in dict.fromkeys([*rows, *claim["rows"]]):
            if not near(claim["rows"].get(row, 0.0), rows.get(row, 0.0), slack):
                yield f"penalties: {row} costs {rows.get(row, 0.0)!r}, the answer says {claim['rows'].get(row, 0.0)!r}"


def _status(
    data: Mapping[str, Any], cost: float | None, bound: float | None, size: float, gaps: Sequence[float | None]
) -> Iterator[str]:
    gap = None if cost is None or bound is None else relative_gap(cost, bound, size)
    if (gap is None) != (data["gap"] is None) or (gap is not None and not near(gap, data["gap"], EXACT)):
        yield f"gap: the answer says {data['gap']!r}, plan and bound leave {gap!r}"
    worst = gap
    if len(gaps) > 1:  # of each, where it had its turn: later ones may have worsened it by its tolerance
        worst = None if None in gaps else max(gap for gap in gaps if gap is not None)
    status = _true_status(data, cost, bound, worst)
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


def _true_status(data: Mapping[str, Any], cost: float | None, bound: float | None, gap: float | None) -> str:
    if data["infeasible"] is not None:
        return "infeasible"
    if cost is not None:
        return "optimal" if gap is not None and gap <= OPTIMAL_GAP else "feasible"
    return "unknown" if bound is None else "bound"


def _log(
    problem: Problem, data: Mapping[str, Any], cost: float | None, bound: float | None, size: float
) -> Iterator[str]:
    """Yield where the history is out of order, or contradicts what came of it."""
    last, best, most = 0.0, inf, -inf
    for i, entry in enumerate(data["log"]):
        if entry["time"] < last:
            yield f"log[{i}].time: {entry['time']!r} comes after {last!r}"
        last = entry["time"]
        for name in ("incumbent", "bound"):
            value = entry[name]
            if value is None:
                continue
            at = cost_of_value(problem.objective, value)
            if at < 0 and not problem.objective.is_linear:
                yield f"log[{i}].{name}: {value!r} is no value that an objective can have"
            if name == "incumbent":
                best = min(best, at)
            else:
                most = max(most, at)
    if bound is not None and best < bound - PASSED * max(abs(bound), size):
        yield f"log: an incumbent of {problem.objective.value(best)!r} is better than the bound"
    if cost is not None and most > cost + PASSED * max(abs(cost), size):
        yield f"log: a bound of {problem.objective.value(most)!r} is better than the plan"


def false_source(problem: Problem, source: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the spec, the files that it reads or its params are others than the answer's."""
    origin = problem.origin
    if source["sha256"] is None and source["path"] is not None:
        yield "spec.sha256: the answer does not say for which spec it was made"
    if source["sha256"] is not None and source["sha256"] != origin.sha256:
        digests = f"{source['sha256']:.16}…, here {origin.sha256:.16}…"
        yield f"spec.sha256: the answer was made for another text of the spec: {digests}"
    files: Mapping[str, str] = source.get("files", origin.files)
    for name in sorted({*origin.files, *files}):
        if name not in origin.files:
            yield f"spec.files: the answer comes from {name}, which the spec does not read"
        elif name not in files:
            yield f"spec.files: the spec reads {name}, which the answer does not list"
        elif files[name] != origin.files[name]:
            yield f"spec.files: {name} has changed since the answer was made"
    if source.get("scenario") != origin.scenario:
        here = "none" if origin.scenario is None else repr(origin.scenario)
        yield f"spec.scenario: the answer is one for {source.get('scenario')!r}, here the scenario is {here}"
    for name in sorted({*origin.params, *source["params"]}):
        if name not in source["params"]:
            yield f"spec.params: the answer gives no {name}, which is a param of the spec"
        elif name not in origin.params:
            yield f"spec.params: the answer gives {name}, which is no param of the spec"
