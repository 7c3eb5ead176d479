"""Say by variables where groups of nodes are: on devices, or, where plans are acyclic, on seats in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mtpp_dsl.core.constraints import Decision, Largest, Load, On, Used
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import DeviceKind, ProofReading
from mtpp_dsl.solvers.proofs.rows import Rows, Sum

__all__ = ["Place", "Placement"]

FIRST = 4
"""Groups, for each device, that tell which of equal devices comes first."""


@dataclass(frozen=True)
class Place:
    """A device, or a seat with what it is if a device of some kind takes it.

    Attributes:
        kind: of the device.
        devices: the devices that may be meant; one, but where the order of unequal devices is not known.
        used: whether the place is taken, as a sum of variables; one for a device.
        on: of every group whether it is there, as a sum of variables.
        certain: whether it is taken in any case.
    """

    kind: DeviceKind
    devices: tuple[int, ...]
    used: Sum
    on: tuple[Sum, ...]
    certain: bool = True


class Placement:
    """Adds the variables and rows that say where groups are; every plan has a solution under one numbering of devices.

    Devices are interchangeable if they are of one kind and no labelled row and no price tells them apart. Where the
    order of the stages is known, or all devices are interchangeable and the quotient graph is acyclic, variables say
    whether a group is on one of the first devices (archer2024, 3.1). Where it is acyclic and devices differ, they say
    so of the first seats, and others of which kind the device on a seat is.

    Attributes:
        places: where groups may be; each group is at one of them.
        ordered: whether the places are in the order of the quotient graph of the forward part.
    """

    def __init__(self, rows: Rows, problem: Problem, reading: ProofReading) -> None:
        self._rows, self._reading = rows, reading
        self._groups = range(len(reading.members))
        self._one = rows.variable("one")
        rows.low[self._one] = 1
        classes = list(_classes(problem, reading))
        line = problem.line
        self.ordered = line is not None or problem.acyclic
        if line is not None:
            kind_of = {d: kind for kind, devices in classes for d in devices}
            self.places = self._seats([(kind_of[d], (d,)) for d in line.devices])
        elif problem.acyclic and len(classes) == 1:
            kind, devices = classes[0]
            self.places = self._seats([(kind, (d,)) for d in devices])
        elif problem.acyclic:
            self.places = self._seats_of_kinds(classes)
        else:
            self.places = self._devices(classes)

    def _seats(self, seats: Sequence[tuple[DeviceKind, tuple[int, ...]]]) -> list[Place]:
        """Add prefixes; return a place for each seat, whose device is known."""
        steps = self._prefixes(len(seats))
        return [
            Place(kind, devices, {self._one: 1}, tuple(step[p] for step in steps))
            for p, (kind, devices) in enumerate(seats)
        ]

    def _prefixes(self, seats: int) -> list[list[Sum]]:
        """Add whether a group is on one of the first seats; return [groups][seats] whether it is on one."""
        rows, last, reading = self._rows, seats - 1, self._reading
        before = [[rows.variable(f"group {g} up to {p}") for p in range(last)] for g in self._groups]
        for g in self._groups:
            for p in range(last - 1):
                rows.add(f"group {g} up to {p}", [(1, {before[g][p]: 1}), (-1, {before[g][p + 1]: 1})], 0)
        ends = {(reading.group[u], reading.group[v]) for u, v in reading.edges(backward=False)}
        for a, b in sorted(ends):
            for p in range(last if a != b else 0):
                rows.add(f"group {a} before {b} up to {p}", [(1, {before[b][p]: 1}), (-1, {before[a][p]: 1})], 0)
        steps: list[list[Sum]] = []
        for g in self._groups:
            upto = [*before[g], self._one]
            steps.append([{upto[p]: 1, **({upto[p - 1]: -1} if p else {})} for p in range(seats)])
        return steps

    def _seats_of_kinds(self, classes: Sequence[tuple[DeviceKind, tuple[int, ...]]]) -> list[Place]:
        """Add prefixes, and of which kind the device on a seat is; return a place for each seat and kind."""
        rows = self._rows
        seats = range(sum(len(devices) for _, devices in classes))
        steps = self._prefixes(len(seats))
        taken = [[{rows.variable(f"seat {p} of kind {q}"): 1} for q in range(len(classes))] for p in seats]
        on = [
            [[{rows.variable(f"group {g} on {p} of kind {q}"): 1} for g in self._groups] for q in range(len(classes))]
            for p in seats
        ]
        for p in seats:
            rows.equal(f"seat {p} of one kind", [(1, used) for used in taken[p]], 1)
            for g in self._groups:
                sums = [(1, of_kind[g]) for of_kind in on[p]]
                rows.equal(f"group {g} on {p} of a kind", [*sums, (-1, steps[g][p])], 0)
                for q, used in enumerate(taken[p]):
                    rows.add(f"group {g} on {p} if of kind {q}", [(1, on[p][q][g]), (-1, used)], 0)
        for q, (_, devices) in enumerate(classes):
            rows.equal(f"seats of kind {q}", [(1, taken[p][q]) for p in seats], len(devices))
        return [
            Place(kind, devices, taken[p][q], tuple(on[p][q]), certain=False)
            for p in seats
            for q, (kind, devices) in enumerate(classes)
        ]

    def _devices(self, classes: Sequence[tuple[DeviceKind, tuple[int, ...]]]) -> list[Place]:
        """Add on which device each group is; of equal devices, one that has an earlier group comes first."""
        rows = self._rows
        places = [
            Place(kind, (d,), {self._one: 1}, tuple({rows.variable(f"group {g} on {d}"): 1} for g in self._groups))
            for kind, devices in classes
            for d in devices
        ]
        for g in self._groups:
            rows.equal(f"group {g} on one device", [(1, place.on[g]) for place in places], 1)
        least = [min(kind.time[g] for kind in self._reading.kinds) for g in self._groups]
        order = sorted(self._groups, key=lambda g: (-least[g], g))
        for before, place in pairwise(places):
            if before.kind is place.kind:
                for i, g in enumerate(order[: FIRST * len(places)]):
                    earlier = [(-1, before.on[h]) for h in order[:i]]
                    rows.add(f"group {g} on a later device", [(1, place.on[g]), *earlier], 0)
        return places


def _classes(problem: Problem, reading: ProofReading) -> Iterator[tuple[DeviceKind, tuple[int, ...]]]:
    """Yield interchangeable devices: of one kind, and alike in labelled rows and prices; each with its own kind."""
    for kind in reading.kinds:
        classes: list[list[int]] = []
        for name in kind.devices:
            d = problem.device_index[name]
            alike = next((devices for devices in classes if _alike(problem, devices[0], d)), None)
            if alike is None:
                classes.append([d])
            else:
                alike.append(d)
        for devices in classes:
            yield replace(kind, devices=tuple(problem.devices[d].name for d in devices)), tuple(devices)


def _alike(problem: Problem, d: int, e: int) -> bool:
    """Return whether the rows that must hold, and the first objective, stay the same if two devices change places."""
    if any(isinstance(decision, Largest) for row in problem.hard_rows for decision, _ in row.terms):
        return False
    swapped = {d: e, e: d}
    rows = Counter((frozenset(row.terms), row.sense, row.rhs) for row in problem.hard_rows)
    others = Counter((_swapped(row.terms, swapped), row.sense, row.rhs) for row in problem.hard_rows)
    terms = problem.objective.terms
    return rows == others and frozenset(terms) == _swapped(terms, swapped)


def _swapped(terms: Sequence[tuple[Decision, float]], swapped: dict[int, int]) -> frozenset[tuple[Decision, float]]:
    changed = []
    for decision, factor in terms:
        if isinstance(decision, (On, Load, Used)):
            decision = replace(decision, device=swapped.get(decision.device, decision.device))
        changed.append((decision, factor))
    return frozenset(changed)
