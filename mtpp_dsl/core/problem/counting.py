"""Labelled rows that count nodes on devices, recognised as the constraints that they amount to.

``on(u, d) + on(v, d) <= 1`` for every device keeps two nodes apart, ``on(v, d) == 0`` forbids a device: methods know
far more to do with ``separate`` and ``pin`` than with rows. :func:`recognised` replaces such rows; the plans of the
problem stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Constraint, Linear, On, Pin, Separate
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.core.problem.problem import Problem

TOLERANCE = 1e-6
"""Of the largest part of a row: by how much it may be missed, as the independent check of plans has it."""
MAX_DEVICES = 256
"""Rows over two nodes are read for all pairs of so many devices at most."""


@dataclass(frozen=True)
class Recognised:
    """A problem with fewer rows, and the same plans.

    Attributes:
        problem: the problem; the same object where no row counts.
        sources: of every constraint that stands for rows, as messages show it, the rows.
    """

    problem: Problem
    sources: Mapping[str, tuple[Linear, ...]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, eq=False)
class _Row:
    """A row over placements: [k] coefficients of every node that it names."""

    source: Linear
    weights: Mapping[int, Floats]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted(self.weights))

    def limit(self) -> tuple[int, float, dict[int, float]] | None:
        """Return the device, the limit and the nodes' weights where the row limits what one device holds, or None."""
        sign = {"<=": 1.0, ">=": -1.0, "==": 0.0}[self.source.sense]
        devices = {int(d) for weights in self.weights.values() for d in np.flatnonzero(weights)}
        if not sign or len(devices) != 1:
            return None
        (d,) = devices
        weights = {v: sign * float(row[d]) for v, row in self.weights.items()}
        return None if min(weights.values()) < 0 else (d, sign * self.source.rhs, weights)


def recognised(problem: Problem) -> Recognised:
    """Return *problem* with the rows that count replaced by ``pin``, ``separate`` and ``colocate``.

    * A row over one node leaves it some devices: ``pin``; so does a weight that is above the limit by itself.
    * Rows over two nodes leave them some pairs of devices: none with two equal ones is ``separate``, all with two equal
      ones ``colocate``.
    * Rows that let a device have one of several nodes, with such a row for every device, are ``separate``.
    * A row that then holds wherever nodes may be is left out.

    All that is added follows from the rows, and every row that is left out follows from what is added: the plans stay
    the same. Rows that count further than to one, and those over other decisions, stay.
    """
    rows = [_row(row, problem.k) for row in problem.hard_rows if all(isinstance(one, On) for one, _ in row.terms)]
    if not rows or problem.objective.batch is not None:
        return Recognised(problem)
    pins = list(_pins(problem, rows))
    allowed = problem.with_constraints([*problem.constraints, *(pin for pin, _ in pins)]).allowed
    left = [row for row in rows if len(row.weights) != 1 or not _choices(row, problem.k).any()]
    pairs = list(_pairs(left, allowed)) if problem.k <= MAX_DEVICES else []
    sets = list(_at_most_one(left, allowed))
    open_rows = {id(row) for row in left}
    dropped = {id(row.source) for row in rows if id(row) not in open_rows or _holds(row, allowed)}
    dropped |= {id(row) for _, sources in (*pairs, *sets) for row in sources}
    derived = [*pins, *_joined(pairs), *sets]
    if not dropped and not derived:
        return Recognised(problem)
    names: dict[str, tuple[Linear, ...]] = {}
    for constraint, sources in derived:
        names[str(constraint)] = tuple(dict.fromkeys((*names.get(str(constraint), ()), *sources)))
    kept = [constraint for constraint in problem.constraints if id(constraint) not in dropped]
    return Recognised(
        problem.with_constraints([*kept, *(constraint for constraint, _ in derived)]), MappingProxyType(names)
    )


def restored(clash: Iterable[str], sources: Mapping[str, Sequence[Linear]]) -> tuple[str, ...]:
    """Return the constraints of a clash as the problem states them: the rows in place of what they were read as."""
    names = ([str(row) for row in sources[name]] if name in sources else [name] for name in clash)
    return tuple(dict.fromkeys(name for group in names for name in group))


Finding = tuple[Constraint, tuple[Linear, ...]]
"""A constraint, and the rows that it follows from."""


def _row(row: Linear, k: int) -> _Row:
    weights: dict[int, Floats] = {}
    for decision, a in row.terms:
        assert isinstance(decision, On)
        weights.setdefault(decision.node, np.zeros(k))[decision.device] += float(a)
    return _Row(row, weights)


def _origin(rows: Sequence[Linear]) -> str:
    """Return the label and the place of rows, for messages."""
    first = rows[0]
    label = first.label.partition("[")[0] if len(rows) > 1 else first.label
    return ", ".join(text for text in (label, first.origin) if text)


def _satisfied(row: _Row, left: Floats, largest: Floats) -> Bools:
    """Return which of the left sides satisfy a row, given the size of the largest part of each."""
    slack = TOLERANCE * np.maximum(abs(row.source.rhs), largest)
    excess = left - row.source.rhs
    match row.source.sense:
        case "<=":
            return np.asarray(excess <= slack, np.bool_)
        case ">=":
            return np.asarray(-excess <= slack, np.bool_)
        case _:
            return np.asarray(np.abs(excess) <= slack, np.bool_)


def _choices(row: _Row, k: int) -> Bools:
    """Return [k] the devices on which the one node of a row satisfies it."""
    (weights,) = row.weights.values()
    assert len(weights) == k
    return _satisfied(row, weights, np.abs(weights))


def _pins(problem: Problem, rows: Sequence[_Row]) -> Iterator[Finding]:
    """Yield what rows leave to single nodes."""
    for row in rows:
        if len(row.weights) == 1:
            where = _choices(row, problem.k)
            if where.any() and not where.all():
                devices = tuple(np.flatnonzero(where).tolist())
                yield Pin(nodes=row.nodes, devices=devices, origin=_origin([row.source])), (row.source,)
            continue
        limited = row.limit()
        if limited is None or problem.k == 1:
            continue
        d, most, weights = limited
        heavy = tuple(v for v in row.nodes if weights[v] - most > TOLERANCE * max(abs(most), weights[v]))
        if heavy and most >= 0:
            others = tuple(other for other in range(problem.k) if other != d)
            yield Pin(nodes=heavy, devices=others, origin=_origin([row.source])), (row.source,)


def _pairs(rows: Sequence[_Row], allowed: Bools) -> Iterator[Finding]:
    """Yield what rows over two nodes amount to, together: two nodes apart, or on one device."""
    by_nodes: dict[tuple[int, ...], list[_Row]] = {}
    for row in rows:
        if len(row.weights) == 2:
            by_nodes.setdefault(row.nodes, []).append(row)
    same = np.eye(allowed.shape[1], dtype=np.bool_)
    for (u, v), group in by_nodes.items():
        may = allowed[u][:, None] & allowed[v][None, :]
        left = may.copy()
        for row in group:
            one, other = row.weights[u][:, None], row.weights[v][None, :]
            left &= _satisfied(row, one + other, np.maximum(np.abs(one), np.abs(other)))
        sources = tuple(row.source for row in group)
        kind = next(
            (kind for kind, rest in ((Separate, ~same), (Colocate, same)) if (left == (may & rest)).all()), None
        )
        if kind is not None and (left != may).any():
            yield kind(nodes=(u, v), origin=_origin(sources)), sources


def _at_most_one(rows: Sequence[_Row], allowed: Bools) -> Iterator[Finding]:
    """Yield sets of three nodes or more of which every device may have one."""
    rows_by_nodes: dict[tuple[int, ...], dict[int, Linear]] = {}
    for row in rows:
        limited = row.limit() if len(row.weights) > 2 else None
        if limited is None:
            continue
        d, most, weights = limited
        light = sorted(weights.values())[:2]
        alone = max(weights.values()) <= most
        if alone and sum(light) - most > TOLERANCE * max(abs(most), *light):
            rows_by_nodes.setdefault(row.nodes, {})[d] = row.source
    for nodes, by_device in rows_by_nodes.items():
        shared = np.flatnonzero(allowed[list(nodes)].sum(axis=0) > 1).tolist()
        if set(shared) <= by_device.keys():
            sources = tuple(by_device.values())
            yield Separate(nodes=nodes, origin=_origin(sources)), sources


def _joined(pairs: Sequence[Finding]) -> Iterator[Finding]:
    """Yield what was found of pairs, with pairs that are all apart as one set where they have one label."""
    apart: dict[str, dict[tuple[int, int], tuple[Linear, ...]]] = {}
    for constraint, sources in pairs:
        if isinstance(constraint, Separate):
            u, v = constraint.nodes
            apart.setdefault(sources[0].label.partition("[")[0], {})[u, v] = sources
        else:
            yield constraint, sources
    for named in apart.values():
        near: dict[int, set[int]] = {}
        for u, v in named:
            near.setdefault(u, set()).add(v)
            near.setdefault(v, set()).add(u)
        done: set[tuple[int, int]] = set()
        for u, v in named:
            if (u, v) in done:
                continue
            clique, able = [u, v], near[u] & near[v]
            while able:
                w = min(able)
                clique.append(w)
                able &= near[w]
            clique.sort()
            inside = [(a, b) for i, a in enumerate(clique) for b in clique[i + 1 :]]
            done.update(inside)
            rows = tuple(row for pair in inside for row in named[pair])
            yield Separate(nodes=tuple(clique), origin=_origin(rows)), rows


def _holds(row: _Row, allowed: Bools) -> bool:
    """Return whether a row holds wherever its nodes may be."""
    low = high = 0.0
    for v, weights in row.weights.items():
        if not allowed[v].any():
            return False
        low, high = low + float(weights[allowed[v]].min()), high + float(weights[allowed[v]].max())
    return (row.source.sense == ">=" or high <= row.source.rhs) and (row.source.sense == "<=" or low >= row.source.rhs)
