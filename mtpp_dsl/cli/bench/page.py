"""``mtpp bench page PAGE.toml``: a page of results, from its description."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mtpp_dsl.cli.parameters import option

if TYPE_CHECKING:
    from mtpp_dsl.sweeps.tables.page_file import Page


def page(
    description: Annotated[Path, typer.Argument(metavar="PAGE.toml", help="What the page shows.")],
    take: Annotated[
        list[str], option("TABLE", "First take the rows of PART/TABLE from its database; all: of all that there are.")
    ] = [],  # noqa: B006  typer copies defaults
    db: Annotated[Path | None, option("FILE", "--take: from this database, not beside the sweep.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if the page differs.")] = False,
) -> int:
    """Write a page of results: tables with their commands and conditions, beside published numbers.

    The rows that it shows lie in text files beside the description, so that page and files always agree. Every row with
    a figure worse than the published one is said. docs/tables.md describes PAGE.toml.

    Exit codes: 0 written, or unchanged · 1 --check: the page differs · 2 a file cannot be read, or says what is not
    known.
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.files import read_text
    from mtpp_dsl.core.base.writing import check_writable, guarding, write_text
    from mtpp_dsl.core.errors import UsageError
    from mtpp_dsl.sweeps.tables.page import page_text
    from mtpp_dsl.sweeps.tables.page_file import read_page

    read = read_page(description)
    if db is not None and not take:
        raise UsageError("--db says where --take takes rows from: say which, or --take all")
    if check and take:
        raise UsageError("--check writes nothing, and --take does")
    _take(read, take, db)
    text = page_text(read)
    with guarding():  # to write onto the page is what it is read for
        there = read_text(read.output, wanted="a page") if read.output.exists() else None
    if check:
        if there != text:
            say(f"{read.output} is not what {description} and its rows say: run mtpp bench page {description}")
        return int(there != text)
    if there == text:
        say(f"{read.output} is unchanged")
    else:
        check_writable(read.output)
        write_text(read.output, text)
        say(f"{read.output} is written")
    return 0


def _take(read: Page, take: Sequence[str], db: Path | None) -> None:
    """Bring the rows of the tables called PART/TABLE, or of all, from their databases to the files of the page."""
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.errors import UsageError, did_you_mean
    from mtpp_dsl.sweeps.file.expansion import Expansion
    from mtpp_dsl.sweeps.file.file import read_sweep
    from mtpp_dsl.sweeps.store.store import Store
    from mtpp_dsl.sweeps.tables.page_rows import take_rows

    tables = {f"{part.name}/{table.name}": (part, table) for part in read.parts for table in part.tables}
    for name in take:
        if name != "all" and name not in tables:
            raise UsageError(
                f"--take {name}: there is no such table{did_you_mean(name, tables)} (there are: {', '.join(tables)})"
            )
    done = set()
    for name in tables if "all" in take else take:
        part, table = tables[name]
        target = read.rows_of(part, table)
        if target in done:
            continue
        done.add(target)
        database = db or table.sweep.with_suffix(".sqlite")
        if not database.exists() and "all" in take and db is None:
            say(f"{name}: there is no database {database}: its rows stay as they are")
            continue
        if not database.exists():
            raise UsageError(f"{name}: there is no database {database}; mtpp bench {table.sweep} makes it, or say --db")
        expansion = Expansion(read_sweep(table.sweep, table.size or None))
        runs = expansion.runs()
        with Store.open(database, readonly=True) as store:
            rows, missing = take_rows(store, runs, target)
        if expansion.left_out:
            say(f"{table.sweep}: {expansion.left_out_note}")
        say(f"{target}: {rows} rows{f', of which {missing} have not been run' if missing else ''}")
