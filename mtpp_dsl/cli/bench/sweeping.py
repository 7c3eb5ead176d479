"""Run ``mtpp bench SWEEP.toml``: read, choose, run, report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Event

from mtpp_dsl.cli.bench.calls import BenchCall
from mtpp_dsl.cli.bench.dry_run import show_plan
from mtpp_dsl.cli.bench.live import Live
from mtpp_dsl.cli.bench.outcomes import say_contradictions, show_outcomes
from mtpp_dsl.cli.screen import say
from mtpp_dsl.cli.signals import NOTHING_FOUND, listener
from mtpp_dsl.core.base.amounts import seconds
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.sweeps.file.expansion import Expansion
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.file.sweep import parts_of, shard_of, with_time_limit
from mtpp_dsl.sweeps.run.loop import Summary, default_jobs, run_sweep
from mtpp_dsl.sweeps.store.selection import chosen, statuses
from mtpp_dsl.sweeps.store.store import Store
from mtpp_dsl.sweeps.tables.contradictions import contradictions


def run_and_report(call: BenchCall) -> int:
    """Read the sweep, do what has no result yet, and print the results; return the exit code."""
    if call.quiet and call.verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    retry = statuses(call.retry) if call.retry is not None else frozenset()
    part = parts_of(call.shard) if call.shard is not None else None
    sweep = read_sweep(call.sweep, call.size)
    if call.time_limit is not None:
        sweep = with_time_limit(sweep, seconds(call.time_limit, "--time-limit"))
    expansion = Expansion(sweep)
    runs = chosen(expansion.runs(), call.only)
    if expansion.left_out and not call.quiet:
        say(expansion.left_out_note, stderr=True)
    if not runs:
        raise UsageError(f"{call.sweep}: nothing is left to run: the files of all problems are missing")
    if part is not None:
        runs = shard_of(runs, *part)
    database = call.db or call.sweep.with_suffix(".sqlite")
    if call.dry_run:
        return show_plan(sweep, runs, database, retry, call.jobs or default_jobs(LOCAL, runs))
    with opened(call.scheduler) as executor, Store.open(database) as store:
        summary = run_all(runs, store, executor or LOCAL, call.jobs, retry, quiet=call.quiet, verbose=call.verbose)
        if not call.quiet:
            show_outcomes(store, runs, summary, call.sweep)
        wrong = contradictions(store.rows(logs=False))
        say_contradictions(wrong)
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    return VerificationError.exit_code if wrong else NOTHING_FOUND if summary.left else 0


def run_all(
    runs: Sequence[Run],
    store: Store,
    executor: Executor,
    jobs: int | None,
    retry: Collection[str],
    *,
    quiet: bool,
    verbose: bool = False,
) -> Summary:
    """Do the runs that have no result yet, and show how far they are; the first signal ends it in good order."""
    todo = store.pending(runs, retry)
    count = default_jobs(executor, todo) if jobs is None else jobs
    live = Live(todo, count, quiet=quiet, verbose=verbose)
    stop = Event()
    saying = "stopping; what has a result is kept, and the same command goes on"
    with listener.searching(stop.set, saying), live.shown():
        summary = run_sweep(runs, store, executor, count, retry=retry, watcher=live, stop=stop)
        listener.search_ended()
    return summary
