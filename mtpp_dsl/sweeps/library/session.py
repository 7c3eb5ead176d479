"""One session of improving a library: what is asked, which runs that makes, and their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import MtppError, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.sweeps.file.entries import read_methods
from mtpp_dsl.sweeps.file.fields import Fields
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.file.sweep import MethodEntry, Settings
from mtpp_dsl.sweeps.file.toml_text import TomlText
from mtpp_dsl.sweeps.library.auditing import proved_again
from mtpp_dsl.sweeps.library.collection import Library, current, spec_sha256
from mtpp_dsl.sweeps.library.improving import Improver
from mtpp_dsl.sweeps.library.judging import PROOF_SECONDS, graph_sha256, value_of
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.store import RecordChange
from mtpp_dsl.sweeps.run.loop import RunWatcher, Summary, run_sweep
from mtpp_dsl.sweeps.store.selection import chosen
from mtpp_dsl.sweeps.store.store import Store

_NO_PLAN = BestKnown("")
_FOUND = ("value", "later", "plan_sha256", *(f"found_{part}" for part in ("by", "version", "seed", "seconds", "date")))
_BOUND = ("bound", "proof", "certificate_sha256", *(f"bound_{p}" for p in ("by", "version", "seed", "seconds", "date")))


@dataclass(frozen=True)
class SessionRequest:
    """What a session is asked to try.

    Attributes:
        methods: by name; none for those of the lists of problems.
        solvers: for the methods that use one; none for the usual.
        settings: limits and seeds, that stand before those of the lists.
        only: which problems: patterns of names, or ``group=…``.
        closed: whether problems that are proved optimal are tried, too.
    """

    methods: tuple[MethodEntry, ...] = ()
    settings: Settings = field(default_factory=Settings)
    only: tuple[str, ...] = ()
    closed: bool = False

    @classmethod
    def of(
        cls,
        methods: Sequence[str] = (),
        solvers: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        only: Sequence[str] = (),
        *,
        closed: bool = False,
    ) -> SessionRequest:
        """Return what is asked in words.

        Args:
            methods: by name.
            solvers: by name.
            settings: ``seeds``, ``time_limit``, ``memory_limit``, ``threads`` and ``gap``, as a sweep file has them.
            only: patterns of names of problems, or ``group=…``.
            closed: whether problems that are proved optimal are tried, too.

        Raises:
            UsageError: a method, a solver or a setting is invalid.
        """
        text = TomlText(Source("the call", ""))
        fields = Fields(
            text, {name: value for name, value in (settings or {}).items() if value is not None}, (), "a call"
        )
        limits = fields.settings()
        fields.finish()
        entries: list[MethodEntry] = []
        if methods:
            entries = read_methods(text, list(methods), ("methods",), Path(), tuple(solvers) or None)
        if text.wrong:
            raise UsageError("\n".join(diagnostic.message for diagnostic in text.wrong))
        return cls(tuple(entries), limits, tuple(only), closed)


@dataclass
class Improved:
    """What came of a session.

    Attributes:
        runs: how many were asked for.
        closed: problems that were left out, as they are proved optimal.
        better: problems whose record has become better.
        wrong: answers that contradict themselves or what is known: bugs, each with where its evidence is.
        summary: of the runs.
    """

    runs: int
    closed: int
    better: list[str]
    wrong: list[str]
    summary: Summary


def runs_of(library: Library, asked: SessionRequest) -> tuple[list[Run], int]:
    """Return the runs of a session, and how many problems are left out because they are proved optimal.

    Raises:
        UsageError: nothing is left of the problems.
    """
    runs = chosen(library.asked(asked.methods, asked.settings), asked.only)
    records = library.records.read()
    optimal = {
        name
        for name, record in records.items()
        if record.status in ("optimal", "infeasible") and not asked.closed and current(library, record)
    }
    left = [run for run in runs if run.problem not in optimal]
    if not left and runs:
        raise UsageError("every one of these problems is proved optimal: --all tries them all the same")
    return left, len({run.problem for run in runs} & optimal)


def improve(
    library: Library,
    store: Store,
    executor: Executor,
    asked: SessionRequest,
    *,
    jobs: int | None = None,
    retry: Collection[str] = (),
    say: Callable[[str], None] = print,
    watcher: RunWatcher | None = None,
    stop: Event | None = None,
) -> Improved:
    """Run what is asked, check every answer that promises to be better from scratch, and write what is.

    Whatever ends the process, nothing that was known is lost: runs are kept in the database, and answers there that
    were not yet compared with the records are compared first when the same is asked again.

    Args:
        library: that is improved.
        store: where runs are kept.
        executor: what starts the workers.
        asked: which methods, limits and problems.
        jobs: how many runs at once.
        retry: statuses whose runs are done again.
        say: is called with a line for each record that has become better, and for each answer that is wrong.
        watcher: is called with each run.
        stop: set to end the session.

    Raises:
        UsageError: the library or the database cannot be read or written.
    """
    library.records.mend()
    for name, record in library.records.read().items():
        if name in library.runs and not current(library, record):
            _renew(library, record, say)
    runs, closed = runs_of(library, asked)
    improver = Improver(library, say, watcher)
    improver.harvest(store, library.asked(asked.methods, asked.settings))
    summary = run_sweep(runs, store, executor, jobs, retry=retry, watcher=improver, stop=stop)
    return Improved(len(runs), closed, sorted(improver.better), improver.wrong, summary)


def _renew(library: Library, record: BestKnown, say: Callable[[str], None]) -> None:
    """Bring the record of a problem that has changed up to date, and say what is left of it."""
    try:
        after = renew(library, record.name)
    except MtppError as error:
        say(f"{record.name}: {error}")
        return
    lost = [what for what in ("value", "bound") if getattr(record, what) is not None and getattr(after, what) is None]
    say(f"{record.name}: the problem has changed; {' and '.join(lost) or 'nothing'} dropped")


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
