"""Joining databases of results, such as those of the tasks of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.outcome import ANSWERED, FAILED
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import AT_ONCE, Store

_ANSWER, _REFUSAL, _FAILURE = 2, 1, 0


MOST_ROWS = 10_000_000
"""A damaged database that says that it has more rows is not searched for them."""


@dataclass(frozen=True)
class Merged:
    """What has become of the rows of one database.

    Attributes:
        path: of it.
        added: rows of runs that the other had not.
        replaced: rows that are better than what the other had.
        kept: rows that are no better, and were left.
        damaged: rows that could not be read.
    """

    path: Path
    added: int
    replaced: int
    kept: int
    damaged: int


def merge(into: Path, sources: Sequence[Path]) -> list[Merged]:
    """Add the rows of databases to the one at *into*, which is made where it is not there; return what became of them.

    Of two rows of a run the one that has an answer stays, then the one that ended later. The order of the sources does
    not matter but for that of the rows. What a damaged source still holds is taken.

    Raises:
        UsageError: one cannot be opened, or is no database of mtpp's; *into* cannot be written.
    """
    for source in sources:
        if source.exists() and into.exists() and source.samefile(into):
            raise UsageError(f"cannot merge {source} into itself")
    with Store.open(into) as target:
        return [_merge_one(target, source) for source in sources]


def _merge_one(target: Store, path: Path) -> Merged:
    known = {row.key: _rank(row) for row in target.rows(logs=False)}
    counts = dict.fromkeys(("added", "replaced", "kept", "damaged"), 0)
    with Store.open(path, readonly=True) as source:
        for rows, damaged in _salvaged(source):
            counts["damaged"] += damaged
            taken = []
            for row in rows:
                there = known.get(row.key)
                fate = "added" if there is None else "replaced" if _rank(row) > there else "kept"
                counts[fate] += 1
                if fate != "kept":
                    known[row.key] = _rank(row)
                    taken.append((row, _answer(source, row.key)))
            target.copy(taken)
    return Merged(path, **counts)


def _salvaged(source: Store) -> Iterator[tuple[list[RunRow], int]]:
    """Yield rows by the thousand, and how many between them cannot be read.

    Raises:
        UsageError: not even the number of rows can be read, or there are impossible numbers of rows.
    """
    end, last = source.last(), -1
    while last < end:
        try:
            page = source.page(last)
        except UsageError:
            step = min(last + AT_ONCE, end)
            if end > MOST_ROWS:
                raise
            rows = [_salvaged_row(source, number) for number in range(last + 1, step + 1)]
            last = step
            yield [row for row in rows if isinstance(row, RunRow)], sum(isinstance(row, UsageError) for row in rows)
        else:
            if not page:
                break
            last = page[-1][0]
            yield [row for _, row in page], 0


def _salvaged_row(source: Store, number: int) -> RunRow | UsageError | None:
    """Return the row of this number; None if there is none, and why it cannot be read."""
    try:
        return next((row for there, row in source.page(number - 1, most=1) if there == number), None)
    except UsageError as error:
        return error


def _answer(source: Store, key: str) -> str | None:
    try:
        return source.answer(key)
    except UsageError:
        return None


def _rank(row: RunRow) -> tuple[int, str]:
    """Return what of two rows of a run stays: the larger."""
    worth = _ANSWER if row.status in ANSWERED else _FAILURE if row.status in FAILED else _REFUSAL
    return worth, row.ended
