"""Derive again what an answer says that no plan beats, or that there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core import registry
from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import BatchSizes, Constraint, Decision, Largest, PinChunks
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Checker, Method
from mtpp_dsl.core.errors import Refused, UsageError, VerificationError, did_you_mean
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, Certificate, relative_gap
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.certifying import ROUNDING, leaves_for, weights_for
from mtpp_dsl.solving.answers.part_proofs import parts_for

SECONDS, SEARCHED = 30.0, 0.05
"""What the check of a bound without a certificate may take in all; and the share of a long time limit that is more."""
WITHOUT_DATA = {
    "ideals": "going through all ideals",
    "halves": "minimum cuts that part the devices in two",
    "series": "searching the modules between cut nodes",
}
"""Kinds of proofs that need no more than a target, and what the checker does."""
SHARE = 0.5
"""Of the time that is left, for a proof after which others may prove as much."""
WEIGHTS_SHARE = 0.4
"""The same for a search of weights, whose check has half of the rest."""


@dataclass(frozen=True)
class BoundClaim:
    """What an answer says that no plan beats.

    Attributes:
        value: of the objective.
        cost: the bottleneck that this means.
        method: that found it.
        certificate: as it stands in the answer; None without one.
        plan: of the answer, if it has one.
    """

    value: float
    cost: float
    method: str
    certificate: Mapping[str, Any] | None
    plan: Plan | None = None

    @classmethod
    def of(cls, problem: Problem, data: object) -> BoundClaim | None:
        """Return the claim of a JSON answer of the right shape, None of one that makes none."""
        if not isinstance(data, Mapping) or not isinstance(bound := data.get("bound"), Mapping):
            return None
        value = bound["value"]
        if value is None:  # no limit to the throughput
            value = problem.objective.value(0.0)
        certificate = bound.get("certificate")
        cost = value if problem.objective.sense == "minimize" else problem.objective.value(value)
        plan = None if data.get("plan") is None else Plan.from_json(problem, data)
        return cls(value, cost, str(bound.get("method")), certificate, plan)


@dataclass(frozen=True)
class ProofFinding:
    """What became of a claim that nothing refutes.

    Attributes:
        proved: whether it was proved again.
        text: a sentence for the reader.
        certificate: the one that proves it, as JSON; None without one.
        cost: that is proved, where it is less than the claim: a millionth at most.
    """

    proved: bool
    text: str
    certificate: Mapping[str, Any] | None = None
    cost: float | None = None


def check_bound(problem: Problem, claim: BoundClaim, limits: Limits) -> ProofFinding:
    """Derive the bound again: from its certificate, or without one, as ``simple``, by ideals, cuts, modules or boxes.

    What is asked of one of several phases is proved of that phase alone, as it was found: plans and costs are the same.

    Raises:
        VerificationError: the certificate does not prove the bound.
        UsageError: there is no checker of its kind, or the time did not suffice.
    """
    value = format_quantity(claim.value, problem.objective.unit(problem.time_unit), decimal=problem.origin.decimal)
    problem = problem.in_one_phase or problem
    if claim.certificate is None:
        return _without_certificate(problem, claim, value, limits)
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
        proved = checker.prove(recognised(problem).problem, data, limits)
    except Refused as error:
        raise VerificationError(f"the bound {value} by {claim.method} is not proved: {error}") from None
    if not claim.cost <= proved * (1 + ROUNDING):
        shown = problem.objective.value(proved)
        raise VerificationError(f"the bound {value} by {claim.method} is not proved: its certificate proves {shown!r}")
    text = f"bound {value} by {claim.method}: re-checked from its certificate ({kind}), proved again here"
    return ProofFinding(True, text, claim.certificate)


def _without_certificate(problem: Problem, claim: BoundClaim, value: str, limits: Limits) -> ProofFinding:
    """Compute the bound again where ``simple``, ideals, cuts, modules, or boxes over all choices prove as much.

    All of it together takes half a minute at most, or a twentieth of a long time limit.

    Raises:
        VerificationError: the bound is said to be that of ``simple``, and is more.
    """
    left = limits.remaining
    limits = Limits(time=min(left, max(SECONDS, SEARCHED * left if left < inf else 0.0)))
    if claim.cost <= 0 and _never_negative(problem.objective):
        return ProofFinding(True, f"bound {value} by {claim.method}: proved, as no cost is negative")
    simple: Method = registry.load(registry.METHODS, "simple")()
    bound = None if simple.accepts(problem) is not None else simple.solve(problem, limits, Progress()).bound
    if bound is not None and claim.cost <= bound.cost * (1 + ROUNDING):
        return ProofFinding(
            True, f"bound {value} by {claim.method}: it has no certificate; proved again here by computing it"
        )
    if claim.method == "simple" and bound is not None:
        shown = repr(problem.objective.value(bound.cost))
        raise VerificationError(f"the bound {value} by simple is not proved: computed again, it is {shown}")
    certificate = parts_for(problem, claim.cost, Limits(time=SHARE * limits.remaining))
    if certificate is not None:
        text = f"bound {value} by {claim.method}: it has no certificate; proved again here by each part alone"
        return ProofFinding(True, text, certificate.to_json())
    for kind, how in WITHOUT_DATA.items():
        if _by_target_alone(kind, problem, claim, limits):
            text = f"bound {value} by {claim.method}: it has no certificate; proved again here by {how}"
            return ProofFinding(True, text, {"kind": kind, **_target(claim)})
    weighed = _optimal_by_weights(problem, claim, limits)
    if weighed is not None:
        text = (
            f"bound {value} by {claim.method}: it has no certificate; proved again here, up to a millionth, by weights"
        )
        return ProofFinding(True, text, weighed[0].to_json(), weighed[1])
    certificate = leaves_for(problem, claim.cost, Limits(time=limits.remaining))
    if certificate is not None:
        text = f"bound {value} by {claim.method}: it has no certificate; proved again here by going through all choices"
        return ProofFinding(True, text, certificate.to_json())
    text = f"bound {value} by {claim.method}: only claimed, not proved here: it has no certificate"
    if bound is not None and bound.cost > 0:
        least = problem.valued(bound.cost)
        text += f"; counting alone proves {least}"
    return ProofFinding(False, text)


def _never_negative(objective: Objective) -> bool:
    """Return whether no plan has a cost below zero."""
    if not objective.is_linear:
        return True
    return objective.sense == "minimize" and _no_less_than_zero(objective.terms, objective.constant)


def _no_less_than_zero(terms: Iterable[tuple[Decision, float]], constant: float) -> bool:
    """Return whether a sum of decisions is zero or more: the largest of several sums is if one of these is."""
    return constant >= 0 and all(
        factor >= 0
        and (not isinstance(decision, Largest) or any(_no_less_than_zero(*inner) for inner in decision.sums))
        for decision, factor in terms
    )


def _by_target_alone(kind: str, problem: Problem, claim: BoundClaim, limits: Limits) -> bool:
    """Return whether a checker that needs no more than a target proves the bound, in the time that there is."""
    checker: Checker = registry.load(registry.PROOFS, kind)()
    try:
        checker.prove(recognised(problem).problem, _target(claim), Limits(time=SHARE * limits.remaining))
    except (Refused, UsageError):
        return False
    return True


def _optimal_by_weights(problem: Problem, claim: BoundClaim, limits: Limits) -> tuple[Certificate, float] | None:
    """Return a certificate that the plan is optimal, as is claimed, up to rounding, and what it proves; or None."""
    if claim.plan is None or problem.later:
        return None
    cost = evaluate(problem, claim.plan).cost
    if relative_gap(cost, claim.cost) > OPTIMAL_GAP or claim.cost > cost * (1 + ROUNDING):
        return None
    bound = weights_for(problem, claim.plan, cost, WEIGHTS_SHARE * limits.remaining)
    if bound is None or bound.certificate is None:
        return None
    checker: Checker = registry.load(registry.PROOFS, bound.certificate.kind)()
    try:
        proved = checker.prove(problem, bound.certificate.data, Limits(time=SHARE * limits.remaining))
    except (Refused, UsageError):
        return None
    return (bound.certificate, proved) if relative_gap(cost, proved) <= OPTIMAL_GAP else None


def _target(claim: BoundClaim) -> dict[str, float]:
    """Return what a certificate of :data:`WITHOUT_DATA` holds."""
    return {"target": claim.cost * (1 - ROUNDING / 2)}


def check_infeasible(problem: Problem, clash: Sequence[str]) -> ProofFinding:
    """Show again by counting, where that is enough, that there is no plan; by the constraints that are named alone.

    Raises:
        VerificationError: the spec has no such constraint, or those named leave a plan as far as counting tells.
    """
    constraints: dict[str, list[Constraint]] = {}
    for constraint in problem.constraints:
        constraints.setdefault(_anywhere(str(constraint)), []).append(constraint)
    unknown = next((name for name in clash if _anywhere(name) not in constraints), None)
    if unknown is not None:
        raise VerificationError(f"infeasible.clash: {unknown!r:.80} is no constraint of the spec")
    if quick(problem) is None:
        return ProofFinding(False, "no plan exists: only claimed, not proved here: counting alone does not show it")
    named = [constraint for name in clash for constraint in constraints[_anywhere(name)]]
    sizes = [c for c in problem.constraints if isinstance(c, (BatchSizes, PinChunks)) and c not in named]
    infeasibility = quick(problem.with_constraints([*sizes, *named]))
    if infeasibility is None:
        raise VerificationError("infeasible.clash: these constraints alone do not exclude every plan")
    return ProofFinding(True, f"no plan exists: {infeasibility.reason}; shown again here, by counting")


def _anywhere(constraint: str) -> str:
    """Return a constraint as messages show it, without the folder of its place: specs move."""
    return re.sub(r"\((?:[^()]*[/\\])?([^()/\\]*:\d+)\)$", r"(\1)", constraint)
