"""Try seeded faults in checkers, proofs, the evaluation of plans and scopes, and list those that no test notices.

    python -m tests.tools.mutants --seed 1 --count 100            a sample of all faults
    python -m tests.tools.mutants --seed 1 --count 1000 --only proofs
    python -m tests.tools.mutants --trace                         record anew which tests run which lines
    python -m tests.tools.mutants --trace tests/checks            the same of some tests, beside what is recorded

Which tests run which lines is recorded by one run of the usual tests, into ``build/mutants``, the first time and with
``--trace``. Verdicts are kept there, too: a fault that was noticed is not tried again while its file stays as it is.
Faults that change no answer are known, with the reason, in ``known.toml`` beside this file.
Exit status 1: fewer than 95 % of the others were noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from tests.tools.mutants.changes import Mutant, mutants
from tests.tools.mutants.covering import Covering, last_line
from tests.tools.mutants.running import KILLED, SURVIVED, TIMED_OUT, Trial, try_all
from tests.tools.mutants.verdicts import Verdicts
from tests.tree import ROOT

FOLDER = ROOT / "build" / "mutants"
LIST = Path(__file__).parent / "known.toml"
GOAL = 0.95
KNOWN = "known to change nothing"


def main() -> int:
    """Try the mutants; return the exit status."""
    asked = arguments()
    if asked.trace is not None or not any(FOLDER.glob("lines.*")):
        trace(asked.trace or [], asked.jobs)
    chosen = sample(asked.seed, asked.count, asked.only)
    known = tomllib.loads(LIST.read_text(encoding="utf-8"))
    verdicts = Verdicts(FOLDER / "verdicts.jsonl")
    result = {mutant: KNOWN for mutant in chosen if mutant.name in known}
    result |= {m: old for m in chosen if m not in result and (old := verdicts.of(m)) in (KILLED, TIMED_OUT)}
    covering = Covering(FOLDER, asked.budget)
    trials = trials_of([mutant for mutant in chosen if mutant not in result], covering)

    def report(mutant: Mutant, verdict: str) -> None:
        result[mutant] = verdict
        verdicts.keep(mutant, verdict)
        if verdict not in (KILLED, TIMED_OUT):
            print(f"{mutant.path}:{mutant.line}  {mutant.name}  {verdict} [{count[mutant]} tests]", flush=True)

    count = {mutant: len(tests) for mutant, tests, _ in trials}
    for mutant in [mutant for mutant, tests, _ in trials if not tests]:
        report(mutant, SURVIVED)
    if tried := [trial for trial in trials if trial[1]]:
        try_all(tried, asked.jobs, report)
    print(table(result))
    tally = Counter(result.values())
    noticed = tally[KILLED] + tally[TIMED_OUT]
    return int(noticed < GOAL * (len(chosen) - tally[KNOWN]))


def trials_of(chosen: list[Mutant], covering: Covering) -> list[Trial]:
    """Return the mutants with their tests."""
    trees = {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in {m.path for m in chosen}}
    tests = {mutant: covering.tests(mutant, last_line(trees[mutant.path], mutant.line)) for mutant in chosen}
    return [(mutant, own, covering.time_of(own)) for mutant, own in tests.items()]


def table(result: dict[Mutant, str]) -> str:
    """Return how many faults of each room had which verdict, as a table."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, verdict in result.items():
        rooms[str(Path(mutant.path).parent)][verdict] += 1
        rooms["all"][verdict] += 1
    heads = list(rooms["all"])
    rows = [["room", *heads], *([room, *(str(rooms[room][head]) for head in heads)] for room in sorted(rooms))]
    return "\n".join("  ".join([row[0].ljust(32), *(cell.rjust(9) for cell in row[1:])]) for row in rows)


def sample(seed: int, count: int, only: str) -> list[Mutant]:
    """Return *count* faults of all those of files with *only* in their path."""
    every = mutants(only)
    return random.Random(seed).sample(every, min(count, len(every)))


def trace(tests: list[str], jobs: int) -> None:
    """Run tests, all usual ones if none are named, and record which of them run which lines."""
    if not tests:
        shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    plugin = ("-p", "tests.tools.mutants.tracing", f"--numprocesses={jobs}", "--dist=loadfile")
    environment = os.environ | {"MTPP_TRACES": str(FOLDER), "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [Path(sys.executable).parent / "pytest", *plugin, "-q", *tests], cwd=ROOT, env=environment, check=True
    )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--count", type=int, default=100, help="how many faults are tried")
    parser.add_argument("--only", default="", help="part of the path of the files that are changed")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds, about, that the tests of a fault may take")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side")
    parser.add_argument("--trace", nargs="*", metavar="TEST", help="record anew which tests run which lines")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
