"""A problem with one more device of a type: all that depends on the numbers and names of devices is carried over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from mtpp_dsl.constraints import (
    Constraint,
    Decision,
    Forbid,
    InOrder,
    Largest,
    Linear,
    Load,
    On,
    Pin,
    PinChunks,
    Used,
    decisions_in,
)
from mtpp_dsl.errors import Refused
from mtpp_dsl.explaining.altered import made_again
from mtpp_dsl.problem import Interconnect, Links, Objective, Problem, Tree
from mtpp_dsl.problem.custom import CustomConstraint
from mtpp_dsl.problem.graph import Graph, frozen
from mtpp_dsl.problem.targeting import free_of

__all__ = ["alike", "new_name", "with_device"]

Terms = tuple[tuple[Decision, float], ...]
T = TypeVar("T")


def alike(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return the types of devices: sets of devices that differ in their names and groups alone, times included."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for d, device in enumerate(problem.devices):
        own = replace(device, name="", group=None)
        shares = (tuple(sorted(own.peak.items())), tuple(sorted(own.efficiency.items())))
        phases = b"".join(phase.time[:, d].tobytes() for phase in problem.each_phase.values())
        key = (own.type, own.memory, own.reserve, own.speed, own.pays_io, own.unsupported, own.fixed, own.overhead)
        figures = (*shares, own.price, own.price_unit, own.power, own.power_unit, own.bandwidth)
        found.setdefault((key, figures, problem.time[:, d].tobytes(), phases), []).append(d)
    return tuple(map(tuple, found.values()))


def with_device(problem: Problem, like: int) -> Problem:
    """Return *problem* with one more device like another one; it is the last device.

    * It has the other one's times, memory, group, and links. To devices of its type it is joined as the other one is.
    * What is said of all devices is said of it, and so is what is said of every device of its type, where there are
      several: of ``forall`` it has a row of its own, in sums a term. What names single devices is about those alone;
      but what limits each of the devices that it names, such as a memory, limits one like them.
    * In an order of devices it comes after the others of its family.

    Raises:
        Refused: nothing says what would join it to the others; a row, an objective or a plug-in's constraint treats
            devices of its type in different ways.
    """
    peers = next(group for group in alike(problem) if like in group)
    stated = free_of(problem)
    device = replace(stated.devices[like], name=new_name(stated, like))
    many = _Copied(stated, peers, like, device.name)
    return made_again(
        problem,
        graph=_graph(stated.graph, stated.devices[like].name, device.name),
        devices=[*stated.devices, device],
        interconnect=_joined(stated, like, peers),
        change=lambda asked: replace(
            asked.with_constraints(many.constraints()),
            objective=many.objective(asked.objective),
            later=tuple(many.objective(one) for one in asked.later),
        ),
    )


def new_name(problem: Problem, like: int) -> str:
    """Return a name for another device of a family: ``gpu[4]`` after ``gpu[3]``, ``cpu_2`` beside ``cpu``."""
    name, taken = problem.devices[like].name, {device.name for device in problem.devices}
    indexed = re.fullmatch(r"(.*)\[(\d+)\]", name, re.DOTALL)
    numbers = range(int(indexed[2]) + 1 if indexed else 2, len(taken) + 10**6)
    made = (f"{indexed[1]}[{i}]" if indexed else f"{name}_{i}" for i in numbers)
    return next(each for each in made if each not in taken)


def _graph(graph: Graph, old: str, new: str) -> Graph:
    """Return the graph with the tables of device *old*, by its name, for device *new*, too."""
    tables = {
        what: _also(getattr(graph, what), old, new) for what in ("times", "device_times", "batch_times", "time_sources")
    }
    phases = tuple(replace(phase, graph=_graph(phase.graph, old, new)) for phase in graph.phases)
    return replace(graph, phases=phases, **tables)  # type: ignore[arg-type]


def _also(table: Mapping[str, T], old: str, new: str) -> Mapping[str, T]:
    return MappingProxyType({**table, new: table[old]}) if old in table else table


def _joined(problem: Problem, like: int, peers: Sequence[int]) -> Interconnect:
    """Return the interconnect with the new device as its last."""
    joined = problem.interconnect
    if isinstance(joined, Tree):
        k = joined.k
        return replace(
            joined,
            parents=_inserted(joined.parents, k, like),
            uplink=_inserted(joined.uplink, k, like),
            latency=_inserted(joined.latency, k, like),
            half=_inserted(joined.half, k, like),
        )
    if not isinstance(joined, Links):
        return joined
    twin = _twin(problem, joined, like, peers)
    tables = {"bandwidth": _grown(joined.bandwidth, like, twin), "latency": _grown(joined.latency, like, twin)}
    if joined.transfers is not None:
        tables["transfers"] = _grown(joined.transfers, like, twin)
    return replace(joined, **tables)


def _twin(problem: Problem, joined: Links, like: int, peers: Sequence[int]) -> tuple[int, int]:
    """Return two devices that are joined as the new one is to *like*.

    Raises:
        Refused: there is one device of its type, and not all pairs of devices are joined alike.
    """
    others = [p for p in peers if p != like]
    near = [p for p in others if problem.devices[p].group == problem.devices[like].group] or others
    if near:
        return like, max(near, key=lambda p: (joined.bandwidth[like, p], p))
    pairs = [(d, e) for d in range(problem.k) for e in range(problem.k) if d != e]
    first = next(iter(pairs), None)
    if first is not None and joined.transfers is None:
        bandwidths = {float(joined.bandwidth[pair]) for pair in pairs}
        if len(bandwidths) == len({float(joined.latency[pair]) for pair in pairs}) == 1:
            return first
    name = problem.devices[like].name
    raise Refused(f"there is one device such as {name}, so that nothing says what would join it to another one")


def _inserted(column: Any, k: int, like: int) -> Any:
    """Return a column of devices and then switches with a row for the new device behind the *k* devices."""
    return frozen(np.concatenate((column[:k], column[like : like + 1], column[k:])), column.dtype.type)


def _grown(table: Any, like: int, twin: tuple[int, int]) -> Any:
    """Return a table over pairs of devices, its last two axes, with a row and a column as those of *like*."""
    k = table.shape[-1]
    rows = np.concatenate((table, table[..., like : like + 1, :]), axis=-2)
    wide = np.concatenate((rows, rows[..., :, like : like + 1]), axis=-1)
    wide[..., k, like] = table[..., twin[1], twin[0]]
    wide[..., like, k] = table[..., twin[0], twin[1]]
    wide[..., k, k] = table[..., like, like]
    return frozen(wide, np.float64)


class _Copied:
    """What constraints and objectives say of a problem with a new device, the last.

    Attributes:
        problem: without it.
        peers: the devices of its type.
        like: the one that it is like.
        name: of the new device.
    """

    def __init__(self, problem: Problem, peers: Sequence[int], like: int, name: str) -> None:
        self.problem, self.peers, self.like, self.name = problem, tuple(peers), like, name
        self.new = problem.k
        self.rows = {(_stem(row), row.sense, row.rhs, row.penalty, frozenset(row.terms)) for row in problem.of(Linear)}

    def constraints(self) -> list[Constraint]:
        """Return the constraints, the new device among what they are about."""
        found: list[Constraint] = []
        for constraint in self.problem.constraints:
            found += self.row(constraint) if isinstance(constraint, Linear) else [self.rule(constraint)]
        return found

    def rule(self, rule: Constraint) -> Constraint:
        """Return a constraint with a name of its own."""
        devices: tuple[int, ...] | None = getattr(rule, "devices", None)
        every = len(self.peers) > 1 and devices is not None and set(self.peers) <= set(devices)
        if isinstance(rule, InOrder):
            order = list(range(self.problem.k) if devices is None else devices)
            if devices is not None and not every:
                return rule
            family = [p for p in self.peers if _family(self.problem, p) == _family(self.problem, self.like)]
            place = max(order.index(p) for p in family) + 1
            if devices is None and place == len(order):
                return rule
            return replace(rule, devices=(*order[:place], self.new, *order[place:]))
        if devices is None or isinstance(rule, PinChunks):
            return rule
        if isinstance(rule, CustomConstraint):
            if self.like in devices:
                raise Refused(
                    f"nothing says whether constraint {rule} is about another device such as {self.like_name}"
                )
            return rule
        if every or (self.like in devices and not isinstance(rule, (Forbid, Pin))):
            return replace(rule, devices=(*devices, self.new))  # type: ignore[call-arg]
        return rule

    @property
    def like_name(self) -> str:
        return self.problem.devices[self.like].name

    def row(self, row: Linear) -> list[Constraint]:
        """Return a row as it is with the new device, and the row of the new device beside it."""
        named = self.named_in(row.terms)
        if not named:
            return [row]
        labelled = any(_names(row.label, self.problem.devices[p].name) for p in named)
        if len(named) == 1 and not self.closed(row, named) and not (labelled and len(self.peers) == 1):
            return [row]  # it is about that device, by its name
        if labelled or len(named) == 1:  # a row for each device
            self.refuse(len(named) > 1, f"constraint {row}")
            if self.like not in named:
                return [row]
            terms = tuple((_moved(x, {self.like: self.new}), a) for x, a in row.terms)
            return [row, replace(row, label=row.label.replace(self.like_name, self.name), terms=terms)]
        return [replace(row, terms=self.extended(row.terms, f"constraint {row}"))]

    def objective(self, objective: Objective) -> Objective:
        """Return an objective with the terms of the new device."""
        return replace(objective, terms=self.extended(objective.terms, f"'{objective}'"))

    def extended(self, terms: Terms, what: str) -> Terms:
        """Return sums over devices with terms of the new one, as those of the one that it is like.

        Raises:
            Refused: the terms of the devices of its type differ.
        """
        named = self.named_in(terms)
        spoken = {d for x in decisions_in(terms) if (d := getattr(x, "device", None)) is not None}
        if named != set(self.peers) or (len(named) == 1 and len(spoken) < max(2, self.problem.k)):
            return terms  # it is about those devices, by their names
        for p in self.peers:
            swapped = {(_moved(x, {p: self.like, self.like: p}), a) for x, a in terms}
            self.refuse(swapped != set(_sorted_sums(terms)), what)
        return self.with_new(terms)

    def with_new(self, terms: Terms) -> Terms:
        found: list[tuple[Decision, float]] = []
        for x, a in terms:
            if isinstance(x, Largest):
                found.append((self.largest(x), a))
                continue
            found.append((x, a))
            if getattr(x, "device", None) == self.like:
                found.append((_moved(x, {self.like: self.new}), a))
        return tuple(found)

    def largest(self, largest: Largest) -> Largest:
        """Return the largest of several sums with the sum of the new device, or with its terms in all of them."""
        sums = []
        for terms, constant in largest.sums:
            named = self.named_in(terms)
            if named == {self.like}:
                sums.append((terms, constant))
                sums.append((tuple((_moved(x, {self.like: self.new}), a) for x, a in terms), constant))
            else:
                sums.append((self.with_new(terms) if self.like in named else terms, constant))
        return Largest(tuple(sums))

    def named_in(self, terms: Terms) -> set[int]:
        """Return the devices of the type that *terms* name."""
        return {d for x in decisions_in(terms) if (d := getattr(x, "device", None)) in self.peers}

    def closed(self, row: Linear, named: Iterable[int]) -> bool:
        """Return whether every device of the type, or every device at all beside a lone one, has a row such as this."""
        one = next(iter(named))
        others = self.peers if len(self.peers) > 1 else range(self.problem.k)
        rows = (
            (
                _stem(row),
                row.sense,
                row.rhs,
                row.penalty,
                frozenset((_moved(x, {one: p, p: one}), a) for x, a in row.terms),
            )
            for p in others
        )
        return self.problem.k > 1 and all(each in self.rows for each in rows)

    def refuse(self, differ: bool, what: str) -> None:
        """Refuse where devices of the type are not treated alike."""
        if differ:
            raise Refused(f"{what} treats devices such as {self.like_name} in different ways, or by pairs")


def _family(problem: Problem, d: int) -> str:
    return problem.devices[d].name.partition("[")[0]


def _names(label: str, device: str) -> bool:
    """Return whether the values of a ``forall`` in a label, as in ``cap[gpu[0], a]``, have a device among them."""
    suffix = label.partition("[")[2].removesuffix("]")
    return re.search(rf"(?:^|, ){re.escape(device)}(?:$|, )", suffix) is not None


def _stem(row: Linear) -> tuple[str, str]:
    return row.label.partition("[")[0], row.origin


def _sorted_sums(terms: Terms) -> Terms:
    return tuple((_moved(x, {}), a) for x, a in terms)


def _moved(decision: Decision, to: Mapping[int, int]) -> Decision:
    """Return a decision about other devices; the sums of a largest one in an order that does not depend on them."""
    if isinstance(decision, Largest):
        sums = (
            (tuple(sorted(((_moved(x, to), a) for x, a in terms), key=repr)), constant)
            for terms, constant in decision.sums
        )
        return Largest(tuple(sorted(sums, key=repr)))
    if not isinstance(decision, (Load, On, Used)):
        return decision
    return replace(decision, device=to.get(decision.device, decision.device))
