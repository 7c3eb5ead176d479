"""The quotient graph has no cycle: prefixes that are ideals, or an order of the devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain

Before: TypeAlias = Callable[[int, int], Any]

Step: TypeAlias = tuple[int, int, int]
"""The second node is at least so many parts after the first."""


def prefix_order(model: Any, steps: Sequence[Step] | None = None) -> None:
    """Make every prefix of the parts an ideal.

    Formula: ``y[u,b] >= y[v,b]`` for every edge (u,v); with *steps*, ``y[u,b-s] >= y[v,b]`` for each (u,v,s) of them
    in place of the edges.
    Source -> target: acyclic, parts in the order of their numbers -> rows on ``y``.
    Exact if the parts are interchangeable: any plan's blocks may be numbered in an order of its quotient. Steps must
    imply the edges, and hold of the plans of interest.
    Reference: archer2024, eq. 8; the steps are pair distances (notes on bounds, 4).
    """
    if steps is None:
        constrain(model, "ideal", model.E, model.borders, rule=lambda m, u, v, b: m.y[u, b] >= m.y[v, b])
        return
    open_rows = [
        (u, v, b, b - s)
        for u, v, s in steps
        for b in model.borders
        if b >= s and not (_is(model.y[u, b - s], 1) or _is(model.y[v, b], 0))
    ]
    model.steps = pyo.Set(initialize=open_rows, dimen=4)
    constrain(model, "ideal", model.steps, rule=lambda m, u, v, b, a: m.y[u, a] >= m.y[v, b])


def _is(variable: Any, value: int) -> bool:
    return bool(variable.fixed and variable.value == value)


def device_order(
    model: Any, name: str, edges: Sequence[tuple[int, int]], on: On, classes: Sequence[tuple[int, ...]]
) -> None:
    """Add a linear order of the devices that every edge of *edges* respects.

    Formula: ``o[d,e] = 1`` if d comes before e; no three devices in a circle; for every edge (u,v) and d, e of
    different classes ``sum_{d' >= d} on(u,d') + sum_{e' <= e} on(v,e') <= 1 + o[d,e]``, where d' runs over the class of
    d and e' over that of e; within a class, whose members stand in declared order,
    ``sum_{j > i} on(u,c_j) + sum_{j <= i} on(v,c_j) <= 1``.
    Source -> target: acyclic under some order of the devices -> binaries ``o`` and rows.
    Exact if the members of each class may be swapped in every plan: swapping turns any order of them into the
    declared one, and o[d,e] cannot fall as d moves back or e forward in its class. Only one order of a model may
    be given classes larger than one: the swaps are spent on it.
    Reference: the linear ordering polytope (Grötschel, Jünger, Reinelt 1985) for the circles.

    Args:
        model: with ``D``.
        name: of the block to add.
        edges: (u, v) that must go forward or stay.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        classes: a partition of the devices, each in declared order.
    """
    part = pyo.Block(concrete=True)
    model.add_component(name, part)
    home = {d: members for members in classes for d in members}
    pairs = [(d, e) for d, e in combinations(sorted(home), 2) if home[d] is not home[e]]
    part.E = pyo.Set(initialize=list(edges), dimen=2)
    part.pairs = pyo.Set(initialize=pairs, dimen=2)
    part.o = pyo.Var(part.pairs, domain=pyo.Binary)
    part.later = pyo.Set(model.D, initialize={d: [e for e in home[d] if e >= d] for d in home})
    part.earlier = pyo.Set(model.D, initialize={d: [e for e in home[d] if e <= d] for d in home})
    part.beyond = pyo.Set(model.D, initialize={d: [e for e in home[d] if e > d] for d in home})
    part.inner = pyo.Set(initialize=[d for members in classes for d in members[:-1]])
    constrain(
        part,
        "forward",
        part.E,
        part.pairs,
        rule=lambda b, u, v, d, e: (
            sum(on(u, i) for i in b.later[d]) + sum(on(v, j) for j in b.earlier[e]) <= 1 + b.o[d, e]
        ),
    )
    constrain(
        part,
        "backward",
        part.E,
        part.pairs,
        rule=lambda b, u, v, d, e: (
            sum(on(u, j) for j in b.later[e]) + sum(on(v, i) for i in b.earlier[d]) <= 2 - b.o[d, e]
        ),
    )
    constrain(
        part,
        "within",
        part.E,
        part.inner,
        rule=lambda b, u, v, d: sum(on(u, j) for j in b.beyond[d]) + sum(on(v, i) for i in b.earlier[d]) <= 1,
    )
    _no_circles(part, sorted(home), home)


def _no_circles(part: Any, devices: Sequence[int], home: dict[int, tuple[int, ...]]) -> None:
    def before(d: int, e: int) -> Any:
        if home[d] is home[e]:
            return int(d < e)
        return part.o[d, e] if d < e else 1 - part.o[e, d]

    part.circles = pyo.ConstraintList()
    for a, b, c in combinations(devices, 3):
        for x, y, z in ((a, b, c), (a, c, b)):
            circle = before(x, y) + before(y, z) + before(z, x)
            if not isinstance(circle, int):
                part.circles.add(circle <= 2)
