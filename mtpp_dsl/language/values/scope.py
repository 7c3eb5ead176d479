"""Keep what the names of a spec mean, and what has been declared and evaluated of it so far."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field
from typing import Literal

from mtpp_dsl.core.base.exact_numbers import Exact
from mtpp_dsl.core.base.prefixes import Prefixes
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.devices import Device, Overlap, Send
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Remarks, Steps, Unsettled
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, NodeTime, Quantity, Sequence, Value

MAX_COMPARED = 5_000_000
"""Words compared with unknown names; beyond, no near ones are suggested."""

MAX_SHORTER = 10_000
"""Names whose beginnings are suggested where a path is unknown."""

MAX_BRACKETS = 100
"""Subscripts of an unknown path of which the members that there are are looked for."""

MAX_LOOPS = 100
"""Loops nested deeper than this are refused."""


@dataclass(frozen=True)
class Hanging:
    """What a device or a switch says of its place in a tree: names and numbers as read, with the statement's place."""

    span: Span
    above: str | None = None
    named_at: Span | None = None
    uplink: Quantity | None = None
    latency: Quantity | None = None
    duplex: Literal["full", "half"] | None = None
    overlap: Overlap | None = None
    send: Send | None = None


@dataclass(frozen=True)
class LawOperator:
    """The operator whose time a law computes.

    Attributes:
        costs: of the graph, settled (see :meth:`mtpp_dsl.core.problem.costs.Costs.settled`).
        item: number of the operator among them.
    """

    costs: Costs
    item: int

    @property
    def node(self) -> int:
        """The number of its node."""
        return int(self.costs.owner[self.item])

    def shown_name(self, graph: Graph) -> str:
        """Return its name, for messages."""
        name = graph.names[self.node]
        own = self.costs.names[self.item]
        return f"{own!r} of {name!r}" if own and own != name else f"{name!r}"


@dataclass
class SpecUnits:
    """The units that a spec uses.

    Attributes:
        time: "s" or "", the dimension of loads and times.
        sizes: the units that sizes have been written in.
    """

    time: str = ""
    sizes: set[str] = field(default_factory=set)

    @property
    def decimal(self) -> bool:
        """Whether sizes are shown in kB, MB and GB: the largest unit in which the spec writes sizes is one of them."""
        prefixes = (unit.removesuffix("bit").removesuffix("B") for unit in self.sizes)
        largest = max(prefixes, key=lambda prefix: ("kKMGTP".find(prefix[:1]), len(prefix)), default="")
        return len(largest) == 1


@dataclass
class Declarations:
    """What statements say of nodes and devices, beside what the graph and the devices hold.

    Attributes:
        bases: names of devices and of their families.
        types: of devices, by name.
        hung: what devices say of the switches that they hang from, by the names of devices.
        node_times: what nodes take on devices by their own options, by their names.
        workless: where nodes are declared that are given no work, by their names.
        exact: what the spec gives a node, where floating point does not hold it exactly, by attribute and name.
        old_places: device of each node in an imported plan, None for one that is gone; None where none was imported.
    """

    bases: set[str] = field(default_factory=set)
    types: dict[str, tree.TypeStatement] = field(default_factory=dict)
    hung: dict[str, Hanging] = field(default_factory=dict)
    node_times: dict[str, NodeTime] = field(default_factory=dict)
    workless: dict[str, Span] = field(default_factory=dict)
    exact: dict[tuple[str, str], Exact] = field(default_factory=dict)
    old_places: Mapping[int, int | None] | None = None


@dataclass
class Evaluation:
    """What has been evaluated so far, and what is being evaluated.

    Attributes:
        numbers: literals, by identity, with the literal.
        mentioned: the names that the values of options mention, by identity of the option, with the option.
        lets: values of those that have been used.
        readers: edges by their heads, once they have been asked for.
        pending: the lets being evaluated, outermost first.
        calls: the functions of the spec being called, outermost first.
        operator: the one whose time a law is being asked for; None where none is.
    """

    numbers: dict[int, tuple[tree.Number, Quantity]] = field(default_factory=dict)
    mentioned: dict[int, tuple[tree.Option, frozenset[str]]] = field(default_factory=dict)
    lets: dict[str, Value] = field(default_factory=dict)
    readers: Ints | None = None
    pending: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    operator: LawOperator | None = None


@dataclass
class SpecScope:
    """Names of a spec; graph and devices are filled in once they are known.

    Attributes:
        params: values of the params.
        lets: definitions, evaluated when first used.
        defs: functions of the spec's own.
        phases: what each phase weighs, by its name.
        graph, devices: None until they have been read.
        blocks: nodes of every instance, family of instances and port of blocks, by its path, such as ``layer[3]``.
        empty: families without members.
        prefix: what the names of nodes begin with in the instance of a block whose items are read.
        drawing: whether the edges are being read, so that they are not known yet.
        declared: what else statements say of nodes and devices.
        units: those that the spec uses.
        evaluated: values so far.
        steps: how much has been done.
        remarks: warnings, and what an earlier error has left unknown.
    """

    params: dict[str, Value] = field(default_factory=dict)
    lets: dict[str, tree.LetStatement] = field(default_factory=dict)
    defs: dict[str, tree.DefStatement] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    graph: Graph | None = None
    devices: tuple[Device, ...] | None = None
    blocks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    prefix: str = ""
    drawing: bool = False
    declared: Declarations = field(default_factory=Declarations)
    units: SpecUnits = field(default_factory=SpecUnits)
    evaluated: Evaluation = field(default_factory=Evaluation)
    steps: Steps = field(default_factory=Steps)
    remarks: Remarks = field(default_factory=Remarks)
    _nodes: Mapping[str, int] = field(default_factory=dict)
    _devices: Mapping[str, int] = field(default_factory=dict)
    _prefixes: dict[str, Prefixes] = field(default_factory=lambda: {"node": Prefixes(()), "device": Prefixes(())})
    _sets: dict[tuple[str, str], Sequence] = field(default_factory=dict)

    def set_graph(self, graph: Graph) -> None:
        """Make the graph's nodes known, and the paths that their names begin with."""
        self.graph = graph
        self.evaluated.readers = None
        if graph.names != self._prefixes["node"].names:
            self._learn("node", graph.prefixes)
        self._nodes = graph.index

    def set_devices(self, devices: tuple[Device, ...]) -> None:
        """Make the devices known, and the paths that their names begin with."""
        self.devices = devices
        names = tuple(device.name for device in devices)
        self._learn("device", Prefixes(names))
        self._devices = {name: d for d, name in enumerate(names)}

    def _learn(self, what: str, prefixes: Prefixes) -> None:
        self._prefixes[what] = prefixes
        self._sets = {key: members for key, members in self._sets.items() if key[0] != what}

    def node(self, name: str) -> NodeRef | None:
        """Return the node of that name."""
        index = self._nodes.get(name)
        return None if index is None else NodeRef(index)

    def device(self, name: str) -> DeviceRef | None:
        """Return the device of that name."""
        index = self._devices.get(name)
        return None if index is None else DeviceRef(index)

    def member(self, name: str, span: Span) -> Value | None:
        """Return the node, device or set of these called *name*, or None.

        A set is all whose names begin with that one, such as a family, a part of it, an instance of a block or a module
        of a model; a node that bears the name is one of them. It is also the nodes of a port of a block.

        Raises:
            Complaint: it is both a node and a device.
        """
        name = self.prefix + name
        node, device = self._node_or_set(name, span), self._device_or_set(name, span)
        if node is not None and device is not None and (isinstance(node, NodeRef) or self._is_family("node", name)):
            raise Complaint(f"{name!r} is both a node and a device; rename one", span, code="MTPP-E104")
        if node is not None or device is not None:
            return device if device is not None else node
        if name in self.blocks:
            return Sequence(tuple(NodeRef(v) for v in self.blocks[name]), "set")
        return Sequence((), "set") if name in self.empty else None

    def wanted(self, name: str, what: str, span: Span) -> Value | None:
        """Return what a string names where a node or a device (*what*) is wanted, whatever else is called so; or None.

        Raises:
            Complaint: it names none of these, and both a node and a device.
        """
        full = self.prefix + name
        member = self._node_or_set(full, span) if what == "node" else self._device_or_set(full, span)
        return member or self.member(name, span)

    def _node_or_set(self, name: str, span: Span) -> NodeRef | Sequence | None:
        index = self._nodes.get(name)
        if index is not None and self._prefixes["node"].is_leaf(name):
            return NodeRef(index)
        return self._below("node", name, span) or None

    def _device_or_set(self, name: str, span: Span) -> DeviceRef | Sequence | None:
        return self.device(name) or self._below("device", name, span) or None

    def _below(self, what: str, name: str, span: Span) -> Sequence:
        """Return the nodes or devices whose names are *name* or begin with it."""
        known = self._sets.get((what, name))
        if known is None:
            ref = NodeRef if what == "node" else DeviceRef
            known = Sequence(tuple(map(ref, self._prefixes[what].below(name))), "set")
            if len(known) > 1:
                self.steps.spend(len(known), span)
                self._sets[what, name] = known
        return known

    def _is_family(self, what: str, name: str) -> bool:
        """Return whether *name* is that of a family: there is ``name[0]`` or ``name[0].part``."""
        prefixes = self._prefixes[what]
        return any(prefixes.names[v].startswith(f"{name}[") for v in prefixes.below(name)[:2])

    def kind_called(self, name: str) -> str:
        """Return what the spec calls *name*: "a node", "a family of devices" and so on; "" if nothing."""
        for what, single in (("node", self._nodes), ("device", self._devices)):
            if name in single:
                return f"a {what}"
            if self._is_family(what, name):
                return "a block's instances" if name in self.blocks else f"a family of {what}s"
        return "a block's instances" if name in self.blocks else ""

    def begins(self, name: str) -> bool:
        """Return whether names of nodes begin with *name*."""
        return bool(self._prefixes["node"].below(name))

    def name_of(self, value: object) -> str:
        """Return the name of a node or a device; "" of anything else."""
        if isinstance(value, NodeRef) and self.graph is not None:
            return self.graph.names[value.index]
        if isinstance(value, DeviceRef) and self.devices is not None:
            return self.devices[value.index].name
        return ""

    def unknown(self, name: str, span: Span, extra: SequenceType[str] = ()) -> Complaint:
        """Return the complaint that nothing is called *name*."""
        if self.remarks.unsettled & {"nodes", "devices", name, name.split("[")[0]}:
            return Unsettled(name)
        for what, prefixes in self._prefixes.items():
            members = _members(prefixes, name)
            if members:
                return Complaint(
                    f"there is no {what} {name!r}: there are {members[0]} to {members[-1]}", span, code="MTPP-E101"
                )
        own = [*extra, *self.phases, *self.params, *self.lets, *self.blocks]
        few = [*own, *self._prefixes["device"].shorter(MAX_SHORTER), "nodes", "edges", "devices"]
        few += ["bottleneck", "makespan", "latency", "throughput"]
        near = self.near(name, few, self._nodes, self._devices, [*self._prefixes["node"].shorter(MAX_SHORTER)])
        return Complaint(f"nothing is called {name!r}{near}", span, code="MTPP-E101")

    def near(self, name: str, *known: Collection[str]) -> str:
        """Return ``"; did you mean 'x'?"``, or ``""`` where as many words as may be have been compared."""
        self.steps.compared += sum(map(len, known))
        return did_you_mean(name, itertools.chain(*known)) if self.steps.compared <= MAX_COMPARED else ""


def _members(prefixes: Prefixes, name: str) -> list[str]:
    """Return the members of the innermost family that a path speaks of and that has none of its subscripts."""
    for bracket in reversed([at for at, mark in enumerate(name) if mark == "["][:MAX_BRACKETS]):
        base, beyond = name[:bracket], name.find("]", bracket) + 1
        if beyond and prefixes.below(base) and not prefixes.below(name[:beyond]):
            names = (prefixes.names[v] for v in prefixes.below(base))
            return [
                *dict.fromkeys(full[: full.find("]", bracket) + 1] for full in names if full.startswith(f"{base}["))
            ]
    return []
