"""A page of results as Markdown, from its description and the rows that lie beside that."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.beside import beside_published
from mtpp_dsl.sweeps.tables.page_file import Page, PageTable, PaperTables
from mtpp_dsl.sweeps.tables.page_rows import read_rows
from mtpp_dsl.sweeps.tables.rendering import markdown_escaped, to_markdown
from mtpp_dsl.sweeps.tables.runs import MISSING, WITHOUT, Runs
from mtpp_dsl.sweeps.tables.tables import expanded, make_table
from mtpp_dsl.sweeps.tables.together import with_together

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


def _table_text(page: Page, part: PaperTables, said: PageTable) -> str:
    """Return heading, command, conditions and figures of one table, and where ours are worse."""
    if not page.rows_of(part, said).exists():
        waiting = f"No rows of this sweep are here yet. `{_command(page, said)}` makes them."
        return "\n".join(
            [f"### {said.title}\n", *([said.text.strip() + "\n"] if said.text.strip() else []), _wrapped(waiting)]
        )
    everything = read_rows(page.rows_of(part, said))
    runs = with_together(everything, said.together)
    shown = runs.places(said.where)
    columns = [(each, one) for each in said.columns for one in expanded(runs, each.column, shown)]
    table = make_table(
        runs, said.rows, [one for _, one in columns], where=said.where, row_names=said.row_names, common=said.common
    )
    compared = beside_published(runs, said, table, columns)
    blocks = [f"### {said.title}\n"]
    if said.text.strip():
        blocks.append(said.text.strip() + "\n")
    real = everything.take(everything.places(_parts(said)))
    blocks.append(_wrapped(_conditions(page, said, real)))
    blocks.append(to_markdown(replace(compared.table, notes=())))
    notes = [*table.notes, *_outcomes(real)]
    if said.published is not None:
        notes.append(f"Published: {said.published.paper}, {said.published.place}.")
    if compared.compared and any(each.tolerance is None for each in said.columns):
        notes.append("A figure of ours is worse if it is so beyond the rounding of the published one.")
    blocks.append("".join(_item(note) for note in notes))
    if compared.worse:
        blocks.append("Worse than published:\n")
        blocks.append("".join(_item(sentence) for sentence in compared.worse))
    elif compared.compared:
        blocks.append(f"Of {counted(compared.compared, 'figure')} with a published one beside it, none is worse.\n")
    return "\n".join(blocks)


def _parts(said: PageTable) -> dict[str, Any]:
    """Return what the runs of a table are chosen by, with the labels that it joins in place of their names."""
    where = dict(said.where)
    if "label" in where:
        labels = where["label"] if isinstance(where["label"], list) else [where["label"]]
        where["label"] = [part for label in labels for part in said.together.get(label, [label])]
    return where


def _command(page: Page, said: PageTable) -> str:
    """Return the command that makes the rows of a table, as it is called in the folder above that of the page."""
    sweep = Path(os.path.relpath(said.sweep, page.output.parent.parent)).as_posix()
    return f"mtpp bench {sweep}{f' --size {said.size}' if said.size else ''}"


def _conditions(page: Page, said: PageTable, shown: Runs) -> str:
    """Return the command, the rule, the days, the machines and the versions in sentences."""
    parts = [f"`{_command(page, said)}`."]
    if said.rule.strip():
        parts.append(" ".join(said.rule.split()))
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
        found = date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no day") from None
    months = "January February March April May June July August September October November December".split()  # noqa: SIM905
    return f"{found.day} {months[found.month - 1]} {found.year}"


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
