"""Write docs/regret.md from its text and the recorded figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.regret import figures, tables
from benchmarks.regret.ratios import Regret, regrets
from benchmarks.regret.recording import LIMITS
from benchmarks.regret.sample import Drawn, read

TEXT = Path(__file__).with_name("page.md")
OUTPUT = Path(__file__).parents[2] / "docs" / "regret.md"
METHODS, BEFORE, NOW = "methods", "before", "auto"
"""The names of the files of figures: of single methods, and of ``auto`` before and after its shares were set."""
DISTURBED = {
    "cold": "an empty cache of compiled code",
    "busy": "two other processes on the two cores",
    "threads": "two threads",
}
"""By the names of their files, runs of ``auto`` for the longest of the limits under other conditions."""
SHOWN_FROM = 5.0
"""Problems are named on which auto is behind at this limit or longer ones."""


def text() -> str:
    """Return the page: the text with the tables in the places of their names in braces."""
    sample = read()
    parts = figures.read(figures.FOLDER / f"{METHODS}.csv")
    of = {name: regrets(parts, figures.read(figures.FOLDER / f"{name}.csv")) for name in (BEFORE, NOW)}
    filled = TEXT.read_text(encoding="utf-8")
    for name, content in _contents(sample, of, len({part.problem for part in parts})).items():
        filled = filled.replace(f"{{{name}}}", content)
    return filled


def _contents(sample: Sequence[Drawn], of: Mapping[str, Sequence[Regret]], count: int) -> dict[str, str]:
    """Return the tables, by their names in the text."""
    halves = {drawn.name: drawn.half for drawn in sample}
    contents = {"count": str(count), "summary": tables.summaries(of, sample)}
    contents |= {f"groups_{limit:g}": tables.by_group(of[NOW], sample, limit) for limit in LIMITS}
    contents["disturbed"] = tables.disturbed(_disturbed())
    contents["behind"] = tables.behind(of[NOW], halves, [limit for limit in LIMITS if limit >= SHOWN_FROM])
    return contents


def _disturbed() -> dict[str, list[Regret]]:
    """Return how far runs under other conditions are behind those that were warm and quiet, as long as these."""
    quiet = [one for one in figures.read(figures.FOLDER / f"{NOW}.csv") if one.limit == LIMITS[-1]]
    return {
        what: regrets(quiet, figures.read(figures.FOLDER / f"{name}.csv"))
        for name, what in DISTURBED.items()
        if (figures.FOLDER / f"{name}.csv").exists()
    }
