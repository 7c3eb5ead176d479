"""Tabulate what a stage costs on every shape, and whether it fits: the table that every programme over stages reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import mixed_radix

ENDLESS = 2**62
"""A limit that no load reaches."""


class StageCosts(NamedTuple):
    """What a stage S of supernodes costs on every shape, in whole numbers of a unit, rounded down.

    A *shape* is one way to run a stage: on how many devices of which type, as shards, replicas or both, recomputing or
    not. A *row* is one number that a stage has on a shape. The first ``loads`` rows are loads: of row p on shape a

        max((base + sum of time + cost of the nets that S cuts + streamed parameters) // parts, exchange)

    where ``exchange`` is ``sum of sync * (parts - 1) // parts``, and what is streamed is the sum of ``stream`` beyond
    ``spared``. The rows after these are sums, ``base + sum of time``. A stage with j others counted before it fits if

        sum of fixed + kept[a, j] * sum of further + enter[a, j] * (bytes that S reads from outside) <= room[a]

    Sizes are floats and not rounded. ``kept`` and ``enter`` must not fall as j grows.

    Attributes:
        start, tensor: [n + 1] and the nets at each supernode, as compressed rows.
        pins: [nets] number of pins.
        cost: [rates, nets] of a cut net, for each rate at which a shape may pay.
        time: [rows, shapes, n].
        base: [rows, shapes].
        rate: [rows, shapes] the rate at which the shape pays; -1 if it pays nothing.
        parts: [shapes] among how many replicas a load is shared.
        sync: [shapes, n].
        stream: [shapes, n].
        spared: [shapes].
        loads: how many rows are loads.
        streams, exchanges: [rows] whether a load has what is streamed, and what replicas exchange.
        remains: [rows] another load, of which this one is the rest of ``exchange`` at least; -1 for none. That other
            one counts as ``ulp`` more, since it was rounded down.
        ulp: what the rounding of one load may have taken from it at most.
        fixed, further: [shapes, n]; ``fixed`` is ``inf`` where a supernode may not be.
        kept, enter: [shapes, most stages].
        room: [shapes]; finite.
        flow_start, flow, makes: [n + 1], the tensors that each supernode makes or reads, and whether it makes them.
        size: [flows] bytes of each of these tensors.
    """

    start: Ints
    tensor: Ints
    pins: Ints
    cost: Ints
    time: Ints
    base: Ints
    rate: Ints
    parts: Ints
    sync: Ints
    stream: Ints
    spared: Ints
    loads: int
    streams: Bools
    exchanges: Bools
    remains: Ints
    ulp: int
    fixed: Floats
    further: Floats
    kept: Floats
    enter: Floats
    room: Floats
    flow_start: Ints
    flow: Ints
    makes: Bools
    size: Floats


class ShapeStates(NamedTuple):
    """What has been used, and where a stage on each shape leads; componentwise smaller states come first.

    Attributes:
        used: [states, counters] devices of each type, and last the stages, if they are counted apart. Of two chains of
            one ideal, the one that has used no more of anything may be followed by all that may follow the other.
        stride: [counters] a state with some of a counter is no better than the one so much before it; 0 for none.
        after: [states] how many stages stand for the state: the j of a stage that comes to it.
        to: [states, shapes] the state after a stage on the shape, where that is open.
        open: [states, shapes] whether there is enough left for the shape.
        final: [states] whether a chain may end.
    """

    used: Ints
    stride: Ints
    after: Ints
    to: Ints
    open: Bools
    final: Bools


class Aggregate(NamedTuple):
    """How the rows of stages become the value of a chain: a vector of components, each to be as small as can be.

    Attributes:
        row: [components] the row that each is made of.
        adds: [components] whether it is the sum over the stages, not the largest.
        begin: [components] the value of no stage.
        limit: [rows] every stage's row is below this.
        ceiling: [components] the value of the whole chain is below this.
        weight: [components] zero or more.
        goal: the weighted sum of the components is below this.
    """

    row: Ints
    adds: Bools
    begin: Ints
    limit: Ints
    ceiling: Ints
    weight: Floats
    goal: float

    @classmethod
    def create(
        cls,
        rows: int,
        components: list[tuple[int, bool]],
        *,
        limit: dict[int, int] | None = None,
        ceiling: dict[int, int] | None = None,
        weight: list[float] | None = None,
        goal: float = np.inf,
        floor: int = 0,
    ) -> Aggregate:
        """Return the aggregate of some components.

        Args:
            rows: how many rows the table has.
            components: the row of each, and whether it is a sum.
            limit: of a row, on every stage.
            ceiling: of a component, on the chain.
            weight: of each component.
            goal: as above.
            floor: where a largest row begins: a proven bound, of no use for sums and fronts.
        """
        adds = np.array([adds for _, adds in components], np.bool_)
        limits, ceilings = np.full(rows, ENDLESS), np.full(len(components), ENDLESS)
        for p, most in (limit or {}).items():
            limits[p] = most
        for c, most in (ceiling or {}).items():
            ceilings[c] = most
        weights = np.zeros(len(components)) if weight is None else np.array(weight, np.float64)
        row = np.array([p for p, _ in components], np.int64)
        return cls(row, adds, np.where(adds, 0, floor), limits, ceilings, weights, float(goal))


class Outside(NamedTuple):
    """What is sure of the supernodes outside of an ideal; see :class:`mtpp_dsl.solvers.algorithms.ideals.sweep.Ahead`.

    Attributes:
        rest: [ideals, components] what they add to a component at least; 0 for a largest row.
        left: [ideals, prices] sum of their weights.
        cut: [ideals] cost of the nets that the ideal cuts, at the least rate.
        price: [states, prices] sum of the prices of the devices left.
        cheapest: [states, prices] least price of a device left.
        slack: [prices] for rounding.
    """

    rest: Ints
    left: Floats
    cut: Floats
    price: Floats
    cheapest: Floats
    slack: Floats


def nothing_outside(ideals: int, states: int, components: int) -> Outside:
    """Return that nothing is known of what is outside of ideals."""
    none = np.zeros((states, 0))
    rest = np.zeros((ideals, components), np.int64)
    return Outside(rest, np.zeros((ideals, 0)), np.zeros(ideals), none, none, np.zeros(0))


def shape_states(counts: Ints, take: Ints, *, stages: int = 0) -> ShapeStates:
    """Return the states of devices of several types.

    Args:
        counts: [types] how many devices there are.
        take: [shapes, types] how many a stage on each shape takes, one or more in all.
        stages: the most stages to count apart from the devices; 0 where each shape takes one device, so that the
            devices used are the stages, or where the number of stages does not matter.
    """
    if stages:
        counts, take = np.append(counts, stages), np.column_stack((take, np.ones(len(take), np.int64)))
    used, stride = mixed_radix(counts)
    after = used[:, -1] if stages else used.sum(axis=1)
    fits: Bools = np.asarray((used[:, None, :] + take[None, :, :] <= counts).all(axis=2), np.bool_)
    to = np.where(fits, np.arange(len(used))[:, None] + (take @ stride)[None, :], 0)
    return ShapeStates(used, stride, np.ascontiguousarray(after), to, fits, np.ones(len(used), np.bool_))
