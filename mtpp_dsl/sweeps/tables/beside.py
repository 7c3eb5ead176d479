"""Our figures beside those that a paper prints, and where ours are worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.figures import Column
from mtpp_dsl.sweeps.tables.measures import MEASURES
from mtpp_dsl.sweeps.tables.numerals import number
from mtpp_dsl.sweeps.tables.page_file import PageColumn, PageTable
from mtpp_dsl.sweeps.tables.published import PublishedTable, rounding
from mtpp_dsl.sweeps.tables.runs import Runs, plain
from mtpp_dsl.sweeps.tables.tables import Table, TableCell

__all__ = ["Compared", "beside_published"]


@dataclass(frozen=True)
class Compared:
    """A table with published numbers, and what comparing says.

    Attributes:
        table: ours and theirs.
        compared: how many figures have been compared.
        worse: a sentence for each row of ours with a figure that is worse.
    """

    table: Table
    compared: int
    worse: tuple[str, ...]


def beside_published(
    runs: Runs, said: PageTable, table: Table, columns: Sequence[tuple[PageColumn, Column]]
) -> Compared:
    """Put the paper's numbers beside or below ours.

    Args:
        runs: those that the table is of.
        said: the description of the table.
        table: ours.
        columns: for each column of *table* but the first, its description and what it shows.

    Raises:
        UsageError: the paper has no such column, or the unit of a column is not said.
    """
    if said.published is None:
        return Compared(table, 0, ())
    labels = [_label(said.published, *column) for column in columns]
    rows = [said.published_rows.get(row[0].text, row[0].text) for row in table.rows]
    for name in [*said.published_rows, *said.why]:
        if name not in [row[0].text for row in table.rows]:
            raise UsageError(f"{said.name}: no row is shown as {name!r}")
    worse, compared = [], 0
    for row, paper in zip(table.rows, rows, strict=True):
        found = []
        for c, label in enumerate(labels):
            printed = said.published.cell(paper, label) if label else None
            better = _better(runs, columns[c][0], columns[c][1]) if isinstance(printed, (int, float)) else ""
            if better and isinstance(printed, (int, float)):
                compared += 1
                found += _worse(table, c, row[c + 1], printed, better, columns[c][0].tolerance)
        if found:
            name = row[0].text
            why = f" {said.why[name]}" if name in said.why else ""
            worse.append(f"{name}: {'; '.join(found)}.{why}")
    laid = _beside if said.layout == "beside" else _below
    return Compared(laid(said, table, rows, labels), compared, tuple(worse))


def _label(published: PublishedTable, said: PageColumn, column: Column) -> str:
    """Return the paper's column beside one of ours; "" for none."""
    label = said.published
    if label and said.column.by:
        label = label.replace("{}", plain(column.where[said.column.by]))
        return label if label in published.columns else ""
    if label:
        published.check_column(label)
    return label


def _better(runs: Runs, said: PageColumn, column: Column) -> str:
    """Return which is better, ``lower`` or ``higher``; "" where nothing is compared."""
    if said.compare == "no":
        return ""
    better = said.compare or MEASURES[column.show].better
    if better in ("value", "bound"):
        senses = {sense for sense in runs.field("sense") if sense}
        if len(senses) > 1:
            raise UsageError("some objectives are better when larger, some when smaller: say compare for each column")
        better = "higher" if (better == "value") == (senses == {"maximize"}) else "lower"
    if MEASURES[column.show].kind == "value" and not said.column.unit and any(runs.field("unit")):
        raise UsageError(f'column {column.name!r} stands beside published numbers: say its unit, such as unit = "ms"')
    return "" if better == "no" else better


def _worse(table: Table, c: int, cell: TableCell, printed: float, better: str, tolerance: float | None) -> list[str]:
    """Return in words how far a figure of ours is worse; nothing if it is not."""
    numeral = table.numerals[c]
    head = f"{table.head[c + 1]}: " if len(table.columns) > 1 else ""
    if cell.figure is None or math.isnan(cell.figure.value):
        return [f"{head}no figure ({cell.text or 'not run'}), published {printed}"]
    ours = cell.figure.value * 100 if numeral.kind == "share" else cell.figure.value / numeral.per
    off = ours - printed if better == "lower" else printed - ours
    if off <= (rounding(printed) if tolerance is None else tolerance):
        return []
    share = f" ({100 * off / abs(printed):.2g} % worse)" if printed and math.isfinite(ours) else ""
    text = number(cell.figure.value, numeral)
    if text == str(printed):
        text = f"{ours:.7g}"
    return [f"{head}{text}, published {printed}{share}"]


def _beside(said: PageTable, table: Table, rows: Sequence[str], labels: Sequence[str]) -> Table:
    """Return the table with a column of the paper's behind each of ours that has one."""
    published = said.published
    assert published is not None
    single = sum(map(bool, labels)) == 1
    head, lines = [table.head[0]], [[row[0]] for row in table.rows]
    for c, label in enumerate(labels, 1):
        head.append(table.head[c])
        if label:
            head.append("published" if single else f"published: {label}")
        for line, row, paper in zip(lines, table.rows, rows, strict=True):
            line.append(row[c])
            if label:
                line.append(_printed(published, paper, label))
    return replace(table, head=tuple(head), rows=tuple(map(tuple, [*lines, *_others(said, labels, (), beside=True)])))


def _below(said: PageTable, table: Table, rows: Sequence[str], labels: Sequence[str]) -> Table:
    """Return the table with a row of the paper's below each of ours that has one."""
    published = said.published
    assert published is not None
    lines: list[tuple[TableCell, ...]] = []
    for row, paper in zip(table.rows, rows, strict=True):
        lines.append(row)
        if paper in published.rows:
            lines.append((TableCell(f"published: {paper}"), *(_printed(published, paper, label) for label in labels)))
    return replace(table, rows=(*lines, *map(tuple, _others(said, labels, rows, beside=False))))


def _others(said: PageTable, labels: Sequence[str], shown: Sequence[str], *, beside: bool) -> list[list[TableCell]]:
    """Return the rows of the paper that stand beside none of ours."""
    published = said.published
    assert published is not None
    lines = []
    for other in said.others:
        if other in shown:
            continue
        line = [TableCell(f"published: {other}")]
        for label in labels:
            if beside:
                line += [TableCell(""), *([_printed(published, other, label)] if label else [])]
            else:
                line.append(_printed(published, other, label))
        lines.append(line)
    return lines


def _printed(published: PublishedTable, row: str, label: str) -> TableCell:
    found = published.cell(row, label) if label else None
    return TableCell("" if found is None else str(found))
