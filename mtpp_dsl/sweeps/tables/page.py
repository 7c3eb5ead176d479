"""A page of results as Markdown, from its description and the rows that lie beside that."""

from __future__ import annotations

import math
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.figures import Column
from mtpp_dsl.sweeps.tables.measures import MEASURES
from mtpp_dsl.sweeps.tables.numerals import number
from mtpp_dsl.sweeps.tables.page_file import Page, PageColumn, PageTable, PaperTables, PublishedTable, rounding
from mtpp_dsl.sweeps.tables.page_rows import read_rows, with_together
from mtpp_dsl.sweeps.tables.rendering import markdown_escaped, to_markdown
from mtpp_dsl.sweeps.tables.runs import MISSING, WITHOUT, Runs, plain
from mtpp_dsl.sweeps.tables.tables import Table, TableCell, expanded, make_table

__all__ = ["page_text"]

WIDTH = 120
_FAILED = {
    "unknown": "found nothing",
    "refused": "were refused by the method",
    "error": "ended with an error",
    "crashed": "crashed",
    "killed": "went on past their time limit and were ended",
    "memory": "ran out of memory",
    "changed": "had another spec than the sweep was read with",
    "lost": "lost their worker too often",
    MISSING: "have not been run",
}


def page_text(page: Page) -> str:
    """Return the whole page as Markdown.

    Raises:
        UsageError: the rows of a table are not there, or a description does not fit them.
    """
    parts = [f"# {page.title}\n", page.text.strip() + "\n"] if page.text.strip() else [f"# {page.title}\n"]
    for part in page.parts:
        parts.append(f"## {part.title}\n")
        if part.text.strip():
            parts.append(part.text.strip() + "\n")
        for table in part.tables:
            try:
                parts.append(_table_text(page, part, table))
            except UsageError as error:
                raise UsageError(f"{part.name}/{table.name}: {error}") from None
    return "\n".join(parts)


def _table_text(page: Page, part: PaperTables, asked: PageTable) -> str:
    """Return heading, command, conditions and figures of one table, and where ours are worse."""
    if not page.rows_of(part, asked).exists():
        waiting = f"No rows of this sweep are here yet. `{_command(page, asked)}` makes them."
        return "\n".join(
            [f"### {asked.title}\n", *([asked.text.strip() + "\n"] if asked.text.strip() else []), _wrapped(waiting)]
        )
    everything = read_rows(page.rows_of(part, asked))
    runs = with_together(everything, asked.together)
    shown = runs.places(asked.where)
    columns = [(column, one) for column in asked.columns for one in expanded(runs, column.column, shown)]
    table = make_table(
        runs, asked.rows, [one for _, one in columns], where=asked.where, row_names=asked.row_names, common=asked.common
    )
    compared = beside_published(runs, asked, table, columns)
    blocks = [f"### {asked.title}\n"]
    if asked.text.strip():
        blocks.append(asked.text.strip() + "\n")
    real = everything.take(everything.places(_parts(asked)))
    blocks.append(_wrapped(_conditions(page, asked, real)))
    blocks.append(to_markdown(replace(compared.table, notes=())))
    notes = [*table.notes, *_outcomes(real)]
    if asked.published is not None:
        notes.append(f"Published: {asked.published.paper}, {asked.published.place}.")
    if compared.compared and any(column.tolerance is None for column in asked.columns):
        notes.append("A figure of ours is worse if it is so beyond the rounding of the published one.")
    blocks.append("".join(_item(note) for note in notes))
    if compared.worse:
        blocks.append("Worse than published:\n")
        blocks.append("".join(_item(sentence) for sentence in compared.worse))
    elif compared.compared:
        blocks.append(f"Of {counted(compared.compared, 'figure')} with a published one beside it, none is worse.\n")
    return "\n".join(blocks)


def _parts(asked: PageTable) -> dict[str, Any]:
    """Return what the runs of a table are chosen by, with the labels that it joins in place of their names."""
    where = dict(asked.where)
    if "label" in where:
        labels = where["label"] if isinstance(where["label"], list) else [where["label"]]
        where["label"] = [part for label in labels for part in asked.together.get(label, [label])]
    return where


def _command(page: Page, asked: PageTable) -> str:
    """Return the command that makes the rows of a table, as it is called in the folder above that of the page."""
    sweep = Path(os.path.relpath(asked.sweep, page.output.parent.parent)).as_posix()
    return f"mtpp bench {sweep}{f' --size {asked.size}' if asked.size else ''}"


def _conditions(page: Page, asked: PageTable, shown: Runs) -> str:
    """Return the command, the rule, the days, the machines and the versions in sentences."""
    parts = [f"`{_command(page, asked)}`."]
    if asked.rule.strip():
        parts.append(" ".join(asked.rule.split()))
    days = sorted({day for day in shown.field("started") if day})
    machines = sorted({name for name in shown.field("machine") if name})
    versions = sorted({version for version in shown.field("version") if version})
    if days:
        span = _day(days[0]) if days[0] == days[-1] else f"{_day(days[0])} to {_day(days[-1])}"
        parts.append(f"Run {span}{f' on {_joined(machines)}' if machines else ''}, {_versions(versions)}.")
    limits = sorted({limit for limit in shown.field("time_limit") if limit != ""})
    threads = sorted({count for count in shown.field("threads") if count != ""})
    if limits:
        parts.append(
            f"Limit of a run: {_joined([f'{limit:g} s' for limit in limits], 'or')}; threads: {_numbers(threads)}."
        )
    return " ".join(parts)


def _numbers(values: list[float]) -> str:
    return _joined([f"{value:g}" for value in values], "or") or "not said"


def _versions(versions: list[str]) -> str:
    return f"version {_joined(versions)}" if versions else "version not said"


def _day(text: str) -> str:
    """Return a day in words, from its ISO form."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no day") from None
    months = "January February March April May June July August September October November December".split()  # noqa: SIM905
    return f"{day.day} {months[day.month - 1]} {day.year}"


def _joined(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def _outcomes(runs: Runs) -> list[str]:
    """Return how many runs there are, and what became of those that failed."""
    states: Mapping[str, int] = Counter(runs.field("status"))
    failed = [f"{states[state]} {words}" for state, words in _FAILED.items() if states.get(state)]
    assert set(_FAILED) == WITHOUT
    if not failed:
        return [f"{counted(len(runs), 'run')}, none of which failed."]
    return [f"Of {counted(len(runs), 'run')}, {_joined(failed)}."]


def _item(sentence: str) -> str:
    """Return an item of a list, wrapped."""
    text = markdown_escaped(sentence)
    lines = textwrap.wrap(
        text, WIDTH, initial_indent="* ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return "".join(f"{line}\n" for line in lines)


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


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
    runs: Runs, asked: PageTable, table: Table, columns: Sequence[tuple[PageColumn, Column]]
) -> Compared:
    """Put the paper's numbers beside or below ours.

    Args:
        runs: those that the table is of.
        asked: the description of the table.
        table: ours.
        columns: for each column of *table* but the first, its description and what it shows.

    Raises:
        UsageError: the paper has no such column, or the unit of a column is not said.
    """
    if asked.published is None:
        return Compared(table, 0, ())
    labels = [_label(asked.published, *column) for column in columns]
    rows = [asked.published_rows.get(row[0].text, row[0].text) for row in table.rows]
    for name in [*asked.published_rows, *asked.why]:
        if name not in [row[0].text for row in table.rows]:
            raise UsageError(f"{asked.name}: no row is shown as {name!r}")
    worse, compared = [], 0
    for row, paper in zip(table.rows, rows, strict=True):
        lower = []
        for c, label in enumerate(labels):
            printed = asked.published.cell(paper, label) if label else None
            better = _better(runs, columns[c][0], columns[c][1]) if isinstance(printed, (int, float)) else ""
            if better and isinstance(printed, (int, float)):
                compared += 1
                lower += _worse(table, c, row[c + 1], printed, better, columns[c][0].tolerance)
        if lower:
            name = row[0].text
            why = f" {asked.why[name]}" if name in asked.why else ""
            worse.append(f"{name}: {'; '.join(lower)}.{why}")
    layout = _beside if asked.layout == "beside" else _below
    return Compared(layout(asked, table, rows, labels), compared, tuple(worse))


def _label(published: PublishedTable, asked: PageColumn, column: Column) -> str:
    """Return the paper's column beside one of ours; "" for none."""
    label = asked.published
    if label and asked.column.by:
        label = label.replace("{}", plain(column.where[asked.column.by]))
        return label if label in published.columns else ""
    if label:
        published.check_column(label)
    return label


def _better(runs: Runs, asked: PageColumn, column: Column) -> str:
    """Return which is better, ``lower`` or ``higher``; "" where nothing is compared."""
    if asked.compare == "no":
        return ""
    better = asked.compare or MEASURES[column.show].better
    if better in ("value", "bound"):
        senses = {sense for sense in runs.field("sense") if sense}
        if len(senses) > 1:
            raise UsageError("some objectives are better when larger, some when smaller: say compare for each column")
        better = "higher" if (better == "value") == (senses == {"maximize"}) else "lower"
    if MEASURES[column.show].kind == "value" and not asked.column.unit and any(runs.field("unit")):
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


def _beside(asked: PageTable, table: Table, rows: Sequence[str], labels: Sequence[str]) -> Table:
    """Return the table with a column of the paper's behind each of ours that has one."""
    published = asked.published
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
    return replace(table, head=tuple(head), rows=tuple(map(tuple, [*lines, *_others(asked, labels, (), beside=True)])))


def _below(asked: PageTable, table: Table, rows: Sequence[str], labels: Sequence[str]) -> Table:
    """Return the table with a row of the paper's below each of ours that has one."""
    published = asked.published
    assert published is not None
    lines: list[tuple[TableCell, ...]] = []
    for row, paper in zip(table.rows, rows, strict=True):
        lines.append(row)
        if paper in published.rows:
            lines.append((TableCell(f"published: {paper}"), *(_printed(published, paper, label) for label in labels)))
    return replace(table, rows=(*lines, *map(tuple, _others(asked, labels, rows, beside=False))))


def _others(asked: PageTable, labels: Sequence[str], shown: Sequence[str], *, beside: bool) -> list[list[TableCell]]:
    """Return the rows of the paper that stand beside none of ours."""
    published = asked.published
    assert published is not None
    lines = []
    for other in asked.others:
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
    number = published.cell(row, label) if label else None
    return TableCell("" if number is None else str(number))
