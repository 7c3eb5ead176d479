"""Run ``mtpp bench --improve LIBRARY``: run, submit, audit, and print the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from mtpp_dsl.cli.bench.calls import ImproveCall
from mtpp_dsl.cli.bench.dry_run import command_of
from mtpp_dsl.cli.bench.live import Live
from mtpp_dsl.cli.bench.outcomes import failures_among
from mtpp_dsl.cli.screen import say, screen_width, show
from mtpp_dsl.cli.signals import NOTHING_FOUND, listener
from mtpp_dsl.core.base.units import counted, format_gap, format_quantity
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.executors.addresses import open_executor
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.library.auditing import audit
from mtpp_dsl.sweeps.library.collection import Library, find_library
from mtpp_dsl.sweeps.library.improving import sentence_of
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.session import Improved, SessionRequest, improve, runs_of
from mtpp_dsl.sweeps.library.submitting import submit
from mtpp_dsl.sweeps.run.loop import default_jobs
from mtpp_dsl.sweeps.store.selection import chosen, statuses
from mtpp_dsl.sweeps.store.store import Store

__all__ = ["improve_or_check"]

DATABASE = "improve.sqlite"
SAYING = "stopping; what has a result is kept, and the same command goes on"


def _request(call: ImproveCall) -> SessionRequest:
    """Return what a call asks for."""
    settings = {
        "seeds": _seeds(call.seed),
        "time_limit": call.time_limit,
        "memory_limit": call.memory_limit,
        "threads": call.threads,
    }
    return SessionRequest.of(_words(call.method), _words(call.solver), settings, call.only, closed=call.every)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _seeds(text: str | None) -> object:
    """Return seeds as a sweep file has them: a number, numbers, or a range such as "0..4"."""
    if text is None or ".." in text:
        return text
    words = _words(text)
    return [int(word) if word.isdigit() else word for word in words]


def improve_or_check(call: ImproveCall) -> int:
    """Run methods, or check what was submitted or is stored, as the call says; return the exit code."""
    if call.submit is not None:
        return submit_and_report(call, call.submit)
    return audit_and_report(call) if call.audit else improve_and_report(call)


def improve_and_report(call: ImproveCall) -> int:
    """Run what is asked, and say which records have become better; return the exit code."""
    library, asked = _opened(call), _request(call)
    retry = statuses(call.retry) if call.retry is not None else frozenset[str]()
    if call.dry_run:
        return _show(library, runs_of(library, replace(asked, closed=True))[0])
    runs, _ = runs_of(library, asked)
    executor = LOCAL if call.scheduler is None else open_executor(call.scheduler)
    try:
        with Store.open(call.db or library.folder / DATABASE) as store:
            todo = store.pending(runs, retry)
            count = call.jobs or default_jobs(executor, todo)
            live, stop = Live(todo, count, quiet=call.quiet, verbose=False), Event()
            with listener.searching(stop.set, SAYING), live.shown():
                improved = improve(
                    library, store, executor, asked, jobs=count, retry=retry, say=live.write, watcher=live, stop=stop
                )
                listener.search_ended()
            lost = [*failures_among(store, runs, screen_width())]
    finally:
        if executor is not LOCAL:
            executor.close()
    if not call.quiet:
        show(lost)
        _show_improved(library, improved)
    if improved.wrong:
        return VerificationError.exit_code
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    return NOTHING_FOUND if improved.summary.left else 0


def submit_and_report(call: ImproveCall, path: Path) -> int:
    """Check a submitted answer, and say what has become better; return the exit code."""
    library = _opened(call)
    names = None
    if call.only:
        names = list(dict.fromkeys(run.problem for run in chosen([*library.runs.values()], call.only)))
    change = submit(library, path, names)
    if not call.quiet:
        say(
            sentence_of(change)
            if change.better
            else f"{change.after.name}: {path} is no better: {_known(change.after)}"
        )
    return 0


def audit_and_report(call: ImproveCall) -> int:
    """Check all that is stored again, and say what is wrong; return the exit code."""
    library = _opened(call)
    records = library.records.read()
    names = dict.fromkeys(run.problem for run in chosen([*library.runs.values()], call.only))
    wrong = 0
    for name in names:
        for line in audit(library, records[name]) if name in records else ["nothing is known of it"]:
            wrong += 1
            say(f"{name}: {line}")
    if not call.quiet:
        say(f"{counted(len(names), 'problem')} checked: {counted(wrong, 'fault') if wrong else 'all is as recorded'}")
    return VerificationError.exit_code if wrong else 0


def _opened(call: ImproveCall) -> Library:
    """Return the library, and say which of its problems are left out here."""
    library = Library.open(find_library(call.library))
    if library.left_out and not call.quiet:
        lists = ", ".join(path.name for path in library.left_out)
        say(f"left out: {lists}: set MTPP_DATA to the folder of the published files", stderr=True)
    if not library.runs:
        raise UsageError(f"{library.folder}: none of its problems can be read without the published files")
    return library


def _show(library: Library, runs: Sequence[Run]) -> int:
    """Print the problems of a session, what is known of them, and the calls that solve them by hand."""
    records = library.records.read()
    by_name = {run.problem: run for run in runs}
    say(f"{counted(len(runs), 'run')} of {counted(len(by_name), 'problem')}")
    for name, run in by_name.items():
        say(f"{name} ({run.group}): {_known(records.get(name, BestKnown(name)))}")
        say(f"    {command_of(run)}")
    return 0


def _known(record: BestKnown) -> str:
    """Return what is known of a problem, in a line."""
    parts = [record.status]
    if record.value is not None:
        parts.append(f"{record.objective} {format_quantity(record.value, record.unit)} by {record.found_by}")
    if record.status == "infeasible":
        parts.append(f"no plan exists, by {record.bound_by}, {record.proof}")
    elif record.bound is not None:
        parts.append(f"bound {format_quantity(record.bound, record.unit)} by {record.bound_by}, {record.proof}")
    if record.gap is not None:
        parts.append(f"gap {format_gap(record.gap)}")
    return ", ".join(parts)


def _show_improved(library: Library, improved: Improved) -> None:
    """Print the result of a session."""
    counts = Counter(record.status for record in library.records.read().values())
    closed = f"; {counted(improved.closed, 'problem')} left out, as proved optimal" if improved.closed else ""
    before = f", {improved.summary.skipped:,} of them done before" if improved.summary.skipped else ""
    say(f"{counted(improved.runs, 'run')}{before}, {counted(len(improved.better), 'record')} better{closed}")
    say(f"{library.folder} now has {_counted(counts)}")
    for line in improved.wrong:
        say(f"WRONG: {line}", stderr=True)


def _counted(counts: Mapping[str, int]) -> str:
    shown = {
        "optimal": "proved optimal",
        "infeasible": "proved to have no plan",
        "open": "with a gap",
        "plan": "with a plan alone",
        "bound": "with a bound alone",
    }
    return ", ".join(f"{counts[status]:,} {word}" for status, word in shown.items() if counts.get(status))
