"""Keep what names mean: loop variables, params, lets, nodes, devices and their families."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field, replace

from mtpp_dsl.core.base.exact import Exact
from mtpp_dsl.core.base.prefixes import Prefixes
from mtpp_dsl.core.base.spec_limits import MAX_STEPS
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.text.edits import suggested
from mtpp_dsl.core.text.source import Diagnostic, Fix, Place, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.declared import Hanging, LawOperator
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, NodeTime, Quantity, Sequence, Value

__all__ = ["MAX_LOOPS", "MAX_WRONG", "Complaint", "ReadingStopped", "SpecScope", "Unsettled", "reserved"]

MAX_WRONG = 100
"""Errors reported in one run; no more are looked for."""

MAX_NOTES = 8
"""Further lines of a message about the body of a function, which name the calls on the way to it."""

MAX_COMPARED = 5_000_000
"""Words compared with unknown names; beyond, no near ones are suggested."""

MAX_SHORTER = 10_000
"""Names whose beginnings are suggested where a path is unknown."""

MAX_BRACKETS = 100
"""Subscripts of an unknown path of which the members that there are are looked for."""

MAX_LOOPS = 100
"""Loops nested deeper than this are refused."""


class Complaint(Exception):
    """One error found while a spec is checked; collected, never shown as such.

    Args:
        message: what is wrong, with the offending value and the remedy.
        span: where; None for what has no place in a text.
        notes: further lines.
        code: of :mod:`mtpp_dsl.core.text.codes`.
        second: another place, and what is there, such as ``(first.span, "first declared here")``.
        places: further ones.
        fix: a change that mends it; where none is given and the message ends in a did-you-mean about the word at
            *span*, that word is replaced.
    """

    def __init__(
        self,
        message: str,
        span: Span | None,
        notes: SequenceType[str] = (),
        *,
        code: str = "",
        second: tuple[Span, str] | None = None,
        places: SequenceType[Place] = (),
        fix: Fix | None = None,
    ) -> None:
        super().__init__(message)
        places = tuple(places) if second is None else (Place(*second), *places)
        fix = fix or suggested(message, span)
        self.diagnostic = Diagnostic(message, span, notes=tuple(notes), code=code, places=places, fix=fix)

    def noting(self, note: str) -> Complaint:
        """Return this complaint with a further note, of which there are at most :data:`MAX_NOTES`."""
        if len(self.diagnostic.notes) < MAX_NOTES:
            self.diagnostic = replace(self.diagnostic, notes=(*self.diagnostic.notes, note))
        return self


def reserved(name: str, span: Span, *notes: str) -> Complaint:
    """Return the complaint that a word of the language is taken for a name."""
    return Complaint(f"{name!r} is a word of the language; choose another name", span, notes, code="MTPP-E103")


class Unsettled(Complaint):
    """What cannot be checked as something that it depends on is wrong; that was said, so this is not."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} could not be read", None)


class ReadingStopped(Exception):
    """What is being read is no longer asked for: see :meth:`SpecScope.stop`."""


@dataclass
class SpecScope:
    """Names of a spec; graph and devices are filled in once they are known.

    Attributes:
        params: values of the params.
        lets: definitions, evaluated when first used.
        graph, devices: None until they have been read.
        time_unit: "s" or "", the dimension of loads and times.
        sizes: the units that sizes have been written in.
        steps: how many steps of reading have been taken, of :data:`mtpp_dsl.core.base.spec_limits.MAX_STEPS`.
        most: steps that may be taken; less than none once reading is to stop.
        spent: whether it was told that there are no steps left.
        plain: what to say of params given from outside without a unit, where units do not agree.
        compared: how many words have been compared with names that are unknown, of :data:`MAX_COMPARED`.
        numbers: literals evaluated so far, by identity, with the literal.
        values_of_lets: of those evaluated so far.
        pending: the lets being evaluated, outermost first.
        bases: names of devices and of their families, declared so far.
        defs: functions of the spec's own.
        calls: those being called, outermost first.
        blocks: nodes of every instance, family of instances and port of blocks, by its path, such as ``layer[3]``.
        exact: what the spec gives a node, where floating point does not hold it exactly, by attribute and name.
        old_places: device of each node in an imported plan, None for one that is gone; None where none was imported.
        readers: edges by their heads, once they have been asked for.
        warnings: what the spec says to no effect, or may not mean.
        unsettled: what an earlier error has left unknown: "nodes", "edges", "weights" (of these), "devices",
            "options" (of devices), "time unit", or the name of a param or let.
        empty: families without members.
        hung: what devices say of the switches that they hang from, by the names of devices.
        mentioned: the names that the values of options mention, by identity of the option, with the option.
        drawing: whether the edges are being read, so that they are not known yet.
        phases: what each phase weighs, by its name.
        node_times: what nodes take on devices by their own options, by their names.
        types: of devices, by name.
        operator: the one whose time a law is being asked for; None where none is.
        workless: where nodes are declared that are given no work, by their names.
        prefix: what the names of nodes begin with in the instance of a block whose items are read.
        counted: how many nodes each member of a statement, and each set that a loop goes through, is, by its place.
    """

    params: dict[str, Value] = field(default_factory=dict)
    lets: dict[str, tree.LetStatement] = field(default_factory=dict)
    graph: Graph | None = None
    devices: tuple[Device, ...] | None = None
    time_unit: str = ""
    sizes: set[str] = field(default_factory=set)
    steps: int = 0
    most: int = field(default_factory=lambda: MAX_STEPS)
    spent: bool = False
    plain: list[str] = field(default_factory=list)
    compared: int = 0
    numbers: dict[int, tuple[tree.Number, Quantity]] = field(default_factory=dict)
    values_of_lets: dict[str, Value] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    bases: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)
    defs: dict[str, tree.DefStatement] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    blocks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    exact: dict[tuple[str, str], Exact] = field(default_factory=dict)
    warnings: list[Diagnostic] = field(default_factory=list)
    old_places: Mapping[int, int | None] | None = None
    readers: Ints | None = None
    _warned: set[tuple[int, int, str]] = field(default_factory=set)
    phases: dict[str, float] = field(default_factory=dict)
    prefix: str = ""
    drawing: bool = False
    empty: set[str] = field(default_factory=set)
    hung: dict[str, Hanging] = field(default_factory=dict)
    mentioned: dict[int, tuple[tree.Option, frozenset[str]]] = field(default_factory=dict)
    node_times: dict[str, NodeTime] = field(default_factory=dict)
    types: dict[str, tree.TypeStatement] = field(default_factory=dict)
    operator: LawOperator | None = None
    workless: dict[str, Span] = field(default_factory=dict)
    counted: dict[Span, Counter[int]] = field(default_factory=dict)
    _nodes: Mapping[str, int] = field(default_factory=dict)
    _devices: Mapping[str, int] = field(default_factory=dict)
    _prefixes: dict[str, Prefixes] = field(default_factory=lambda: {"node": Prefixes(()), "device": Prefixes(())})
    _sets: dict[tuple[str, str], Sequence] = field(default_factory=dict)

    def set_graph(self, graph: Graph) -> None:
        """Make the graph's nodes known, and the paths that their names begin with."""
        self.graph = graph
        self.readers = None
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
        self._sets = {key: found for key, found in self._sets.items() if key[0] != what}

    def warn(self, message: str, span: Span, code: str = "") -> None:
        """Note a warning, once per place and code."""
        key = (id(span.source), span.start, code)
        if key not in self._warned and len(self._warned) < MAX_WRONG:
            self._warned.add(key)
            self.warnings.append(Diagnostic(message, span, "warning", code=code))

    def spend(self, steps: int, span: Span) -> None:
        """Count steps of reading.

        Raises:
            Complaint: there were too many.
            Unsettled: that was told before.
            Stopped: nobody asks for more.
        """
        self.steps += steps
        if self.steps > self.most:
            if self.most < 0:
                raise ReadingStopped
            if self.spent:
                raise Unsettled("steps")
            self.spent = True
            raise Complaint(
                f"reading the spec takes more than {MAX_STEPS:,} steps (loops, sums, sets, nodes and edges together); "
                "that is the most",
                span,
                code="MTPP-E901",
            )

    def count(self, nodes: int, span: Span) -> None:
        """Note that what is at a place names so many nodes; of one that is read again, each time."""
        self.counted.setdefault(span, Counter())[nodes] += 1

    def stop(self) -> None:
        """Have what is being read in another thread stop at its next step, with :class:`ReadingStopped`."""
        self.most = -1

    def need(self, *what: str) -> None:
        """Stop if an earlier error has left one of *what* unknown (see ``unsettled``).

        Raises:
            Unsettled: it has.
        """
        for each in what:
            if each in self.unsettled:
                raise Unsettled(each)

    @property
    def decimal(self) -> bool:
        """Whether sizes are shown in kB, MB and GB: the largest unit in which the spec writes sizes is one of them."""
        prefixes = (unit.removesuffix("bit").removesuffix("B") for unit in self.sizes)
        largest = max(prefixes, key=lambda prefix: ("kKMGTP".find(prefix[:1]), len(prefix)), default="")
        return len(largest) == 1

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
        found = self._node_or_set(full, span) if what == "node" else self._device_or_set(full, span)
        return found or self.member(name, span)

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
                self.spend(len(known), span)
                self._sets[what, name] = known
        return known

    def _is_family(self, what: str, name: str) -> bool:
        """Return whether *name* is that of a family: there is ``name[0]`` or ``name[0].part``."""
        prefixes = self._prefixes[what]
        return any(prefixes.names[v].startswith(f"{name}[") for v in prefixes.below(name)[:2])

    def called(self, name: str) -> str:
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
        if self.unsettled & {"nodes", "devices", name, name.split("[")[0]}:
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
        self.compared += sum(map(len, known))
        return did_you_mean(name, itertools.chain(*known)) if self.compared <= MAX_COMPARED else ""


def _members(prefixes: Prefixes, name: str) -> list[str]:
    """Return the members of the innermost family that a path speaks of and that has none of its subscripts."""
    for bracket in reversed([at for at, mark in enumerate(name) if mark == "["][:MAX_BRACKETS]):
        base, beyond = name[:bracket], name.find("]", bracket) + 1
        if beyond and prefixes.below(base) and not prefixes.below(name[:beyond]):
            names = (prefixes.names[v] for v in prefixes.below(base))
            return [
                *dict.fromkeys(each[: each.find("]", bracket) + 1] for each in names if each.startswith(f"{base}["))
            ]
    return []
