"""Answers to the same problem that cannot both be true."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.tables.statistics import Floats

TOLERANCE = 1e-5
"""Relative: solvers end within 1e-6 by their own tolerances, so that two of them may differ by a little more."""


@dataclass(frozen=True)
class Contradiction:
    """Two answers of which one must be wrong: *plan* has a plan that *proof* says cannot be."""

    plan: RunRow
    proof: RunRow

    @property
    def shown(self) -> str:
        """What the two say, for people."""
        plan, proof = self.plan, self.proof
        claim = "proves that there is no plan"
        if proof.bound is not None and proof.status != "infeasible":
            claim = f"has a bound of {format_quantity(proof.bound, proof.unit)}"
        value = format_quantity(plan.value or 0.0, plan.unit)
        return f"{run_shown(plan)} has a plan of {value}, and {run_shown(proof)} {claim}"


def run_shown(row: RunRow) -> str:
    """Return which run a row is of, for people."""
    params = ", ".join(f"{name}={value}" for name, value in row.params.items())
    parts = [f"{row.label}, {row.solver}" if row.solver else row.label, "on", row.problem]
    parts += [f"({params})"] if params and params not in row.problem else []
    parts += [row.scenario] if row.scenario else []
    return " ".join([*parts, f"seed {row.seed}"])


def contradictions(rows: Iterable[RunRow]) -> list[Contradiction]:
    """Return, for each problem that has one, a plan that is better than a bound, or where there is proven to be none.

    A problem is known by the hash of its spec, its params and its scenario; who solved it, and how, does not matter.
    """
    by_problem: dict[tuple[str, ...], list[RunRow]] = {}
    for row in rows:
        params = json.dumps(row.params, sort_keys=True, default=str)
        by_problem.setdefault((row.spec_sha256, params, row.scenario), []).append(row)
    candidates = (_contradiction(group) for group in by_problem.values())
    return [contradiction for contradiction in candidates if contradiction is not None]


def _contradiction(rows: Sequence[RunRow]) -> Contradiction | None:
    plans = [row for row in rows if row.value is not None]
    for proof in rows:
        if plans and proof.status == "infeasible":
            return Contradiction(plans[0], proof)
    for sign, sense in ((1.0, "minimize"), (-1.0, "maximize")):
        values = [row for row in plans if row.sense == sense]
        bounds = [row for row in rows if row.bound is not None and row.sense == sense]
        if not values or not bounds:
            continue
        best = min(values, key=lambda row: sign * float(row.value or 0.0))
        proof = max(bounds, key=lambda row: sign * float(row.bound or 0.0))
        value, bound = float(best.value or 0.0), float(proof.bound or 0.0)
        if beaten(bound, value, sign):
            return Contradiction(best, proof)
    return None


def beaten(bound: float | Floats, value: float | Floats, sign: float | Floats) -> Any:
    """Return whether a plan's value is better than a bound, by more than the tolerances of solvers; of arrays, where.

    Args:
        bound: no plan is said to be better.
        value: of a plan.
        sign: 1 where less is better, -1 where more is.
    """
    return sign * (bound - value) > TOLERANCE * np.maximum(np.abs(value), np.abs(bound))
