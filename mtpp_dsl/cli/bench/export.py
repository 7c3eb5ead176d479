"""``mtpp bench export DB -o FILE``: the rows of a database for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.bench.options import Database, Only

__all__ = ["export"]

STDOUT = Path("-")


def export(
    database: Database,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE|-", help="A .csv or .parquet file; - prints CSV.")
    ],
    columns: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these, with commas between them.", show_default=False)
    ] = None,
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
