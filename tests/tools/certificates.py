"""Record certificates of small random problems, and what each proves: ``python -m tests.tools.certificates``.

For each kind of certificate, problems are drawn one after the other; those are kept whose certificates take the checker
through branches that the certificates kept before do not. A certificate is recorded as it is found, with the largest
target that it proves, with a slightly larger one, and with fields changed at random. No more may be proved than brute
force has found. The record is for tests/solvers/proofs/test_recorded.py: no solver has to run there.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from types import FrameType
from typing import Any

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Copies
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.modules import ChainRelaxation
from mtpp_dsl.solvers.proofs.parts import SIDES, part_of
from mtpp_dsl.solvers.proving.leaf_search import find_leaves
from mtpp_dsl.solving.finding import find_method
from tests.batch_problems import random_batches
from tests.copies_brute import least_period
from tests.latency_cases import BESIDE, braided_problem, latency_problem
from tests.makespans import hubbed, makespan_problem
from tests.networks import random_problem as network_problem
from tests.order_problems import KINDS, ordered_problem
from tests.phases import phased_problem, random_case
from tests.row_problems import small_problem
from tests.solvers.methods.test_auto_parts import training
from tests.solvers.partition.test_copies_types import SHARES, with_types
from tests.solvers.partition.test_hierarchy import random_problem as hierarchical
from tests.solvers.proofs.test_halves import pipeline
from tests.solvers.proofs.test_recorded import RECORD
from tests.solvers.proofs.test_series import row_problem, shop_problem
from tests.split_problems import split_problem
from tests.staging import random_group_rules, random_groups, random_stages, random_streams
from tests.staging_mixed import random_mixed, random_spread
from tests.tight_memories import tight_problem
from tests.tree import ROOT
from tests.weighted_problems import random_problem as weighted_problem

FOLDER = str(ROOT / "solvers" / "proofs")
BELOW = 1 - 1e-9
SECONDS = 20.0
FEWEST = 8
"""Records of a kind; more are kept only where they take other branches."""

Source = Callable[[int], Problem]
Arcs = set[tuple[str, int, int]]
"""File, and two lines that follow each other."""
SPLITS: tuple[Source, ...] = (
    lambda seed: split_problem(seed, 5),
    lambda seed: tight_problem(seed, most=4, kinds=("shared", "host")),
    lambda seed: small_problem(seed, "bottleneck"),
    lambda seed: ordered_problem(seed, KINDS[seed % len(KINDS)], 4, 3),
)
OTHERS: tuple[Source, ...] = (weighted_problem, lambda seed: makespan_problem(seed, 4, 2))
NETWORKS: tuple[Source, ...] = (lambda seed: network_problem(random.Random(seed)), random_stages)
PHASES: tuple[Source, ...] = tuple(
    lambda seed, goal=goal: phased_problem(random_case(seed, n=4), goal)  # type: ignore[misc]
    for goal in ("separate", "worst", "latency", "soft")
)
GROUPS: tuple[Source, ...] = (
    random_groups,
    random_streams,
    random_group_rules,
    random_mixed,
    random_spread,
    lambda seed: hierarchical(seed, training=bool(seed % 2)),
)
SOURCES: dict[str, tuple[tuple[str, ...], tuple[Source, ...]]] = {
    "shares": (("simple",), (*SPLITS, *NETWORKS)),
    "cuts": (("node", "anchor"), SPLITS),
    "configuration": (("configuration",), SPLITS),
    "chain": (("configuration", "superblock"), SPLITS),
    "count": (("count",), SPLITS),
    "path-hull": (
        ("path-hull",),
        (
            latency_problem,
            lambda seed: latency_problem(seed, 8),
            lambda seed: braided_problem(BESIDE[seed % len(BESIDE)], 4),
        ),
    ),
    "routes": (("copies",), (lambda seed: with_types(random.Random(f"{seed}"), SHARES[seed % len(SHARES)]),)),
    "windows": (("interval", "critical-path"), (makespan_problem, lambda seed: small_problem(seed, "makespan"))),
    "batches": (("interval", "critical-path"), (random_batches,)),
    "ideals": (
        (),
        (*SPLITS, *NETWORKS, *OTHERS, *GROUPS, *PHASES),
    ),
    "halves": ((), (*SPLITS, lambda seed: pipeline(seed, 2))),
    "series": ((), (row_problem, shop_problem, lambda seed: makespan_problem(seed, 4, 2))),
    "anchors": ((), (hubbed, makespan_problem)),
    "parts": ((), (training,)),
    "leaves": ((), (*SPLITS, *OTHERS, lambda seed: small_problem(seed, "makespan"), random_batches)),
}
"""By the kind of the certificate: methods that find it, none where there is no such method, and problems."""


def main() -> int:
    """Record certificates."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.certificates")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each kind")
    parser.add_argument("--kinds", nargs="*", default=[*SOURCES])
    asked = parser.parse_args()
    old = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    lines = [line for line in old if json.loads(line)["kind"] not in asked.kinds]
    for kind in asked.kinds:
        records = [*recorded(kind, asked.seconds)]
        print(kind, len(records), sum(len(record["cases"]) for record in records), flush=True)
        lines += [json.dumps(record, sort_keys=True) for record in records]
    RECORD.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")
    return 0


def recorded(kind: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the records of one kind."""
    methods, sources = SOURCES[kind]
    end = time.process_time() + seconds
    taken: Arcs = set()
    seed = count = 0
    while time.process_time() < end:
        seed += 1
        try:
            spec = sources[seed % len(sources)](seed).to_spec()
            problem = mtpp_dsl.load(spec)
            least = optimum(problem) if not methods else None
        except MtppError:
            continue
        for data in certificates_of(kind, methods, problem, least):
            cases, arcs = [], Arcs()
            for changed in variants(kind, problem, data, random.Random(seed)):
                own = Arcs()
                value = proves(kind, problem, changed, own)
                if changed is data or "target" in data or not own <= taken | arcs:
                    cases.append([changed, value])
                arcs |= own
            if arcs <= taken and count >= FEWEST:
                continue
            best = optimum(problem)
            if best is None or best <= 0:
                continue
            assert all(value <= best * (1 + 1e-9) for _, value in cases), (kind, spec, cases, best)
            taken |= arcs
            count += 1
            yield {"kind": kind, "spec": spec, "optimum": best, "cases": cases}


def optimum(problem: Problem) -> float | None:
    """Return the least cost of any plan, by brute force."""
    if any(problem.of(Copies)):
        return least_period(problem)
    return min((cost_of(problem, plan) for plan in plans(problem)), default=None)


def certificates_of(
    kind: str, methods: tuple[str, ...], problem: Problem, best: float | None
) -> Iterator[Mapping[str, Any]]:
    """Yield the data of certificates of one kind; *best* is the optimum, where no method finds such certificates."""
    if not methods and not best:
        return
    if kind in ("ideals", "halves", "series"):
        yield {"target": float(best or 0.0) * BELOW}
    elif kind == "anchors":
        bound = ChainRelaxation(largest=0, cuts_alone=True).solve(problem, Limits(time=1.0), Progress()).bound
        if bound is not None and bound.certificate is not None:
            yield bound.certificate.data
    elif kind == "parts":
        yield from parts_of(problem)
    elif kind == "leaves":
        certificate = find_leaves(problem, float(best or 0.0) * BELOW, Limits(time=1.0))
        if certificate is not None:
            yield certificate.data
    for name in methods:
        method = find_method(name)
        if method.accepts(problem) is not None:
            continue
        bound = method.solve(problem, Limits(time=1.0, threads=1), Progress()).bound
        if bound is not None and bound.certificate is not None and bound.certificate.kind == kind:
            yield bound.certificate.data


def parts_of(problem: Problem) -> Iterator[Mapping[str, Any]]:
    """Yield certificates of both parts, with kinds that need a target alone."""
    if problem.objective.quantity != "sum of bottlenecks":
        return
    alone = {side: part_of(problem, backward=side == "backward") for side in SIDES}
    best = {side: optimum(part) for side, part in alone.items()}
    if None not in best.values():
        for kind in ("ideals", "halves"):
            yield {side: {"kind": kind, "target": float(cost or 0.0) * BELOW} for side, cost in best.items()}


def variants(kind: str, problem: Problem, data: Mapping[str, Any], rng: random.Random) -> Iterator[Mapping[str, Any]]:
    """Yield a certificate, and others that differ from it."""
    yield data
    if "target" in data:
        low, high = 0.0, 4.0 * data["target"]
        while high - low > 1e-7 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if proves(kind, problem, {**data, "target": middle}) else (low, middle)
        yield {**data, "target": low}
        yield {**data, "target": high}
    for _ in range(8):
        copy = deepcopy(dict(data))
        spots = [(holder, key) for holder, key in places(copy)]
        holder, key = rng.choice(spots)
        value = holder[key]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        others = [value + 1, value * 2, value / 2, 0, -1] if number else [None, "a", [], {}, 3]
        holder[key] = rng.choice([not value, None] if isinstance(value, bool) else others)
        yield copy


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where there is anything in nested data: what it is in, and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in [*items]:
        yield value, key
        yield from places(item)


def proves(kind: str, problem: Problem, data: Mapping[str, Any], arcs: Arcs | None = None) -> float:
    """Return what a certificate proves, 0 if it is refused; add the branches that the checker takes to *arcs*."""
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(FOLDER):
            return None
        if event in ("line", "return") and arcs is not None:
            arcs.add((path, last.get(id(frame), 0), frame.f_lineno))
            last[id(frame)] = frame.f_lineno
        return trace

    checker = registry.load(registry.PROOFS, kind)()
    before = sys.gettrace()
    if arcs is not None:
        sys.settrace(trace)
    try:
        return float(checker.prove(problem, data, Limits(time=60.0)))
    except MtppError:
        return 0.0
    finally:
        sys.settrace(before)


if __name__ == "__main__":
    sys.exit(main())
