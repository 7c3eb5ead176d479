"""What names mean: loop variables, params, lets, nodes, devices and their families."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field

from mtpp_dsl.base.spec_limits import MAX_STEPS
from mtpp_dsl.errors import did_you_mean
from mtpp_dsl.language import tree
from mtpp_dsl.language.values import DeviceRef, NodeRef, Quantity, Sequence, Value
from mtpp_dsl.problem import Device
from mtpp_dsl.problem.graph import Graph
from mtpp_dsl.text.fixes import suggested
from mtpp_dsl.text.source import Diagnostic, Fix, Place, Span

__all__ = ["MAX_LOOPS", "MAX_WRONG", "Complaint", "Scope", "Unsettled"]

MAX_WRONG = 100
"""Errors reported in one run; no more are looked for."""

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
        fix: Fix | None = None,
    ) -> None:
        super().__init__(message)
        places = () if second is None else (Place(*second),)
        fix = fix or suggested(message, span)
        self.diagnostic = Diagnostic(message, span, notes=tuple(notes), code=code, places=places, fix=fix)


class Unsettled(Complaint):
    """What cannot be checked as something that it depends on is wrong; that was said, so this is not."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} could not be read", None)


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
        plain: what to say of params given from outside without a unit, where units do not agree.
        compared: how many words have been compared with names that are unknown, of :data:`MAX_COMPARED`.
        numbers: literals evaluated so far, by identity, with the literal.
        values_of_lets: of those evaluated so far.
        pending: the lets being evaluated, outermost first.
        bases: names of devices and of their families, declared so far.
        unsettled: what an earlier error has left unknown: "nodes", "weights" (of nodes, and edges), "devices",
            "options" (of devices), "time unit", or the name of a param or let.
    """

    params: dict[str, Value] = field(default_factory=dict)
    lets: dict[str, tree.LetStatement] = field(default_factory=dict)
    graph: Graph | None = None
    devices: tuple[Device, ...] | None = None
    time_unit: str = ""
    sizes: set[str] = field(default_factory=set)
    steps: int = 0
    plain: list[str] = field(default_factory=list)
    compared: int = 0
    numbers: dict[int, tuple[tree.Number, Quantity]] = field(default_factory=dict)
    values_of_lets: dict[str, Value] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    bases: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)
    _nodes: Mapping[str, int] = field(default_factory=dict)
    _devices: Mapping[str, int] = field(default_factory=dict)
    _families: dict[str, dict[str, Sequence]] = field(default_factory=lambda: {"node": {}, "device": {}})

    def set_graph(self, graph: Graph) -> None:
        """Make the graph's nodes and families known."""
        self.graph = graph
        self._nodes = graph.index
        self._families["node"] = _families(graph.names, NodeRef)

    def set_devices(self, devices: tuple[Device, ...]) -> None:
        """Make the devices and their families known."""
        self.devices = devices
        names = [device.name for device in devices]
        self._devices = {name: d for d, name in enumerate(names)}
        self._families["device"] = _families(names, DeviceRef)

    def spend(self, steps: int, span: Span) -> None:
        """Count steps of reading.

        Raises:
            Complaint: there were too many.
        """
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise Complaint(
                f"reading the spec takes more than {MAX_STEPS:,} steps (loops, sums, sets, nodes and edges together); "
                "that is the most",
                span,
                code="MTPP-E901",
            )

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
        """Return the node, device or family called *name*, or None.

        Raises:
            Complaint: it is both a node and a device.
        """
        found: list[Value] = []
        if name in self._nodes:
            found.append(NodeRef(self._nodes[name]))
        elif name in self._families["node"]:
            found.append(self._families["node"][name])
        if name in self._devices:
            found.append(DeviceRef(self._devices[name]))
        elif name in self._families["device"]:
            found.append(self._families["device"][name])
        if len(found) > 1:
            raise Complaint(f"{name!r} is both a node and a device; rename one", span)
        return found[0] if found else None

    def unknown(self, name: str, span: Span, extra: SequenceType[str] = ()) -> Complaint:
        """Return the complaint that nothing is called *name*."""
        if self.unsettled & {"nodes", "devices", name, name.split("[")[0]}:
            return Unsettled(name)
        base = name.split("[")[0]
        for what, families in self._families.items():
            if base in families and base != name:
                members = families[base]
                names = [self._names(what)[ref.index] for ref in members if isinstance(ref, (NodeRef, DeviceRef))]
                return Complaint(
                    f"there is no {what} {name!r}: there are {names[0]} to {names[-1]}", span, code="MTPP-E101"
                )
        few = [*extra, *self.params, *self.lets, *self._families["node"], *self._families["device"], "nodes", "devices"]
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
    """Return the members of each family ``base[...]``, by base."""
    members: dict[str, list[Value]] = {}
    for index, name in enumerate(names):
        base, bracket, _ = name.partition("[")
        if bracket and name.endswith("]"):
            members.setdefault(base, []).append(ref(index))
    return {base: Sequence(tuple(items), "set") for base, items in members.items()}
