"""Copies by brute force: every product of what devices may hold, and the best shares of the routes inside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Copies
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["best_mix", "least_period", "references"]

Assignment = tuple[int, ...]


@cache
def references() -> list[dict[str, Any]]:
    """Return the reference instances of the notes; skips the test where they are absent."""
    for folder in Path(__file__).resolve().parents:
        for place in (folder / "shared", folder.parent / "shared"):
            file = place / "prototypes" / "copies" / "references.json"
            if file.is_file():
                found: list[dict[str, Any]] = json.loads(file.read_text())
                return found
    pytest.skip("the reference instances of copies are not here")


def best_mix(load: list[list[float]]) -> float:
    """Return the least largest load of any shares of these rows of loads."""
    table = np.array(load).T
    size = float(table.max(initial=0.0)) or 1.0
    table = table / size
    k, m = table.shape
    found = linprog(
        [0.0] * m + [1.0],
        A_ub=np.hstack([table, -np.ones((k, 1))]),
        b_ub=np.zeros(k),
        A_eq=[[1.0] * m + [0.0]],
        b_eq=[1.0],
        method="highs",
    )
    return float(found.fun) * size


def least_period(problem: Problem) -> float | None:
    """Return the least cost of any plan under ``constraint copies``, or None where there is none."""
    rule = next(problem.of(Copies))
    n, k = problem.graph.n, problem.k
    single = problem.with_constraints([c for c in problem.constraints if not isinstance(c, Copies)])
    routes: dict[Assignment, list[float]] = {}
    for assignment in product(range(k), repeat=n):
        if not verify(single, Plan.create(single, assignment)):
            plain = evaluate(single, Plan.create(single, assignment))
            routes[assignment] = [*plain.load.tolist(), *plain.channels.tolist()]
    best: float | None = None
    for inside in _allowed(problem, rule, list(routes)):
        found = best_mix([routes[one] for one in inside])
        best = found if best is None else min(best, found)
    return best


def _allowed(problem: Problem, rule: Copies, routes: list[Assignment]) -> Iterator[list[Assignment]]:
    """Yield sets of routes that may share the inputs, all that matter."""
    n, k = problem.graph.n, problem.k
    if rule.share in ("pipelines", "stages"):
        # by what every device runs: None, or a set of nodes; pipelines and stages are kept by construction
        yield from (found for found in _by_sets(problem, rule, routes) if found)
        return
    room = problem.memory_limit * (1 + 1e-9)
    every = [frozenset(c) for size in range(n + 1) for c in combinations(range(n), size)]
    if rule.share == "ranges":
        every = [s for s in every if not s or max(s) - min(s) + 1 == len(s)]
    fit = [[s for s in every if sum(problem.graph.memory[list(s)]) <= room[d]] for d in range(k)]
    if rule.most >= k:
        fit = [[s for s in sets if not any(s < t for t in sets)] for sets in fit]
    for hold in product(*fit):
        if rule.most < k and any(sum(v in s for s in hold) > rule.most for v in range(n)):
            continue
        inside = [a for a in routes if all(v in hold[d] for v, d in enumerate(a))]
        if inside:
            yield inside


def _by_sets(problem: Problem, rule: Copies, routes: list[Assignment]) -> Iterator[list[Assignment]]:
    """Yield all routes with the same stages on different devices, or sets of routes without a common device."""
    k = problem.k
    if rule.share == "stages":
        by_stages: dict[frozenset[frozenset[int]], list[Assignment]] = {}
        for one in routes:
            cuts = frozenset(frozenset(v for v, e in enumerate(one) if e == d) for d in set(one))
            by_stages.setdefault(cuts, []).append(one)
        for cuts, found in by_stages.items():
            for runs in product([frozenset[int](), *cuts], repeat=k):
                inside = [a for a in found if all(v in runs[d] for v, d in enumerate(a))]
                if max((list(runs).count(s) for s in cuts), default=0) <= rule.most and inside:
                    yield inside
        return
    chosen: list[list[Assignment]] = [[]]
    for one in routes:
        chosen += [[*c, one] for c in chosen if len(c) < rule.most and all(not set(one) & set(o) for o in c)]
    yield from (c for c in chosen if c)


def shares(*given: str) -> list[Fraction]:
    """Return shares that are written as text."""
    return [Fraction(one) for one in given]
