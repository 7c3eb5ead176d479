"""The bound of an answer, derived again from its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import float_info
from typing import Any

from mtpp_dsl import registry
from mtpp_dsl.contracts import Checker, Limits
from mtpp_dsl.errors import Refused, UsageError, VerificationError, did_you_mean
from mtpp_dsl.problem import Problem
from mtpp_dsl.units import format_quantity

__all__ = ["Claim", "check_bound", "number"]

ROUNDING = 1e-9
"""Relative: values of objectives are written and read as decimals, some of them inverted."""


@dataclass(frozen=True)
class Claim:
    """What an answer says that no plan beats.

    Attributes:
        value: of the objective.
        cost: the bottleneck that this means.
        method: that found it.
        certificate: as it stands in the answer; None without one.
    """

    value: float
    cost: float
    method: str
    certificate: Mapping[str, Any] | None

    @classmethod
    def of(cls, problem: Problem, data: object) -> Claim | None:
        """Return the claim of a JSON answer, None of a file that makes none."""
        bound = data.get("bound") if isinstance(data, Mapping) else None
        if not isinstance(bound, Mapping):
            return None
        value = number(bound, "bound")
        if value is None:  # no limit to the throughput
            value = problem.objective.value(0.0)
        certificate = bound.get("certificate")
        if certificate is not None and not (
            isinstance(certificate, Mapping) and isinstance(certificate.get("kind"), str)
        ):
            raise UsageError("the certificate of the answer's bound is not an object with a 'kind'")
        cost = value if problem.objective.sense == "minimize" else problem.objective.value(value)
        return cls(value, cost, str(bound.get("method")), certificate)


def number(part: Mapping[str, Any], what: str) -> float | None:
    """Return the ``value`` of a part of an answer, None where it has none.

    Raises:
        UsageError: it is no number, or none that an answer can have.
    """
    value = part.get("value")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= float_info.max:
        raise UsageError(f"the {what} of the answer is {value!r:.40}, not a number")
    return float(value)


def check_bound(problem: Problem, claim: Claim, limits: Limits) -> str:
    """Derive the bound again; return what there is to say.

    Raises:
        VerificationError: the certificate does not prove the bound.
        UsageError: there is no checker of its kind, or the time did not suffice.
    """
    value = format_quantity(claim.value, problem.objective.unit(problem.time_unit))
    if claim.certificate is None:
        return f"bound {value} by {claim.method}: it has no certificate, and was not checked again"
    kind = str(claim.certificate["kind"])
    known = registry.available(registry.PROOFS)
    if kind not in known:
        raise UsageError(
            f"the bound {value} by {claim.method} was not checked: its certificate is of kind {kind!r:.40}, and no "
            f"checker is of that kind{did_you_mean(kind, known)} (there are: {', '.join(known)}); it may come from a "
            f"plug-in or from another version"
        )
    checker: Checker = registry.load(registry.PROOFS, kind)()
    data = {name: given for name, given in claim.certificate.items() if name != "kind"}
    try:
        proved = checker.prove(problem, data, limits)
    except Refused as error:
        raise VerificationError(f"the bound {value} by {claim.method} is not proved: {error}") from None
    if not claim.cost <= proved * (1 + ROUNDING):
        shown = problem.objective.value(proved)
        raise VerificationError(f"the bound {value} by {claim.method} is not proved: its certificate proves {shown!r}")
    return f"bound {value} by {claim.method}: re-checked from its certificate ({kind}), proved again"
