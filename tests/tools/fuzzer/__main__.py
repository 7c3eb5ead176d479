"""``python -m tests.tools.fuzzer FAMILY --count 3000 --seed 0``: random specs, answers, and what is wrong with them."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.tools.fuzzer.families import FAMILIES, make
from tests.tools.fuzzer.instance import Instance
from tests.tools.fuzzer.shrinking import shrunk
from tests.tools.fuzzer.trial import METHODS, QUICK, Trial, try_instance


def main() -> int:
    """Return the exit status: 1 where something was wrong."""
    options = arguments()
    failed = 0
    for family in options.family or list(FAMILIES):
        failed += run(family, options)
    return int(bool(failed))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.fuzzer", description=__doc__)
    parser.add_argument("family", nargs="*", help=f"{', '.join(FAMILIES)}; all of them if none is named")
    parser.add_argument("--count", type=int, default=100, help="instances of each family")
    parser.add_argument("--seed", type=int, default=0, help="of the first instance")
    parser.add_argument(
        "--method", action="append", help="of the project, with +SOLVER if wanted; all that fit if none"
    )
    parser.add_argument("--turns", type=int, default=0, help="methods for each instance, in turns; 0 for all")
    parser.add_argument("--seconds", type=float, default=1.0, help="time limit of each answer")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no instance of a family after these")
    parser.add_argument("--features", help="only instances that have all of these, such as 'replicate,groups'")
    parser.add_argument("--show", action="store_true", help="print every spec, solve nothing")
    options = parser.parse_args()
    unknown = set(options.family) - set(FAMILIES)
    if unknown:
        parser.error(f"there is no family {unknown.pop()}; there are {', '.join(FAMILIES)}")
    return options


def chosen(family: str, seed: int, turns: int) -> list[str]:
    """Return the methods of an instance: all, or some of the quick ones in turns."""
    if not turns:
        return list(METHODS[family])
    quick = QUICK[family]
    return list(dict.fromkeys(quick[(seed * turns + i) % len(quick)] for i in range(turns)))


def run(family: str, options: argparse.Namespace) -> int:
    """Try instances of a family, print what is wrong and a table; return the number of instances with failures."""
    wanted = set((options.features or "").replace(" ", "").split(",")) - {""}
    began, failed, seed, tried = time.process_time(), 0, options.seed, 0
    table: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    features: Counter[str] = Counter()
    until = time.monotonic() + 60 * options.minutes
    while tried < options.count and seed < options.seed + 1000 * options.count and time.monotonic() < until:
        inst = make(family, seed)
        seed += 1
        if not wanted <= {feature.replace(" ", "") for feature in inst.features}:
            continue
        tried += 1
        if options.show:
            show(inst)
            continue
        with TemporaryDirectory() as folder:
            methods = options.method or chosen(family, inst.seed, options.turns)
            trial = try_instance(inst, methods, Path(folder), options.seconds)
        features.update(inst.features)
        total["refused as a whole" if trial.unread else "feasible" if trial.best is not None else "infeasible"] += 1
        if trial.unread:
            print(f"{family} {inst.seed}: refused: {trial.unread.splitlines()[0]}", flush=True)
        for method, status in trial.answers.items():
            table.setdefault(method, Counter())[status] += 1
        for method in trial.refused:
            table.setdefault(method, Counter())["refused"] += 1
        failed += bool(trial.failures)
        complain(inst, trial, options.seconds)
    if not options.show:
        report(family, tried, total, table, features, failed, time.process_time() - began)
    return failed


def show(inst: Instance) -> None:
    """Print a spec with its files and definitions."""
    print(f"# {inst.family} {inst.seed}: {', '.join(sorted(inst.features))}")
    for name, text in inst.files.items():
        print(f"# file {name}\n{text.rstrip()}")
    print("# spec.mtpp " + " ".join(f"-D {name}='{value}'" for name, value in inst.defines.items()))
    print(inst.text)


def complain(inst: Instance, trial: Trial, seconds: float) -> None:
    """Print the failures of an instance, how to see them again, and a small text with the first of them."""
    for method, what in trial.failures:
        which = f" --method {method}" if method else ""
        print(f"WRONG {inst.family} {inst.seed} {method}: {what}")
        print(f"  again: python -m tests.tools.fuzzer {inst.family} --seed {inst.seed} --count 1{which}", flush=True)
    if not trial.failures:
        return
    method, what = trial.failures[0]

    def fails(other: Instance) -> bool:
        with TemporaryDirectory() as folder:
            found = try_instance(other, [method] if method else [], Path(folder), seconds).failures
        return any((one, said.split()[:3]) == (method, what.split()[:3]) for one, said in found)

    small = shrunk(inst, fails)
    if small is not None:
        print("# the same failure, made small:")
        print(small.text)
    show(inst)


def report(
    family: str,
    tried: int,
    total: Counter[str],
    table: dict[str, Counter[str]],
    features: Counter[str],
    failed: int,
    seconds: float,
) -> None:
    """Print what came of a family."""
    kinds = ("optimal", "feasible", "bound", "infeasible", "unknown", "refused")
    print(f"\n{family}: {tried} instances ({', '.join(f'{n} {what}' for what, n in sorted(total.items()))}), "
          f"{sum(sum(row.values()) - row['refused'] for row in table.values())} answers, {failed} wrong, "
          f"{seconds:.0f} s of this process")  # fmt: skip
    print(f"{'method':18}" + "".join(f"{kind:>11}" for kind in kinds))
    for method, row in table.items():
        print(f"{method:18}" + "".join(f"{row[kind] or '':>11}" for kind in kinds))
    print("features: " + ", ".join(f"{name} {count}" for name, count in features.most_common()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
