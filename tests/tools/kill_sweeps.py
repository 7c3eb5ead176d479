"""Kill sweeps and their workers at random moments, and look whether a row is lost, doubled or changed.

``python -m tests.tools.kill_sweeps --kills 50`` runs a sweep of short runs again and again on one database. While it
runs, workers and processes that solve are killed with SIGKILL at random moments, and then the sweep itself; in some
rounds two sweeps share the database. After each kill the database is read as it was left, and compared with what it
held before; when all runs are done, the results are compared with those of a sweep that nobody disturbed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mtpp_dsl.core.executors.processes import descendants
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import ANSWERED
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import Store
from tests.tree import ROOT

SWEEP = """mtpp-sweep = 1
name = "killed"
methods = ["simple", "single-device", "random"]
seeds = "0..2"
time_limit = "20s"
[[problems]]
name = "chain-{n}"
params = {n = "10..%d"}
text = '''mtpp 1
param n: int = 10
graph from generator chain (nodes = n)
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
'''
"""
PATIENCE = 120.0
OTHERS_ARE_AT_IT = 4


@dataclass
class Found:
    """What the rounds came to.

    Attributes:
        rounds: how often a sweep was started.
        killed: of whom how often.
        rows: in the database, at the end of each round.
        wrong: what must not be.
    """

    rounds: int = 0
    killed: dict[str, int] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def sweep_file(folder: Path, problems: int) -> Path:
    """Write the sweep, and return its path."""
    path = folder / "killed.toml"
    path.write_text(SWEEP % (9 + problems), encoding="utf-8")
    return path


def started(path: Path, database: Path) -> subprocess.Popen[bytes]:
    """Start the sweep in a process of its own, which goes on from what the database holds."""
    command = [sys.executable, "-m", "mtpp_dsl", "bench", str(path), "--db", str(database), "--jobs", "2", "--quiet"]
    options = ["--retry", "crashed,lost"]
    return subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finished(path: Path, database: Path, found: Found) -> None:
    """Run the sweep to its end."""
    sweep = started(path, database)
    _, errors = sweep.communicate(timeout=PATIENCE)
    if sweep.returncode:
        found.wrong.append(f"an undisturbed sweep ended with {sweep.returncode}: {errors[-500:]!r}")


def rows_of(database: Path) -> dict[str, RunRow]:
    """Return the rows of a database by key, read by a process that has not opened it before."""
    if not database.exists():
        return {}
    with Store.open(database) as store:
        return {row.key: row for row in store.rows()}


def check(database: Path, before: dict[str, RunRow], runs: dict[str, Run], found: Found) -> dict[str, RunRow]:
    """Look for what must not be in a database after a kill, and return its rows."""
    after = rows_of(database)
    if database.exists():
        with closing(sqlite3.connect(database)) as raw:
            sound = raw.execute("PRAGMA integrity_check").fetchone()[0]
            total, keys = raw.execute("SELECT count(*), count(DISTINCT key) FROM runs").fetchone()
            orphans = raw.execute("SELECT count(*) FROM answers WHERE key NOT IN (SELECT key FROM runs)").fetchone()[0]
        if sound != "ok" or total != keys or total < len(after) or orphans:  # it may go on meanwhile
            found.wrong.append(f"round {found.rounds}: {sound}, {total} rows of {keys} keys, {orphans} orphans")
    for key, row in before.items():
        if key not in after:
            found.wrong.append(f"round {found.rounds}: a row is lost: {row.problem}, {row.label}")
        elif row.status in ANSWERED and after[key] != row:
            found.wrong.append(f"round {found.rounds}: a finished row was done again: {row.problem}, {row.label}")
    found.wrong += [f"round {found.rounds}: a row of no run: {key}" for key in after if key not in runs]
    return after


def kill_worker(sweep: subprocess.Popen[bytes], draw: random.Random, found: Found) -> None:
    """Kill a process that a sweep has started, a worker or what it solves with."""
    below = [*descendants(sweep.pid)]
    if below and sweep.poll() is None:
        with suppress(ProcessLookupError):
            os.kill(draw.choice(below), signal.SIGKILL)
            found.killed["worker"] = found.killed.get("worker", 0) + 1


def kill_rounds(kills: int, seed: int = 0, problems: int = 40, limit: float = 1.5) -> Found:
    """Kill sweeps and workers until that was done *kills* times; where all runs are done a new database is begun.

    Args:
        kills: how often something is killed.
        seed: of whom and when.
        problems: of the sweep; each has some runs.
        limit: seconds between the first new row, or the start, and the kill, at most.
    """
    draw, found = random.Random(seed), Found()
    with tempfile.TemporaryDirectory() as name:
        path = sweep_file(Path(name), problems)
        runs = {run.key: run for run in expand(read_sweep(path))}
        number, before = 0, dict[str, RunRow]()
        while sum(found.killed.values()) < kills:
            found.rounds += 1
            database = Path(name) / f"{number}.sqlite"
            sweeps = [started(path, database) for _ in range(2 if draw.random() < 0.3 else 1)]
            if draw.random() < 0.8:  # else it may be hit while it starts
                _wait_for_a_row(database, len(before), sweeps[0])
            for _ in range(draw.randrange(4)):
                time.sleep(draw.uniform(0.0, limit))
                kill_worker(draw.choice(sweeps), draw, found)
                before = check(database, before, runs, found)
            time.sleep(draw.uniform(0.0, limit))
            for each in sweeps if draw.random() < 0.7 else sweeps[1:]:
                found.killed["sweep"] = found.killed.get("sweep", 0) + (each.poll() is None)
                each.kill()
            before = check(database, before, runs, found)
            for each in sweeps:
                _, errors = each.communicate(timeout=PATIENCE)
                if each.returncode not in (0, OTHERS_ARE_AT_IT, -signal.SIGKILL):
                    found.wrong.append(
                        f"round {found.rounds}: the sweep ended with {each.returncode}: {errors[-500:]!r}"
                    )
            before = check(database, before, runs, found)
            found.rows.append(len(before))
            if len(before) == len(runs) or sum(found.killed.values()) >= kills:
                _finish(path, database, before, runs, found)
                number, before = number + 1, {}
    return found


def _wait_for_a_row(database: Path, rows: int, sweep: subprocess.Popen[bytes]) -> None:
    """Wait until a database has more than so many rows, or the sweep has ended."""
    until = time.monotonic() + PATIENCE
    while sweep.poll() is None and time.monotonic() < until:
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as raw:
            if raw.execute("SELECT count(*) FROM runs").fetchone()[0] > rows:
                return
        time.sleep(0.02)


def _finish(path: Path, database: Path, before: dict[str, RunRow], runs: dict[str, Run], found: Found) -> None:
    """Run the sweep to its end, and compare its plans with those of one that nobody disturbed."""
    finished(path, database, found)
    after = check(database, before, runs, found)
    calm = path.with_name("calm.sqlite")
    if not calm.exists():
        finished(path, calm, found)
    there = {key: (row.status, row.value, row.bound) for key, row in after.items()}
    expected = {key: (row.status, row.value, row.bound) for key, row in rows_of(calm).items()}
    if there != expected or len(expected) != len(runs):
        odd = [key for key in runs if there.get(key) != expected.get(key)]
        found.wrong.append(f"round {found.rounds}: {len(odd)} rows differ from an undisturbed sweep: {odd[:1]}")


def main() -> int:
    """Run what the command line asks for; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = kill_rounds(given.kills, given.seed)
    print(f"{found.rounds} sweeps, killed: {found.killed}; rows after each: {found.rows}")
    print("\n".join(found.wrong) or "no row was lost, doubled or changed; each went on to its end")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
