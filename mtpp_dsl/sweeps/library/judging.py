"""Judge an answer from scratch: its plan by the independent checks, its bound from its certificate."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import costs_of, size_of, verify
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound, check_infeasible
from mtpp_dsl.sweeps.library.files import text_of, text_of_plan

CLOSE = 1e-9
"""Relative: sums of the same numbers in another order."""
PROOF_SECONDS = 20.0
"""What checking a certificate may take; one that takes longer is not stored."""
_BITS = 2.0**30


@dataclass(frozen=True)
class JudgedPlan:
    """A plan that keeps every constraint, and what it is worth.

    Attributes:
        value: of the first objective, counted again.
        later: values of the others, in their order.
        signs: of these, 1 for one that is minimised, -1 for one that is maximised.
        size: the largest term of the value, where it is a sum.
        text: the plan as it is stored.
    """

    value: float
    later: tuple[float, ...]
    signs: tuple[int, ...]
    size: float
    text: str


@dataclass(frozen=True)
class JudgedBound:
    """A bound, and how well it is founded.

    Attributes:
        value: of the first objective, that no plan can beat; infinite where there is no plan.
        method: that found it.
        proof: "certificate" if it was proved again here, else "checked" or "trusted", as the answer says.
        by: the solver or the algorithm, with its version, as the answer says.
        certificate: the text of its certificate; "" where it has none, or one that takes too long to check.
    """

    value: float
    method: str
    proof: str
    by: str
    certificate: str


def judged_plan(problem: Problem, answer: Mapping[str, Any]) -> JudgedPlan | None:
    """Return what the plan of an answer, or a plan alone, is worth; None of an answer without one.

    Raises:
        VerificationError: the plan breaks a constraint, or does not have the value that the answer says.
        UsageError: it is no plan of this problem.
    """
    if "plan" in answer and answer["plan"] is None:
        return None
    plan = Plan.from_json(problem, answer)
    value, later, size = value_of(problem, plan)
    objective = answer.get("objective")
    claimed = objective.get("value") if isinstance(objective, Mapping) else None
    if not isinstance(claimed, (int, float, type(None))):
        raise UsageError(f"the answer says that its plan has {claimed!r:.40}, which is no number")
    if claimed is not None and abs(claimed - value) > CLOSE * max(abs(value), size):
        raise VerificationError(f"the answer says {claimed!r}, and its plan has {value!r}")
    data = answer["plan"] if "plan" in answer and not isinstance(answer["plan"], str) else answer
    if not isinstance(data.get("assignment"), Mapping):  # a bare {node: device}, or a split by lists
        data = plan.to_json(problem)
    signs = tuple(-1 if objective.sense == "maximize" else 1 for objective in problem.objectives[1:])
    return JudgedPlan(value, later, signs, size, text_of_plan(problem, data))


def value_of(problem: Problem, plan: Plan) -> tuple[float, tuple[float, ...], float]:
    """Return the values of a plan's objectives, the first and the others, and the largest term of the first.

    Raises:
        VerificationError: the plan breaks a constraint.
    """
    broken = verify(problem, plan)
    if broken:
        violations = "\n".join(f"  {violation}" for violation in broken[:5])
        raise VerificationError(f"the plan breaks a constraint:\n{violations}")
    values = [
        objective.value(cost) for objective, cost in zip(problem.objectives, costs_of(problem, plan), strict=True)
    ]
    return values[0], tuple(values[1:]), size_of(problem, plan)


def judged_bound(
    problem: Problem, answer: Mapping[str, Any], seconds: float | None = PROOF_SECONDS
) -> JudgedBound | None:
    """Return the bound of an answer, proved again if it carries a certificate; None of an answer without one.

    Of an answer that there is no plan it is infinite: "checked" if counting shows it again.

    Args:
        problem: what is asked.
        answer: JSON of ``mtpp solve --json``.
        seconds: that checking the certificate may take; None for any time.

    Raises:
        VerificationError: the certificate does not prove the bound.
    """
    if isinstance(answer.get("infeasible"), Mapping):
        return _no_plan(problem, answer)
    claim = BoundClaim.of(problem, answer)
    if claim is None or not isfinite(claim.value):  # a throughput without a limit: nothing is known
        return None
    bound = answer["bound"]
    proof, certificate = ("checked" if bound.get("proof") == "checked" else "trusted"), ""
    try:
        if claim.certificate is not None or claim.method == "simple":
            finding = check_bound(problem, claim, Limits(time=seconds))
            if finding.proved and claim.certificate is not None:
                proof, certificate = "certificate", text_of(claim.certificate)
    except VerificationError:
        raise
    except UsageError:  # the time did not suffice: neither proved nor refuted
        pass
    return JudgedBound(claim.value, visible(claim.method), proof, visible(str(bound.get("by") or "")), certificate)


def _no_plan(problem: Problem, answer: Mapping[str, Any]) -> JudgedBound:
    """Return what an answer says that there is no plan of."""
    proved = check_infeasible(problem, tuple(map(str, answer["infeasible"].get("clash") or ()))).proved
    value = inf if problem.objective.sense == "minimize" else -inf
    by = str(answer.get("solver") or "")
    return JudgedBound(value, visible(str(answer.get("method"))), "checked" if proved else "trusted", visible(by), "")


def graph_sha256(problem: Problem) -> str:
    """Return a hash of the graph and its times: it changes if a generator makes another graph of the same parameters.

    Of nodes it has names, sizes and the time on each device; of numbers some nine digits, so that the last ones, in
    which platforms may differ, do not count.
    """
    graph, hashing = problem.graph, hashlib.sha256()
    hashing.update("\n".join(graph.names).encode())
    for numbers in (graph.tails, graph.heads):
        hashing.update(np.ascontiguousarray(numbers, "<i8").tobytes())
    for costs in (graph.output, graph.params, graph.memory, problem.time):
        hashing.update(_rounded(np.asarray(costs, float)))
    return hashing.hexdigest()


def _rounded(costs: np.ndarray[Any, np.dtype[np.float64]]) -> bytes:
    """Return nine digits or so of each number, as bytes that do not depend on the platform."""
    finite = np.isfinite(costs)
    part, power = np.frexp(np.where(finite, costs, 0.0))
    return (np.round(part * _BITS).astype("<i8") * np.where(finite, 1, 0) + np.where(finite, 0, 2**40)).astype(
        "<i8"
    ).tobytes() + power.astype("<i4").tobytes()
