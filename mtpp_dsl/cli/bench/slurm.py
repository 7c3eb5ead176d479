"""``mtpp bench slurm SWEEP.toml -o DIR``: a sweep as a job array of SLURM."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.parameters import Only, Size, SweepFile, SweepTimeLimit, option


def slurm(
    sweep: SweepFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where script, logs and databases are written.")
    ],
    tasks: Annotated[
        int | None,
        option("N", "Tasks of the array (an hour each at most).", min=1, max=1000),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Runs at once in each task.")] = 1,
    size: Size = None,
    only: Only = [],  # noqa: B006  typer copies defaults
    time_limit: SweepTimeLimit = None,
    task_time: Annotated[str | None, option("TIME", "Of each task (what its runs may take).")] = None,
    sbatch: Annotated[
        list[str],
        option("OPTION", "An option of sbatch: partition=short; may be repeated."),
    ] = [],  # noqa: B006  typer copies defaults
) -> int:
    """Write a script for sbatch that runs a sweep as a job array, and say how to submit it and join the results.

    Each task runs a part of the sweep with a database of its own, so that the machines share nothing but the folder.

    Exit codes: 0 written · 2 the sweep or the call is wrong, or the script cannot be written.
    """
    import shlex

    from mtpp_dsl.cli.bench.live import duration
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.amounts import seconds
    from mtpp_dsl.core.base.units import counted
    from mtpp_dsl.core.base.writing import check_writable, write_text
    from mtpp_dsl.core.errors import UsageError
    from mtpp_dsl.sweeps.file.expansion import expand
    from mtpp_dsl.sweeps.file.file import read_sweep
    from mtpp_dsl.sweeps.file.sweep import with_time_limit
    from mtpp_dsl.sweeps.run.slurm import array_of, script
    from mtpp_dsl.sweeps.store.selection import chosen

    read = read_sweep(sweep, size)
    if time_limit is not None:
        read = with_time_limit(read, seconds(time_limit, "--time-limit"))
    runs = chosen(expand(read), only)
    array = array_of(read.name, runs, tasks, jobs, None if task_time is None else seconds(task_time, "--task-time"))
    given = {"--size": [size] if size else [], "--only": only, "--time-limit": [time_limit] if time_limit else []}
    options = [word for name, values in given.items() for value in values for word in (name, value)]
    folder = output.absolute()
    text = script(array, sweep.absolute(), folder, options, sbatch)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {output}: {error.strerror}") from error
    check_writable(output / "run.sbatch")
    write_text(output / "run.sbatch", text)
    longest = f"at most {duration(array.seconds)} each"
    say(f"{output / 'run.sbatch'}: {counted(len(runs), 'run')} in {counted(array.tasks, 'task')}, {longest}")
    say(f"submit: sbatch {shlex.quote(str(output / 'run.sbatch'))}")
    say(f"then:   mtpp bench merge {shlex.quote(str(output / 'all.sqlite'))} {shlex.quote(str(output))}/task-*.sqlite")
    return 0
