"""Improving a library: answers of runs, and of others, that are better than what is known take its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isinf
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import MtppError, UsageError, VerificationError
from mtpp_dsl.core.plans.result import OPTIMAL_GAP
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.collection import Library, spec_sha256
from mtpp_dsl.sweeps.library.judging import JudgedBound, JudgedPlan, graph_sha256, judged_bound, judged_plan
from mtpp_dsl.sweeps.library.record import PROOFS, BestKnown
from mtpp_dsl.sweeps.library.store import Finder, RecordChange
from mtpp_dsl.sweeps.store.outcome import WRONG_ANSWER, RunOutcome
from mtpp_dsl.sweeps.store.store import Store

__all__ = ["Improver", "Offer", "offered"]

EVIDENCE = "evidence"
"""Folder of a library for answers that contradict what is known: never to be committed, always to be reported."""


_OF_PROBLEM = (
    *("group", "nodes", "edges", "devices", "objective", "sense", "unit"),
    *("spec_sha256", "graph_sha256"),
)


def offered(
    library: Library, name: str, answer: Mapping[str, Any], finder: Finder, *, proofs: bool = True
) -> RecordChange:
    """Check an answer to a problem of a library from scratch, and write what is better of it.

    Args:
        library: that the problem is in.
        name: of the problem.
        answer: JSON of ``mtpp solve --json``, or a plan alone.
        finder: who found it.
        proofs: whether a bound without a certificate counts.

    Raises:
        VerificationError: the answer is wrong, or contradicts what is known.
        UsageError: the problem or the library cannot be read, or the library cannot be written.
    """
    run = library.runs[name]
    base = BestKnown(name, group=run.group, spec_sha256=spec_sha256(run))
    offer = Offer.of(library.problem(name), base, answer, proofs=proofs)
    return library.records.take(name, lambda record: offer.against(record, finder))


@dataclass
class Improver:
    """A watcher of a sweep that offers each outcome to a library.

    Attributes:
        library: that is improved.
        say: is called with a line for each record that has become better, and for each answer that is wrong.
        watcher: is called with runs, too: what shows their progress.
        better: names of problems whose record has become better.
        wrong: what contradicted itself or what is known; each is a bug.
    """

    library: Library
    say: Callable[[str], None]
    watcher: Any = None
    better: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def began(self, run: Run) -> None:
        """Hear that a worker has taken a run."""
        if self.watcher is not None:
            self.watcher.began(run)

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Hear the result of a run, and offer it."""
        if self.watcher is not None:
            self.watcher.ended(run, outcome)
        if outcome.status == "error" and outcome.error.startswith(WRONG_ANSWER):
            self._report(run, outcome.error, None)
        bound = inf if outcome.status == "infeasible" else outcome.bound
        if outcome.answer is not None and self.promises(run.problem, outcome.value, bound):
            self.offer(run, outcome.answer, outcome)

    def promises(self, name: str, value: float | None, bound: float | None) -> bool:
        """Return whether an answer with these figures may be better than what is known, or contradicts it."""
        record = self.library.records.read().get(name, BestKnown(name))
        if value is not None and (record.value is None or record.beats(value, record.value)):
            return True
        if value is not None and record.later and not record.beats(record.value or value, value):
            return True
        if bound is None:
            return False
        if isinf(bound):
            return record.status != "infeasible"
        return record.bound is None or record.raises(bound, record.bound) or record.proof == "trusted"

    def harvest(self, store: Store, runs: Sequence[Run]) -> None:
        """Offer what a database already holds of *runs*: a process that was killed may not have done so."""
        by_key = {run.key: run for run in runs}
        columns = store.columns(["key", "status", "value", "bound", "seconds", "ended", "versions"])
        for key, status, value, bound, seconds, ended, versions in zip(*columns.values(), strict=True):
            run, bound = by_key.get(key), inf if status == "infeasible" else bound
            answer = store.answer(key) if run is not None and self.promises(run.problem, value, bound) else None
            if run is not None and answer is not None:
                self.offer(run, answer, RunOutcome("feasible", seconds=seconds, ended=ended, versions=versions))

    def offer(self, run: Run, answer: str, outcome: RunOutcome) -> None:
        """Offer the answer of a run."""
        data = json.loads(answer)
        solver = data.get("solver")
        finder = Finder(
            f"{run.label} ({solver})" if solver else run.label,
            version=outcome.versions.get("mtpp-dsl", ""),
            seed=run.seed,
            seconds=None if outcome.seconds is None else round(outcome.seconds, 2),
            date=outcome.ended[:10],
        )
        try:
            change = offered(self.library, run.problem, data, finder)
        except VerificationError as error:
            self._report(run, str(error), answer)
            return
        except MtppError as error:
            self.say(f"{run.problem}: {error}")
            return
        if change.better:
            self.better.add(run.problem)
            self.say(sentence_of(change))

    def _report(self, run: Run, error: str, answer: str | None) -> None:
        """Keep the evidence of an answer that is wrong, and say so."""
        folder = self.library.records.folder / EVIDENCE
        place = ""
        if answer is not None:
            folder.mkdir(exist_ok=True)
            path = Path(folder / f"{run.problem}-{run.key[:12]}.json")
            write_text(path, answer)
            place = f"; the answer is in {path}"
        line = f"{run.problem} by {run.label}: {error}{place}"
        self.wrong.append(line)
        self.say(f"WRONG: {line}")


def sentence_of(change: RecordChange) -> str:
    """Return a line about what has become better."""
    before, after = change.before, change.after
    parts = []
    if change.plan is not None:
        parts.append(f"value {_step(before.value, after.value, after.unit)} by {after.found_by}")
    if change.certificate is not None:
        step = "no plan" if after.status == "infeasible" else f"bound {_step(before.bound, after.bound, after.unit)}"
        parts.append(f"{step} by {after.bound_by}, {after.proof}")
    gap = "" if after.gap is None else f"; gap {100 * after.gap:.3g} %"
    return f"{after.name}: {', '.join(parts)}{gap}"


def _step(before: float | None, after: float | None, unit: str) -> str:
    """Return two values with their unit; in base units with nine digits where five show no difference."""
    shown = ["none" if value is None else format_quantity(value, unit) for value in (before, after)]
    if shown[0] == shown[1]:
        shown = ["none" if value is None else f"{value:.9g} {unit}".rstrip() for value in (before, after)]
    return " -> ".join(shown)


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
        claims = any(isinstance(answer.get(part), Mapping) for part in ("bound", "infeasible"))
        bound = judged_bound(problem, answer) if claims else None
        if bound is not None and not proofs and bound.proof != "certificate":
            bound = None
        return cls(base, judged_plan(problem, answer), bound)

    def against(self, record: BestKnown, finder: Finder) -> RecordChange:
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
                **{f"found_{name}": value for name, value in vars(finder).items()},
            )
        if self.bound is not None and _raised(after, self.bound):
            certificate = self.bound.certificate
            after = replace(
                after,
                bound=self.bound.value,
                proof=self.bound.proof,
                certificate_sha256=files.sha256_of(certificate) if certificate else "",
                bound_by=_by(finder, self.bound),
                **{f"bound_{name}": value for name, value in vars(finder).items() if name != "by"},
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
    """Return whether a bound says more than the record's, or as much and is better founded.

    Where either shows that the plan is optimal, the better founded one says as much.
    """
    if record.bound is None or not record.proof:
        return record.bound is None or not record.raises(record.bound, bound.value)
    firmer = PROOFS.index(bound.proof) - PROOFS.index(record.proof)
    if firmer and record.status == replace(record, bound=bound.value).status == "optimal":
        return firmer > 0
    return record.raises(bound.value, record.bound) or (firmer > 0 and not record.raises(record.bound, bound.value))


def _by(finder: Finder, bound: JudgedBound) -> str:
    """Return who found a bound: the method, and in brackets what it was run by, and whose word it rests on."""
    by = bound.method if bound.method == finder.by else f"{bound.method} (in {finder.by})"
    return f"{by}, on the word of {bound.by}" if bound.proof == "trusted" and bound.by else by


def _settled(record: BestKnown) -> BestKnown:
    """Return a record whose bound is not beyond its value, by which it may be within solvers' tolerances."""
    if record.value is not None and record.bound is not None and record.crossed(record.value, record.bound, share=0.0):
        return replace(record, bound=record.value)
    return record


def _joined(values: tuple[float, ...]) -> str:
    return ";".join(repr(value) for value in values)
