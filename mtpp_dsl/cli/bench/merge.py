"""``mtpp bench merge DB…``: several databases as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["merge"]


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
    for each in merged:
        parts = ((each.added, "added"), (each.replaced, "replaced"), (each.kept, "no better than what was there"))
        told = ", ".join(f"{number:,} {what}" for number, what in parts if number) or "no rows"
        say(f"{each.path}: {told}" + (f"; {each.damaged:,} damaged, and lost" if each.damaged else ""))
    return 4 if any(each.damaged for each in merged) else 0
