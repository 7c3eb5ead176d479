"""Certificates ``path-hull``: a path that subgraphs have to cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from math import inf
from typing import Any, NamedTuple

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.subgraphs import undefined
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.hull_places import Place, least_along, read_places
from mtpp_dsl.solvers.proofs.hull_sets import Cut, Least
from mtpp_dsl.solvers.proofs.hull_sides import Option, Side, Way, delays, read_sides

ROUNDING = 1e-12


class PathHullProof:
    """``{"path": [node, ...], "cuts": [[i, j, rent], ...], "ties": [[x, memory, ...], ...]}``.

    For the latency by subgraphs (tarnawski2020, section 4).

    Each node of the path is on a device with ``io = free`` or in a subgraph, which is contiguous: it holds a run of the
    path and with two nodes all between them, and where its device has one subgraph only, all colocated with them, too.
    It reads what its nodes read of those before the run, writes what of it is read after the run, and takes the
    time of its nodes; runs and single nodes come one after another. No more runs than there may be subgraphs.

    For the runs i to j in ``cuts``, that is the least over all sets that hold what the subgraph must and nothing from
    which the run's predecessor is reached, or that its successor reaches: by flows in whole numbers, rounded down,
    which are checked themselves. Where devices have one subgraph only, the sets have all of colocated nodes or none.
    The memory of what it holds has a *rent*, and that of a full memory is taken off.

    Between the colocated nodes x - 1 and x of the path, for x in ``ties``, a subgraph that ends is followed by one of
    its device. Both share its memory, of which that many ways are looked at, between each two amounts one.
    """

    name = "path-hull"
    summary = "what the subgraphs along a path must hold, read and write"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the least cost along the path; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        if problem.objective.quantity != "makespan" or undefined(problem) is not None:
            raise Refused(f"a certificate 'path-hull' says nothing here: {undefined(problem)}")
        cut = Cut(problem)
        path = _path(problem, data.get("path"))
        rents = _runs(data.get("cuts", []), len(path))
        places = read_places(data.get("ties", []), path, lambda u, v: bool(cut.mates[u] >> v & 1))
        starts = [[a for a, place in enumerate(places) if place.before == x] for x in range(len(path) + 1)]
        items = [path[a.before] if a.before < b.before else None for a, b in pairwise(places)]
        alone = [0.0 if v is None else cut.alone(v) for v in items]
        runs: list[list[tuple[int, Least]]] = []
        for i in range(len(path)):
            if limits.remaining <= 0:
                raise UsageError("the time was not enough to check the bound along its path")
            runs.append(list(cut.runs(path, i, rents)))
        if "sides" in data:
            return _beside(cut, path, _Along(places, starts, alone), runs, data)
        along: list[list[tuple[int, float]]] = [[] for _ in items]
        for i, ends in enumerate(runs):
            for a, (j, least) in product(starts[i], ends):
                for e in starts[j + 1]:
                    along[a].append((e - 1, least.within(places[a].used, places[e].room)))
        return least_along(places, alone, along, cut.most) * (1 - ROUNDING)


class _Along(NamedTuple):
    """The places along a path, those of each boundary, and what each item between two takes beside host memory."""

    places: list[Place]
    starts: list[list[int]]
    alone: list[float]

    def moved(self, side: Side) -> Side:
        """Return chains with their ends as items."""
        start, end = (self.starts[x + 1][0] - 1 for x in (side.start, side.end))
        return replace(side, start=start, end=end)


def _beside(
    cut: Cut, path: list[int], along: _Along, runs: list[list[tuple[int, Least]]], data: Mapping[str, Any]
) -> float:
    """Return the least cost along the path, with what is known of chains beside it, up to the target."""
    target = data.get("target")
    if not isinstance(target, (int, float)) or not 0 < target < inf:
        raise Refused("the certificate's 'target' is no cost")
    graph = cut.problem.graph
    sides = read_sides(data["sides"], graph.index, path, lambda u, v: bool(cut.after[u] >> v & 1))
    own = cache(lambda part: cut.apart(part, path))
    moved = {side: along.moved(side) for side in sides if side is not None}
    waits = {moved[side]: delays(side, cut.alone, own) for side in moved}
    held = _held(data.get("held", []), path, sides)
    places = along.places
    tables: list[list[tuple[int, Floats]]] = [[] for _ in along.alone]
    for i, ends in enumerate(runs):
        for j, least in ends:
            shape = [1 if side is None else len(side.options) + 1 for side in (sides[i], sides[j + 1])]
            some = [
                (
                    np.ix_(_options(sides[i], left, -1), _options(sides[j + 1], taken, 1)),
                    cut.held(path, i, j, more, rent),
                )
                for left, taken, more, rent in held.get((i, j), ())
            ]
            for a, e in product(along.starts[i], along.starts[j + 1]):
                table = np.full(shape, least.within(places[a].used, places[e].room))
                for where, more in some:
                    table[where] = np.maximum(table[where], more.within(places[a].used, places[e].room))
                tables[a].append((e - 1, table))
    at = [None if side is None else moved[side] for side in (sides[place.before] for place in places)]
    tied = [place.tied for place in places]
    way = Way(along.alone, at, tied, waits, tables, cut.most, float(target))
    return way.least() * (1 - ROUNDING)


def _options(side: Side | None, option: Option | None, way: int) -> list[int]:
    """Return the options with no more (-1) or no less (1) than one of them; all, and the last, which says nothing."""
    if option is None or side is None:
        return list(range(1 if side is None else len(side.options) + 1))
    given = enumerate(side.options)
    return [k for k, other in given if (side.within(option, other) if way > 0 else side.within(other, option))]


def _held(
    given: object, path: list[int], sides: list[Side | None]
) -> dict[tuple[int, int], list[tuple[Option | None, Option | None, int, float]]]:
    """Return for runs of the path what they have to hold of the chains beside it, as options and as a set."""
    if not isinstance(given, list):
        raise Refused("the certificate's 'held' is no list")
    found: dict[tuple[int, int], list[tuple[Option | None, Option | None, int, float]]] = {}
    for entry in given:
        if not (isinstance(entry, (list, tuple)) and len(entry) == 5):
            raise Refused(f"the certificate's 'held' has {entry!r:.40}, which is no run")
        i, j, low, high, rent = entry
        ((i, j),) = _runs([[i, j, rent]], len(path))
        before, behind = sides[i], sides[j + 1]
        left, taken = _option(before, low), _option(behind, high)
        if before is not None and before is behind:
            if left is None or taken is None:
                raise Refused(f"the certificate's 'held' has {entry!r:.40}, which says too little")
            parts = before.between(left, taken) if behind is not None else []
        else:
            if (left is not None and before is not None and before.end > j) or (
                taken is not None and behind is not None and behind.start < i
            ):
                raise Refused(f"the certificate's 'held' has {entry!r:.40}, beside which chains go on")
            parts = [] if left is None or before is None else before.between(left, before.options[-1])
            parts += [] if taken is None or behind is None else behind.between(behind.options[0], taken)
        more = sum(1 << v for v in {v for part in parts for v in part})
        found.setdefault((i, j), []).append((left, taken, more, float(rent)))
    return found


def _option(side: Side | None, given: object) -> Option | None:
    if given is None:
        return None
    if side is None or not isinstance(given, (list, tuple)) or tuple(given) not in side.options:
        raise Refused(f"the certificate's 'held' has {given!r:.40}, which is nothing that chains can share")
    return tuple(given)


def _path(problem: Problem, names: object) -> list[int]:
    index = problem.graph.index
    if not isinstance(names, list) or not all(isinstance(name, str) and name in index for name in names):
        raise Refused("the certificate's 'path' is no list of nodes")
    path = [index[name] for name in names]
    for u, v in pairwise(path):
        if v not in problem.graph.successors(u).tolist():
            raise Refused(f"the certificate's path goes from {problem.graph.names[u]!r} along no edge")
    return path


def _runs(given: object, length: int) -> dict[tuple[int, int], set[float]]:
    """Return the rents at which there are minimum cuts of runs."""
    if not isinstance(given, list):
        raise Refused("the certificate's 'cuts' is no list")
    runs: dict[tuple[int, int], set[float]] = {}
    for run in given:
        if not (isinstance(run, (list, tuple)) and len(run) == 3 and all(type(x) in (int, float) for x in run)):
            raise Refused(f"the certificate's 'cuts' has {run!r:.40}, which is no run of its path and rent")
        i, j, rent = run
        if not (type(i) is int and type(j) is int and 0 <= i <= j < length and 0 <= rent < inf):
            raise Refused(f"the certificate's 'cuts' has {run!r:.40}, which is no run of its path and rent")
        runs.setdefault((i, j), set()).add(float(rent))
    return runs
