"""Labelled rows, and costs that are sums, over the places of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Bottleneck, Decision, Latency, Load, On, Used
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.places import Place
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading
from mtpp_dsl.solvers.proofs.rows import BITS, Rows, Sum, Units

__all__ = ["LabelledRows"]

ALLOWED = Fraction(TOLERANCE * (1 + 1e-6))
"""Relative to the numbers in a row: by so much plans may miss it."""

Parts = Sequence[tuple[int, Sum]]
Terms = Sequence[tuple[Decision, Fraction]]


class LabelledRows:
    """Adds rows about ``on``, ``used``, ``load`` and ``bottleneck``; others are left out, which allows more plans.

    A ``latency`` that may only be small is read as the sum of loads, which it is at least.
    Where it is not known on which seat a device is, only rows that name one such device are added, for each seat.

    Args:
        rows: to which they are added.
        problem: whose labelled rows they are.
        reading: of its groups.
        places: where groups may be.
        loads: of each place, in units; each part is rounded down.
        units: of loads, no more than their limit.
    """

    def __init__(
        self,
        rows: Rows,
        problem: Problem,
        reading: ProofReading,
        places: Sequence[Place],
        loads: Sequence[Parts],
        units: Units,
    ) -> None:
        self._rows, self._problem, self._reading = rows, problem, reading
        self._places, self._loads, self._units = places, loads, units
        self._largest: Sum | None = None

    def add(self) -> None:
        """Add the rows of the problem that must hold."""
        for row in self._problem.hard_rows:
            terms = [(decision, Fraction(factor)) for decision, factor in row.terms]
            size = max([abs(Fraction(row.rhs)), *(abs(factor) * self._most(one) for one, factor in terms)])
            for sign in {"<=": [1], ">=": [-1], "==": [1, -1]}[row.sense]:
                signed = [(decision, sign * factor) for decision, factor in terms]
                for seats in self._meanings(signed):
                    self._add(row.label, signed, sign * Fraction(row.rhs) + ALLOWED * size, seats)

    def cost_below(self, objective: Objective, target: float) -> None:
        """Add that a linear cost is less than the target.

        Raises:
            Refused: it is not a sum of these decisions that grows with each of them.
        """
        terms = [(decision, Fraction(factor)) for decision, factor in objective.terms]
        rest = Fraction(target) - Fraction(objective.constant)
        if objective.sense != "minimize" or rest <= 0 or any(factor < 0 for _, factor in terms):
            raise Refused(f"{objective.name} is not a sum that grows with each of its decisions")
        if list(self._meanings(terms)) != [{}]:
            raise Refused(
                f"{objective.name} is not a sum over on, used, load, bottleneck and latency, of known devices"
            )
        self._add(objective.name, terms, rest, {}, costs=True)

    def _meanings(self, terms: Terms) -> Iterator[dict[int, int]]:
        """Yield the places that the devices of a row may mean, beside those that are known."""
        if not all(_is_read(decision, factor) for decision, factor in terms):
            return
        named = {one.device for one, _ in terms if isinstance(one, (On, Used, Load))}
        unknown = [d for d in sorted(named) if not any(place.devices == (d,) for place in self._places)]
        if not unknown:
            yield {}
        elif len(unknown) == 1:
            yield from ({unknown[0]: p} for p, place in enumerate(self._places) if unknown[0] in place.devices)

    def _most(self, decision: Decision) -> Fraction:
        """Return what a decision is at most."""
        load = self._units.limit * self._units.size
        if isinstance(decision, Latency):
            return 2 * load * len(self._places)  # with what is in no load
        return load if isinstance(decision, (Load, Bottleneck)) else Fraction(1)

    def _add(self, name: str, terms: Terms, most: Fraction, seats: dict[int, int], *, costs: bool = False) -> None:
        """Add a row; where it is about a device on some seat, it is none if that device is on another."""
        total: dict[int, Fraction] = {}
        for decision, factor in terms:
            for often, part in self._value(decision, seats):
                for variable, count in part.items():
                    total[variable] = total.get(variable, Fraction(0)) + factor * often * count
            if factor < 0 and isinstance(decision, Load):  # its parts are rounded down
                parts = sum(len(self._loads[p]) for p in self._where(decision.device, seats))
                most -= factor * parts * self._units.size
        for p in seats.values():
            free = sum((max(factor, Fraction(0)) * self._most(one) for one, factor in terms), max(-most, Fraction(0)))
            most += free
            for variable, count in self._places[p].used.items():
                total[variable] = total.get(variable, Fraction(0)) + free * count
        size = max([abs(most), *map(abs, total.values())], default=Fraction(0))
        if size:
            scale = 2**BITS / size
            whole = {variable: floor(value * scale) for variable, value in total.items()}
            limit = ceil(most * scale)
            self._rows.add(name, [(1, whole)], limit - costs, costs=limit if costs else 0)

    def _where(self, d: int, seats: dict[int, int]) -> list[int]:
        """Return the places that stand for a device."""
        return [seats[d]] if d in seats else [p for p, place in enumerate(self._places) if place.devices == (d,)]

    def _value(self, decision: Decision, seats: dict[int, int]) -> list[tuple[Fraction, Sum]]:
        """Return a decision as a sum of variables; a load is no less."""
        one = Fraction(1)
        if isinstance(decision, On):
            group = self._reading.group[decision.node]
            return [(one, self._places[p].on[group]) for p in self._where(decision.device, seats)]
        if isinstance(decision, Load):
            where = self._where(decision.device, seats)
            return [(self._units.size * often, part) for p in where for often, part in self._loads[p]]
        if isinstance(decision, Latency):
            return [(self._units.size * often, part) for load in self._loads for often, part in load]
        if isinstance(decision, Used):
            used = {self._rows.variable(f"{decision.device} is used"): 1}
            for p in self._where(decision.device, seats):
                for on in self._places[p].on:
                    self._rows.add(f"{decision.device} is used", [(1, on), (-1, used)], 0)
            return [(one, used)]
        if self._largest is None:
            self._largest = {self._rows.variable("bottleneck", self._units.limit): 1}
            for load in self._loads:
                self._rows.add("bottleneck", [*load, (-1, self._largest)], 0)
        return [(self._units.size, self._largest)]


def _is_read(decision: Decision, factor: Fraction) -> bool:
    """Return whether a decision has a value over all phases that these sums are, or are no more than."""
    known = isinstance(decision, (On, Used, Load, Bottleneck)) or (isinstance(decision, Latency) and factor > 0)
    return known and getattr(decision, "phase", None) is None
