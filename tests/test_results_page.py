"""docs/results.md is what its description and the rows in benchmarks/papers/results say, byte for byte."""

from __future__ import annotations

from mtpp_dsl.sweeps.tables.page import page_text
from mtpp_dsl.sweeps.tables.page_file import read_page
from tests.tree import ROOT

DESCRIPTION = ROOT / "benchmarks" / "papers" / "page.toml"


def test_the_page_is_what_its_rows_say():
    page = read_page(DESCRIPTION)
    assert page.output.resolve() == ROOT / "docs" / "results.md"
    shown = page.output.read_text(encoding="utf-8")
    assert shown == page_text(page), "write it anew: mtpp bench page benchmarks/papers/page.toml"


def test_every_file_of_rows_is_shown_and_every_sweep_is_there():
    page = read_page(DESCRIPTION)
    shown = {page.rows_of(part, table).resolve() for part in page.parts for table in part.tables}
    assert {path.resolve() for path in page.results.glob("*.csv")} <= shown
    assert not [table.sweep for part in page.parts for table in part.tables if not table.sweep.is_file()]
    described = {part.folder.name for part in page.parts}
    assert described == {path.parent.name for path in DESCRIPTION.parent.glob("*/page.toml")}
