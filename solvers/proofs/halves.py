"""Certificates ``halves``: of equal devices in a pipeline, no ideal has room on the first, and its rest behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.flow import FREE, IN, LEAST_CUT, OUT
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH, closure
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, number

__all__ = ["HalvesProof"]

MAX_GROUPS = 4_000
BITS = 42
"""All work and all tensors add up to about this power of two of the units that they are counted in."""
SCALE = 256
"""The multiplier between both loads is a whole number of this part of 1."""
PARTINGS = 3
"""How many ways to part the devices are tried where the certificate names none, the most even ones first."""


class HalvesProof:
    """``{"target": T, "first": j}``: no ideal is below T over the first j devices, and its rest over the others.

    The first j of k devices of an acyclic plan hold an ideal. What a set works, and the tensors that cross its border,
    is no more than the loads of the devices that hold it. So below T the ideal takes less than j T, and the rest less
    than (k - j) T. For s from -1 to 1, (1 + s) times the first and (1 - s) times the second is 2 times the tensors that
    are cut, 2 s times the work of the ideal, and (1 - s) times all work: its least value is a minimum cut, and where
    it is not less than ((1 + s) j + (1 - s) (k - j)) T there is no such ideal. Where no s shows it, a node is taken
    into the ideal, with all before it, and then left out, with all after it. No search is needed in the certificate.
    Without ``first``, the most even ways to part the devices are tried.

    Work and tensors are whole numbers, rounded down; of every minimum cut the flow is checked.
    """

    name = "halves"
    summary = "ideals over the first of equal devices, parted by minimum cuts in whole numbers"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.contracts.Checker`."""
        target = number(data, "target")
        if not problem.acyclic or problem.objective.quantity != "bottleneck":
            raise Refused("bottlenecks of acyclic plans alone are chains of ideals")
        reading = ProofReading(problem.asking(Objective("bottleneck")), work_alone=True)
        if len(reading.kinds) != 1:
            raise Refused("the devices are not equal")
        if target == 0:
            return target
        cuts = _Cuts(reading, target, limits)
        if not any(cuts.refuted(first) for first in _partings(problem.k, data.get("first"))):
            raise Refused(f"an ideal and what it leaves are both below {target!r} for each of their devices")
        return target


def _partings(k: int, first: object) -> Iterator[int]:
    """Yield the numbers of devices that are parted from the others."""
    if first is None:
        yield from sorted(range(1, k), key=lambda j: abs(2 * j - k))[:PARTINGS]
    elif isinstance(first, bool) or not isinstance(first, int) or not 0 < first < k:
        raise Refused(f"the certificate parts {first!r:.40} of {k} devices from the others")
    else:
        yield first


class _Cuts:
    """Least cuts between ideals and what they leave.

    Args:
        reading: on equal devices.
        target: above zero.
        limits: of time.

    Raises:
        UsageError: there are too many groups.
        Refused: a group may be on no device.
    """

    def __init__(self, reading: ProofReading, target: float, limits: Limits) -> None:
        (kind,) = reading.kinds
        self._k, self._limits = len(kind.devices), limits
        n = len(reading.members)
        if n > MAX_GROUPS:
            raise UsageError(f"{n} groups of nodes are too many to check the certificate")
        if not np.isfinite(kind.time).all():
            raise Refused("a group of nodes may be on no device")
        tensors = [(sorted(pins), cost) for pins, cost in reading.tensors.items()] if kind.pays else []
        total = sum(kind.time) + sum(cost for _, cost in tensors)
        units = 2.0 ** (BITS - int(np.frexp(max(total, target))[1]))
        self._target = Fraction(target) * Fraction(units)
        self._work = np.array([floor(t * units) for t in kind.time], np.int64)
        self._starts = np.cumsum([0, *(len(pins) for pins, _ in tensors)], dtype=np.int64)
        self._pins = np.array([pin for pins, _ in tensors for pin in pins], np.int64)
        self._cost = np.array([floor(cost * units) for _, cost in tensors], np.int64)
        arcs = sorted({(reading.group[u], reading.group[v]) for u, v in reading.edges(backward=False)})
        self._arcs = np.array([(a, b) for a, b in arcs if a != b], np.int64).reshape(-1, 2)
        self._reach = closure(n, self._arcs)
        self._total = int(self._work.sum())
        self._least_cut = LEAST_CUT.pick(0.0)

    def refuted(self, first: int) -> bool:
        """Return whether no ideal is below the target for each of the *first* devices, and its rest for the others.

        Raises:
            UsageError: the time is not enough.
        """
        left = [(np.zeros(len(self._work), np.int64), 0)]
        while left:
            state, s = left.pop()
            if self._limits.remaining <= 0:
                raise UsageError(NOT_ENOUGH)
            closed, s, light, heavy = self._closed(state, s, first)
            if closed:
                continue
            if light is None or heavy is None:
                return False
            between = np.flatnonzero((state == FREE) & (light ^ heavy))
            if not len(between):
                return False
            node = int(between[np.argmax(self._balance(state, between))])
            left += [(self._with(state, node, side), s) for side in (OUT, IN)]
        return True

    def _balance(self, state: Ints, nodes: Ints) -> Ints:
        """Return [nodes] how much work is settled at least, whether a node goes in or out."""
        free = np.where(state == FREE, self._work, 0)
        before = self._reach[:, nodes].T @ free + self._work[nodes]
        after = self._reach[nodes] @ free + self._work[nodes]
        least: Ints = np.minimum(before, after)
        return least

    def _with(self, state: Ints, node: int, side: int) -> Ints:
        """Return the state with a node in, and all before it, or out, and all after it."""
        follows = self._reach[:, node] if side == IN else self._reach[node]
        settled = np.where(follows, side, state)
        settled[node] = side
        return settled

    def _closed(self, state: Ints, s: int, first: int) -> tuple[bool, int, Bools | None, Bools | None]:
        """Return whether some multiplier shows that no ideal is left; else the last one, a light and a heavy ideal.

        Multipliers are parts of :data:`SCALE`. Where the ideal of a least cut is too heavy, the next is larger; where
        it is too light, smaller. Without both ideals, one has room on both sides.
        """
        rest = self._k - first
        low, high = -SCALE, SCALE
        light: Bools | None = None
        heavy: Bools | None = None
        while low <= high:
            s = min(max(s, low), high)
            side = np.zeros(len(state), np.bool_)
            least = self._cut(state, 2 * s * self._work, 2 * SCALE * self._cost, side)
            least += (SCALE - s) * self._total
            if least >= self._target * ((SCALE + s) * first + (SCALE - s) * rest):
                return True, s, None, None
            crossing = self._crossing(side)
            inside = int(self._work[side].sum())
            if inside + crossing >= self._target * first:
                heavy, low = side, s + 1
            elif self._total - inside + crossing >= self._target * rest:
                light, high = side, s - 1
            else:
                return False, s, None, None
            s = (low + high) // 2
        return False, min(max(s, -SCALE), SCALE), self._or_all(state, light, OUT), self._or_all(state, heavy, IN)

    def _or_all(self, state: Ints, ideal: Bools | None, side: int) -> Bools:
        """Return an ideal; where there is none, the one with all free nodes on that side."""
        if ideal is not None:
            return ideal
        chosen: Bools = (state == IN) | ((state == FREE) & (side == IN))
        return chosen

    def _cut(self, state: Ints, price: Ints, cost: Ints, side: Bools) -> int:
        """Return what no ideal has a sum of prices and cut tensors below; *side* becomes one of that sum."""
        every = np.ones(len(state), np.bool_)
        tails, heads = (np.ascontiguousarray(ends) for ends in self._arcs.T)
        nothing = np.zeros(len(state), np.bool_)
        least = self._least_cut(state, price, self._starts, self._pins, cost, tails, heads, every, nothing, side)
        return int(least)

    def _crossing(self, side: Bools) -> int:
        """Return what the tensors take that are on both sides."""
        inside = (
            np.add.reduceat(side[self._pins].astype(np.int64), self._starts[:-1]) if len(self._cost) else np.zeros(0)
        )
        parted = (inside > 0) & (inside < np.diff(self._starts))
        return int(self._cost[parted].sum())
