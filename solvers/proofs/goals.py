"""Add up what a plan costs at least, and what rows ask, from its bottlenecks, latencies and used devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Decision, Largest, Latency, Linear, Used, decisions_in
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.chain_labels import Counts
from mtpp_dsl.solvers.proofs.ideal_blocks import GENEROUS

__all__ = ["ALLOWED", "Goal"]

ALLOWED = 3e-6
"""Relative: by so much more than a row allows a sum may be, as the check of plans tolerates."""

Terms: TypeAlias = Sequence[tuple[Decision, float]]
Row: TypeAlias = tuple[Terms, float]


class Goal:
    """The cost and the hard rows of a problem, as sums that grow with labels.

    A label has the bottlenecks that are spoken of, by their phases, then the latencies. What is spoken of beside them
    and the devices in use is not negative, and left out: so costs are at least, and rows ask no more, than these sums.

    Attributes:
        bottlenecks: the phases whose bottlenecks are spoken of; None for all phases together.
        latencies: those whose latencies are.

    Args:
        problem: what is asked.
        kinds: the devices of each kind.

    Raises:
        Refused: the cost falls where something else grows.
    """

    def __init__(self, problem: Problem, kinds: Sequence[Sequence[int]]) -> None:
        self._kinds = kinds
        objective = problem.objective
        if objective.sense == "maximize" and objective.is_linear:
            raise Refused("chains of ideals have costs that grow with bottlenecks, latencies and used devices")
        terms: Terms = objective.terms if objective.is_linear else ((Bottleneck(), 1.0),)
        self._cost, self._constant = terms, objective.constant if objective.is_linear else 0.0
        if not _grows(terms):
            raise Refused(f"{objective.name} falls where bottlenecks, latencies or used devices grow")
        self._rows = list(_rows(problem.hard_rows))
        soft = problem.soft_rows if objective.penalised else ()
        self._soft = [(terms, most, row.penalty or 0.0) for row in soft for terms, most in _rows([row])]
        limited = [row for row, _ in self._rows] + [row for row, _, _ in self._soft]
        spoken = [d for row in (terms, *limited) for d in decisions_in(row)]
        self.bottlenecks = list(dict.fromkeys(d.phase for d in spoken if isinstance(d, Bottleneck)))
        self.latencies = list(dict.fromkeys(d.phase for d in spoken if isinstance(d, Latency)))
        self._cache: dict[tuple[Terms, Counts], float] = {}

    @property
    def widths(self) -> tuple[int, int]:
        """How many bottlenecks and how many latencies a label has."""
        return len(self.bottlenecks), len(self.latencies)

    def below(self, target: float, labels: Floats, counts: Counts) -> Bools:
        """Return [labels] whether a plan of that label, with so many devices, may cost less than the target."""
        cost = self._least(self._cost, labels, counts)
        for terms, most, penalty in self._soft:
            left = self._least(terms, labels, counts)
            cost += penalty * np.maximum(left - most - GENEROUS * (np.abs(left) + abs(most)), 0.0)
        may: Bools = cost + self._constant - GENEROUS * (np.abs(cost) + abs(self._constant)) < target
        return may & self.kept(labels, counts)

    def kept(self, labels: Floats, counts: Counts) -> Bools:
        """Return [labels] whether a plan of that label, with so many devices, may keep to the rows."""
        may = np.ones(len(labels), np.bool_)
        for terms, most in self._rows:
            left = self._least(terms, labels, counts)
            may &= left - ALLOWED * np.maximum(np.abs(left), abs(most)) <= most
        return may

    def _least(self, terms: Terms, labels: Floats, counts: Counts) -> Floats:
        """Return [labels] what terms add up to at least."""
        total = np.full(len(labels), self._used(terms, counts))
        for decision, coefficient in terms:
            match decision:
                case Bottleneck(phase):
                    total += coefficient * labels[:, self.bottlenecks.index(phase)]
                case Latency(phase):
                    total += coefficient * labels[:, len(self.bottlenecks) + self.latencies.index(phase)]
                case Largest(sums):
                    parts = [self._least(within, labels, counts) + constant for within, constant in sums]
                    total += coefficient * np.max(parts, axis=0)
        return total

    def _used(self, terms: Terms, counts: Counts) -> float:
        """Return the least that the use of so many devices of each kind adds."""
        key = (tuple(terms), counts)
        if key not in self._cache:
            prices = {decision.device: price for decision, price in terms if isinstance(decision, Used)}
            least: list[float] = []
            for devices, count in zip(self._kinds, counts, strict=True):
                least += sorted(prices.get(d, 0.0) for d in devices)[:count]
            self._cache[key] = fsum(least)
        return self._cache[key]


def _grows(terms: Terms) -> bool:
    """Return whether a sum never falls where a decision grows."""
    inner = (within for decision, _ in terms if isinstance(decision, Largest) for within, _ in decision.sums)
    return all(coefficient >= 0 for _, coefficient in terms) and all(map(_grows, inner))


def _rows(rows: Iterable[Linear]) -> Iterator[Row]:
    """Yield the rows that limit a sum that grows, as the terms and the most that they may be."""
    for row in rows:
        if row.sense in ("<=", "==") and _grows(row.terms):
            yield row.terms, row.rhs
        elif row.sense in (">=", "=="):
            turned = [(decision, -coefficient) for decision, coefficient in row.terms]
            if _grows(turned):
                yield turned, -row.rhs
