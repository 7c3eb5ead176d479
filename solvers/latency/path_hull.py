"""Method ``path-hull``: lower bounds on latencies by subgraphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.latency.hull import LARGEST, Hulls, longest
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance

__all__ = ["path_hull"]

NAME = "path-hull"
RECIPES = ((1.0, 0.2, 1.0), (1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 5.0, 3.0), (1.0, 1.0, 1.0))
"""Weights of time, memory and tensors, by which the first paths are the longest."""

PATIENCE = 12
"""It ends after so many paths without a better bound, beyond the first."""


def path_hull(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the best bound of some paths."""
    instance = LatencyInstance.of(problem)
    names = problem.graph.names
    cost, path = longest(instance)
    certificate = Certificate("path-hull", {"path": [names[v] for v in path], "cuts": []})
    bound = Bound(cost, NAME, "checked", "mtpp", "the longest path, each node where it is fastest", certificate)
    progress.report_bound(bound)
    if problem.graph.n > LARGEST:
        return _result(limits, progress, bound, "limit")
    for path, cost, cuts in _bounds(instance, limits, progress):
        if cost == np.inf:
            ends = f"{names[path[0]]} to {names[path[-1]]}"
            reason = f"the path from {ends} cannot be cut into as many subgraphs as there may be that fit"
            return Result("infeasible", method=NAME, seed=limits.seed, infeasibility=Infeasibility(reason))
        if cost > bound.cost:
            data = {"path": [names[v] for v in path], "cuts": [list(run) for run in cuts]}
            why = (
                f"a path of {len(path)} nodes: each subgraph with part of it holds all between, reads and writes "
                f"what passes, and fits into a memory; {len(cuts)} minimum cuts say what else it holds or pays; "
                "the cheapest way to cut the path, sums lowered for rounding"
            )
            bound = Bound(cost, NAME, "checked", "mtpp", why, Certificate("path-hull", data))
            progress.report_bound(bound)
    return _result(limits, progress, bound, "complete")


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
    instance: LatencyInstance, limits: Limits, progress: Progress
) -> Iterator[tuple[list[int], float, list[tuple[int, int, float]]]]:
    """Yield paths, what no latency is below, and the runs of the path for which a minimum cut shows it, with rents."""
    hulls = Hulls(instance)
    random = np.random.default_rng(limits.seed)
    least = instance.time.min(axis=1, initial=np.inf)
    work: Floats = np.where(np.isfinite(least), least, 0.0)
    unit = float(instance.memory.sum()) or 1.0
    size = instance.memory * (float(work.sum()) / unit)
    seen: set[tuple[int, ...]] = set()
    best, quiet, chosen = -1.0, 0, RECIPES[0]
    number = 0

    def stopped() -> bool:
        return progress.stopped or limits.remaining <= 0

    def met() -> bool:
        return progress.cost is not None and best >= progress.cost * (1 - 1e-9)

    while not met() and quiet < PATIENCE and not stopped():
        time, memory, passed = RECIPES[number] if number < len(RECIPES) else chosen
        noise = np.ones(instance.n) if number < len(RECIPES) else random.lognormal(0.0, 0.7, instance.n)
        path = hulls.path((time * work + memory * size) * noise, passed * instance.tensor)
        number += 1
        quiet += number > len(RECIPES)
        if tuple(path) in seen:
            continue
        seen.add(tuple(path))
        cost, cuts = hulls.least(path, stopped)
        yield path, cost, cuts
        if cost > best:
            best, quiet = cost, 0
            chosen = (time, memory, passed)
