"""Sweeps from Python: what ``mtpp bench SWEEP.toml`` does."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from threading import Event

from mtpp_dsl.core.base.amounts import Duration, seconds_of
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.file.sweep import Sweep, with_time_limit
from mtpp_dsl.sweeps.run.loop import RunWatcher, run_sweep
from mtpp_dsl.sweeps.store.selection import chosen, statuses
from mtpp_dsl.sweeps.store.store import Store


def bench(
    sweep: str | os.PathLike[str] | Sweep,
    db: str | os.PathLike[str] | None = None,
    *,
    jobs: int | None = None,
    size: str | None = None,
    only: str | Iterable[str] = (),
    retry: str | None = None,
    time_limit: Duration | None = None,
    scheduler: str | Executor | None = None,
    watcher: RunWatcher | None = None,
    stop: Event | None = None,
) -> Store:
    """Do the runs of a sweep that have no result yet, and return the database with the results.

    Args:
        sweep: path of a sweep file, or a sweep that was read.
        db: where results are kept; None for the file beside the sweep.
        jobs: runs at once; None for as many as there are cores.
        size: one of the sizes of the file.
        only: which runs, as ``--only`` takes them: a pattern of problems, or ``"method=heft"``; all of several hold.
        retry: "failed", "all" or statuses: runs that ended so are done again.
        time_limit: of each run, whatever the sweep says.
        scheduler: where runs are done, such as ``"tcp://host:8786"``, or an executor; None is this machine.
        watcher: is called with each run.
        stop: ends the sweep when it is set; the same call goes on later.

    Returns:
        The open store: ``store.rows()``, ``store.frame()``; close it, or use it in a ``with`` statement.

    Raises:
        SpecError: the sweep file, or a spec, is wrong.
        UsageError: a file is missing, an argument is wrong, or the results cannot be written.
        SolverError: no worker can be started.
    """
    read = sweep if isinstance(sweep, Sweep) else read_sweep(sweep, size)
    if isinstance(sweep, Sweep) and size is not None:
        raise UsageError("a sweep that was read has its size: give size to read_sweep")
    if time_limit is not None:
        read = with_time_limit(read, seconds_of("time_limit", time_limit))
    runs = chosen(expand(read), [only] if isinstance(only, str) else only)
    again = statuses(retry) if retry is not None else frozenset()
    path = read.database if db is None else Path(db)
    if path is None:
        raise UsageError("a sweep that has no file needs db, where its results are kept")
    with opened(scheduler) as executor:
        store = Store.open(path)
        try:
            run_sweep(runs, store, executor or LOCAL, jobs, retry=again, watcher=watcher, stop=stop)
        except BaseException:
            store.close()
            raise
    return store
