"""Method ``scotch``: the graph partitioner Scotch (Pellegrini, 2009), an external program."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.backends.mip.programs import run
from mtpp_dsl.solvers.partition.classical.linear import movable
from mtpp_dsl.solvers.partition.classical.scotch_program import program
from mtpp_dsl.solvers.runtime.incumbent import Incumbent


def scotch(problem: Problem, limits: Limits, progress: Progress, install: str) -> Result:
    """Return the partition of Scotch if it is a plan, else what it breaks.

    Raises:
        SolverError: Scotch is missing, or failed.
    """
    incumbent = Incumbent("scotch", problem, limits, progress)
    executable = program()
    if executable is None:
        raise SolverError(f"scotch is not installed; install it with: {install}")
    if progress.stopped or limits.remaining <= 0:
        return incumbent.result()
    devices = device_types(problem)
    kind = _accelerators(devices)[0]
    units = movable(problem, devices)
    text = graph_file(problem, units, units.time[:, kind], len(devices.members[kind]))
    with TemporaryDirectory() as folder:
        Path(folder, "graph.grf").write_text(text, encoding="ascii")
        command = [executable, str(len(devices.members[kind])), "graph.grf", "parts.map", "log.txt", "-Cd"]
        done = run(command, Path(folder), limits.remaining, progress, lambda _: None, can_stop=False)
        if progress.stopped or done.killed:
            return incumbent.result()
        parts = read_mapping(Path(folder, "parts.map"), units.n)
    if done.returned != 0 or parts is None:
        raise SolverError(f"scotch failed: {done.last_words}")
    assignment = np.empty(problem.graph.n, np.int64)
    for nodes, part in zip(units.members, parts, strict=True):
        assignment[list(nodes)] = devices.members[kind][part]
    if not incumbent.take(Plan.create(problem, assignment)):
        incumbent.note(f"Scotch's partition is no plan: {incumbent.broken}; Scotch does not know this constraint")
    return incumbent.result(solver="scotch")


def _accelerators(devices: DeviceTypes) -> list[int]:
    """Return the device types that pay for their tensors."""
    return np.flatnonzero(devices.pays).tolist()


def unfilled(problem: Problem) -> str | None:
    """Return why there are no equal accelerators that could hold everything, or None."""
    devices = device_types(problem)
    accelerators = _accelerators(devices)
    if len(accelerators) != 1:
        return f"scotch fills equal accelerators; there are {len(accelerators) or 'no'} kinds of them here"
    nowhere = np.flatnonzero(np.isinf(devices.time[:, accelerators[0]]))
    if nowhere.size:
        node, accelerator = problem.graph.names[nowhere[0]], devices.members[accelerators[0]][0]
        return f"scotch fills accelerators alone; {node} may not be on {problem.devices[accelerator].name}"
    return None


# Scotch's files: a graph with whole weights, and a mapping (Scotch user's guide, 5.1 and 5.5).

MAX_WEIGHTS = 2**30
"""Scotch adds up weights, times the number of parts, in 32 bits with a sign."""


def graph_file(problem: Problem, units: OrderedSupernodes, time: Floats, parts: int) -> str:
    """Return the graph of units in Scotch's format.

    The weight of an edge is what the tensors cost that one end sends to the other, each once for every unit that
    reads it. Sums of weights, over both directions of every edge, stay below ``MAX_WEIGHTS / parts``.

    Args:
        problem: the problem.
        units: vertices.
        time: [units] running time of each.
        parts: how many parts are asked for.
    """
    between = _between(problem, units)
    most = MAX_WEIGHTS // parts
    loads = _whole(time, most)
    weights = dict(zip(between, _whole(np.array(list(between.values()), np.float64), most // 2).tolist(), strict=True))
    rows: list[list[str]] = [[] for _ in range(units.n)]
    for (a, b), weight in sorted(weights.items()):
        rows[a].append(f"{max(1, weight)} {b}")
        rows[b].append(f"{max(1, weight)} {a}")
    lines = [f"{load} {len(row)} {' '.join(row)}".rstrip() for load, row in zip(loads.tolist(), rows, strict=True)]
    return "\n".join(["0", f"{units.n} {2 * len(weights)}", "0 011", *lines, ""])


def _between(problem: Problem, units: OrderedSupernodes) -> dict[tuple[int, int], float]:
    graph, cost, of = problem.graph, problem.tensor_time, units.of
    sent: dict[tuple[int, int], float] = defaultdict(float)
    for u in np.flatnonzero(cost > 0).tolist():
        a = int(of[u])
        for b in set(of[graph.successors(u)].tolist()) - {a}:
            sent[min(a, b), max(a, b)] += float(cost[u])
    return sent


def _whole(weights: Floats, most: int) -> Ints:
    """Return weights in proportion, rounded down to whole numbers of a sum of at most *most*."""
    total = float(weights.sum())
    return np.floor(weights * (most / total)).astype(np.int64) if total > 0 else np.zeros(len(weights), np.int64)


def read_mapping(path: Path, n: int) -> list[int] | None:
    """Return [n] the part of every vertex, or None if the file does not give one to each."""
    if not path.is_file():
        return None
    words = path.read_text(encoding="ascii").split()
    if len(words) != 2 * n + 1:
        return None
    parts = dict(zip(map(int, words[1::2]), map(int, words[2::2]), strict=True))
    return [parts[v] for v in range(n)] if set(parts) == set(range(n)) else None
