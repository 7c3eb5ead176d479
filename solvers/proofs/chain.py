"""Certificates ``chain``: weights of which no pipeline of blocks below the target can hold all."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH, Sets, StagePlace
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, number

LARGEST_MOST = 2**53


class ChainCertificate:
    """``{"target": T, "weights": {node: w}, "most": [m_1, ..., m_k]}``, w and m whole numbers.

    For k equal devices under ``acyclic``. In a plan below T the blocks stand in a topological order of their quotient:
    the first at place 1, the last at place k, others between. The block at place i is convex, costs less than T and
    fits into the memory; its ancestors outside are in the i - 1 blocks before it, so work less than (i - 1) T, and its
    descendants outside less than (k - i) T. If at each place i no such set weighs more than m_i, and the m_i add up to
    less than the w, no plan is below T. Each m_i is checked by a branch and bound of our own.
    """

    name = "chain"
    summary = "weights of the nodes that no pipeline of blocks below the target can hold"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        reading = ProofReading(problem)
        reason = _unfit(problem, reading)
        if reason is not None:
            raise Refused(f"a certificate 'chain' says nothing here: {reason}")
        target = number(data, "target")
        if target <= 0:
            return 0.0
        weights = reading.weights(data)
        most = _most(data, problem.k)
        together, total = sum(most), sum(weights)
        if together >= total:
            raise Refused(
                f"the blocks of the certificate may hold {together}, all nodes weigh {total}: it proves nothing"
            )
        kind = reading.kinds[0]
        _Places(Sets(reading, kind, target, reading.arcs(kind)), weights, most, limits).check(1, problem.k)
        return target


def _unfit(problem: Problem, reading: ProofReading) -> str | None:
    if not problem.acyclic:
        return "the blocks need no order"
    if problem.graph.backward.any():
        return "the graph has a backward part, whose blocks have an order of their own"
    if len(reading.kinds) != 1 or not reading.kinds[0].pays:
        return "the devices differ, or pay for no tensors"
    return None


def _most(data: Mapping[str, Any], k: int) -> list[int]:
    values = data.get("most")
    if not isinstance(values, list) or len(values) != k:
        raise Refused(f"the certificate's 'most' is no list of {k} numbers, one for each place")
    most = []
    for place, value in enumerate(values, 1):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST_MOST:
            raise Refused(f"the certificate's 'most' of place {place} is {value!r:.40}, not a number of zero or more")
        if value != int(value):
            raise Refused(f"the certificate's 'most' of place {place} is {value!r}, not a whole number")
        most.append(int(value))
    return most


class _Places:
    """Checks places together where that is enough: all from i to j, as if each had the room of the roomiest."""

    def __init__(self, sets: Sets, weights: list[int], most: list[int], limits: Limits) -> None:
        self._sets, self._weights, self._most, self._limits = sets, weights, most, limits
        self._k, self._total = len(most), sum(weights)

    def check(self, first: int, last: int) -> None:
        """Check the places from *first* to *last*.

        Raises:
            Refused: a set is heavier than its place may hold.
            UsageError: there was not enough time to tell.
        """
        k = self._k
        if first == 1 < k:
            self._one(1)
            first = 2
        if last == k > 1:
            self._one(k)
            last = k - 1
        if first <= last:
            self._span(first, last)

    def _one(self, place: int) -> None:
        if self._set(place, place) is not None:
            raise Refused(
                f"below the target, block {place} of {self._k} can hold nodes that weigh more than "
                f"{self._most[place - 1]}"
            )

    def _span(self, first: int, last: int) -> None:
        same = len(set(self._most[first - 1 : last])) == 1
        if first == last:
            self._one(first)
        elif not same or self._set(first, last) is not None:
            middle = (first + last) // 2
            self._span(first, middle)
            self._span(middle + 1, last)

    def _set(self, first: int, last: int) -> Any:
        """Return a set that some place from *first* to *last* may hold if all have the room of the roomiest."""
        most = max(self._most[first - 1 : last])
        if most >= self._total:
            return None
        place: StagePlace = self._sets.place(last - 1, self._k - first)
        try:
            seconds = self._limits.remaining
            return self._sets.heavier(self._weights, most, place, inf if seconds == inf else max(seconds, 0.1))
        except TimeoutError:
            raise UsageError(NOT_ENOUGH) from None
