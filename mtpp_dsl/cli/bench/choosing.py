"""The runs of a database that tables and pictures are of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtpp_dsl.sweeps.tables.runs import Runs

__all__ = ["runs_of"]


def runs_of(database: Path, only: Sequence[str], *, logs: bool = False, training: bool = False) -> Runs:
    """Return the runs of a database that every one of *only* is true of.

    Args:
        database: its path.
        only: as of ``mtpp bench``.
        logs: whether their logs are read too.
        training: whether the seconds of their training are read too, from their answers.
    """
    from mtpp_dsl.sweeps.store.selection import chosen
    from mtpp_dsl.sweeps.store.store import Store
    from mtpp_dsl.sweeps.tables.measures import trained_for
    from mtpp_dsl.sweeps.tables.runs import NEEDED, Runs

    with Store.open(database, readonly=True) as store:
        columns = store.columns([*NEEDED, *(["log"] if logs else [])])
        if training:
            columns["train"] = [trained_for(store.answer(key)) for key in columns["key"]]
        runs = Runs(columns)
        if not only:
            return runs
        kept = {row.key for row in chosen([*store.rows(logs=False)], only)}
    return runs.take(i for i, key in enumerate(runs.field("key")) if key in kept)
