"""The sweeps of benchmarks/papers: each can be read at each of its sizes, and published numbers are whole tables."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mtpp_dsl.sweeps.file.expansion import Expansion
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.tables.page_file import read_published

PAPERS = Path(__file__).parent.parent / "benchmarks" / "papers"
SWEEPS = sorted(
    path for path in PAPERS.glob("*/*.toml") if "mtpp-sweep" in tomllib.loads(path.read_text(encoding="utf-8"))
)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_sweeps_of_papers_can_be_read(path: Path) -> None:
    """At every size; at the quick one there are runs, unless the data are not there."""
    sizes = read_sweep(path).sizes
    assert {"ten-minutes", "quick"} <= set(sizes)
    for size in sizes:
        read_sweep(path, size)
    expansion = Expansion(read_sweep(path, "quick"))
    assert expansion.runs() or expansion.left_out


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*/published.toml")), ids=lambda path: path.parent.name)
def test_published_tables_are_whole(path: Path) -> None:
    """Each row has a number for each column, and each table says where it stands and in what unit."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["tables"]
    for table in tables:
        assert read_published(path, table["name"]).rows == table["rows"]
        assert table["place"]
        assert table["unit"]
