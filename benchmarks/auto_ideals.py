"""What ``auto`` takes beside ``ideals`` alone, on the published workloads that ``ideals`` proves.

Each method has a process of its own, in which it solves all instances: the workloads on the devices of their files,
then some of them on other numbers of devices. A large one before them loads the compiled code; without it, loops over
small instances are interpreted, and which are small depends on what came before. CPU seconds are those of the process
and of all that it starts. ``auto`` should take no more than 1.5 times what ``ideals`` takes, and 0.3 s.

    python benchmarks/auto_ideals.py
    python benchmarks/auto_ideals.py --seconds 20 --threads 1 --only bert
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from statistics import median
from time import perf_counter

from ideals import DEVICES, FOLDER, SWEPT, TABLE, present, workload

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.solving.api import find_method, solve

RATIO, MORE = 1.5, 0.3
"""How much longer ``auto`` may take: as a factor, and in seconds beside that."""

LARGE = "OperatorGraphs/bert_L-12_training"
Instance = tuple[str, tuple[int, int] | None]
"""A workload, and the numbers of accelerators and CPUs; None for those of its file."""
Row = dict[str, float | bool]
"""Whether the optimum was proved, its value, and the seconds that it took."""


def instances(part: str) -> list[Instance]:
    """Return the instances whose names contain *part*."""
    names = present([name for name in TABLE if part in name])
    return [(name, None) for name in names] + [(name, on) for name in names if name in SWEPT for on in DEVICES]


def cpu() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(name: str, given: list[Instance], seconds: float, threads: int | None) -> None:
    """Solve all instances by one method, and print a line of JSON for each."""
    method = find_method(name)
    first = (LARGE, None) if (FOLDER / f"{LARGE}.json").is_file() else given[0]
    for number, (which, on) in enumerate([first, *given]):
        problem = workload(which, None if on is None else (on[0], on[1]))
        wall, used = perf_counter(), cpu()
        result = solve(problem, method, time_limit=seconds, threads=threads)
        row = {"s": perf_counter() - wall, "cpu": cpu() - used, "proved": result.status == "optimal"}
        check_result(problem, result)
        if number:
            print(json.dumps({**row, "cost": result.cost}), flush=True)


def rows_of(name: str, given: list[Instance], seconds: float, threads: int | None) -> list[Row]:
    """Return what a process of its own has measured."""
    more = [] if threads is None else ["--threads", str(threads)]
    command = [sys.executable, __file__, "--method", name, "--seconds", str(seconds), *more]
    found = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(found.stderr)
    return [json.loads(line) for line in found.stdout.splitlines()]


def compare(part: str, seconds: float, threads: int | None) -> None:
    """Print what both methods take, and what that comes to."""
    given = instances(part)
    if not given:
        return
    alone = rows_of("ideals", given, seconds, threads)
    pairs = [(one, row) for one, row in zip(given, alone, strict=True) if row["proved"]]
    together = rows_of("auto", [one for one, _ in pairs], seconds, threads)
    print(f"{'workload':36} {'k, l':>6} {'value':>12} {'ideals s':>8} {'cpu':>6} {'auto s':>7} {'cpu':>6} {'ratio':>6}")
    slow = 0
    for ((name, on), one), other in zip(pairs, together, strict=True):
        where = "file" if on is None else f"{on[0]},{on[1]}"
        late = other["cpu"] > RATIO * one["cpu"] + MORE or not other["proved"]
        slow += late
        print(
            f"{name:36} {where:>6} {other['cost']:12.6f} {one['s']:8.2f} {one['cpu']:6.2f} {other['s']:7.2f} "
            f"{other['cpu']:6.2f} {other['cpu'] / one['cpu']:6.2f}{'  slow' if late else ''}"
        )
    print(f"{len(given) - len(pairs)} that ideals does not prove in {seconds:g} s left out")
    for what in ("s", "cpu"):
        alone_s, auto_s = (median(float(row[what]) for row in rows) for rows in ([o for _, o in pairs], together))
        ratios = [float(other[what]) / float(one[what]) for (_, one), other in zip(pairs, together, strict=True)]
        print(
            f"{what:>4}: median of ideals {alone_s:.2f}, of auto {auto_s:.2f}; "
            f"ratios: median {median(ratios):.2f}, worst {max(ratios):.2f}"
        )
    print(f"{slow} of {len(pairs)} take more CPU than {RATIO} times as much and {MORE} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of every instance")
    parser.add_argument("--threads", type=int, help="processes that auto may use")
    parser.add_argument("--only", default="", help="a part of the names of the workloads")
    parser.add_argument("--method", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.method:
        measure(args.method, json.load(sys.stdin), args.seconds, args.threads)
    else:
        compare(args.only, args.seconds, args.threads)
