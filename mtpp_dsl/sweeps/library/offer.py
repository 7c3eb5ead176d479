"""An answer that is offered to a library, and what it makes of the record of its problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.plans.result import OPTIMAL_GAP
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.judging import JudgedBound, JudgedPlan, graph_sha256, judged_bound, judged_plan
from mtpp_dsl.sweeps.library.record import PROOFS, BestKnown
from mtpp_dsl.sweeps.library.store import Finder, RecordChange

__all__ = ["Offer"]

_OF_PROBLEM = (
    *("group", "nodes", "edges", "devices", "objective", "sense", "unit"),
    *("spec_sha256", "graph_sha256"),
)


@dataclass(frozen=True)
class Offer:
    """An answer that was checked from scratch, before it is compared with a record.

    Attributes:
        base: a record of the problem alone: its size and its hashes.
        plan: what its plan is worth; None without one.
        bound: its bound; None without one.
    """

    base: BestKnown
    plan: JudgedPlan | None
    bound: JudgedBound | None

    @classmethod
    def of(cls, problem: Problem, record: BestKnown, answer: Mapping[str, Any], *, proofs: bool = True) -> Offer:
        """Check an answer, and return what it is worth.

        Args:
            problem: what is asked.
            record: the name, the group and the hash of the spec.
            answer: JSON of ``mtpp solve --json``, or a plan alone.
            proofs: whether bounds without a certificate count: those that a method here has just found do, those of
                somebody else's file do not.

        Raises:
            VerificationError: plan, value or certificate are not what the answer says.
        """
        objective = problem.objective
        base = replace(
            record,
            nodes=problem.graph.n,
            edges=problem.graph.m,
            devices=problem.k,
            objective=objective.called,
            sense=objective.sense,
            unit=objective.unit(problem.time_unit),
            graph_sha256=graph_sha256(problem),
        )
        bound = judged_bound(problem, answer) if isinstance(answer.get("bound"), Mapping) else None
        if bound is not None and not proofs and bound.proof != "certificate":
            bound = None
        return cls(base, judged_plan(problem, answer), bound)

    def against(self, record: BestKnown, found: Finder) -> RecordChange:
        """Return what the offer makes of a record.

        Raises:
            VerificationError: a bound, of the record or of the offer, is better than a plan, of either of them.
        """
        base = self.base
        if record.spec_sha256 not in ("", base.spec_sha256):  # the problem has changed: what was known is of another
            record = BestKnown(record.name)
        after = replace(record, **{name: getattr(base, name) for name in _OF_PROBLEM})
        self._check(after)
        plan = certificate = None
        if self.plan is not None and _better(after, self.plan):
            plan = self.plan.text
            after = replace(
                after,
                value=self.plan.value,
                later=_joined(self.plan.later),
                plan_sha256=files.sha256_of(plan),
                **{f"found_{name}": value for name, value in vars(found).items()},
            )
        if self.bound is not None and _raised(after, self.bound):
            certificate = self.bound.certificate
            after = replace(
                after,
                bound=self.bound.value,
                proof=self.bound.proof,
                certificate_sha256=files.sha256_of(certificate) if certificate else "",
                bound_by=_by(found, self.bound),
                **{f"bound_{name}": value for name, value in vars(found).items() if name != "by"},
            )
        return RecordChange(record, _settled(after), plan, certificate)

    def _check(self, record: BestKnown) -> None:
        """Raise a VerificationError where a bound and a value contradict each other."""
        size = 0.0 if self.plan is None else self.plan.size
        values = {"the offer": None if self.plan is None else self.plan.value, "the record": record.value}
        bounds = {"the offer": None if self.bound is None else self.bound.value, "the record": record.bound}
        for whose, value in values.items():
            for other, bound in bounds.items():
                if value is not None and bound is not None and record.crossed(value, bound, size):
                    raise VerificationError(
                        f"{record.name}: the plan of {whose} has {value!r}, and the bound of {other} says that none is "
                        f"better than {bound!r}"
                    )


def _better(record: BestKnown, plan: JudgedPlan) -> bool:
    """Return whether a plan is better than the record's: by its objectives in their order."""
    if record.value is None or not plan.later:
        return record.beats(plan.value, record.value)
    close = OPTIMAL_GAP * max(abs(plan.value), abs(record.value))
    if abs(plan.value - record.value) > close:
        return record.beats(plan.value, record.value)
    known = [float(part) for part in record.later.split(";") if part]
    if len(known) != len(plan.later):
        raise UsageError(
            f"{record.name}: the record has {len(known)} further objectives, and the spec {len(plan.later)}"
        )
    for new, old, sign in zip(plan.later, known, plan.signs, strict=True):
        if abs(new - old) > OPTIMAL_GAP * max(abs(new), abs(old)):
            return sign * new < sign * old
    return False


def _raised(record: BestKnown, bound: JudgedBound) -> bool:
    """Return whether a bound says more than the record's, or as much and is better founded."""
    if record.bound is None or record.raises(bound.value, record.bound):
        return True
    firmer = not record.proof or PROOFS.index(bound.proof) > PROOFS.index(record.proof)
    return firmer and not record.raises(record.bound, bound.value)


def _by(found: Finder, bound: JudgedBound) -> str:
    """Return who found a bound: the method, and in brackets what it was run by, and whose word it rests on."""
    by = bound.method if bound.method == found.by else f"{bound.method} (in {found.by})"
    return f"{by}, on the word of {bound.by}" if bound.proof == "trusted" and bound.by else by


def _settled(record: BestKnown) -> BestKnown:
    """Return a record whose bound is not beyond its value, by which it may be within solvers' tolerances."""
    if record.value is not None and record.bound is not None and record.crossed(record.value, record.bound, share=0.0):
        return replace(record, bound=record.value)
    return record


def _joined(values: tuple[float, ...]) -> str:
    return ";".join(repr(value) for value in values)
