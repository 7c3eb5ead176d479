"""An answer: which node on which device, and for a makespan when."""

from __future__ import annotations

import heapq
import os
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.constraints import InOrder
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.batches import Batches
from mtpp_dsl.core.plans.routes import Route, merged, routes_from_json, routes_to_json
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.plans.split_file import assignment_of_split, is_split
from mtpp_dsl.core.plans.stages import Keeping, stage_order, stages_after
from mtpp_dsl.core.problem.graph import Ints, frozen
from mtpp_dsl.core.problem.in_order import listed_devices
from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Picklable):
    """Which device every node is on, and for a makespan when it runs.

    A plan that knows its problem is a mapping of names: ``plan["embed"]`` is the name of the node's device, and
    ``dict(plan)`` has all of them.

    Attributes:
        assignment: [n] device number of every node.
        order: device numbers such that every edge goes from an earlier or the same device to a
            later one; None when there is no such order or it was not requested.
        replicas: for every device whose nodes run on further devices too, all of these, itself first.
        schedule: when every node and transfer starts and ends; None where the objective is no makespan, or not given.
        batches: which inputs run where and when, where the objective is the throughput of a batch; *assignment* is then
            the device that runs most inputs of a node.
        problem: whose nodes and devices the numbers are; None where it is not given.
        shards: for every device whose nodes are split over several (tensor parallelism), over how many; the devices of
            all groups of the stage are its *replicas*.
        recomputed: devices whose nodes run their forward pass again, to keep less in memory.
        routes: where there are several, those that share the inputs, the largest share first; *assignment* is then that
            of the first, and there is no order of the devices.
    """

    assignment: Ints
    order: tuple[int, ...] | None = None
    replicas: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    schedule: Schedule | None = None
    batches: Batches | None = None
    problem: Problem | None = None
    shards: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    recomputed: frozenset[int] = frozenset()
    routes: tuple[Route, ...] = ()

    @property
    def timed(self) -> bool:
        """Whether the plan says when everything runs."""
        return self.schedule is not None or self.batches is not None

    @classmethod
    def of_batches(cls, batches: Batches) -> Plan:
        """Return the plan that *batches* is."""
        assignment = frozen(batches.assignment, np.int64)
        return cls(assignment, batches=batches)

    @classmethod
    def create(
        cls,
        problem: Problem,
        assignment: Sequence[int] | Ints,
        order: Sequence[int] | None = None,
        replicas: Mapping[int, Sequence[int]] | None = None,
        schedule: Schedule | None = None,
        shards: Mapping[int, int] | None = None,
        recomputed: Iterable[int] | None = None,
    ) -> Plan:
        """Check the shape and ranges of a plan; where *order* is not given, find one if there is one.

        Under ``constraint memory (schedule = …)`` the order is one in which the stages fit, if there is such a one, and
        those stages recompute that have to, unless *recomputed* says which.

        Raises:
            UsageError: wrong length, a device that does not exist, or one that is not among its own replicas.
        """
        array = frozen(assignment, np.int64)
        if array.shape != (problem.graph.n,):
            raise UsageError(f"the plan places {array.size} nodes; the graph has {problem.graph.n}")
        if array.size and not (array.min() >= 0 and array.max() < problem.k):
            raise UsageError(f"the plan names a device outside 0..{problem.k - 1}")
        split = {d: int(t) for d, t in sorted((shards or {}).items()) if t != 1}
        if not all(0 <= d < problem.k and t >= 1 for d, t in split.items()):
            raise UsageError(f"the plan splits nodes of a device outside 0..{problem.k - 1}, or over no device")
        if order is None:
            order = stage_order(problem, array, split, device_order(problem, array))
        if recomputed is None:
            asks = any(rule is not None and rule.recompute != "never" for rule in problem.stage_memory)
            recomputed = Keeping.of(problem, array, split).settled(array, order) if asks else ()
        return cls(
            array,
            None if order is None else tuple(order),
            MappingProxyType(dict(_replicas(replicas or {}, problem))),
            schedule,
            problem=problem,
            shards=MappingProxyType(split),
            recomputed=frozenset(recomputed),
        )

    @classmethod
    def of_routes(cls, problem: Problem, routes: Iterable[tuple[Fraction, Sequence[int] | Ints]]) -> Plan:
        """Return the plan of these shares and assignments; of one assignment, an ordinary plan.

        Whether the shares add up to 1, and devices hold their nodes, :func:`mtpp_dsl.checks.verification.verify` says.

        Raises:
            UsageError: an assignment of the wrong length, or to a device that does not exist.
        """
        distinct = merged(routes)
        if not distinct:
            raise UsageError("a plan has one route at least")
        plans = [cls.create(problem, route.assignment) for route in distinct]
        if len(distinct) == 1 and distinct[0].share == 1:
            return plans[0]
        return replace(plans[0], order=None, routes=distinct)

    def of(self, problem: Problem | None) -> Plan:
        """Return this plan as one that knows its problem; None lets it forget it."""
        return self if self.problem is problem else replace(self, problem=problem)

    def __repr__(self) -> str:
        what = f"{len(self.assignment)} nodes on {len(np.unique(self.assignment))} devices"
        replicas = f", {len(self.replicas)} stages replicated" if self.replicas else ""
        again = f", {len(self.recomputed)} recomputed" if self.recomputed else ""
        if self.routes:
            return f"Plan({len(self.routes)} routes)"
        return f"Plan({what}{replicas}{again}{', scheduled' if self.timed else ''})"

    @cached_property
    def _names(self) -> Mapping[str, str | list[str]]:
        """The device of every node by their names; of a batch whose inputs are on several, the list of them."""
        if self.problem is None:
            raise UsageError("this plan does not know its problem: write plan.of(problem)")
        names: Mapping[str, str | list[str]] = self.to_json(self.problem)["assignment"]
        return names

    def __getitem__(self, node: str) -> Any:
        """Return the name of the device that *node* is on; of a batch whose inputs are on several, their names.

        Raises:
            KeyError: there is no such node.
        """
        try:
            return self._names[node]
        except KeyError:
            raise KeyError(f"there is no node {node!r}{did_you_mean(str(node), self._names)}") from None

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the nodes."""
        return iter(self._names)

    def keys(self) -> KeysView[str]:
        """Return the names of the nodes."""
        return self._names.keys()

    def items(self) -> ItemsView[str, Any]:
        """Return pairs of the name of a node and that of its device."""
        return self._names.items()

    def leads(self, k: int) -> Ints:
        """Return [k] which device's nodes every device runs: its own, or those of the one it is a replica of."""
        leads = np.arange(k)
        for lead, members in self.replicas.items():
            leads[list(members)] = lead
        return leads

    def nodes_on(self, k: int) -> list[frozenset[int]]:
        """Return [k] the numbers of the nodes that run on each device.

        Of a batch, a node is on every device that runs an input of it; a replica runs the nodes of its stage.
        """
        nodes: list[set[int]] = [set() for _ in range(k)]
        where = self.assignment[:, None] if self.batches is None else self.batches.device
        if self.routes:
            where = np.stack([route.assignment for route in self.routes], axis=1)
        for v, devices in enumerate(where.tolist()):
            for d in devices:
                nodes[d].add(v)
        return [frozenset(nodes[lead]) for lead in self.leads(k).tolist()]

    def to_json(self, problem: Problem | None = None) -> dict[str, Any]:
        """Return the ``plan`` of the JSON answer: names in place of numbers; of a *problem*, or of its own.

        Raises:
            UsageError: there is no problem.
        """
        problem = problem if problem is not None else self.problem
        if problem is None:
            raise UsageError("this plan does not know its problem: give it to to_json")
        names = [device.name for device in problem.devices]
        if self.batches is not None:
            return {
                "assignment": self.batches.assignment_to_json(problem),
                "order": None,
                "replicas": None,
                "schedule": self.batches.to_json(problem),
                "transfers": self.batches.transfers_to_json(problem),
                "stages": None,
            }
        return {
            "assignment": {name: names[d] for name, d in zip(problem.graph.names, self.assignment, strict=True)},
            "order": None if self.order is None else [names[d] for d in self.order],
            "replicas": {names[d]: [names[e] for e in members] for d, members in self.replicas.items()} or None,
            "schedule": None if self.schedule is None else self.schedule.to_json(problem, self.assignment),
            "transfers": None if self.schedule is None else self.schedule.transfers_to_json(problem, self.assignment),
            "stages": None if self.routes else self._stages(problem),
            **({"routes": routes_to_json(problem, self.routes)} if self.routes else {}),
        }

    def _stages(self, problem: Problem) -> list[dict[str, Any]]:
        """Return the nodes of every device that runs some, in the order in which data flow, or else of the devices.

        Replicas are one stage, and each has its share of the inputs. Of problems about memory by stage, iterations or
        shards, it is also said over how many devices nodes are split, and what is kept and computed again.
        """
        names, devices = problem.graph.names, [device.name for device in problem.devices]
        after = stages_after(self.order, self.assignment, problem.k)
        nodes_by_lead: dict[int, list[str]] = {}
        for v, d in enumerate(self.assignment.tolist()):
            nodes_by_lead.setdefault(d, []).append(names[v])
        stages = []
        for d in range(problem.k) if self.order is None else self.order:
            if d in nodes_by_lead:
                members = [devices[member] for member in self.replicas.get(d, (d,))]
                shards, rule = self.shards.get(d, 1), problem.stage_memory[d]
                share = dict.fromkeys(members, shards / len(members))
                stage: dict[str, Any] = {"devices": members, "nodes": nodes_by_lead[d], "share": share}
                if problem.staged:
                    stage |= {"shards": shards, "replicas": len(members) // shards}
                    stage |= {"recompute": None if rule is None else d in self.recomputed}
                    stage |= {"kept": None if rule is None else rule.kept(int(after[d]))}
                stages.append(stage)
        return stages

    @classmethod
    def from_json(cls, problem: Problem, data: object) -> Plan:
        """Read a plan from a JSON answer, from its ``plan``, from a bare ``{node: device}``, or from a split by lists.

        For the latter see :mod:`mtpp_dsl.core.plans.split_file`.

        Raises:
            UsageError: not such a mapping; a node missing, unknown, or on an unknown device; replicas that are no
                mapping of a device to devices; a schedule that is none, or on other devices; of a batch, no schedule.
        """
        if isinstance(data, (str, os.PathLike)):
            raise UsageError("a plan is no path: read the answer first, json.loads(pathlib.Path(…).read_text())")
        if problem.objective.batch is not None:
            rows = _plan_of(data).get("schedule")
            if rows is None:
                raise UsageError("a plan for a batch is a schedule: it says which inputs run where and when")
            batches = Batches.from_json(problem, rows)
            _agree(_plan_of(data)["assignment"], batches.assignment_to_json(problem))
            return cls.of_batches(batches).of(problem)
        if _plan_of(data).get("routes") is not None:
            return _with_routes(problem, _plan_of(data))
        assignment = assignment_of_split(problem, data) if is_split(data) else _assignment_of(data)
        graph = problem.graph
        missing = [name for name in graph.names if name not in assignment]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(f"the plan does not place node {missing[0]!r}{more}")
        devices = np.empty(graph.n, dtype=np.int64)
        for node, device in assignment.items():
            if node not in graph.index:
                raise UsageError(f"the plan places {node!r}, which is no node{did_you_mean(node, graph.names)}")
            devices[graph.index[node]] = _device(problem, device, f"puts {node!r} on")
        return cls.create(
            problem,
            devices,
            order=_order_of(problem, data),
            replicas=_replicas_of(problem, data),
            schedule=_schedule_of(problem, data),
            **_stages_of(problem, data),
        )


class Planned(Protocol):
    """What has a plan, as a result does."""

    @property
    def plan(self) -> Plan | None:
        """Return the plan, if there is one."""


def plan_of(problem: Problem, given: Plan | Planned | Mapping[str, object]) -> Plan:
    """Return a plan that is given as one, as a result that has one, or as what :meth:`Plan.from_json` reads.

    Raises:
        UsageError: it is neither, or a plan of another problem.
    """
    if not isinstance(given, (Plan, Mapping)) and hasattr(given, "plan"):  # a result
        if not isinstance(given.plan, Plan):
            raise UsageError(f"this {type(given).__name__} has no plan")
        given = given.plan
    if not isinstance(given, Plan):
        return Plan.from_json(problem, given)
    n, devices = len(given.assignment), int(given.assignment.max(initial=-1)) + 1
    if n != problem.graph.n or devices > problem.k:
        there = f"{problem.graph.n} nodes and {problem.k} devices"
        raise UsageError(f"the plan is of another problem: it gives {n} nodes {devices} devices; there are {there}")
    return given


def _device(problem: Problem, device: object, what: str) -> int:
    if not isinstance(device, str) or device not in problem.device_index:
        hint = did_you_mean(str(device), problem.device_index)
        raise UsageError(f"the plan {what} {device!r}, which is no device{hint}")
    return problem.device_index[device]


def _plan_of(data: object) -> Mapping[str, Any]:
    """Return the object with an ``assignment`` in a JSON answer, or an empty one."""
    if isinstance(data, Mapping) and not isinstance(data.get("plan", ""), str):
        data = data["plan"]
    return data if isinstance(data, Mapping) and not isinstance(data.get("assignment", ""), str) else {}


def _agree(assignment: object, scheduled: Mapping[str, object], what: str = "the schedule") -> None:
    """Complain of an assignment that is not that of the schedule, or of the route, beside it."""
    if not isinstance(assignment, Mapping):
        raise UsageError("the assignment of a plan gives each node its device, or its devices")
    odd = next((v for v in {**scheduled, **assignment} if assignment.get(v) != scheduled.get(v)), None)
    if odd is not None:
        raise UsageError(f"the assignment has {odd!r} on {assignment.get(odd)!r}, {what} on {scheduled.get(odd)!r}")


def _with_routes(problem: Problem, data: Mapping[str, Any]) -> Plan:
    """Return a plan with routes, whose assignment is that of the first."""
    plan = Plan.of_routes(problem, routes_from_json(problem, data["routes"]))
    if any(data.get(name) is not None for name in ("replicas", "schedule")):
        raise UsageError("a plan has routes, or replicas or a schedule, not both")
    _agree(data["assignment"], data["routes"][0]["assign"], "the first route")
    return plan.of(problem)


def _schedule_of(problem: Problem, answer: object) -> Schedule | None:
    data = _plan_of(answer)
    if data.get("schedule") is None:
        return None
    schedule = Schedule.from_json(problem, data["schedule"], data.get("transfers"))
    _agree(data["assignment"], {row["node"]: row.get("device") for row in data["schedule"]})
    return schedule


def _replicas_of(problem: Problem, data: object) -> dict[int, list[int]]:
    replicas = _plan_of(data).get("replicas")
    if replicas is None:
        return {}
    if not isinstance(replicas, Mapping) or not all(isinstance(members, list) for members in replicas.values()):
        raise UsageError("the replicas of a plan are an object that gives a device the list of all that run its nodes")
    return {
        _device(problem, lead, "replicates"): [_device(problem, d, f"replicates {lead!r} on") for d in members]
        for lead, members in replicas.items()
    }


def _order_of(problem: Problem, data: object) -> tuple[int, ...] | None:
    """Return the order of devices in a plan's JSON, where it matters to what stages keep; else None."""
    order = _plan_of(data).get("order") if any(problem.stage_memory) else None
    if order is None:
        return None
    if not isinstance(order, list):
        raise UsageError("the order of a plan is a list of devices")
    numbers = [_device(problem, device, "orders") for device in order]
    if sorted(numbers) != list(range(problem.k)):
        raise UsageError("the order of a plan names every device once")
    return tuple(numbers)


def _stages_of(problem: Problem, data: object) -> dict[str, Any]:
    """Return the shards, and which stages recompute, of a plan's JSON; nothing where it does not say."""
    stages = _plan_of(data).get("stages")
    if not isinstance(stages, list) or not (any(problem.shard) or any(problem.stage_memory)):
        return {}
    shards: dict[int, int] = {}
    recomputed: set[int] | None = None
    for stage in stages:
        devices = stage.get("devices") if isinstance(stage, Mapping) else None
        if not isinstance(devices, list) or not devices:
            raise UsageError("the stages of a plan are objects, each with a list of its devices")
        lead = _device(problem, devices[0], "has a stage on")
        t, again = stage.get("shards") or 1, stage.get("recompute")
        if not isinstance(t, int) or isinstance(t, bool) or t < 1:
            raise UsageError(f"the stage on {devices[0]!r} is split over {t!r} devices; that is a whole number from 1")
        shards[lead] = t
        if again is not None:
            recomputed = (recomputed or set()) | ({lead} if again is True else set())
    return {"shards": shards, "recomputed": recomputed}


def _replicas(replicas: Mapping[int, Sequence[int]], problem: Problem) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the devices of every stage that has several, its own first, in order of its own."""
    for lead, members in sorted(replicas.items()):
        if not all(0 <= d < problem.k for d in (lead, *members)):
            raise UsageError(f"the plan names a device outside 0..{problem.k - 1}")
        if lead not in members:
            raise UsageError(f"the plan does not count {problem.devices[lead].name} among its own replicas")
        others = list(members)
        others.remove(lead)
        if others:
            yield lead, (lead, *sorted(others))


def _assignment_of(data: object) -> Mapping[str, object]:
    for key in ("plan", "assignment"):
        if isinstance(data, Mapping) and not isinstance(data.get(key, ""), str):  # a node may be called so
            data = data[key]
    if not isinstance(data, Mapping):
        raise UsageError("a plan is a JSON answer of mtpp, or an object that gives each node its device")
    return data


def device_order(problem: Problem, assignment: Ints) -> tuple[int, ...] | None:
    """Return a topological order of the quotient graph over all devices, or None if it has a cycle.

    It is one in which stages are in the order of devices that the problem asks for, if there is such a one.
    """
    tails, heads, n, k = problem.graph.tails, problem.graph.heads, problem.graph.n, problem.k
    rules = [np.array(listed_devices(rule, k), np.int64) for rule in problem.of(InOrder)]
    if rules:  # as if every device had one more node, and these were in a row
        before = np.concatenate([tails, *(n + rule[:-1] for rule in rules)])
        after = np.concatenate([heads, *(n + rule[1:] for rule in rules)])
        order = quotient_order(np.concatenate([assignment, np.arange(k)]), before, after, k)
        if order is not None:
            return order
    return quotient_order(assignment, tails, heads, k)


def quotient_order(assignment: Ints, tails: Ints, heads: Ints, k: int) -> tuple[int, ...] | None:
    """Return all *k* devices in an order that the edges respect, or None if their quotient has a cycle.

    Among devices that are free to come next, the one declared first comes first.
    """
    pairs = np.unique(assignment[tails] * k + assignment[heads])
    pairs = pairs[pairs // k != pairs % k]
    after: dict[int, list[int]] = {}
    for d, e in zip((pairs // k).tolist(), (pairs % k).tolist(), strict=True):
        after.setdefault(d, []).append(e)
    waiting = np.bincount(pairs % k, minlength=k).tolist()
    free = [d for d in range(k) if waiting[d] == 0]  # ascending, and so a heap
    order: list[int] = []
    while free:
        d = heapq.heappop(free)
        order.append(d)
        for e in after.get(d, ()):
            waiting[e] -= 1
            if waiting[e] == 0:
                heapq.heappush(free, e)
    return tuple(order) if len(order) == k else None
