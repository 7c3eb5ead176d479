"""What names mean: loop variables, params, lets, nodes, devices and their families."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mtpp_dsl.base.exact import Exact
from mtpp_dsl.base.spec_limits import MAX_STEPS
from mtpp_dsl.errors import did_you_mean
from mtpp_dsl.language import tree
from mtpp_dsl.language.values import DeviceRef, NodeRef, NodeTime, Quantity, Sequence, Value
from mtpp_dsl.problem import Device
from mtpp_dsl.problem.graph import Graph, Ints
from mtpp_dsl.text.fixes import suggested
from mtpp_dsl.text.source import Diagnostic, Fix, Place, Span

if TYPE_CHECKING:
    from mtpp_dsl.language.costing import Operator
    from mtpp_dsl.language.lower_switches import Hanging

__all__ = ["MAX_LOOPS", "MAX_WRONG", "RESERVED", "UNDERSCORE", "Complaint", "Scope", "Stopped", "Unsettled", "reserved"]

_WORDS = "nodes devices edges bottleneck makespan latency throughput used true false inf on"
_KEYWORDS = "if then else for in and or not forall"
RESERVED = frozenset(f"{_WORDS} {_KEYWORDS}".split())
"""Words of the language in expressions: nothing that a spec declares may have such a name."""

UNDERSCORE = "'mtpp fmt --upgrade FILE' writes an underscore behind it throughout the file"
"""What a note says of such a name of a param, a let or the variable of a loop, which could have it before version 1."""

MAX_WRONG = 100
"""Errors reported in one run; no more are looked for."""

MAX_NOTES = 8
"""Further lines of a message about the body of a function, which name the calls on the way to it."""

MAX_COMPARED = 5_000_000
"""Words compared with unknown names; beyond, no near ones are suggested."""

MAX_LOOPS = 100
"""Loops nested deeper than this are refused."""


class Complaint(Exception):
    """One error found while a spec is checked; collected, never shown as such.

    Args:
        message: what is wrong, with the offending value and the remedy.
        span: where; None for what has no place in a text.
        notes: further lines.
        code: of :mod:`mtpp_dsl.text.codes`.
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


class Stopped(Exception):
    """What is being read is no longer asked for: see :meth:`Scope.stop`."""


@dataclass
class Scope:
    """Names of a spec; graph and devices are filled in once they are known.

    Attributes:
        params: values of the params.
        lets: definitions, evaluated when first used.
        graph, devices: None until they have been read.
        time_unit: "s" or "", the dimension of loads and times.
        sizes: the units that sizes have been written in.
        steps: how many steps of reading have been taken, of :data:`mtpp_dsl.base.spec_limits.MAX_STEPS`.
        most: steps that may be taken; less than none once reading is to stop.
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
    """

    params: dict[str, Value] = field(default_factory=dict)
    lets: dict[str, tree.LetStatement] = field(default_factory=dict)
    graph: Graph | None = None
    devices: tuple[Device, ...] | None = None
    time_unit: str = ""
    sizes: set[str] = field(default_factory=set)
    steps: int = 0
    most: int = field(default_factory=lambda: MAX_STEPS)
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
    _partial: dict[str, dict[str, Sequence]] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    prefix: str = ""
    drawing: bool = False
    empty: set[str] = field(default_factory=set)
    hung: dict[str, Hanging] = field(default_factory=dict)
    mentioned: dict[int, tuple[tree.Option, frozenset[str]]] = field(default_factory=dict)
    node_times: dict[str, NodeTime] = field(default_factory=dict)
    types: dict[str, tree.TypeStatement] = field(default_factory=dict)
    operator: Operator | None = None
    workless: dict[str, Span] = field(default_factory=dict)
    _nodes: Mapping[str, int] = field(default_factory=dict)
    _devices: Mapping[str, int] = field(default_factory=dict)
    _families: dict[str, dict[str, Sequence]] = field(default_factory=lambda: {"node": {}, "device": {}})

    def set_graph(self, graph: Graph) -> None:
        """Make the graph's nodes and families known."""
        self.graph = graph
        self.readers = None
        self._partial.clear()
        self._nodes = graph.index
        self._families["node"] = _families(graph.names, NodeRef)

    def set_devices(self, devices: tuple[Device, ...]) -> None:
        """Make the devices and their families known."""
        self.devices = devices
        self._partial.clear()
        names = [device.name for device in devices]
        self._devices = {name: d for d, name in enumerate(names)}
        self._families["device"] = _families(names, DeviceRef)

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
            Stopped: nobody asks for more.
        """
        self.steps += steps
        if self.steps > self.most:
            if self.most < 0:
                raise Stopped
            raise Complaint(
                f"reading the spec takes more than {MAX_STEPS:,} steps (loops, sums, sets, nodes and edges together); "
                "that is the most",
                span,
                code="MTPP-E901",
            )

    def stop(self) -> None:
        """Have what is being read in another thread stop at its next step, with :class:`Stopped`."""
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
        """Whether sizes are written in kB, MB and GB, and none in KiB, MiB and GiB."""
        binary = any(unit[1:2] == "i" for unit in self.sizes)
        return not binary and any(unit[0] in "kMGTP" for unit in self.sizes)

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

        Sets are families, a family's members with some first subscripts (``h[0]`` of ``h[i, j]``), and the nodes of
        the instances of blocks.

        Raises:
            Complaint: it is both a node and a device.
        """
        found: list[Value] = []
        name = self.prefix + name
        if name in self._nodes:
            found.append(NodeRef(self._nodes[name]))
        elif name in self._families["node"]:
            found.append(self._families["node"][name])
        elif name in self.blocks:
            found.append(Sequence(tuple(NodeRef(v) for v in self.blocks[name]), "set"))
        if name in self._devices:
            found.append(DeviceRef(self._devices[name]))
        elif name in self._families["device"]:
            found.append(self._families["device"][name])
        if not found and name in self.empty:
            return Sequence((), "set")
        if len(found) > 1:
            raise Complaint(f"{name!r} is both a node and a device; rename one", span, code="MTPP-E104")
        return found[0] if found else self._part_of_family(name)

    def _part_of_family(self, name: str) -> Sequence | None:
        """Return the members of a family whose subscripts begin with those of *name*; None if there are none."""
        base, bracket, _ = name.rpartition("[")
        if not bracket or not name.endswith("]"):
            return None
        if base not in self._partial:
            self._partial[base] = self._parts_of_family(base)
        return self._partial[base].get(name)

    def _parts_of_family(self, base: str) -> dict[str, Sequence]:
        groups: dict[str, list[Value]] = {}
        for families in self._families.values():
            for ref in families.get(base, ()):
                subscripts = self.name_of(ref)[len(base) + 1 : -1].split(",")
                for length in range(1, len(subscripts)):
                    groups.setdefault(f"{base}[{','.join(subscripts[:length])}]", []).append(ref)
        return {name: Sequence(tuple(items), "set") for name, items in groups.items()}

    def called(self, name: str) -> str:
        """Return what the spec calls *name*: "a node", "a family of devices" and so on; "" if nothing."""
        for what, single in (("node", self._nodes), ("device", self._devices)):
            if name in single:
                return f"a {what}"
            if name in self._families[what]:
                return f"a family of {what}s"
        return "a block's instances" if name in self.blocks else ""

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
        base = name.rpartition("[")[0] if name.endswith("]") else ""
        for what, families in self._families.items():
            if base in families:
                members = families[base]
                names = [self._names(what)[ref.index] for ref in members if isinstance(ref, (NodeRef, DeviceRef))]
                return Complaint(
                    f"there is no {what} {name!r}: there are {names[0]} to {names[-1]}", span, code="MTPP-E101"
                )
        own = [*extra, *self.phases, *self.params, *self.lets, *self.blocks]
        few = [*own, *self._families["node"], *self._families["device"], "nodes", "edges", "devices"]
        few += ["bottleneck", "makespan", "latency", "throughput"]
        near = self.near(name, few, self._nodes, self._devices)
        return Complaint(f"nothing is called {name!r}{near}", span, code="MTPP-E101")

    def near(self, name: str, *known: Collection[str]) -> str:
        """Return ``"; did you mean 'x'?"``, or ``""`` where as many words as may be have been compared."""
        self.compared += sum(map(len, known))
        return did_you_mean(name, itertools.chain(*known)) if self.compared <= MAX_COMPARED else ""

    def _names(self, what: str) -> SequenceType[str]:
        if what == "node":
            return self.graph.names if self.graph is not None else ()
        return [device.name for device in self.devices or ()]


def _families(names: SequenceType[str], ref: type[NodeRef] | type[DeviceRef]) -> dict[str, Sequence]:
    """Return the members of each family ``base[...]``, by base; of ``layer[3].head[0]`` that is ``layer[3].head``."""
    members: dict[str, list[Value]] = {}
    for index, name in enumerate(names):
        base, bracket, _ = name.rpartition("[")
        if bracket and name.endswith("]"):
            members.setdefault(base, []).append(ref(index))
    return {base: Sequence(tuple(items), "set") for base, items in members.items()}
