"""Records of problems whose spec has changed: what still holds is kept, all else is dropped."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.sweeps.library.auditing import proved_again
from mtpp_dsl.sweeps.library.collection import Library, spec_sha256
from mtpp_dsl.sweeps.library.judging import PROOF_SECONDS, graph_sha256, value_of
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.store import RecordChange

__all__ = ["renew"]

_NO_PLAN = BestKnown("")
_FOUND = ("value", "later", "plan_sha256", *(f"found_{part}" for part in ("by", "version", "seed", "seconds", "date")))
_BOUND = ("bound", "proof", "certificate_sha256", *(f"bound_{p}" for p in ("by", "version", "seed", "seconds", "date")))


def renew(library: Library, name: str) -> BestKnown:
    """Bring the record of a problem that has changed up to date, and return it.

    The stored plan is valued again, and dropped if it is none now. A bound is kept if its certificate proves it of the
    problem as it is now; one without a certificate was about another problem, and is dropped.

    Raises:
        UsageError: the problem cannot be read, or the library cannot be written.
    """
    problem = library.problem(name)
    return library.records.take(name, lambda record: RecordChange(record, _renewed(library, problem, record))).after


def _renewed(library: Library, problem: Problem, record: BestKnown) -> BestKnown:
    objective = problem.objective
    record = replace(
        record,
        group=library.runs[record.name].group,
        nodes=problem.graph.n,
        edges=problem.graph.m,
        devices=problem.k,
        objective=objective.called,
        sense=objective.sense,
        unit=objective.unit(problem.time_unit),
        spec_sha256=spec_sha256(library.runs[record.name]),
        graph_sha256=graph_sha256(problem),
    )
    try:
        plan = library.plan(problem, record.name)
        value, later, _ = (None, (), 0.0) if plan is None else value_of(problem, plan)
    except MtppError:
        value, later = None, ()
    try:
        proved = proved_again(library, problem, record, PROOF_SECONDS)
    except MtppError:
        proved = False
    if value is None:
        record = _without(record, _FOUND)
    else:
        record = replace(record, value=value, later=";".join(map(repr, later)))
    if not proved:
        record = _without(record, _BOUND)
    return record


def _without(record: BestKnown, names: tuple[str, ...]) -> BestKnown:
    """Return a record without what these fields say."""
    return replace(record, **{name: getattr(_NO_PLAN, name) for name in names})
