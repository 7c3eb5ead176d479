"""``python -m tests.tools.metamorphic --seed 0 --count 300``: relations between answers to random specs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.tools.metamorphic.answers import Answers
from tests.tools.metamorphic.claims import others
from tests.tools.metamorphic.families import FAMILIES, make
from tests.tools.metamorphic.relations import Trial
from tests.tools.metamorphic.trying import KEPT, RELATIONS, keep, smallest, wrong


def main() -> int:
    """Return the exit status: 1 where a relation did not hold."""
    options = arguments()
    state = Path(options.state) if options.state else None
    done = json.loads(state.read_text(encoding="utf-8")) if state and state.exists() else {}
    table, failed = Counter(done.get("table", {})), int(done.get("failed", 0))
    until = time.monotonic() + 60 * options.minutes
    for seed in range(int(done.get("next", options.seed)), options.seed + options.count):
        for family in options.family or list(FAMILIES):
            failed += tried(family, seed, options, table)
        if state:
            state.write_text(json.dumps({"next": seed + 1, "table": table, "failed": failed}), encoding="utf-8")
        if time.monotonic() > until:
            break
    report(table, failed)
    return int(bool(failed))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.metamorphic", description=__doc__)
    parser.add_argument("family", nargs="*", help=f"{', '.join(FAMILIES)}; all of them if none is named")
    parser.add_argument(
        "--relation", action="append", choices=list(RELATIONS), help="repeatable; some at random if none"
    )
    parser.add_argument("--relations", type=int, default=4, help="of all, so many are tried on each spec")
    parser.add_argument("--method", help="that answers; auto, or at times another one, if none")
    parser.add_argument("--count", type=int, default=20, help="specs of each family")
    parser.add_argument("--seed", type=int, default=0, help="of the first spec")
    parser.add_argument("--nodes", type=int, default=200, help="the largest number of nodes")
    parser.add_argument("--seconds", type=float, default=1.0, help="time limit of each answer")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no spec after these")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for making a failing spec small")
    parser.add_argument("--keep", default=str(KEPT), help="folder for specs that fail")
    parser.add_argument("--state", help="file to go on from, and to write how far this has come")
    parser.add_argument("--show", action="store_true", help="print every spec, try nothing")
    options = parser.parse_args()
    unknown = set(options.family) - set(FAMILIES)
    if unknown:
        parser.error(f"there is no family {unknown.pop()}; there are {', '.join(FAMILIES)}")
    return options


def tried(family: str, seed: int, options: argparse.Namespace, table: Counter[str]) -> int:
    """Try relations on one spec; print and keep what is wrong; return how many did not hold."""
    spec, draw, failed = make(family, seed, options.nodes), Random(f"{family} {seed}"), 0
    if options.show:
        print(f"# {family} {seed}\n{spec.text}")
        return 0
    answers = Answers(options.seconds)
    problem = answers.read(spec)
    if problem is None:
        table[f"{family}|refused"] += 1
        return 0
    method = options.method or "auto"
    if not options.method and draw.random() < 0.5:
        method = draw.choice(others(problem) or ["auto"])
    for relation in options.relation or draw.sample(list(RELATIONS), options.relations):
        trial = Trial(spec, method, answers, seed)
        findings = list(dict.fromkeys(wrong(relation, trial)))
        table[f"{family}|{relation}"] += 1
        for what in findings[:1]:
            failed += 1
            table[f"{family}|wrong"] += 1
            print(f"WRONG {family} {seed} {relation} {method}: {what}", flush=True)
            small = smallest(relation, trial, what, options.shrink)
            print(f"# {keep(relation, trial, small, what, Path(options.keep))}\n{small.text}", flush=True)
        for answer in answers.known.values():
            if answer.failed:
                return failed
    table[f"{family}|answers"] += len(answers.known)
    return failed


def report(table: Counter[str], failed: int) -> None:
    """Print how often each relation was tried on each family."""
    columns = [*RELATIONS, "answers", "refused", "wrong"]
    print(f"{'family':10}" + "".join(f"{name[:7]:>8}" for name in columns))
    for family in FAMILIES:
        print(f"{family:10}" + "".join(f"{table[f'{family}|{name}'] or '':>8}" for name in columns))
    checks = sum(table[f"{family}|{name}"] for family in FAMILIES for name in RELATIONS)
    print(f"{checks} checks, {failed} wrong")


if __name__ == "__main__":
    sys.exit(main())
