"""The time of tables and pictures of a database of 10,000 runs, whole calls of the command line.

``python benchmarks/tables.py [RUNS]``; processor time and wall time in seconds, the median of three calls.
"""

from __future__ import annotations

import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from mtpp_dsl.sweeps.file.run import Run, digest
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.rows import COLUMNS, row_of
from mtpp_dsl.sweeps.store.store import Store

METHODS = ("auto", "heft", "peft", "etf", "annealing", "lns", "exact", "brkga")
SEEDS = 5
CALLS = {
    "summary": ["table"],
    "problems x methods": ["table", "--rows", "problem", "--columns", "label", "--spread"],
    "by k, LaTeX": ["table", "--rows", "label", "--columns", "k", "--show", "ratio", "--format", "latex"],
    "profile": ["plot", "-o", "profile.png"],
    "gap": ["plot", "-o", "gap.png", "--kind", "gap"],
    "size": ["plot", "-o", "size.png", "--kind", "size"],
}


def made(count: int) -> list[tuple[Run, RunOutcome]]:
    """Return runs with outcomes: all methods and seeds on as many problems as it takes; some fail."""
    draw, found = random.Random(0), []
    while len(found) < count:
        number = len(found) // (len(METHODS) * SEEDS)
        best, nodes = draw.uniform(1, 9), draw.randint(20, 5000)
        for label in METHODS:
            for seed in range(SEEDS):
                name = f"problem-{number:03}"
                run = Run(
                    key=digest([name, label, seed]), sweep="made", problem=name, spec="made.mtpp", spec_sha256=name,
                    method=label, label=label, group=f"group {number % 5}", params={"k": 2 ** (number % 6 + 1)},
                    seed=seed,
                )  # fmt: skip
                value = best * draw.uniform(1, 1.3)
                log = [(0.01 * (i + 1), value * (1 + 1 / (i + 1)), best * (1 - 1 / (i + 2))) for i in range(20)]
                fine = {"status": "feasible", "value": value, "bound": best * 0.9, "gap": 1 - best * 0.9 / value}
                kind = {"status": "memory"} if draw.random() < 0.03 else fine | {"log": log}
                outcome = RunOutcome(
                    **kind, sense="minimize", objective="makespan", unit="s", nodes=nodes, edges=2 * nodes, devices=4,
                    seconds=draw.uniform(0.1, 60), cpu=1.0, total=60.0, memory=10**8, machine="made",
                )  # fmt: skip
                found.append((run, outcome))
    return found[:count]


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.sqlite"
        Store.open(path).close()
        with sqlite3.connect(path) as connection:
            slots = ", ".join("?" for _ in COLUMNS)
            connection.executemany(
                f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({slots})", [row_of(*pair) for pair in made(count)]
            )
        connection.close()
        print(f"{count:,} runs, {path.stat().st_size / 1e6:.0f} MB")
        print("| call | CPU s | wall s |\n| --- | --- | --- |")
        for name, arguments in CALLS.items():
            call = [sys.executable, "-m", "mtpp_dsl", "bench", arguments[0], str(path), *arguments[1:]]
            times = [timed(call, folder) for _ in range(3)]
            print(f"| {name} | {median(cpu for cpu, _ in times):.2f} | {median(wall for _, wall in times):.2f} |")


def timed(call: list[str], folder: str) -> tuple[float, float]:
    """Return processor and wall time of one call."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(call, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
