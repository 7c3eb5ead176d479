"""Record plans of small random problems, and what the checkers say: ``python -m tests.tools.recorded_plans``.

Problems of all sorts are drawn one after the other; those are kept whose plans take checkers and evaluation through
branches that the plans kept before do not. Plans are some of those that brute force yields, and the same with devices,
times and other fields changed. A cost is recorded only where the two ways to count it agree. The record is for
tests/checks/test_recorded_plans.py.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from math import isclose
from types import FrameType
from typing import Any

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.problem import Problem
from tests.batch_problems import random_batches
from tests.checks.test_recorded_plans import RECORD, judged
from tests.latency_cases import latency_problem
from tests.makespans import makespan_problem
from tests.networks import random_problem as network_problem
from tests.order_problems import KINDS, ordered_problem
from tests.phases import GOALS, phased_problem, random_case
from tests.repeats import random_repeats
from tests.robust_problems import random_robust
from tests.row_problems import small_problem
from tests.solvers.partition.test_copies_types import SHARES, with_types
from tests.solvers.partition.test_hierarchy import random_problem as hierarchical
from tests.split_problems import split_problem
from tests.staging import random_groups, random_stages, random_streams
from tests.staging_mixed import random_mixed, random_spread
from tests.tight_memories import tight_problem
from tests.tools.certificates import Arcs, places
from tests.tree import ROOT
from tests.weighted_problems import random_problem as weighted_problem

CHECKED = (
    "mtpp_dsl/checks/",
    "mtpp_dsl/core/plans/",
    "mtpp_dsl/core/problem/memory_limits",
    "mtpp_dsl/core/problem/wo",
)
PARTS = tuple(str(ROOT / part) for part in CHECKED)
DRAWN = 40
"""Of so many plans of a problem some are taken."""

SOURCES: dict[str, Callable[[int], Problem]] = {
    "split": lambda seed: split_problem(seed, 4),
    "memory": lambda seed: tight_problem(seed, most=4),
    "rows": lambda seed: small_problem(seed, "bottleneck"),
    "timed rows": lambda seed: small_problem(seed, "makespan"),
    "order": lambda seed: ordered_problem(seed, KINDS[seed % len(KINDS)], 4, 3),
    "weighted": weighted_problem,
    "makespan": lambda seed: makespan_problem(seed, 4, 2),
    "latency": latency_problem,
    "batch": random_batches,
    "network": lambda seed: network_problem(random.Random(seed)),
    "stages": random_stages,
    "groups": random_groups,
    "streams": random_streams,
    "mixed": random_mixed,
    "spread": random_spread,
    "hierarchy": lambda seed: hierarchical(seed, training=bool(seed % 2)),
    "copies": lambda seed: with_types(random.Random(f"{seed}"), SHARES[seed % len(SHARES)]),
    "phases": lambda seed: phased_problem(random_case(seed, 4, 2), sorted(GOALS)[seed % len(GOALS)]),
    "repeats": random_repeats,
    "robust": random_robust,
}


def main() -> int:
    """Record plans."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.recorded_plans")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each sort of problem")
    parser.add_argument("--fewest", type=int, default=3, help="records of each sort")
    asked = parser.parse_args()
    taken: Arcs = set()
    lines: list[str] = []
    for name, source in SOURCES.items():
        before = len(lines)
        end = time.process_time() + asked.seconds
        seed = 0
        while time.process_time() < end:
            seed += 1
            record = recorded(source, seed, taken, few=len(lines) - before < asked.fewest)
            lines += [] if record is None else [json.dumps({"of": name, **record}, sort_keys=True)]
        print(name, len(lines) - before, flush=True)
        RECORD.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0


def recorded(source: Callable[[int], Problem], seed: int, taken: Arcs, *, few: bool) -> dict[str, Any] | None:
    """Return the record of one problem; None if it takes no new branches and there are not *few* of its sort."""
    rng = random.Random(seed)
    try:
        spec = source(seed).to_spec()
        problem = mtpp_dsl.load(spec)
        drawn = [plan.to_json(problem) for plan in islice(plans(problem), DRAWN)]
    except MtppError:
        return None
    cases, arcs = [], Arcs()
    for plan in rng.sample(drawn, min(2, len(drawn))):
        for changed in variants(plan, rng):
            own = Arcs()
            verdict = traced(problem, changed, own)
            agreed = "costs" not in verdict or len(verdict["broken"]) > 0
            if not agreed:
                agreed = isclose(verdict["costs"][0], verdict["cost"], rel_tol=1e-9, abs_tol=1e-12)
                assert agreed, (spec, changed, verdict)
            if changed is plan or not own <= taken | arcs:
                cases.append([changed, verdict])
            arcs |= own
    if not cases or (arcs <= taken and not few):
        return None
    taken |= arcs
    return {"spec": spec, "cases": cases}


def variants(plan: dict[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield a plan as JSON, and others that differ from it in one or two fields."""
    yield plan
    for _ in range(10):
        copy = deepcopy(plan)
        for _ in range(rng.choice([1, 1, 2])):
            spots = [*places(copy)]
            holder, key = rng.choice(spots)
            value = holder[key]
            alike = [inner[other] for inner, other in spots if type(inner[other]) is type(value)]
            holder[key] = deepcopy(rng.choice(alike if rng.random() < 0.8 else [None, 0, 1, -1, "x", [], {}]))
        yield copy


def traced(problem: Problem, plan: dict[str, Any], arcs: Arcs) -> dict[str, Any]:
    """Return what checkers and evaluation say of a plan; add the branches that they take to *arcs*."""
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(PARTS):
            return None
        if event in ("line", "return"):
            arcs.add((path, last.get(id(frame), 0), frame.f_lineno))
            last[id(frame)] = frame.f_lineno
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return judged(problem, plan)
    finally:
        sys.settrace(before)


if __name__ == "__main__":
    sys.exit(main())
