"""A sweep as a job array of SLURM: one task a part, each with a database of its own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.file.sweep import shard_of

HOUR = 3600.0
MAX_TASKS = 1000
"""Tasks of an array that SLURM takes unless it is told otherwise."""
BESIDE, SHARE = 5.0, 1.1
"""Seconds beside its time limit that a run may take, and share of the limit: starting, reading, being killed."""
STARTING = 120.0
"""Seconds for a task to start, and to end in order."""
PROCESS_MEMORY = 1 << 30
"""Bytes beside those of its runs that a task takes."""
RUN_MEMORY = 4 << 30
"""Bytes for a run that has no limit."""
GIB = 1 << 30


@dataclass(frozen=True)
class Array:
    """A job array.

    Attributes:
        name: of the job.
        tasks: how many.
        jobs: how many runs at once in each.
        threads: of each run, at most.
        seconds: that a task takes at most.
        memory: bytes for each task.
    """

    name: str
    tasks: int
    jobs: int
    threads: int
    seconds: float
    memory: int


def array_of(
    name: str, runs: Sequence[Run], tasks: int | None = None, jobs: int = 1, seconds: float | None = None
) -> Array:
    """Return the array for the runs of a sweep.

    Args:
        name: of the sweep.
        runs: of the sweep.
        tasks: how many; None for as many as take an hour each at most.
        jobs: how many runs at once in each task.
        seconds: of a task; None for what its runs take at most.

    Raises:
        UsageError: there are no runs; or a run has no time limit, and the time of a task is not given.
    """
    if not runs:
        raise UsageError("the sweep has no runs")
    if seconds is None and any(run.time_limit is None for run in runs):
        raise UsageError("some runs have no time limit: say with --task-time how long a task may take")
    if tasks is None:
        whole = sum(_longest(run) for run in runs) / jobs
        tasks = ceil(whole / HOUR) if seconds is None else len(runs)
    tasks = max(1, min(tasks, MAX_TASKS, len(runs)))
    parts = [shard_of(runs, number, tasks) for number in range(1, tasks + 1)]
    if seconds is None:
        seconds = STARTING + max(
            sum(map(_longest, part)) / jobs + max(map(_longest, part), default=0.0) * (jobs > 1) for part in parts
        )
    seconds = 60.0 * ceil(seconds / 60)  # as SLURM counts
    memory = max(run.memory_limit or RUN_MEMORY for run in runs)
    return Array(name, tasks, jobs, max(run.threads for run in runs), seconds, jobs * memory + PROCESS_MEMORY)


def _longest(run: Run) -> float:
    """Return what a run takes at most, in seconds; of one without a limit, nothing is known."""
    return 0.0 if run.time_limit is None else SHARE * run.time_limit + BESIDE


def script(array: Array, sweep: Path, folder: Path, options: Sequence[str], sbatch: Sequence[str]) -> str:
    """Return the text of a script for ``sbatch``.

    Each task runs its part with a database of its own in *folder*: run again, it goes on where it was.

    Args:
        array: how it is divided.
        sweep: the path of the sweep, from the root.
        folder: where databases and logs are written, from the root.
        options: of ``mtpp bench`` for every task.
        sbatch: options of sbatch beside those that are known here, such as ``partition=short``.

    Raises:
        UsageError: an option of sbatch, a path or the name of the sweep is no single line: the rest of it would be a
            command of the script.
    """
    for what, text in (("the sweep", f"{sweep}"), ("the folder", f"{folder}"), ("the name of the sweep", array.name)):
        if not text.isprintable():
            raise UsageError(f"{what} {text!r} has a character that cannot stand in a script for sbatch: rename it")
    for option in sbatch:
        if not option.strip() or not option.isprintable():
            raise UsageError(f"--sbatch {option!r}: write one option of sbatch, such as --sbatch partition=short")
    hours, rest = divmod(ceil(array.seconds / 60), 60)
    options_set = {
        "job-name": shlex.quote(f"mtpp-{array.name}"),
        "array": f"1-{array.tasks}",
        "cpus-per-task": array.jobs * array.threads,
        "mem": f"{ceil(array.memory / GIB)}G",
        "time": f"{hours}:{rest:02}:00",
        "output": shlex.quote(f"{folder}".replace("%", "%%") + "/task-%a.log"),
        "open-mode": "append",
        "signal": "B:TERM@60",
    }
    lines = [f"#SBATCH --{name}={value}" for name, value in options_set.items()]
    lines += [f"#SBATCH --{option.strip().removeprefix('--')}" for option in sbatch]
    jobs = ["--jobs", str(array.jobs), *options]
    return "\n".join(
        [
            "#!/bin/bash",
            *lines,
            "",
            "# A task whose time is up, or whose machine is lost, goes on where it was: submit the array again.",
            "set -eu",
            f"sweep={shlex.quote(str(sweep))}",
            f"folder={shlex.quote(str(folder))}",
            f"python={shlex.quote(sys.executable)}",
            f'exec "$python" -m mtpp_dsl bench "$sweep" --shard "$SLURM_ARRAY_TASK_ID/{array.tasks}" \\',
            f'  --db "$folder/task-$SLURM_ARRAY_TASK_ID.sqlite" {shlex.join(jobs)}',
            "",
        ]
    )
