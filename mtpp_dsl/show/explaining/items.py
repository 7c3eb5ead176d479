"""List what may be left out of a problem to see whether it then has a plan: statements, and what they consist of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.constraints import (
    BatchSizes,
    Constraint,
    Contiguous,
    Forbid,
    Linear,
    Memory,
    Pin,
    PinChunks,
    StageMemory,
    Subgraphs,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph, frozen
from mtpp_dsl.core.problem.problem import Problem, running_times
from mtpp_dsl.language.syntax.places import Places, SpecLines
from mtpp_dsl.show.explaining.altered import made_again


@dataclass(frozen=True)
class Item:
    """Constraints that come and go together, or that devices do not support some kinds of nodes.

    Attributes:
        constraints: that it adds to a problem.
        named: as messages call it.
        lines: of the spec that say it; of a rule for one device, those that give the amount, too.
        barred: the devices whose unsupported kinds it stands for.
        part: what it is of its statement: the row, or the device or node that it is about; "" for all of it.
    """

    constraints: tuple[Constraint, ...]
    named: str
    lines: tuple[SpecLines, ...] = ()
    barred: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True)
class ProblemItems:
    """A problem as items, and what stays whatever is left out.

    Attributes:
        problem: as it was asked.
        fixed: constraints that stay: those that say what is asked, and those that allow plans.
        items: what may be left out.
        places: where the spec says what.
        barred: devices that support all kinds, unless an item is chosen that says otherwise.
    """

    problem: Problem
    fixed: tuple[Constraint, ...]
    items: tuple[Item, ...]
    places: Places
    barred: frozenset[int] = frozenset()

    @property
    def kept(self) -> tuple[Constraint, ...]:
        """The constraints that restrict plans, and stay as they say what is asked."""
        return tuple(c for c in self.fixed if not c.enlarges)

    def problem_of(self, chosen: Collection[int]) -> Problem:
        """Return the problem with these items alone, by number, and what is fixed; one objective is left.

        Raises:
            Refused: with so few constraints it cannot be asked; says why.
        """
        order = {id(c): i for i, c in enumerate(self.problem.constraints)}
        kept = [c for number in sorted(chosen) for c in self.items[number].constraints]
        rules = sorted([*self.fixed, *kept], key=lambda c: order.get(id(c), -1))
        lifted = self.barred.difference(*(self.items[number].barred for number in chosen))
        asked = replace(self.problem, later=(), target=None)
        if not lifted:
            return asked.with_constraints(rules)
        return supporting(asked.with_constraints(rules), lifted).with_constraints(rules)

    def split(self, number: int) -> list[Item]:
        """Return what one item consists of: rows, or rules for single devices or nodes; itself if it is one thing."""
        item = self.items[number]
        if item.barred:
            names = [self.problem.devices[d].name for d in item.barred]
            return [replace(item, barred=(d,), part=name) for d, name in zip(item.barred, names, strict=True)]
        pieces = [piece for constraint in item.constraints for piece in self._pieces(constraint, item)]
        return pieces or [item]

    def _pieces(self, constraint: Constraint, item: Item) -> Iterator[Item]:
        devices, names = self.problem.devices, self.problem.graph.names
        if isinstance(constraint, (Memory, StageMemory, Contiguous)):
            limits = isinstance(constraint, (Memory, StageMemory))
            for d in range(self.problem.k) if constraint.devices is None else constraint.devices:
                if limits and devices[d].memory is None:
                    continue
                own = self.places.of_device(devices[d].name, "memory") if limits else ()
                own += self.places.of_device(devices[d].name, "reserve") if limits else ()
                lines = (*item.lines, *own)
                yield Item((replace(constraint, devices=(d,)),), item.named, lines, part=devices[d].name)
        elif isinstance(constraint, (Pin, Forbid)) and len(constraint.nodes) > 1:
            for v in constraint.nodes:
                yield Item((replace(constraint, nodes=(v,)),), item.named, item.lines, part=names[v])
        elif isinstance(constraint, Linear):
            yield Item((constraint,), item.named, item.lines, part=constraint.label)
        else:
            yield Item((constraint,), item.named, item.lines, part=_about(self.problem, constraint))


def _about(problem: Problem, constraint: Constraint) -> str:
    """Return the nodes that one of several constraints of a statement is about, for messages."""
    nodes = getattr(constraint, "nodes", None) or ()
    shown = [problem.graph.names[v] for v in nodes[:4]]
    return ", ".join([*shown, f"{len(nodes) - 4} more"] if len(nodes) > 4 else shown)


def items_of(problem: Problem, places: Places) -> ProblemItems:
    """Return a problem as items: one for each statement, and one for each device that does not support some kinds.

    Soft rows restrict nothing: they are neither fixed nor items.
    """
    fixed = tuple(c for c in problem.constraints if c.enlarges or _asks(problem, c))
    left = [c for c in problem.constraints if c not in fixed and not (isinstance(c, Linear) and c.soft)]
    items = [Item(group, label_of(group), places.of_constraint(group[0])) for group in statements_of(left, places)]
    items += _barred(problem, places)
    whole = ProblemItems(problem, fixed, tuple(items), places, frozenset(d for item in items for d in item.barred))
    try:
        whole.problem_of([number for number, item in enumerate(items) if not item.barred])
    except Refused:  # without them nothing is known of the times
        whole = ProblemItems(problem, fixed, tuple(item for item in items if not item.barred), places)
    return whole


def _asks(problem: Problem, constraint: Constraint) -> bool:
    """Return whether a constraint says what is asked, so that without it another problem is, or none."""
    by_subgraphs = problem.timed and problem.objective.batch is None and not isinstance(problem.interconnect, Links)
    kinds = (BatchSizes, PinChunks, Contiguous, Subgraphs) if by_subgraphs else (BatchSizes, PinChunks)
    return isinstance(constraint, kinds)


def _barred(problem: Problem, places: Places) -> Iterator[Item]:
    """Yield what devices do not support, as one item for each place of a spec that says it."""
    kinds = set(problem.graph.kinds)
    by_place: dict[object, list[int]] = {}
    for d in barred_devices(problem) if problem.objective.batch is None else []:
        by_place.setdefault(places.of_device(problem.devices[d].name, "unsupported") or d, []).append(d)
    for devices in by_place.values():
        first = problem.devices[devices[0]]
        others = f" and {len(devices) - 1} more do" if devices[1:] else " does"
        named = f"{first.name}{others} not support {_listed(sorted(first.unsupported & kinds))}"
        yield Item((), named, places.of_device(first.name, "unsupported"), tuple(devices))


def statements_of(constraints: Iterable[Constraint], places: Places) -> list[tuple[Constraint, ...]]:
    """Return constraints in groups, one for each statement that they stem from; those of no statement by themselves."""
    groups: dict[object, list[Constraint]] = {}
    for constraint in constraints:
        groups.setdefault(_statement(constraint, places), []).append(constraint)
    return [tuple(group) for group in groups.values()]


def _listed(kinds: Sequence[str]) -> str:
    shown = [repr(kind) for kind in kinds[:3]]
    return ", ".join(shown) + (f" and {len(kinds) - 3} more kinds" if kinds[3:] else "")


def _statement(constraint: Constraint, places: Places) -> object:
    """Return what all constraints of one statement have alike."""
    lines = places.of_constraint(constraint)
    label = constraint.label.partition("[")[0] if isinstance(constraint, Linear) else ""
    if constraint in places.stated:
        return lines[0]
    return (type(constraint), label, constraint.origin) if constraint.origin or label else id(constraint)


def label_of(constraints: Sequence[Constraint]) -> str:
    """Return what messages call the constraints of one statement."""
    first = constraints[0]
    if isinstance(first, Linear) and len(constraints) > 1:
        return first.label.partition("[")[0]
    return first.label if isinstance(first, Linear) else first.keyword


# What nodes would take on devices that do not support their kinds, if these did.


def supporting(problem: Problem, devices: Collection[int]) -> Problem:
    """Return *problem* with some devices that support all kinds: nodes take there what their work or times say.

    Raises:
        Refused: such a problem cannot be asked; says why.
    """
    chosen = [problem.devices[d] for d in devices]
    made = [replace(x, unsupported=frozenset()) if d in devices else x for d, x in enumerate(problem.devices)]
    return made_again(problem, graph=_graph(problem.graph, chosen), devices=made)


def barred_devices(problem: Problem) -> list[int]:
    """Return the devices that could run nodes whose kinds they do not support, if they supported them.

    Left out are those for which nothing says what these nodes would take there, such as a law of costs that is not
    asked for kinds that a device does not support.
    """
    phases = [phase.graph for phase in problem.graph.phases] or [problem.graph]
    devices = []
    for d, device in enumerate(problem.devices):
        free = replace(device, unsupported=frozenset())
        barred = np.array([kind in device.unsupported for kind in problem.graph.kinds], np.bool_)
        if barred.any():
            times = [running_times(_graph(graph, [device]), [free])[barred, 0] for graph in phases]
            if np.isfinite(times).all(axis=0).any():
                devices.append(d)
    return devices


def _graph(graph: Graph, devices: Collection[Device]) -> Graph:
    """Return the graph with times, in the tables of some devices, of nodes whose kinds these do not support."""
    tables = dict(graph.device_times)
    for device in devices:
        own = tables.get(device.name)
        if own is None or not device.unsupported:
            continue
        rest = replace(graph, device_times=MappingProxyType({}))
        stated = running_times(rest, [replace(device, unsupported=frozenset())])[:, 0]
        fill = np.isinf(own) & np.array([kind in device.unsupported for kind in graph.kinds], np.bool_)
        if graph.costs is not None:  # of these the law would have to say it
            costly = np.zeros(graph.n, np.bool_)
            costly[graph.costs.nodes] = True
            fill &= ~(costly & (graph.work == 0))
        tables[device.name] = frozen(np.where(fill, stated, own), np.float64)
    phases = tuple(replace(phase, graph=_graph(phase.graph, devices)) for phase in graph.phases)
    return replace(graph, phases=phases, device_times=MappingProxyType(tables))
