"""Verify one answer for ``mtpp verify``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtpp_dsl.checks.stage_check import broken_groups
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.cli.arguments import key_values
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.again import path_of
from mtpp_dsl.solving.answers.claims import false_claims, false_source
from mtpp_dsl.solving.answers.plans import false_plan
from mtpp_dsl.solving.answers.proofs import BoundClaim, ProofFinding, check_bound, check_infeasible

__all__ = ["Examined", "examine", "print_wrong"]

MAX_SHOWN = 20
"""Faults of one answer that are told."""


@dataclass
class Examined:
    """What was found of an answer, or of a plan alone.

    Attributes:
        plan: that it has; None without one.
        broken: constraints that the plan breaks.
        wrong: what the answer says that is not so.
        findings: what could be proved again.
    """

    plan: Plan | None = None
    broken: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    findings: list[ProofFinding] = field(default_factory=list)


def examine(
    problem: Problem,
    data: Any,
    answer: Mapping[str, Any] | None,
    spec: Path,
    define: list[str],
    limits: Limits,
    *,
    in_front: bool = False,
) -> Examined:
    """Check an answer, or a plan alone, against a problem.

    Args:
        problem: what is asked, with the params of the answer.
        data: the JSON that the plan is read from.
        answer: the same, if it is an answer, of the right shape.
        spec: the file of the problem.
        define: values of params as given.
        limits: of the time that certificates may take.
        in_front: whether it is a point of a front.

    Raises:
        UsageError: it holds no plan that can be read, and nothing else is wrong with it.
    """
    found = Examined()
    if answer is not None:
        found.wrong += [*_contradicted(problem, answer, define, spec), *false_source(problem, answer["spec"])]
    try:
        found.plan = None if answer is not None and answer["plan"] is None else Plan.from_json(problem, data)
    except UsageError as error:
        if not found.wrong:
            raise
        found.wrong.append(str(error))
        return found
    found.broken = [] if found.plan is None else [str(violation) for violation in verify(problem, found.plan)]
    if answer is not None and not (
        found.plan is not None and found.plan.shards and any(broken_groups(problem, found.plan))
    ):
        found.wrong += false_claims(problem, answer, found.plan, in_front=in_front)  # of devices in no groups: no costs
        found.wrong += false_plan(problem, found.plan, answer) if not found.broken else ()
    if not found.broken and not found.wrong and answer is not None:
        try:
            found.findings += _proofs(problem, answer, limits)
        except VerificationError as error:
            found.wrong.append(str(error))
    return found


def _contradicted(problem: Problem, answer: Mapping[str, Any], define: list[str], spec: Path) -> Iterator[str]:
    """Yield the params that ``-D`` gives another value than the answer has."""
    here = problem.origin.params
    for name in key_values(define, "-D"):
        said = answer["spec"]["params"].get(name)
        same = said == here[name] and isinstance(said, bool) == isinstance(here[name], bool)
        where = path_of(said, answer["spec"]["path"], spec)
        if not same and where is not None and where.exists():
            same = where.resolve() == Path(str(here[name])).resolve()
        if not same:
            yield f"spec.params: {name} is {said!r} in the answer, and -D says {here[name]!r}"


def _proofs(problem: Problem, answer: Mapping[str, Any], limits: Limits) -> Iterator[ProofFinding]:
    """Yield what could be proved again of the bound, or of there being no plan."""
    claim = BoundClaim.of(problem, answer)
    if claim is not None:
        yield check_bound(problem, claim, limits)
    if answer["infeasible"] is not None:
        yield check_infeasible(problem, answer["infeasible"]["clash"])


def print_wrong(head: str, wrong: list[str]) -> None:
    """Print what is wrong with an answer, one line each, below a heading; of very many the first."""
    more = [f"… and {len(wrong) - MAX_SHOWN} more"] if len(wrong) > MAX_SHOWN else []
    say("\n".join([head, *(f"  {message}" for message in [*wrong[:MAX_SHOWN], *more])]))
