"""Check what an answer says of its plan: order of devices, replicas, schedule, transfers, the work of every device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mtpp_dsl.checks.network_check import counted as on_network
from mtpp_dsl.checks.stage_check import held_memory
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.claims import near
from mtpp_dsl.solving.answers.counts import counted, sent

ROUNDING = 1e-12
"""Of a size or a time: what is left of the difference of two large numbers may be off by this share of them."""


def false_plan(problem: Problem, plan: Plan | None, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an answer says of its plan, which breaks nothing, that is not so; *plan* is None without one."""
    if plan is None:
        if answer["devices"]:
            yield "devices: the answer lists what devices do, but has no plan"
        return
    yield from false_order(problem, plan, answer["plan"]["order"])
    yield from false_rows(problem, plan, answer["plan"])
    if "stages" in answer["plan"]:
        yield from false_stages(problem, plan, answer["plan"])
    yield from false_devices(problem, plan, answer["devices"])
    yield from false_channels(problem, plan, answer.get("channels"))


def false_devices(problem: Problem, plan: Plan, claims: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the figures of devices that are not those of a plan, which breaks nothing."""
    names, given = [device.name for device in problem.devices], [row["name"] for row in claims]
    if names != given:
        yield f"devices: the answer has {', '.join(given) or 'none'}; the spec has {', '.join(names)}"
        return
    training = bool(problem.graph.backward.any()) or problem.objective.is_iteration
    slack = _rounding(problem)
    by_phase = {name: counted(phase, plan) for name, phase in problem.each_phase.items()}
    for d, (device, row, counts) in enumerate(zip(problem.devices, claims, counted(problem, plan), strict=True)):
        loads = {name: phase_counts[d]["load"] for name, phase_counts in by_phase.items()}
        for what, figure in counts.items():
            value, computed = row[what], figure
            if what in ("forward", "backward") and not training:
                if value is not None:
                    yield f"devices: {what} of {device.name} is {value!r}, and the graph has no backward part"
            elif value is None or not near(value, computed, 0.0 if what == "memory" else slack):
                yield f"devices: {what} of {device.name} is {value!r} in the answer; the plan has {computed!r}"
        yield from _false_phases(problem, device.name, row.get("phases", {}), loads)
        if row["memory_limit"] != device.memory:
            yield f"devices: memory_limit of {device.name} is {row['memory_limit']!r}; the spec says {device.memory!r}"


def _false_phases(
    problem: Problem, device: str, claims: Mapping[str, Mapping[str, float]], loads: Mapping[str, float]
) -> Iterator[str]:
    """Yield where the loads of a device in single phases are not those of a plan, *each* by the name of its phase."""
    for name in dict.fromkeys([*loads, *claims]):
        if name not in claims or name not in loads:
            yield f"devices: phase {name} of {device} is in {'the answer' if name in claims else 'the plan'} alone"
        elif not near(claims[name]["load"], loads[name], _rounding(problem)):
            value = claims[name]["load"]
            yield f"devices: the load of {device} in {name} is {value!r} in the answer; the plan has {loads[name]!r}"


def false_channels(problem: Problem, plan: Plan, claims: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """Yield where the loads of channels are not those of a plan; an answer without any says that there are none."""
    if not problem.networked:
        if claims:
            yield f"channels: the answer has {claims[0]['name']}; the plan loads no channel by itself"
        return
    loads = _channel_loads(problem, plan)
    given = {row["name"]: row["load"] for row in claims or ()}
    for name in dict.fromkeys([*loads, *given]):
        if name not in given or name not in loads:
            yield f"channels: {name} is in {'the answer' if name in given else 'the plan'} alone"
        elif not near(given[name], loads[name], 0.0):
            yield f"channels: the load of {name} is {given[name]!r} in the answer; the plan has {loads[name]!r}"


def _channel_loads(problem: Problem, plan: Plan) -> dict[str, float]:
    """Return the loads of the channels that carry anything; of several routes, the sum of share times load."""
    if not plan.routes:
        return dict(on_network(problem, plan.assignment.tolist()).channels)
    total: dict[str, Fraction] = {}
    for route in plan.routes:
        for name, load in on_network(problem, route.assignment.tolist()).channels.items():
            total[name] = total.get(name, Fraction(0)) + route.share * Fraction(load)
    return {name: float(load) for name, load in total.items()}


def _rounding(problem: Problem) -> float:
    """Return what two ways to add up may differ by, as a time, where the rest of a difference counts."""
    link = problem.interconnect
    if problem.timed:  # transfers are differences of times
        return ROUNDING * float(problem.time[problem.time < float("inf")].sum())
    if isinstance(link, (Links, Tree)) or not link.overflow:
        return 0.0
    return ROUNDING * float(problem.graph.params.sum()) / link.bandwidth


def false_stages(problem: Problem, plan: Plan, claim: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the stages of an answer's plan are not what its nodes and devices make of them."""
    several = plan.batches is not None or bool(plan.routes)
    if (claim["stages"] is None) != several:
        yield "plan.stages: only a plan of a batch, or of several routes, has none"
        return
    if several:
        return
    names = [device.name for device in problem.devices]
    stages: dict[str, dict[str, Any]] = {}
    for v, d in enumerate(plan.assignment.tolist()):
        members = [names[member] for member in plan.replicas.get(d, (d,))]
        copies = len(members) // plan.shards.get(d, 1)
        stage: dict[str, Any] = {"devices": members, "nodes": [], "share": dict.fromkeys(members, 1 / copies)}
        kept = held_memory(problem, plan) if any(problem.stage_memory) else {}
        if problem.staged:
            stage |= {"shards": plan.shards.get(d, 1), "replicas": copies}
            stage |= {"recompute": d in plan.recomputed if d in kept else None}
            stage |= {"kept": kept[d][1] if d in kept else None}
        stages.setdefault(names[d], stage)["nodes"].append(problem.graph.names[v])
    order = [name for name in (claim["order"] or names) if name in stages]
    given = [stage["devices"][0] for stage in claim["stages"]]
    if given != order:
        yield f"plan.stages: they begin with {', '.join(given) or 'none'}; the plan has {', '.join(order)}"
        return
    for name, stage in zip(order, claim["stages"], strict=True):
        for what, value in stages[name].items():
            if what not in stage or stage[what] != value:
                yield f"plan.stages: {what} of the stage of {name} are {stage.get(what)!r}; the plan has {value!r}"
        for what in set(stage) - set(stages[name]):
            yield f"plan.stages: {what} of the stage of {name}: the problem is not about that"


def false_order(problem: Problem, plan: Plan, order: Sequence[str] | None) -> Iterator[str]:
    """Yield why the order of devices is none in which data flow; none may be given only where there is none."""
    if plan.batches is not None:
        if order is not None:
            yield "plan.order: the inputs of a batch go their own ways: there is no order of devices"
        return
    if plan.routes:
        if order is not None:
            yield "plan.order: each route goes its own way: there is no order of devices"
        return
    names = [device.name for device in problem.devices]
    if order is None:
        if plan.order is not None:
            flow = ", ".join(names[d] for d in plan.order)
            yield f"plan.order: the answer has none, and data flow in the order {flow}"
        return
    if sorted(order) != sorted(names):
        yield f"plan.order: {', '.join(order)} are not all the devices, each once"
        return
    place = {name: i for i, name in enumerate(order)}
    device = plan.assignment.tolist()
    for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
        one, other = names[device[u]], names[device[v]]
        if place[one] > place[other]:
            yield f"plan.order: {one} stands after {other}, and {problem.graph.names[v]} there reads from it"
            return


def false_rows(problem: Problem, plan: Plan, claim: Mapping[str, Any]) -> Iterator[str]:
    """Yield where replicas, schedule and transfers are not as a plan's answer has them: each row once, by start."""
    routes = plan.to_json(problem).get("routes")
    if claim.get("routes") != routes:
        yield "plan.routes: routes stand once each, the largest share first, shares as fractions in lowest terms"
    replicas = plan.to_json(problem)["replicas"]
    if claim["replicas"] != replicas:
        yield "plan.replicas: a stage's devices are listed once, itself first, the others as the spec declares them"
    repeats = plan.batches is not None and plan.batches.slots > 1
    for what, keys in (("schedule", ("node", "device")), ("transfers", ("source", "target", "from", "to"))):
        if repeats:
            keys = (*keys, "slot" if what == "schedule" else "slots")
        rows, computed = claim[what], _rows(problem, plan, what)
        if (rows is None) != (computed is None):
            yield f"plan.{what}: {'there is one' if rows is None else 'the objective has none'}"
        elif rows is not None and computed is not None:
            yield from _compared(f"plan.{what}", keys, rows, computed)


def _rows(problem: Problem, plan: Plan, what: str) -> list[dict[str, Any]] | None:
    """Return the rows of the plan that was read, which has been checked; of a batch, transfers counted again."""
    if what == "transfers" and plan.batches is not None:
        names = ("source", "target", "from", "to", "start", "end", "batch")
        transfers = [(dict(zip(names, row, strict=True)), list(slots)) for *row, slots in sent(problem, plan)]
        return [{**row, "slots": slots} if plan.batches.slots > 1 else row for row, slots in transfers]
    rows: list[dict[str, Any]] | None = plan.to_json(problem)[what]
    return rows


def _key(row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return what tells a row from the others, in words: a number or a pair of numbers is written as text."""
    return tuple(value if isinstance(value, str) else str(value) for value in (row[key] for key in keys))


def _compared(
    place: str,
    keys: tuple[str, ...],
    rows: Sequence[Mapping[str, Any]],
    computed: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Yield the rows of one table that the other lacks, and those that are not by start."""
    slack = 1e-9 * max((float(row["end"]) for row in computed), default=0.0)
    wanted = {_key(row, keys): row for row in computed}
    seen: set[tuple[str, ...]] = set()
    for i, row in enumerate(rows):
        key = _key(row, keys)
        match = wanted.get(key)
        if match is None or key in seen:
            yield f"{place}[{i}]: {' '.join(key)} is {'there twice' if key in seen else 'none of the plan'}"
        elif set(row) != set(match):
            odd = ", ".join(sorted(set(row) ^ set(match)))
            yield f"{place}[{i}]: {odd}: fields that a row here has not, or that are missing"
        else:
            for name, value in match.items():
                same = near(row[name], value, slack) if name in ("start", "end") else row[name] == value
                if not same:
                    yield f"{place}[{i}].{name}: {row[name]!r}, where the plan has {value!r}"
        if i and row["start"] < rows[i - 1]["start"]:
            yield f"{place}[{i}].start: {row['start']!r} comes after {rows[i - 1]['start']!r}: rows stand by start"
        seen.add(key)
    missing = next((key for key in wanted if key not in seen), None)
    if missing is not None:
        yield f"{place}: {' '.join(missing)} is missing"
