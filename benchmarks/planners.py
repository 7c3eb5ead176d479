"""Prove the bottleneck of each instance of planners that people use, and compare with the plans of these planners.

Each instance is written as a spec with tables (``tests/planners.py``) and solved by the command line in a process of
its own: the time is that of the whole command. Plans of planners are valued by the same definition, with transfers that
take the time of both devices, and with transfers beside work; those that use a device twice break ``acyclic`` and are
left out.

Usage: .venv/bin/python benchmarks/planners.py ../shared/data [part of a name]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from subprocess import run
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mtpp_dsl
from tests.planners import bottleneck, instances, peers, write_spec

TIME = 60


def main() -> None:
    """Print a line for each instance, and the median and the worst."""
    data, part = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    print(
        "| instance | nodes | bottleneck (ms) | overlapped (ms) | best planner | CPU (s) | command (s) | again (ms) |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    spent, used = [], []
    for name, instance in instances(data).items():
        if part in name:
            with TemporaryDirectory() as folder:
                wall, cpu = _row(name, instance, data, Path(folder))
            spent.append(wall)
            used.append(cpu)
    print(
        f"\nmedian {median(spent):.2f} s, worst {max(spent):.2f} s; of CPU time {median(used):.2f} s, {max(used):.2f} s"
    )


def _row(name: str, instance: Mapping[str, Any], data: Path, folder: Path) -> tuple[float, float]:
    """Solve one instance, print its line, and return the seconds of the command, and of its processes."""
    spec = write_spec(instance, folder)
    began, before = monotonic(), getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "--json", "-", "--time-limit", f"{TIME}s"]
    done = run(command, capture_output=True, text=True, check=False)
    wall, after = monotonic() - began, getrusage(RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = json.loads(done.stdout)
    problem = mtpp_dsl.load(spec)
    again = _again(problem)
    full = mtpp_dsl.solve(mtpp_dsl.load(write_spec(instance, folder, overlap=True)), time_limit=TIME)
    if answer["status"] == "infeasible":
        assert full.status == "infeasible"
        print(f"| {name} | {problem.graph.n} | infeasible | infeasible | - | {cpu:.2f} | {wall:.2f} | {again:.0f} |")
        return wall, cpu
    assert answer["status"] == full.status == "optimal", (name, answer["status"], full.status)
    found = mtpp_dsl.solve(problem, time_limit=TIME)
    assert found.cost is not None
    assert full.cost is not None
    others = {who: device for who, device in peers(data, name).items() if _in_order(instance, device)}
    valued = sorted((bottleneck(instance, device), who) for who, device in others.items())
    beside = sorted((bottleneck(instance, device, overlap=True), who) for who, device in others.items())
    assert valued[0][0] >= found.cost * (1 - 1e-9), (name, valued[0])
    assert beside[0][0] >= full.cost * (1 - 1e-9), (name, beside[0])
    best = f"{valued[0][1]}: {valued[0][0] / found.cost:.3f}; overlapped {beside[0][1]}: {beside[0][0] / full.cost:.3f}"
    print(
        f"| {name} | {problem.graph.n} | {found.cost * 1e3:.4g} | {full.cost * 1e3:.4g} | {best} "
        f"| {cpu:.2f} | {wall:.2f} | {again:.0f} |",
        flush=True,
    )
    return wall, cpu


def _again(problem: mtpp_dsl.Problem) -> float:
    """Return the milliseconds of a second solution in one process."""
    mtpp_dsl.solve(problem, time_limit=TIME)
    began = process_time()
    mtpp_dsl.solve(problem, time_limit=TIME)
    return (process_time() - began) * 1e3


def _in_order(instance: Mapping[str, Any], device: list[int]) -> bool:
    """Return whether the devices of a plan can be put in an order that all edges follow."""
    after: dict[int, set[int]] = {}
    for u, v in instance["model"]["edges"]:
        if device[u] != device[v]:
            after.setdefault(device[u], set()).add(device[v])
    left = set(device)
    while left:
        ends = {d for d in left if not after.get(d, set()) & left}
        if not ends:
            return False
        left -= ends
    return True


if __name__ == "__main__":
    main()
