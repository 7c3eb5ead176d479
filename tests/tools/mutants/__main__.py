"""Try seeded faults in checkers, proofs, the evaluation of plans and scopes, and list those that no test notices.

    python -m tests.tools.mutants --seed 1 --count 100            a sample of all faults
    python -m tests.tools.mutants --seed 1 --count 1000 --only proofs
    python -m tests.tools.mutants --trace                         record anew which tests run which lines

Which tests run which lines is recorded by one run of the usual tests, into ``build/mutants``, the first time and with
``--trace``. Faults that change no answer are known, with the reason, in ``known.toml`` beside this file.
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
from collections import Counter
from pathlib import Path

from tests.tools.mutants.changes import Mutant, mutants
from tests.tools.mutants.covering import Covering, last_line
from tests.tools.mutants.running import SURVIVED, prepare, verdicts
from tests.tree import ROOT

FOLDER = ROOT / "build" / "mutants"
LIST = Path(__file__).parent / "known.toml"
GOAL = 0.95
KNOWN = "known to change nothing"


def main() -> int:
    """Try the mutants; return the exit status."""
    asked = arguments()
    if asked.trace or not any(FOLDER.glob("lines.*")):
        trace(asked.jobs)
    covering = Covering(FOLDER, asked.budget)
    chosen = sample(asked)
    trees = {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in {m.path for m in chosen}}
    tests = {m: covering.tests(m, last_line(trees[m.path], m.line)) for m in chosen}
    known = tomllib.loads(LIST.read_text(encoding="utf-8"))
    prepare(chosen, [test for own in tests.values() for test in own])

    tally = Counter({KNOWN: sum(mutant.name in known for mutant in chosen)})
    tried = [(m, own, covering.time_of(own)) for m, own in tests.items() if m.name not in known]
    for mutant, verdict in verdicts(tried, asked.jobs):
        tally[verdict] += 1
        if verdict == SURVIVED:
            print(f"{mutant.path}:{mutant.line}  {mutant.name}  [{len(tests[mutant])} tests]", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in tally.most_common()))
    return int(tally[SURVIVED] > (1 - GOAL) * (len(chosen) - tally[KNOWN]))


def sample(asked: argparse.Namespace) -> list[Mutant]:
    """Return the faults to try: seeded, and without those that are not asked for."""
    every = [mutant for mutant in mutants() if asked.only in mutant.path]
    return random.Random(asked.seed).sample(every, min(asked.count, len(every)))


def trace(jobs: int) -> None:
    """Run the usual tests, and record which of them run which lines."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    plugin = ("-p", "tests.tools.mutants.tracing", f"--numprocesses={jobs}", "--dist=loadfile")
    environment = os.environ | {"MTPP_TRACES": str(FOLDER), "PYTHONPATH": str(ROOT)}
    subprocess.run([Path(sys.executable).parent / "pytest", *plugin, "-q"], cwd=ROOT, env=environment, check=True)


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
    parser.add_argument("--trace", action="store_true", help="record anew which tests run which lines")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
