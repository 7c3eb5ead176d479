"""Prove the sum of the bottlenecks of both parts of a training graph again, each part alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Checker, Method
from mtpp_dsl.core.errors import Refused, SolverError, UsageError
from mtpp_dsl.core.plans.result import Bound, Certificate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.certifying import ROUNDING
from mtpp_dsl.solving.plugins import supervision

__all__ = ["parts_for"]

SHARES = {"forward": 0.4, "backward": 0.6}
"""Of the time that is left, for each part: half of it to search a bound, and the rest to prove that again."""
BY_TARGET = ("ideals", "halves")
"""Kinds of proofs of a bottleneck that need no more than a target."""


def parts_for(problem: Problem, cost: float, limits: Limits) -> Certificate | None:
    """Return a certificate that both parts, each solved alone, cost *cost* together, which is checked; or None."""
    if problem.objective.quantity != "sum of bottlenecks":
        return None
    part_of = registry.built_in("mtpp_dsl.solvers.proofs.parts:part_of")
    given: dict[str, Any] = {}
    total = 0.0
    for side, share in SHARES.items():
        try:
            part: Problem = part_of(problem, backward=side == "backward")
        except Refused:
            return None
        own = Limits(time=share * limits.remaining)
        proved = _certificate(part, own)
        if proved is None:
            return None
        given[side] = proved[0]
        total += proved[1]
    return Certificate("parts", given) if cost <= total * (1 + ROUNDING) else None


def _certificate(part: Problem, limits: Limits) -> tuple[Mapping[str, Any], float] | None:
    """Return a certificate of the bottleneck of a part, and what it proves; None where none is found in time."""
    method: Method = registry.load(registry.METHODS, "auto")()
    try:
        bound = supervision.run(method, part, Limits(time=limits.remaining / 2), Progress()).bound
    except (Refused, SolverError):
        return None
    for certificate in _possible(bound):
        checker: Checker = registry.load(registry.PROOFS, str(certificate["kind"]))()
        own = {name: value for name, value in certificate.items() if name != "kind"}
        try:
            return certificate, checker.prove(part, own, Limits(time=limits.remaining))
        except (Refused, UsageError):
            continue
    return None


def _possible(bound: Bound | None) -> list[Mapping[str, Any]]:
    """Return what may prove a bound again."""
    if bound is None:
        return []
    if bound.certificate is not None:
        return [bound.certificate.to_json()]
    return [{"kind": kind, "target": bound.cost * (1 - ROUNDING / 2)} for kind in BY_TARGET]
