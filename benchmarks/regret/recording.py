"""Run the methods, and ``auto``, on the problems of the sample, and keep what comes of it in a database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from threading import Event

from benchmarks.regret.sample import Drawn
from mtpp_dsl.core.contracts.protocols import refusal
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.sweeps.file.methods import method_of
from mtpp_dsl.sweeps.file.problem_files import problem_of
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.library.collection import Library
from mtpp_dsl.sweeps.library.session import SessionRequest
from mtpp_dsl.sweeps.run.loop import run_sweep
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.store import Store

LIMITS = (1.0, 5.0, 20.0)
"""Seconds at which ``auto`` is compared with the best of the single methods."""
MEMORY = "6 GB"
PROVERS = (
    "ideals",
    "orders",
    "copies",
    "decomposition",
    "latency-search",
    "branching",
    "exact",
    "moirai",
    "batched",
    "latency",
)
"""These go first: where one proves its plan, the others need no longer time than that took."""
SOLVERS = ("highs", "cp-sat")
LEFT_OUT = ("auto", "expert", "fig3", "moirai-printed", "batched-printed")
"""``expert`` is a plan of the user's; the others are programmes as published, which ours replace."""


@dataclass
class Watcher:
    """Says each outcome in a line, and ends the sweep after the first proof.

    Attributes:
        stop: set once a method has proved its plan.
        seconds: that it took.
    """

    until_proved: bool
    stop: Event = field(default_factory=Event)
    seconds: float = float("inf")

    def began(self, run: Run) -> None:
        """Hear that a run has begun."""

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Hear what came of a run."""
        print(
            f"{run.problem:34} {run.label:20} {outcome.status:9} {outcome.seconds or 0.0:6.2f} s of {run.time_limit:g}"
            f"  {outcome.value if outcome.value is not None else '-':<22} {outcome.bound or '-'}",
            flush=True,
        )
        if self.until_proved and outcome.status in ("optimal", "infeasible"):
            self.seconds = min(self.seconds, outcome.seconds or 0.0)
            self.stop.set()


def of_methods(library: Library, store: Store, sample: Sequence[Drawn], names: Sequence[str]) -> None:
    """Run every method of *names* that accepts a problem once, for the longest of :data:`LIMITS`, one after another.

    Once a method has proved its plan after *t* seconds, no other is better at any limit of *t* or more: the others run
    for the longest limit that is shorter, and not at all where there is none.
    """
    names = sorted(names, key=lambda name: (PROVERS.index(name) if name in PROVERS else len(PROVERS), name))
    runs = {limit: _runs(library, sample, names, limit) for limit in LIMITS}
    for drawn in sample:
        accepting: list[str] | None = None
        limits = list(LIMITS)
        while limits:
            own = runs[limits[-1]].get(drawn.name, [])
            watcher = Watcher(until_proved=True)
            for done in store.rows(logs=False, problem=drawn.name):
                if done.status in ("optimal", "infeasible"):
                    watcher.seconds = min(watcher.seconds, done.seconds or 0.0)
            if any(limit >= watcher.seconds for limit in limits):
                limits = [limit for limit in limits if limit < watcher.seconds]
                continue
            if accepting is None:
                accepting = _accepting(own)
            had = {row.label for row in store.rows(logs=False, problem=drawn.name)}
            todo = [run for run in own if run.label in accepting and run.label not in had]
            run_sweep(todo, store, LOCAL, 1, watcher=watcher, stop=watcher.stop)
            if not watcher.stop.is_set():
                break


def of_auto(
    library: Library,
    store: Store,
    sample: Sequence[Drawn],
    *,
    limits: Sequence[float],
    cold: bool,
    busy: int,
    threads: int,
) -> None:
    """Run ``auto`` at each of *limits*.

    Args:
        library: mtpplib.
        store: where results are kept.
        sample: the problems.
        limits: in seconds.
        cold: begin each run with an empty cache of compiled code, in a process of its own.
        busy: so many processes burn a core meanwhile.
        threads: of each run.
    """
    runs = [_runs(library, sample, ["auto"], limit, threads) for limit in limits]
    ordered = [run for drawn in sample for own in runs for run in own.get(drawn.name, [])]
    with burning(busy):
        if not cold:
            run_sweep(ordered, store, LOCAL, 1, watcher=Watcher(until_proved=False))
        for run in ordered if cold else ():
            with ExitStack() as stack:
                os.environ["NUMBA_CACHE_DIR"] = stack.enter_context(TemporaryDirectory())
                stack.callback(os.environ.pop, "NUMBA_CACHE_DIR")
                run_sweep([run], store, LOCAL, 1, watcher=Watcher(until_proved=False))


def _runs(
    library: Library, sample: Sequence[Drawn], names: Sequence[str], limit: float, threads: int = 1
) -> dict[str, list[Run]]:
    """Return the runs of the methods *names* on each problem; with each solver, where a method takes several."""
    settings = {"seeds": 0, "time_limit": f"{limit:g}s", "memory_limit": MEMORY, "threads": threads}
    solvers = SOLVERS if names != ["auto"] else ("highs",)
    asked = SessionRequest.of(list(names), solvers, settings)
    wanted = {drawn.name for drawn in sample}
    runs: dict[str, list[Run]] = {}
    for run in library.asked(asked.methods, asked.settings):
        if run.problem in wanted:
            runs.setdefault(run.problem, []).append(run)
    return runs


def _accepting(runs: Sequence[Run]) -> list[str]:
    """Return the labels of the runs whose method accepts its problem, and is installed."""
    if not runs:
        return []
    problem = problem_of(runs[0])
    return [run.label for run in runs if refusal(method_of(run), problem) is None]


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Keep *count* processes busy meanwhile."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
