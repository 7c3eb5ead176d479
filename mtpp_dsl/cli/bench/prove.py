"""``mtpp bench prove SWEEP.toml|LIBRARY``: the bounds of a sweep's results or of a library's records, proved again."""

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


def _prove_library(
    folder: Path, db: Path | None, size: str | None, only: list[str], limit: float | None, *, quiet: bool
) -> int:
    """Prove the bounds of a library's records; return the exit code.

    Raises:
        UsageError: there is no such library, or an option is about sweeps alone.
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.units import counted
    from mtpp_dsl.core.errors import UsageError, VerificationError
    from mtpp_dsl.sweeps.library.collection import Library, find_library
    from mtpp_dsl.sweeps.library.proving import prove_records, records_to_prove
    from mtpp_dsl.sweeps.store.selection import chosen

    if db is not None or size is not None:
        raise UsageError(f"--{'db' if db is not None else 'size'} is about sweeps, and {folder} is a library")
    library = Library.open(find_library(str(folder)))
    names = [run.problem for run in chosen(list(library.runs.values()), only)]
    records = records_to_prove(library, names)
    proved = wrong = 0
    for result in prove_records(library, records, limit):
        proved += result.proved
        wrong += result.wrong
        if result.wrong or not quiet:
            say(f"{result.name}: {'WRONG: ' if result.wrong else ''}{result.text}")
    if not quiet:
        tried = counted(len(records), "bound")
        say(f"{proved} of {tried} without a certificate proved again" + (f", {wrong} wrong" if wrong else ""))
    return VerificationError.exit_code if wrong else 0


def prove(
    sweep: Annotated[Path, argument("SWEEP.toml|DB|LIBRARY", "The sweep, the database beside it, or a library.")],
    db: Annotated[Path | None, option("FILE", "The database of the results; by default beside the sweep.")] = None,
    size: Size = None,
    only: Only = [],  # noqa: B006  typer copies defaults
    time_limit: Annotated[str, option("TIME", "Time limit of each bound.")] = "15s",
    quiet: SweepQuiet = False,
) -> int:
    """Prove again the bounds of a sweep's runs or of a library, as mtpp verify does, and record which are proved.

    The column proof of their rows then says "proved", and mtpp bench table --show proofs counts them. No run is
    repeated, and what was measured stays as it is. Rerun the command to try those that were not proved once more. The
    database stands for the sweep of the same name beside it. Of a library, such as mtpplib, those bounds are tried
    that have no certificate, and what proves them is kept as one.

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
    if sweep.is_dir() or not (sweep.exists() or sweep.suffix):
        return _prove_library(sweep, db, size, only, limit, quiet=quiet)
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
