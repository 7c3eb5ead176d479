"""``mtpp bench merge DB…`` and ``mtpp bench export DB``: several databases as one, and rows for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.parameters import Database, Only, option
from mtpp_dsl.cli.screen import STDOUT


def merge(
    into: Annotated[Path, typer.Argument(metavar="INTO", help="The database that takes the rows; made if absent.")],
    sources: Annotated[list[Path], typer.Argument(metavar="DB…", help="Databases of results; they stay as they are.")],
) -> int:
    """Add the rows of databases to one, such as those of the tasks of a cluster.

    Of two results of the same run the one with an answer stays, then the later one. What a damaged database still
    holds is taken.

    Exit codes: 0 all was read · 2 a database cannot be read or written · 4 some rows are damaged, all others are there.
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.sweeps.store.merging import merge as join

    merged = join(into, sources)
    for source in merged:
        parts = ((source.added, "added"), (source.replaced, "replaced"), (source.kept, "no better than what was there"))
        changes = ", ".join(f"{number:,} {what}" for number, what in parts if number) or "no rows"
        say(f"{source.path}: {changes}" + (f"; {source.damaged:,} damaged, and lost" if source.damaged else ""))
    return 4 if any(source.damaged for source in merged) else 0


def export(
    database: Database,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE|-", help="A .csv or .parquet file; - prints CSV.")
    ],
    columns: Annotated[str | None, option("NAMES", "Only these, with commas between them.")] = None,
    only: Only = [],  # noqa: B006  typer copies defaults
) -> int:
    """Write the rows of a database as CSV or Parquet, each param with a column of its own.

    All columns are written but the logs, which --columns may name. Parquet needs pyarrow (pip install
    'mtpp-dsl[parquet]'). In Python, Store.open(path).frame() is the same as a table of pandas.

    Exit codes: 0 written · 2 the call is wrong, the database cannot be read, or the file not be written.
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.units import counted
    from mtpp_dsl.core.text.visible import visible
    from mtpp_dsl.sweeps.store.export import export as write
    from mtpp_dsl.sweeps.store.export import table_of, to_csv
    from mtpp_dsl.sweeps.store.selection import chosen
    from mtpp_dsl.sweeps.store.store import Store

    names = [name.strip() for name in (columns or "").split(",") if name.strip()]
    with Store.open(database, readonly=True) as store:
        rows = chosen([*store.rows(logs="log" in names)], only)
    if output == STDOUT:
        text = to_csv(table_of(rows, names))
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    else:
        write(rows, output, names)
        say(f"{output}: {counted(len(rows), 'row')}")
    return 0
