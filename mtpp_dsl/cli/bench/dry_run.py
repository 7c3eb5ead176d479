"""``mtpp bench SWEEP.toml --dry-run``: what would be run."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from rich.text import Text

from mtpp_dsl.cli.bench.live import duration
from mtpp_dsl.cli.screen import screen_width, show
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.show.report.columns import wrapped
from mtpp_dsl.sweeps.file.problem_files import substituted
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.file.sweep import Sweep
from mtpp_dsl.sweeps.store.store import Store


def show_plan(sweep: Sweep, runs: Sequence[Run], database: Path, retry: Collection[str], jobs: int) -> int:
    """Print how many runs there are, how long they take at most, and each problem as ``mtpp solve`` takes it."""
    todo = list(runs)
    if database.exists():
        with Store.open(database, readonly=True) as store:
            todo = store.pending(runs, retry)
    problems: dict[str, list[Run]] = {}
    for run in runs:
        problems.setdefault(run.problem, []).append(run)
    labels = dict.fromkeys(run.label for run in runs)
    size = f", size {sweep.size}" if sweep.size else ""
    head = f"{sweep.name}{size}: {counted(len(runs), 'run')} of {counted(len(problems), 'problem')} by "
    head += counted(len(labels), "method")
    done = len(runs) - len(todo)
    lines = [head, f"{done:,} have a result in {database}, {len(todo):,} would be run" if done else ""]
    lines += [_longest(todo, jobs), *_limits(todo)]
    same = len({_methods(own_runs) for own_runs in problems.values()}) == 1
    if same and problems:
        lines.append(f"methods: {_methods(next(iter(problems.values())))}")
    width = screen_width()
    show(part for line in lines if line for part in wrapped(Text(line), width, hanging=2))
    show([Text()])
    for name, own_runs in problems.items():
        show(_problem(name, own_runs, width, methods=not same))
    return 0


def _longest(todo: Sequence[Run], jobs: int) -> str:
    """Return how long the runs take at most."""
    if not todo:
        return "nothing is left to do"
    limits = [run.time_limit for run in todo]
    if None in limits:
        return f"{counted(jobs, 'run')} at once; some have no time limit"
    total = sum(limit for limit in limits if limit is not None)
    return (
        f"{counted(jobs, 'run')} at once: at most {duration(max(total / jobs, max(filter(None, limits), default=0.0)))}"
    )


def _limits(todo: Iterable[Run]) -> list[str]:
    """Return the time limits that there are, with how many runs have each."""
    counts = Counter(run.time_limit for run in todo)
    if len(counts) < 2:
        return []
    shown = [
        f"{counted(count, 'run')} with {'none' if limit is None else duration(limit)}"
        for limit, count in counts.items()
    ]
    return [f"time limits: {', '.join(shown)}"]


def _methods(runs: Sequence[Run]) -> str:
    """Return the methods of a problem, with how many seeds each has."""
    seeds = Counter(run.label for run in runs)
    between = "; " if any("," in label for label in seeds) else ", "
    return between.join(
        label if count == 1 else f"{label} ({counted(count, 'seed')})" for label, count in seeds.items()
    )


def _problem(name: str, runs: Sequence[Run], width: int | None, *, methods: bool) -> list[Text]:
    run = runs[0]
    group = f" ({run.group})" if run.group else ""
    lines = wrapped(Text.assemble((name, "bold"), f"{group}: {command_of(run)}"), width, hanging=4)
    return lines + (wrapped(Text(_methods(runs)), width, indent=2, hanging=4) if methods else [])


def command_of(run: Run) -> str:
    """Return the call of ``mtpp solve`` that is about the same problem; a text in the sweep is only said to be one."""
    params = [f"-D {shlex.quote(f'{name}={_written(value, run)}')}" for name, value in run.params.items()]
    scenario = ["--scenario", shlex.quote(run.scenario)] if run.scenario else []
    if run.in_place:
        return " ".join(["a text in the sweep", *params, *scenario])
    path = os.path.relpath(Path(run.folder) / substituted(run.spec, run.data))
    return " ".join(["mtpp solve", shlex.quote(path), *params, *scenario])


def _written(value: object, run: Run) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return substituted(value, run.data) if isinstance(value, str) else str(value)
