"""Certificates ``configuration``: weights of which the devices below the target cannot hold all."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, frexp, gcd, inf, ldexp
from time import monotonic
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.few_open import heaviest_below
from mtpp_dsl.solvers.proofs.heaviest import Sets, StagePlace
from mtpp_dsl.solvers.proofs.proof_reading import BITS, DeviceKind, ProofReading, number, units_for, whole_numbers

HALF = 0.5
LONGEST = 60.0
"""Seconds of the branch and bound."""
MAX_GROUPS = 1_000
LARGEST_MOST = 10_000_000
"""What a device may hold at most, in weights; more is counted in coarser units."""
LARGEST_FREE = 2 ** (BITS + 3)
"""Units of parameters that are not streamed; with more, they are counted in coarser units."""
LARGEST_ROW = 1000.0
ROOM, MEMORY_ROOM = 2e-6, 5e-7
"""Relative: loads and memory that exceed their limits by less are let pass, above HiGHS's tolerance of 1e-6 in a row
of this size: without room its presolve has missed sets that are there."""
FINE_BITS, DIGIT = 34, 2**12
"""Of loads that are counted without room: each digit has a row of its own, in which whole numbers are small."""
INFEASIBLE = 2


class ConfigurationProof:
    """``{"target": T, "weights": {node: w}, "most": {device: m}}``, w and m whole numbers; ``unit`` and ``order``.

    If no set of nodes that a device can hold at a load below T weighs more than the device's m, for every device, and
    the m add up to less than the w, then no plan is below T: its devices would have to hold all weight. Each m is
    checked by an integer programme that asks for a heavier set, in scipy's solver; or, where sets must be convex, by
    a branch and bound of our own if that ends first. With a *unit* of loads, a table of all loads comes before, along
    the *order* of a node of each group if there is one: it may tell at once, and whatever these are, nothing false.
    """

    name = "configuration"
    summary = "weights of the nodes that the devices cannot hold below the target"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        reading = ProofReading(problem)
        target = number(data, "target")
        if target <= 0:
            return 0.0
        weights = reading.weights(data)
        most = whole_numbers(data, "most")
        if set(most) != {device.name for device in problem.devices}:
            raise Refused("the certificate's 'most' does not name the devices of the problem, each once")
        unit = number(data, "unit") if "unit" in data else 0.0
        order = _order(reading, data.get("order", []))
        together, total = sum(most.values()), sum(weights)
        if together >= total:
            raise Refused(
                f"the devices of the certificate may hold {together}, all nodes weigh {total}: it proves nothing"
            )
        for kind in reading.kinds:
            least = min(most[name] for name in kind.devices)
            held = (reading, kind, target, weights, least)
            if least < total and not (_by_table(*held, unit, order, limits) or _all_lighter(*held, limits)):
                raise Refused(f"below {target!r}, {kind.devices[0]} can hold nodes that weigh more than {least}")
        return target


def _order(reading: ProofReading, names: Any) -> list[int]:
    """Return the groups in the order of a certificate; none if it has no order.

    Raises:
        Refused: it does not name a node of each group, once.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused("the certificate's 'order' is no list of nodes")
    order = [reading.group_of(name) for name in names]
    if order and sorted(order) != [*range(len(reading.members))]:
        raise Refused("the certificate's 'order' does not name a node of each group of colocated nodes, once")
    return order


def _by_table(
    reading: ProofReading,
    kind: DeviceKind,
    target: float,
    weights: list[int],
    most: int,
    unit: float,
    order: list[int],
    limits: Limits,
) -> bool:
    """Return whether a table of loads, given a unit, shows that no set below the target is heavier than *most*."""
    if unit <= 0:
        return False
    heaviest = heaviest_below(reading, kind, target, weights, unit, min(limits.remaining / 2, LONGEST), order)
    return heaviest is not None and heaviest <= most


def _all_lighter(
    reading: ProofReading, kind: DeviceKind, target: float, weights: list[int], most: int, limits: Limits
) -> bool:
    """Return whether every set that a kind can hold below the target weighs *most* or less.

    Where sets must be convex a branch and bound has the first half of the time; the integer programme has the rest.
    """
    arcs = reading.arcs(kind)
    if arcs and len(reading.members) <= MAX_GROUPS:
        sets = Sets(reading, kind, target, arcs)
        try:
            return sets.heavier(weights, most, StagePlace(), min(limits.remaining / 2, LONGEST)) is None
        except TimeoutError:
            pass
    return _lighter(reading, kind, target, weights, most, limits.remaining)


class _Programme:
    """Rows of an integer programme; columns are added as they are needed."""

    def __init__(self, groups: int) -> None:
        self.upper = [1.0] * groups
        self.integer = [1] * groups
        self.entries: list[tuple[int, int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def column(self, upper: float = 1.0) -> int:
        self.upper.append(upper)
        self.integer.append(0)
        return len(self.upper) - 1

    def row(self, terms: Mapping[int, float], low: float = -inf, high: float = inf) -> None:
        self.entries += [(len(self.low), column, value) for column, value in terms.items()]
        self.low.append(low)
        self.high.append(high)

    def scaled(self, terms: Mapping[int, float], low: float = -inf, high: float = inf) -> None:
        """Add a row that is multiplied by a power of two, so that no number in it is above ``LARGEST_ROW``."""
        largest = max(abs(value) for value in (low, high, *terms.values()) if abs(value) < inf)
        factor = ldexp(1.0, -max(frexp(largest / LARGEST_ROW)[1], 0))
        self.row({column: value * factor for column, value in terms.items()}, low * factor, high * factor)

    def digits(self, load: dict[int, int], most: int) -> None:
        """Add that a load is *most* at the most, digit by digit, the lowest first, with whole numbers carried over."""
        carry: dict[int, float] = {}
        while most >= DIGIT:
            row = carry | {column: float(value % DIGIT) for column, value in load.items()}
            carried = self.column(len(load) + 1.0)
            self.integer[carried] = 1
            self.row(row | {carried: -float(DIGIT)}, high=most % DIGIT + HALF)
            load, most, carry = (
                {column: value // DIGIT for column, value in load.items()},
                most // DIGIT,
                {carried: 1.0},
            )
        self.row(carry | {column: float(value) for column, value in load.items()}, high=most + HALF)

    def infeasible(self, seconds: float) -> bool:
        """Return whether nothing satisfies the rows.

        Raises:
            UsageError: the time did not suffice to tell.
        """
        rows, columns, values = zip(*self.entries, strict=True)
        matrix = coo_array((values, (rows, columns)), shape=(len(self.low), len(self.upper))).tocsc()
        answer = milp(
            np.zeros(len(self.upper)),
            constraints=LinearConstraint(matrix, np.array(self.low), np.array(self.high)),
            bounds=Bounds(0.0, np.array(self.upper)),
            integrality=np.array(self.integer),
            options={} if seconds == inf else {"time_limit": max(seconds, 0.1)},
        )
        if answer.status == INFEASIBLE:
            return True
        if answer.x is None:
            raise UsageError("the time is not enough to check the certificate; give more with --time-limit")
        return False


def _lighter(
    reading: ProofReading, kind: DeviceKind, target: float, weights: list[int], most: int, seconds: float
) -> bool:
    """Return whether every set that a kind can hold below the target weighs *most* or less.

    A set that is heavier, and below the target but for rounding, has to be refuted by finer units.
    """
    until = monotonic() + seconds
    if _none_heavier(reading, kind, target, weights, most, seconds, fine=False):
        return True
    streams = reading.streamed(kind, range(len(reading.members))) > 0
    return not streams and _none_heavier(reading, kind, target, weights, most, until - monotonic(), fine=True)


def _none_heavier(
    reading: ProofReading,
    kind: DeviceKind,
    target: float,
    weights: list[int],
    most: int,
    seconds: float,
    *,
    fine: bool,
) -> bool:
    """Return whether an integer programme finds no set that is heavier than *most*, and below the target."""
    units, n = units_for(target), len(reading.members)
    if fine:
        units = ldexp(1.0, min(FINE_BITS - frexp(target)[1], 1000))
    below = ceil(target * units) - 1
    programme = _Programme(n)
    load = {}
    for group, time in enumerate(kind.time):
        if time < target:
            load[group] = floor(time * units)
        else:
            programme.upper[group] = 0.0
    for pins, cost in reading.tensors.items() if kind.pays else ():
        cut, every = programme.column(), programme.column()
        for pin in pins:
            programme.row({cut: 1.0, every: 1.0, pin: -1.0}, low=0.0)
            programme.row({every: 1.0, pin: -1.0}, high=0.0)
        load[cut] = floor(cost * units) if cost < target else 2 * below + 2
    if reading.streamed(kind, range(n)) > 0:
        load.update(_overflow(programme, reading, kind, units, below))
    common = gcd(*(value for value in load.values() if value <= below)) or 1
    load = {column: value // common for column, value in load.items()}
    if fine:
        programme.digits(load, below // common)
    else:
        programme.scaled({c: float(value) for c, value in load.items()}, high=below // common * (1 + ROOM) + HALF)
    if kind.memory < inf:
        scale = max(kind.memory, 1e-300)
        programme.row({g: min(size / scale, 2.0) for g, size in enumerate(reading.memory)}, high=1.0 + MEMORY_ROOM)
    for backward in (False, True):
        if kind.convex[backward]:
            _convex(programme, reading, backward=backward)
    programme.row(*_heavier(weights, most))
    return programme.infeasible(seconds)


def _heavier(weights: list[int], most: int) -> tuple[dict[int, float], float]:
    """Return a row that every set heavier than *most* satisfies, with numbers that are not too large."""
    common = gcd(*weights)
    unit = common * -(-(most // common + 1) // LARGEST_MOST)
    low = -(-(most + 1) // unit)
    return {g: float(min(-(-weight // unit), low)) for g, weight in enumerate(weights) if weight}, low - HALF


def _overflow(
    programme: _Programme, reading: ProofReading, kind: DeviceKind, units: float, below: int
) -> dict[int, int]:
    """Return the term of the load that streaming parameters is (archer2024, eq. 2), in coarser units if need be."""
    rate = units / reading.bandwidth
    if not max(kind.free, *reading.params) * rate < inf:
        raise Refused("the certificate's 'target' is too small beside the time to stream parameters")
    free = ceil(kind.free * rate)
    unit = -(-free // LARGEST_FREE) or 1
    free = -(-free // unit)
    most = free + 2 * (below // unit) + 2
    sizes = {g: -float(min(floor(size * rate) // unit, most)) for g, size in enumerate(reading.params)}
    if unit > below:  # not one of these units may be streamed
        programme.scaled(sizes, low=-free - HALF)
        return {}
    excess = programme.column(inf)
    programme.scaled({excess: 1.0, **sizes}, low=-float(free))
    return {excess: unit}


def _convex(programme: _Programme, reading: ProofReading, *, backward: bool) -> None:
    """Add that no path leaves the set and comes back (tarnawski2020, Figure 3): ``after`` ends where the set does."""
    after: dict[int, int] = {}
    for u, v in reading.edges(backward=backward):
        for w in (u, v):
            if w not in after:
                after[w] = programme.column()
                programme.row({after[w]: 1.0, reading.group[w]: -1.0}, low=0.0)
        programme.row({after[u]: 1.0, after[v]: -1.0}, low=0.0)
        if reading.group[u] != reading.group[v]:
            programme.row({after[v]: 1.0, reading.group[v]: -1.0, reading.group[u]: 1.0}, high=1.0)
