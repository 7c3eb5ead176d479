"""Bound the latency by the paths of the graph and the hulls of what devices may hold.

Take a path. Every subgraph is contiguous, so it holds a run of the path's nodes, next to each other, or none, and with
the first and the last of them all that lies between these two in the graph: their hull. No node that reaches the run's
predecessor on the path is in it, and none that its successor reaches. So what it takes is at least the least over all
contiguous sets that hold the hull and none of those: a minimum cut, as each node costs its time, and each tensor of
whose producer and readers the set has some and not all costs a payment. Where each device has one subgraph, the set has
all of colocated nodes or none. These runs, and the nodes of the path on devices with ``io = free``, take place one
after another. A dynamic programme over the path finds the cheapest way to
cut it into no more runs than there may be subgraphs, whose hulls fit into a memory each. Minimum cuts are taken where
they matter: of the runs on the cheapest ways, until all of these are known. Where the set of a minimum cut does not fit
into a memory, its nodes pay a rent for theirs, and that of a full memory is taken off, a Lagrangian relaxation.
Subgraphs of one device that follow each other between colocated nodes share its memory
(:mod:`mtpp_dsl.solvers.latency.places`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.latency.along_path import AlongPath, Cuts
from mtpp_dsl.solvers.latency.anchor_hulls import least_by_anchors
from mtpp_dsl.solvers.latency.hulls import Hulls, longest, longest_path, weights
from mtpp_dsl.solvers.latency.side_bound import SideBound
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance

__all__ = ["path_hull"]

NAME = "path-hull"
LARGEST = 6000
"""Nodes of the largest graph whose pairs of nodes are kept; larger ones have anchors along their paths."""
RECIPES = ((1.0, 0.2, 1.0), (1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 5.0, 3.0), (1.0, 1.0, 1.0))
"""Weights of time, memory and tensors, by which the first paths are the longest."""

PATIENCE = 12
"""It ends after so many paths without a better bound, beyond the first."""
FARTHEST = 2.0
"""Bounds with chains are no further above those without."""


def path_hull(problem: Problem, limits: Limits, progress: Progress, *, sides: bool = True) -> Result:
    """Return the best bound of some paths, and with *sides* by chains of nodes beside the best of these.

    Where such a bound is known, its path is the only one.
    """
    instance = LatencyInstance.of(problem)
    known = _known(problem, progress) if sides else None
    names = problem.graph.names
    cost, path = longest(instance)
    certificate = Certificate("path-hull", {"path": [names[v] for v in path], "cuts": []})
    bound = Bound(cost, NAME, "checked", "mtpp", "the longest path, each node where it is fastest", certificate)
    progress.report_bound(bound)
    if problem.graph.n > LARGEST:
        return _of_a_large_graph(instance, limits, progress, bound)
    hulls = Hulls(instance)
    found: _Found | None = None
    for ways, along in _bounds(hulls, limits, progress, known):
        path, cost = ways.path, along.cost
        if cost == np.inf:
            ends = f"{names[path[0]]} to {names[path[-1]]}"
            reason = f"the path from {ends} cannot be cut into as many subgraphs as there may be that fit"
            return Result("infeasible", method=NAME, seed=limits.seed, infeasibility=Infeasibility(reason))
        if found is None or cost > found.along.cost:
            found = _Found(ways, along)
        if cost > bound.cost:
            why = (
                f"a path of {len(path)} nodes: each subgraph with part of it holds all between, reads and writes "
                f"what passes, and fits into a memory; {len(along.cuts)} minimum cuts say what else it holds or pays; "
                "the cheapest way to cut the path, sums lowered for rounding"
            )
            bound = Bound(cost, NAME, "checked", "mtpp", why, _certificate(hulls, path, along))
            progress.report_bound(bound)
    if sides and found is not None and found.along.cost > 0:
        for better in _beside(hulls, found, bound, limits, progress):
            bound = better
            progress.report_bound(bound)
    return _result(limits, progress, bound, "complete")


class _Found(NamedTuple):
    """The ways to cut a path, and what is known of them."""

    ways: AlongPath
    along: Cuts


def _certificate(hulls: Hulls, path: Sequence[int], along: Cuts, more: Mapping[str, Any] | None = None) -> Certificate:
    """Return the certificate of a bound along a path, with what there is *more*."""
    names = hulls.graph.names
    ties = {"ties": along.places.ties} if along.places.tied.any() else {}
    data = {"path": [names[v] for v in path], "cuts": [list(run) for run in along.cuts], **ties}
    return Certificate("path-hull", {**data, **(more or {})})


def _known(problem: Problem, progress: Progress) -> list[int] | None:
    """Return the path of a bound of this method that has been found before, or None."""
    bound = progress.bound
    if bound is None or bound.certificate is None or not bound.certificate.data.get("cuts"):
        return None
    index = problem.graph.index
    if bound.certificate.kind != "path-hull":
        return None
    return [index[name] for name in bound.certificate.data["path"]]


def _beside(hulls: Hulls, found: _Found, bound: Bound, limits: Limits, progress: Progress) -> Iterator[Bound]:
    """Yield ever better bounds by chains of nodes beside a path, with ever more ways to share these."""

    def stopped() -> bool:
        return progress.stopped or limits.remaining <= 0

    known = found.along.cost
    limit = known * FARTHEST if progress.cost is None else min(known * FARTHEST, progress.cost)
    side = SideBound.of(hulls, found.ways, found.along, limit)
    while side is not None and bound.cost < limit * (1 - 1e-9) and not stopped():
        known = max(known, side.least(known, stopped))
        cost = side.value * (1 - 1e-15 * (4 * hulls.graph.n + 1000))
        if cost > bound.cost:
            data = side.data()
            data["cuts"] = [*map(list, found.along.cuts), *data["cuts"]]
            why = (
                f"a path of {len(found.ways.path)} nodes, and {side.beside} nodes beside it, which its subgraphs hold "
                f"or which run by themselves; {len(data['held'])} minimum cuts say what these hold or pay; the "
                "cheapest way to cut the path, sums lowered for rounding"
            )
            bound = Bound(
                cost,
                NAME,
                "checked",
                "mtpp",
                why,
                _certificate(hulls, found.ways.path, found.along._replace(places=side.places), data),
            )
            yield bound
        side = side.fuller(limit)


def _of_a_large_graph(instance: LatencyInstance, limits: Limits, progress: Progress, bound: Bound) -> Result:
    """Return the best bound by anchors along some paths, each the longest by other weights."""
    work, size = weights(instance)
    for time, memory, passed in RECIPES:
        if progress.ended(limits) is not None or (
            progress.cost is not None and bound.cost >= progress.cost * (1 - limits.gap)
        ):
            break
        _, path = longest_path(instance.graph, time * work + memory * size, passed * instance.tensor)
        cost, anchors = least_by_anchors(instance, path)
        if cost == inf:
            reason = f"a path of {len(path)} nodes cannot be cut into as many subgraphs as there may be that fit"
            return Result("infeasible", method=NAME, seed=limits.seed, infeasibility=Infeasibility(reason))
        if cost > bound.cost:
            why = f"{anchors} nodes of a path: each subgraph with some of them holds all between the first and the last"
            bound = Bound(cost, NAME, "checked", "mtpp", why)
            progress.report_bound(bound)
    return _result(limits, progress, bound, "limit")


def _result(limits: Limits, progress: Progress, bound: Bound, ended: Termination) -> Result:
    if progress.stopped:
        ended = "interrupted"
    elif limits.remaining <= 0:
        ended = "time_limit"
    return Result(
        termination=ended,
        bound=bound,
        method=NAME,
        seed=limits.seed,
        time={"total": progress.elapsed},
        log=tuple(progress.log),
    )


def _bounds(
    hulls: Hulls, limits: Limits, progress: Progress, known: list[int] | None
) -> Iterator[tuple[AlongPath, Cuts]]:
    """Yield the ways to cut some paths, and what is known of them.

    Only the *known* path, if there is one.
    """
    instance = hulls.instance
    random = np.random.default_rng(limits.seed)
    work, size = weights(instance)
    seen: set[tuple[int, ...]] = set()
    best, quiet, chosen = -1.0, 0, RECIPES[0]
    number = 0

    def stopped() -> bool:
        return progress.stopped or limits.remaining <= 0

    def met() -> bool:
        return progress.cost is not None and best >= progress.cost * (1 - 1e-9)

    if known is not None:
        ways = AlongPath(hulls, known)
        yield ways, ways.least(stopped)
        return
    while not met() and quiet < PATIENCE and not stopped():
        time, memory, passed = RECIPES[number] if number < len(RECIPES) else chosen
        noise = np.ones(instance.n) if number < len(RECIPES) else random.lognormal(0.0, 0.7, instance.n)
        path = hulls.path((time * work + memory * size) * noise, passed * instance.tensor)
        number += 1
        quiet += number > len(RECIPES)
        if tuple(path) in seen:
            continue
        seen.add(tuple(path))
        ways = AlongPath(hulls, path)
        along = ways.least(stopped)
        yield ways, along
        if along.cost > best:
            best, quiet = along.cost, 0
            chosen = (time, memory, passed)
