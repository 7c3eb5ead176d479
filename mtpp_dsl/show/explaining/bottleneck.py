"""Which device, channel, link or term holds the cost of a plan where it is, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.holders import Holder, Unit, holder_words, term_holders
from mtpp_dsl.show.explaining.pieces import channel_pieces, device_pieces
from mtpp_dsl.show.explaining.question import SAME, Question, finite
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.show.report.names import short_name, short_names
from mtpp_dsl.show.report.reached import still_better

PARTS = ("work", "input", "output", "overflow", "deviation", "sync")
MOST = 8
"""Holders of one objective that are told."""


@dataclass(frozen=True, repr=False)
class ObjectiveHolders(Short):
    """What holds one objective.

    Attributes:
        objective: which one.
        cost: of the plan.
        holders: what holds it, the largest first; of a bottleneck those that are as large as it.
        left: how many smaller ones there are.
        second: the largest that is below a bottleneck; None where there is none.
        bound: no plan's cost is below it; None where none was proved.
        optimal: whether the bound proves that no plan is better.
        claimed: whether the bound is only what a file says.
        limits: simple reasons why no plan costs less than so much, the highest first.
    """

    objective: Objective
    cost: float
    holders: tuple[Holder, ...]
    left: int = 0
    second: Holder | None = None
    bound: float | None = None
    optimal: bool = False
    limits: tuple[Limit, ...] = ()
    claimed: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; values are those of the objective, amounts and limits are costs."""
        return {
            "objective": self.objective.called,
            "value": finite(self.objective.value(self.cost)),
            "holders": [holder.to_json() for holder in self.holders],
            "holders_left": self.left,
            "second": None if self.second is None else self.second.to_json(),
            "margin": None if self.second is None else self.cost - self.second.amount,
            "bound": None if self.bound is None else finite(self.objective.value(self.bound)),
            "limits": [limit.to_json() for limit in self.limits],
        }


@dataclass(frozen=True, repr=False)
class BottleneckPart(Short):
    """What holds every objective of a plan, in their order; and how full the memories are.

    Attributes:
        held: an entry for each objective.
        problem: by whose units amounts are shown.
        memory: by the name of every device with a limit, what its nodes take there and what they may take.
    """

    held: tuple[ObjectiveHolders, ...]
    problem: Problem
    memory: tuple[tuple[str, float, float], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "objectives": [entry.to_json() for entry in self.held],
            "memory": [{"device": name, "used": used, "room": room} for name, used, room in self.memory],
        }

    def words(self) -> list[str]:
        """Return it in words."""
        lines: list[str] = []
        for entry in self.held:
            lines += _objective_words(entry, self.problem)
        tight = [(n, u, r) for n, u, r in self.memory if r > 0 and u >= 0.9 * r]
        for name, used, room in tight[:MOST]:
            sizes = f"{self.problem.size(used)} of {self.problem.size(room)}"
            lines.append(f"the memory of {short_name(name)} is nearly full: {sizes}")
        if len(tight) > MOST:
            lines.append(f"and so is that of {len(tight) - MOST} more devices")
        return lines


def bottleneck(question: Question, seconds: float = 0.0) -> BottleneckPart | None:  # noqa: ARG001  takes next to no time
    """Return what holds the cost of the plan of an answer; None without one."""
    problem, plan, evaluation = question.problem, question.plan, question.evaluation
    if plan is None or evaluation is None:
        return None
    entries = []
    for i, (objective, cost) in enumerate(zip(problem.objectives, evaluation.costs, strict=True)):
        one = holders_of_objective(problem, plan, evaluation, objective, cost)
        if i == 0:
            paid = tuple(_paid(evaluation)) if objective.penalised else ()
            limits = tuple(limit for limit in limits_of(problem) if limit.cost > 0)
            gap = question.gap
            optimal = gap is not None and gap <= OPTIMAL_GAP
            one = replace(
                one,
                holders=(*one.holders, *paid),
                bound=question.bound,
                optimal=optimal,
                limits=limits,
                claimed=question.claimed,
            )
        entries.append(one)
    limit = np.minimum(problem.room_limit, problem.stage_limit)
    memory = [
        (device.name, float(evaluation.memory[d]), float(limit[d]))
        for d, device in enumerate(problem.devices)
        if np.isfinite(limit[d])
    ]
    return BottleneckPart(tuple(entries), problem, tuple(memory))


def _paid(evaluation: Evaluation) -> list[Holder]:
    broken = sorted(((paid, row) for row, paid in evaluation.penalties.items() if paid > 0), reverse=True)
    return [Holder("row", (row,), paid, "paid") for paid, row in broken[:MOST]]


def holders_of_objective(
    problem: Problem, plan: Plan, evaluation: Evaluation, objective: Objective, cost: float, most: int = MOST
) -> ObjectiveHolders:
    """Return what holds one objective of a plan, at most so many holders, without bounds and limits."""
    if objective.is_linear:
        holders = term_holders(problem, plan, evaluation, objective)
        return ObjectiveHolders(objective, cost, tuple(holders[:most]), max(0, len(holders) - most))
    if objective.quantity == "makespan":
        holders = _on_path(Timeline(problem, plan))
        return ObjectiveHolders(objective, cost, tuple(holders[:most]), max(0, len(holders) - most))
    if objective.quantity in ("sum of bottlenecks", "separate iteration"):
        return ObjectiveHolders(
            objective,
            cost,
            (*_of_part(problem, plan, evaluation, "forward"), *_of_part(problem, plan, evaluation, "backward")),
        )
    loads = _loads(problem, plan, evaluation)
    top = max(holder.amount for holder in loads)
    first = [holder for holder in loads if holder.amount >= top * (1 - SAME)]
    below = [holder for holder in loads if holder.amount < top * (1 - SAME)]
    full = tuple(_with_pieces(problem, plan, holder) for holder in first[:most])
    second = max(below, key=lambda holder: holder.amount, default=None)
    return ObjectiveHolders(objective, cost, full, max(0, len(first) - most), second)


def _loads(problem: Problem, plan: Plan, evaluation: Evaluation) -> list[Holder]:
    """Return the loads of stages and channels."""
    names = [device.name for device in problem.devices]
    leads = plan.leads(problem.k)
    loads = []
    for lead in sorted(set(leads.tolist())):
        parts = {name: float(getattr(evaluation, name)[lead]) for name in PARTS if len(getattr(evaluation, name))}
        if parts.get("sync", 0.0) < evaluation.load[lead] * (1 - SAME):  # beside everything else
            parts.pop("sync", None)
        members = plan.replicas.get(lead, (lead,))
        holder = Holder("device", tuple(names[d] for d in members), float(evaluation.load[lead]), "load", parts)
        loads.append(replace(holder, shards=plan.shards.get(lead, 1)))
    for c, load in enumerate(evaluation.channels.tolist()):
        loads.append(Holder("channel", (problem.network.channels[c],), load))
    return loads


def _with_pieces(problem: Problem, plan: Plan, holder: Holder) -> Holder:
    if holder.kind == "channel":
        pieces = channel_pieces(problem, plan, problem.network.channels.index(holder.names[0]))
    else:
        pieces = device_pieces(problem, plan, problem.device_index[holder.names[0]])
    whole = Holder.of_pieces(holder.kind, holder.names, holder.amount, holder.role, holder.parts, pieces)
    return replace(whole, shards=holder.shards)


def _of_part(problem: Problem, plan: Plan, evaluation: Evaluation, part: str) -> list[Holder]:
    """Return the devices with the largest load of one part of a training graph."""
    loads = getattr(evaluation, part)
    top = float(loads.max())
    if top <= 0:
        return []
    which = [d for d in sorted(set(plan.leads(problem.k).tolist())) if loads[d] >= top * (1 - SAME)]
    names = [device.name for device in problem.devices]
    return [
        Holder("device", tuple(names[e] for e in plan.replicas.get(d, (d,))), float(loads[d]), part)
        for d in which[:MOST]
    ]


def _on_path(timeline: Timeline) -> list[Holder]:
    """Return what devices and links add to the critical path of a schedule, and for how long nothing on it runs."""
    times: dict[tuple[str, str], float] = {}
    end = 0.0
    waited = 0.0
    for step in timeline.critical:
        activity = step.activity
        kind = "link" if activity.kind == "transfer" else "device"
        times[kind, activity.track] = times.get((kind, activity.track), 0.0) + activity.end - activity.start
        waited += max(0.0, activity.start - end)
        end = activity.end
    order = sorted(times.items(), key=lambda item: -item[1])
    holders = [
        Holder("link" if kind == "link" else "device", (name,), time, "path") for (kind, name), time in order if time
    ]
    if waited > SAME * timeline.makespan:
        holders.append(Holder("device", (), waited, "wait"))
    return holders


def _objective_words(entry: ObjectiveHolders, problem: Problem) -> list[str]:
    """Return what holds one objective in words."""
    objective = entry.objective
    base = objective.unit(problem.time_unit) if objective.is_linear else problem.time_unit
    unit = Unit(base, problem.origin.decimal)
    lines = [f"{objective.shown} {problem.valued(entry.cost, objective)}"]
    what = {"makespan": "the critical path spends", "linear": "it is the sum of"}.get(objective.quantity)
    if objective.quantity == "makespan" or objective.is_linear:
        lines[0] += f": {what}"
    for holder in entry.holders:
        lines += holder_words(holder, unit, objective)
    if entry.left:
        lines.append(f"  and {entry.left} more")
    if entry.second is not None and entry.second.amount > 0:
        less = f"{100 * (1 - entry.second.amount / max(entry.holders[0].amount, 1e-300)):.2g} %"
        lines.append(f"  next is {entry.second.named} with {unit.shown(entry.second.amount)}, {less} less")
    if entry.bound is not None:
        lines.append(f"  {_bound_words(entry, problem)}")
    for limit in entry.limits:
        word = "most" if objective.sense == "maximize" else "least"
        lines.append(f"  at {word} {problem.valued(limit.cost, objective)}: {limit.words()}")
    return lines


def _bound_words(entry: ObjectiveHolders, problem: Problem) -> str:
    assert entry.bound is not None
    word = "below" if entry.objective.sense == "minimize" else "above"
    shown = problem.valued(entry.bound, entry.objective)
    if entry.claimed:
        shown += ", as the answer says"
    if entry.optimal:
        return f"no plan is {word} {shown}: so it is optimal"
    room = still_better(entry.objective, entry.objective.value(entry.cost), entry.objective.value(entry.bound))
    return f"no plan is {word} {shown}{f': so the best is at most {room}' if room else ''}"


# Simple reasons why no plan can cost less: a single node, all work over all devices, the longest path.

STEPS = 200
"""Of the search for the weights of devices by which all work is a lower bound."""


@dataclass(frozen=True, repr=False)
class Limit(Short):
    """One reason why the cost of every plan is at least *cost*.

    Attributes:
        kind: one node by itself; all work, spread as evenly as the devices' times allow; the longest path, each of
            whose nodes is on its fastest device.
        cost: no plan costs less.
        nodes: the node, or those of the path.
        device: where the node takes so long, and nowhere less; "" for the others.
    """

    kind: Literal["node", "work", "path"]
    cost: float
    nodes: tuple[str, ...] = ()
    device: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"kind": self.kind, "cost": self.cost, "nodes": list(self.nodes), "device": self.device or None}

    def words(self) -> str:
        """Return what takes so long in words."""
        if self.kind == "node":
            where = f"on {short_name(self.device)}, and no device that may run it is faster"
            return f"{short_name(self.nodes[0])} alone takes so long {where}"
        if self.kind == "work":
            return "all work spread evenly over all devices, with nothing to send"
        return f"the longest path, with each node on its fastest device: {short_names(self.nodes)}"


def limits_of(problem: Problem) -> list[Limit]:
    """Return the limits that hold for the first objective of a problem, the highest first.

    They count running times alone, where each node may run, and hold whatever is paid for soft rows. Nodes that may be
    split over several devices have none, nor have sums, linear objectives and batches.
    """
    quantity = problem.objective.quantity
    if any(problem.shard) or problem.objective.batch is not None or not problem.graph.n:
        return []
    time = np.where(problem.allowed, problem.time, np.inf)
    least = time.min(axis=1)
    if not np.isfinite(least).all():
        return []
    shared_inputs = any(problem.replicate) or any(c.enlarges for c in problem.constraints)
    limits: list[Limit] = []
    if quantity in ("bottleneck", "sum of bottlenecks", "makespan", "iteration", "separate iteration"):
        many = problem.objective.microbatches or 1 if problem.objective.is_iteration else 1
        if not shared_inputs:
            v = int(least.argmax())
            where = problem.devices[int(time[v].argmin())].name
            limits.append(Limit("node", many * float(least[v]), (problem.graph.names[v],), where))
        if quantity != "makespan" or problem.interconnect.keyword == "links":
            limits.append(Limit("work", many * _spread(time)))
    if quantity == "makespan":
        limits.append(_path(problem, least))
    return sorted(limits, key=lambda limit: -limit.cost)


def _spread(time: Floats) -> float:
    """Return a value that the largest work of a device is not below, however nodes are split over devices.

    For weights y of the devices that add up to 1, it is at least ``sum over v of min over d of y_d time[v, d]``. The
    weights are searched for by multiplicative updates; any of them give a bound.
    """
    k = time.shape[1]
    weights = np.full(k, 1.0 / k)
    best = 0.0
    for step in range(STEPS):
        with np.errstate(invalid="ignore"):
            weighted = np.where(np.isfinite(time), time * weights, np.inf)
        chosen = weighted.argmin(axis=1)
        value = float(weighted[np.arange(len(time)), chosen].sum())
        best = max(best, value)
        load = np.bincount(chosen, weights=time[np.arange(len(time)), chosen], minlength=k)
        if load.max() <= 0 or np.ptp(load) == 0:
            break
        weights = np.maximum(
            weights * np.exp((load / load.max() - load.mean() / load.max()) / (1 + step) ** 0.5), 1e-12
        )
        weights /= weights.sum()
    return best * (1 - 1e-12)


def _path(problem: Problem, least: Floats) -> Limit:
    """Return the longest path, with every node as fast as anywhere."""
    graph = problem.graph
    ends, before = np.array(least), np.full(graph.n, -1, np.int64)
    order = graph.topological_order.tolist()
    for u in order:
        for v in graph.heads[graph.offsets[u] : graph.offsets[u + 1]].tolist():
            if ends[u] + least[v] > ends[v]:
                ends[v], before[v] = ends[u] + least[v], u
    path = [int(ends.argmax())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return Limit("path", float(ends.max()), tuple(graph.names[v] for v in reversed(path)))
