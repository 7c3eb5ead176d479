"""Offer what pipelines of whole items share: their limits as constraints, counts of items on devices, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mtpp_dsl.core.constraints import (
    Colocate,
    Constraint,
    Copies,
    InOrder,
    Linear,
    Memory,
    On,
    Pin,
    Repeat,
    Replicate,
    Shard,
    StageMemory,
)
from mtpp_dsl.core.contracts.targets import Split, UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.library.entries import entries
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.runtimes.targets.first_splits import first_counts, improving, sizes_of


@dataclass(frozen=True)
class StageItems:
    """What a runtime hands out to its stages, in its order.

    Attributes:
        names: of the items, for messages: "layer 3", "the output".
        nodes: of the graph, of each item.
        fixed: the device of every node that is in no item.
    """

    names: tuple[str, ...]
    nodes: tuple[tuple[int, ...], ...]
    fixed: Mapping[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def homes(self, counts: Sequence[int], devices: Sequence[int]) -> dict[int, int]:
        """Return the device of every node where each of *devices* has so many items, one after the other."""
        device_of = dict(self.fixed)
        items = iter(self.nodes)
        for count, device in zip(counts, devices, strict=True):
            for _ in range(count):
                device_of |= dict.fromkeys(next(items), device)
        return device_of

    def assigned(self, counts: Sequence[int], devices: Sequence[int]) -> Split:
        """Return the split that gives each of *devices* so many items, one after the other."""
        device_of = self.homes(counts, devices)
        return Split(tuple(device_of[v] for v in sorted(device_of)))


def origin_of(target: str) -> str:
    """Return the place that messages give for the constraints of a target."""
    return f"target {target}"


def is_cpu(device: Device) -> bool:
    """Return whether a device is the host's processor: by its type or name, or as its tensors are free."""
    entry = entries().get(device.type)
    named = device.type.lower().startswith("cpu") or device.name.lower().startswith("cpu")
    return named or not device.pays_io or (entry is not None and entry.file == "devices/cpu.mtpp")


def refuse_beyond(problem: Problem, runtime: str) -> None:
    """Refuse a problem about what no plan of one device for each node can say.

    Raises:
        UsageError: it is about batches, schedules, replicas, copies or shards, or streams parameters.
    """
    objective = problem.objective
    if objective.batch is not None or objective.timed:
        raise UsageError(
            f"{runtime} runs its stages one after the other, and takes no schedule: minimize the bottleneck, an "
            f"iteration or a sum, not the {objective.quantity}"
        )
    kinds = {Shard: "shard", Replicate: "replicate", Copies: "copies", Repeat: "batch"}
    for kind, word in kinds.items():
        if next(problem.of(kind), None) is not None:
            raise UsageError(
                f"{runtime} takes one device for each stage here, and the problem has 'constraint {word}': declare "
                "each group of devices that works on a stage together as one device"
            )
    if isinstance(problem.interconnect, Host) and problem.interconnect.overflow:
        raise UsageError(f"{runtime} does not stream parameters from the host: leave out 'overflow'")


def plain_plan(plan: Plan, runtime: str) -> None:
    """Refuse a plan in which a node is on several devices.

    Raises:
        UsageError: it is.
    """
    if plan.batches is not None or plan.routes or plan.replicas or plan.shards:
        raise UsageError(f"{runtime} takes one device for each node, and this plan has nodes on several")


class Stages:
    """A runtime whose stages each take some of a list of items, in the order of the devices.

    Attributes:
        name: of the target.
        runtime: how messages call it.
        empty: whether a stage may be without an item.
        ends: whether the first item has to be on the first device, and the last on the last.
        cpu: whether a device may be the host's processor.
    """

    name = ""
    runtime = ""
    empty = False
    ends = False
    cpu = False
    unit = "layer"

    def items(self, problem: Problem) -> StageItems:
        """Return the items: layers, with what is before them in the first, and what is after them in the last."""
        layout = layout_of(problem.graph)
        nodes = [list(layer) for layer in layout.layers]
        nodes[0] += layout.before
        nodes[-1] += layout.after
        return StageItems(tuple(f"layer {i}" for i in range(len(nodes))), tuple(tuple(sorted(item)) for item in nodes))

    def devices(self, problem: Problem) -> tuple[int, ...]:
        """Return the devices in the order of the stages.

        Raises:
            UsageError: one cannot be a stage.
        """
        cpus = [device.name for device in problem.devices if is_cpu(device)]
        if cpus and len(cpus) < problem.k and not self.cpu:
            raise UsageError(f"{self.runtime} runs its stages on accelerators, and {cpus[0]} is a CPU: leave it out")
        return tuple(range(problem.k))

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem with whole items, in the order of the devices, and memories that are kept to."""
        refuse_beyond(problem, self.runtime)
        items, devices = self.items(problem), self.devices(problem)
        self.check_room(problem, items, devices)
        return problem.with_constraints([*problem.constraints, *self.added(problem, items, devices)])

    def added(self, problem: Problem, items: StageItems, devices: Sequence[int]) -> Iterator[Constraint]:
        """Yield the constraints that the runtime stands for."""
        origin = origin_of(self.name)
        for nodes in items.nodes:
            if len(nodes) > 1:
                yield Colocate(nodes=nodes, origin=origin)
        if len(devices) > 1:
            yield from self.order(problem, items, devices, origin)
        if self.ends and len(devices) > 1:
            yield Pin(nodes=items.nodes[0], devices=(devices[0],), origin=origin)
            yield Pin(nodes=items.nodes[-1], devices=(devices[-1],), origin=origin)
        for device in sorted(set(items.fixed.values())):
            nodes = tuple(v for v, home in sorted(items.fixed.items()) if home == device)
            yield Pin(nodes=nodes, devices=(device,), origin=origin)
        stated = any(isinstance(rule, (Memory, StageMemory)) for rule in problem.constraints)
        if not stated and any(device.memory is not None for device in problem.devices):
            yield Memory(origin=origin)

    def order(self, problem: Problem, items: StageItems, devices: Sequence[int], origin: str) -> Iterator[Constraint]:
        """Yield the constraints that keep the items in the order of the devices, which are two or more."""
        yield InOrder(devices=tuple(devices), empty="allowed" if self.empty else "never", origin=origin)
        yield from _unjoined(problem, items, devices, origin)

    def check_room(self, problem: Problem, items: StageItems, devices: Sequence[int]) -> None:
        """Refuse more devices than items where none may be empty, and tied weights at both ends.

        Raises:
            UsageError: so it is.
        """
        if not self.empty and len(devices) > len(items):
            raise UsageError(
                f"{self.runtime} needs at least one {self.unit} on each stage: there are {len(devices)} devices and "
                f"{len(items)} {self.unit}s; declare fewer devices"
            )
        if len(devices) < 2:
            return
        where = {v: i for i, nodes in enumerate(items.nodes) for v in nodes}
        for rule in problem.of(Colocate):
            places = {where.get(v, 0) for v in rule.nodes}
            if {0, len(items) - 1} <= places and len(items) > 1:
                first, last = (next(v for v in rule.nodes if where.get(v, 0) == i) for i in (0, len(items) - 1))
                names = problem.graph.names
                raise UsageError(
                    f"{self.runtime} has a copy of weights that both ends share at each of them, and {rule} keeps "
                    f"{names[first]} and {names[last]} together: write (…, ties = copy) where the graph is read, or "
                    "leave the constraint out"
                )

    def first_splits(self, problem: Problem, cost: Callable[[Split], float]) -> Iterator[Split]:
        """Yield splits to start from: simple counts of items, and what moving some of them between devices improves."""
        items, devices = self.items(problem), self.devices(problem)

        def made(counts: Sequence[int]) -> Iterator[Split]:
            if (self.empty or 0 not in counts) and (not self.ends or (counts[0] and counts[-1])):
                yield from self.splits_of(problem, items, devices, counts)

        weights, work = sizes_of(problem, items.nodes, devices)
        yield from improving(made, first_counts(problem, weights, devices, work), cost)

    def splits_of(
        self,
        problem: Problem,  # noqa: ARG002
        items: StageItems,
        devices: Sequence[int],
        counts: Sequence[int],
    ) -> Iterator[Split]:
        """Yield the splits with these counts of items that searches may start from."""
        yield items.assigned(counts, devices)

    def counts(self, problem: Problem, plan: Plan) -> list[int]:
        """Return how many items each device has, in the order of the stages.

        Raises:
            UsageError: the plan splits an item, or is not in that order, or leaves a stage empty that may not be.
        """
        plain_plan(plan, self.runtime)
        items, devices = self.items(problem), self.devices(problem)
        for v, home in items.fixed.items():
            if plan.assignment[v] != home:
                name = problem.devices[home].name
                raise self._not_this(f"{problem.graph.names[v]} is not on {name}, where {self.runtime} has it", "pin")
        rank = {device: place for place, device in enumerate(devices)}
        counts, last = [0] * len(devices), 0
        for name, nodes in zip(items.names, items.nodes, strict=True):
            homes = np.unique(plan.assignment[list(nodes)]).tolist()
            if len(homes) > 1:
                names = " and ".join(problem.devices[d].name for d in homes)
                raise self._not_this(f"{name} is on {names}, and {self.runtime} does not split it", "colocate")
            place = rank[homes[0]]
            if place < last:
                raise self._not_this(
                    f"{name} is on {problem.devices[homes[0]].name}, which comes before the device of the "
                    f"{self.unit} before it",
                    "stages",
                )
            counts[place] += 1
            last = place
        if not self.empty and 0 in counts:
            idle = problem.devices[devices[counts.index(0)]].name
            raise self._not_this(f"{idle} has no {self.unit}", "stages (empty = never)")
        if self.ends and not (counts[0] and counts[-1]):
            raise self._not_this("the first item is not on the first device, or the last not on the last", "pin")
        return counts

    def _not_this(self, what: str, constraint: str) -> UsageError:
        return UsageError(
            f"{self.runtime} cannot run this plan: {what}; add 'constraint {constraint}', or solve with "
            f"--for {self.name}"
        )

    def split(self, problem: Problem, counts: Sequence[int], what: str = "") -> Split:
        """Return the split of these counts of items.

        Raises:
            UnsoundSplit: too many or too few stages, items lost or doubled, or an empty stage.
        """
        items, devices = self.items(problem), self.devices(problem)
        check_stages(len(counts), len(devices))
        total = sum(counts)
        what = what or f"{self.unit}s"
        if total != len(items):
            fault = "lost" if total < len(items) else "too many"
            off = abs(total - len(items))
            raise UnsoundSplit(
                f"the counts add up to {total}, and the model has {len(items)} {what}: "
                f"{off} {'is' if off == 1 else 'are'} {fault}"
            )
        if not self.empty and 0 in counts:
            raise UnsoundSplit(f"stage {counts.index(0)} has no {self.unit}; {self.runtime} needs one on each")
        return items.assigned(counts, devices)


def _unjoined(problem: Problem, items: StageItems, devices: Sequence[int], origin: str) -> Iterator[Constraint]:
    """Yield rows that keep items in their order which no edge joins: an order of devices speaks of edges alone."""
    graph = problem.graph
    where = {v: i for i, nodes in enumerate(items.nodes) for v in nodes}
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    joined = {
        frozenset((where[u], where[v]))
        for u, v in ends
        if u in where and v in where and graph.backward[u] == graph.backward[v]
    }
    pairs = [i for i in range(len(items) - 1) if frozenset((i, i + 1)) not in joined]
    yield from rows_in_order(problem, items, devices, pairs, origin)


def rows_in_order(
    problem: Problem, items: StageItems, devices: Sequence[int], pairs: Iterable[int], origin: str
) -> Iterator[Linear]:
    """Yield rows that keep item i + 1 from a device before that of item i, for each i of *pairs*."""
    for i in pairs:
        one, other = items.nodes[i], items.nodes[i + 1]
        for j in range(1, len(devices)):
            terms = [(On(other[0], d), 1.0) for d in devices[:j]] + [(On(one[0], d), -1.0) for d in devices[:j]]
            label = f"order[{items.names[i + 1]} not before {items.names[i]}: {problem.devices[devices[j - 1]].name}]"
            yield Linear(label=label, terms=tuple(terms), sense="<=", rhs=0.0, origin=origin)


def check_stages(stages: int, devices: int) -> None:
    """Refuse another number of stages than of devices.

    Raises:
        UnsoundSplit: so it is.
    """
    if stages != devices:
        much = "many" if stages > devices else "few"
        raise UnsoundSplit(f"too {much} stages: there are {stages}, and the spec has {devices} devices")
