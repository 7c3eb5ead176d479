"""Method ``scotch``: the graph partitioner Scotch (Pellegrini, 2009), an external program."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.backends.mip.programs import run
from mtpp_dsl.solvers.partition.classical.movable import movable
from mtpp_dsl.solvers.partition.classical.scotch_files import graph_file, read_mapping
from mtpp_dsl.solvers.partition.classical.scotch_program import program
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["scotch", "unfilled"]


def scotch(problem: Problem, limits: Limits, progress: Progress, install: str) -> Result:
    """Return the partition of Scotch if it is a plan, else what it breaks.

    Raises:
        SolverError: Scotch is missing, or failed.
    """
    incumbent = Incumbent("scotch", problem, limits, progress)
    found = program()
    if found is None:
        raise SolverError(f"scotch is not installed; install it with: {install}")
    if progress.stopped or limits.remaining <= 0:
        return incumbent.result()
    devices = device_types(problem)
    kind = _accelerators(devices)[0]
    units = movable(problem, devices)
    text = graph_file(problem, units, units.time[:, kind], len(devices.members[kind]))
    with TemporaryDirectory() as folder:
        Path(folder, "graph.grf").write_text(text, encoding="ascii")
        command = [found, str(len(devices.members[kind])), "graph.grf", "parts.map", "log.txt", "-Cd"]
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
