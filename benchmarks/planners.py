"""Prove the bottleneck of each instance of planners that people use, and compare with their rules and plans.

Each instance is written as a spec with tables (``tests/planners.py``) and solved by the command line in a process of
its own: the time is that of the whole command. Two tables come of it: one of instances, and one of planners, by rules
written again (``benchmarks/rules``) and by stored plans of other programs. Plans are valued by the same definition,
with transfers that take the time of both devices, and with transfers beside work; those that use a device twice break
``acyclic`` and count as none. Each instance is also proved with the stages in the order of the devices as declared,
which is all that most runtimes take; rules whose plan keeps that order are compared with that optimum too.

Usage: .venv/bin/python benchmarks/planners.py ../shared/data [part of a name] [--docs]

With ``--docs`` the tables of docs/planners.md are written anew.
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
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mtpp_dsl
from benchmarks.rules.comparison import Optima, is_pipeline, tallies, value
from benchmarks.rules.tables import instance_line, instance_table, put_into, rule_table
from mtpp_dsl.core.constraints import InOrder
from tests.planners import instances, peers, write_spec

TIME = 60
OTHERS = ("mlx-lm", "exo", "parallax-dp", "pipeedge-types", "saga-mt")
"""Stored plans of planners whose rule is not written again."""


def main() -> None:
    """Print a line for each instance, then the table of planners; with ``--docs`` put both into the page."""
    words = [word for word in sys.argv[1:] if word != "--docs"]
    data, part = Path(words[0]), words[1] if len(words) > 1 else ""
    chosen = {name: instance for name, instance in instances(data).items() if part in name}
    found: dict[str, dict[str, Any]] = {}
    print(instance_table([]))
    for name, instance in chosen.items():
        with TemporaryDirectory() as folder:
            found[name] = _solved(name, instance, data, Path(folder))
        print(instance_line(name, found[name]), flush=True)
    spent = [one["cpu"] for one in found.values()]
    print(f"\nCPU time of the command: median {median(spent):.2f} s, worst {max(spent):.2f} s\n")
    kept = {name: one for name, one in found.items() if one["cost"] is not None}
    optima = {name: Optima(one["cost"], one["overlapped"], one["in order"]) for name, one in kept.items()}
    rules = rule_table(tallies(data, chosen, optima, OTHERS), len(optima))
    print(rules)
    if "--docs" in sys.argv:
        lines = [instance_line(name, one) for name, one in found.items()]
        put_into(
            Path(__file__).resolve().parent.parent / "docs" / "planners.md",
            {"instances": instance_table(lines), "planners": rules},
        )


def _solved(name: str, instance: Mapping[str, Any], data: Path, folder: Path) -> dict[str, Any]:
    """Solve one instance both ways, and return its line of the table as figures."""
    spec = write_spec(instance, folder)
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "--json", "-", "--time-limit", f"{TIME}s"]
    done = run(command, capture_output=True, text=True, check=False)
    after = getrusage(RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    problem = mtpp_dsl.load(spec)
    line: dict[str, Any] = {
        "nodes": problem.graph.n,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "again": _again(problem),
        "cost": None,
        "overlapped": None,
        "in order": None,
    }
    full = mtpp_dsl.solve(mtpp_dsl.load(write_spec(instance, folder, overlap=True)), time_limit=TIME)
    if answer["status"] == "infeasible":
        assert full.status == "infeasible"
        return line
    assert answer["status"] == full.status == "optimal", (name, answer["status"], full.status)
    found = mtpp_dsl.solve(problem, time_limit=TIME)
    fixed = mtpp_dsl.solve(problem.with_constraints([*problem.constraints, InOrder()]), time_limit=TIME)
    assert fixed.status == "optimal", (name, fixed.status)
    line |= {"cost": found.cost, "bound": found.bound.cost, "overlapped": full.cost, "in order": fixed.cost}
    others = {who: device for who, device in peers(data, name).items() if is_pipeline(instance, device)}
    for what, overlap in (("cost", False), ("overlapped", True)):
        best, who = min((value(instance, device, overlap=overlap), who) for who, device in others.items())
        assert best >= line[what] * (1 - 1e-9), (name, what, who, best)
        line[f"best {what}"] = best / line[what], who
    return line


def _again(problem: mtpp_dsl.Problem) -> float:
    """Return the milliseconds of a second solution in one process."""
    mtpp_dsl.solve(problem, time_limit=TIME)
    began = process_time()
    mtpp_dsl.solve(problem, time_limit=TIME)
    return (process_time() - began) * 1e3


if __name__ == "__main__":
    main()
