"""``python -m tests.tools.asking FAMILY --count 300 --seed 0``: what is wrong with explanations of random specs."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.tools.asking.compared import compared
from tests.tools.asking.trial import asked
from tests.tools.fuzzer.families import FAMILIES


def main() -> int:
    """Return the exit status: 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.asking", description=__doc__)
    parser.add_argument("family", nargs="*", help=f"{', '.join(FAMILIES)}; all of them if none is named")
    parser.add_argument("--count", type=int, default=100, help="specs of each family")
    parser.add_argument("--seed", type=int, default=0, help="of the first spec")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of each explanation")
    parser.add_argument("--infeasible", action="store_true", help="only specs without a plan")
    parser.add_argument("--compare", action="store_true", help="compare plans with each other, and explain none")
    options = parser.parse_args()
    failed = 0
    for family in options.family or list(FAMILIES):
        tried: Counter[str] = Counter()
        began = time.process_time()
        for seed in range(options.seed, options.seed + options.count):
            found = (
                compared(family, seed, tried)
                if options.compare
                else asked(family, seed, options.seconds, tried, infeasible=options.infeasible)
            )
            for what in found:
                failed += 1
                print(f"WRONG {family} {seed}: {what}", flush=True)
        told = ", ".join(f"{what} {count}" for what, count in sorted(tried.items()))
        print(f"{family}: {options.count} specs, {time.process_time() - began:.0f} s: {told}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
