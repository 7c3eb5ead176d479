"""``mtpp bench prove SWEEP.toml``: the bounds of a sweep's results, proved again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mtpp_dsl.cli.parameters import Only, Size, SweepQuiet, argument, option


def _sweep_and_database(given: Path, db: Path | None) -> tuple[Path, Path]:
    """Return the sweep and the database of its results, of which one is *given*: each lies beside the other.

    Raises:
        UsageError: a database is given, and nothing says which sweep it is of.
    """
    from mtpp_dsl.core.base.files import SQLITE, read_head
    from mtpp_dsl.core.errors import UsageError

    if not read_head(given, len(SQLITE)).startswith(SQLITE):
        return given, db or given.with_suffix(".sqlite")
    sweep = given.with_suffix(".toml")
    if db is not None or not sweep.exists():
        raise UsageError(
            f"{given} has results, and not the problems that their bounds are about: say which sweep has them, "
            f"mtpp bench prove SWEEP.toml --db {given}"
        )
    return sweep, given


def prove(
    sweep: Annotated[Path, argument("SWEEP.toml|DB", "The sweep, or the database beside it.")],
    db: Annotated[Path | None, option("FILE", "The database of the results; by default beside the sweep.")] = None,
    size: Size = None,
    only: Only = [],  # noqa: B006  typer copies defaults
    time_limit: Annotated[str, option("TIME", "Time limit of each bound.")] = "15s",
    quiet: SweepQuiet = False,
) -> int:
    """Prove again the bounds that the runs of a sweep have found, as mtpp verify does, and record which are proved.

    The column proof of their rows then says "proved", and mtpp bench table --show proofs counts them. No run is
    repeated, and what was measured stays as it is. Rerun the command to try those that were not proved once more. The
    database stands for the sweep of the same name beside it.

    Exit codes: 0 done, whether all were proved or not · 2 the sweep or the call is wrong, or the database cannot be
    written · 7 a bound is wrong · 130 interrupted, 143 terminated (what was proved is recorded).
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.amounts import seconds
    from mtpp_dsl.core.base.units import counted
    from mtpp_dsl.core.errors import UsageError, VerificationError
    from mtpp_dsl.sweeps.file.expansion import Expansion
    from mtpp_dsl.sweeps.file.file import read_sweep
    from mtpp_dsl.sweeps.run.proving import bounds_to_prove, prove_bounds
    from mtpp_dsl.sweeps.store.selection import chosen
    from mtpp_dsl.sweeps.store.store import Store

    limit = seconds(time_limit, "--time-limit")
    sweep, database = _sweep_and_database(sweep, db)
    runs = chosen(Expansion(read_sweep(sweep, size)).runs(), only)
    if not database.exists():
        raise UsageError(f"there are no results in {database}: mtpp bench {sweep} makes them")
    proved, wrong = 0, 0
    with Store.open(database) as store:
        todo = bounds_to_prove(runs, store)
        absent = len({run.key for run in runs} - store.done())
        for result in prove_bounds(todo, store, limit):
            proved += result.proved
            wrong += result.wrong
            if result.wrong or not quiet:
                seed = f", seed {result.run.seed}" if result.run.seed else ""
                say(f"{result.run.problem}, {result.run.label}{seed}: {'WRONG: ' if result.wrong else ''}{result.text}")
    if not quiet:
        say(f"{proved} of {counted(len(todo), 'bound')} proved again" + (f", {wrong} wrong" if wrong else ""))
        if absent:
            say(f"{counted(absent, 'run')} of the sweep had no result: not yet, or not since the spec changed")
    return VerificationError.exit_code if wrong else 0
