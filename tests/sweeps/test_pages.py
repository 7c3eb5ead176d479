"""Pages of results: made from a description and rows in text files, beside published numbers."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.store import Store
from mtpp_dsl.sweeps.tables.page import page_text
from mtpp_dsl.sweeps.tables.page_file import Printed, read_page, rounding
from mtpp_dsl.sweeps.tables.page_rows import read_rows, rows_text, take_rows
from tests.sweeps.made_runs import columns
from tests.sweeps.rows import a_run, an_outcome

PUBLISHED = """
paper = "smith2020"
[[tables]]
name = "table1"
place = "Table 1"
columns = ["DP", "time"]
[tables.rows]
"small" = [2.50, "1m"]
"large" = [7.0, "2m"]
"huge" = [9, "-"]
"""
TABLE = """
mtpp-page = 1
title = "smith2020"
text = "Its graphs are not published."
[[tables]]
name = "one"
title = "Values (Table 1)"
sweep = "t.toml"
size = "quick"
rule = "One thread."
rows = "problem"
published = "table1"
[[tables.columns]]
show = "value"
unit = "s"
published = "DP"
[[tables.columns]]
show = "seconds"
published = "time"
[tables.why]
"large" = "It needs more memory."
"""


@pytest.fixture
def paper(tmp_path):
    """A page of one table, with its rows."""
    folder = tmp_path / "papers"
    (folder / "smith2020").mkdir(parents=True)
    (folder / "results").mkdir()
    (folder / "page.toml").write_text(
        'mtpp-page = 1\ntitle = "Results"\nparts = ["smith2020/page.toml"]\noutput = "../docs/results.md"\n'
    )
    (folder / "smith2020" / "published.toml").write_text(PUBLISHED)
    (folder / "smith2020" / "page.toml").write_text(TABLE)
    made = columns(
        {"problem": "small", "value": 2.504},
        {"problem": "large", "value": None, "status": "memory"},
        {"problem": "huge", "value": 9.8},
        {"problem": "new", "value": 1.0},
    )
    rows = [{name: values[i] for name, values in made.items()} for i in range(4)]
    (folder / "results" / "smith2020-t-quick.csv").write_text(rows_text(rows))
    return folder


def test_a_page_shows_ours_beside_theirs_and_says_where_ours_are_worse(paper):
    text = page_text(read_page(paper / "page.toml"))
    assert "`mtpp bench papers/smith2020/t.toml --size quick`. One thread. Run 2 January 2026 on 2 x CPU, 23 GB" in text
    assert "| small | 2.5040 | 2.50 | 0.500 | 1m |" in text
    assert "| large | out of memory | 7.0 | out of memory | 2m |" in text
    assert "| new | 1 |  | 0.500 |  |" in text
    worse = text.partition("Worse than published:")[2]
    assert "* large: value: no figure (out of memory), published 7.0. It needs more memory." in worse
    assert "* huge: value: 9.8000, published 9 (8.9 % worse)." in worse
    assert "small" not in worse, "2.504 is 2.50, as printed"
    assert "Of 4 runs, 1 ran out of memory." in text
    assert text == page_text(read_page(paper / "page.toml"))


def test_published_rows_stand_below_ours_where_the_columns_are_the_same(paper):
    description = paper / "smith2020" / "page.toml"
    description.write_text(TABLE.replace('rows = "problem"', 'rows = "problem"\nlayout = "below"\nothers = ["huge"]'))
    text = page_text(read_page(paper / "page.toml"))
    assert "| small | 2.5040 | 0.500 |\n| published: small | 2.50 | 1m |" in text
    assert text.count("published: huge") == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('size = "quick"', 'sise = "quick"', "there is no key 'sise'; did you mean 'size'"),
        ('published = "table1"', 'published = "table2"', "has no table 'table2'; did you mean 'table1'"),
        ('published = "DP"', 'published = "DPL"', "there is no column 'DPL'; did you mean 'DP'"),
        ('unit = "s"\n', "", "say its unit"),
        ('unit = "s"\n', 'unit = "GB"\n', "figures in s are not shown in 'GB'"),
        ('rows = "problem"\n', "", "rows is missing"),
        ('"large" =', '"larg" =', "no row is shown as 'larg'"),
        ('show = "value"', 'show = "valeu"', "did you mean 'value'"),
        ("mtpp-page = 1", "mtpp-page = 2", "no description of a page"),
        ("title", "title = ", "page.toml: "),
    ],
)
def test_a_description_that_cannot_be_meant_is_refused(paper, old, new, said):
    (paper / "smith2020" / "page.toml").write_text(TABLE.replace(old, new, 1))
    with pytest.raises(UsageError, match=said):
        page_text(read_page(paper / "page.toml"))


def test_rows_are_taken_from_a_database_and_missing_runs_are_counted(tmp_path):
    runs = [a_run(name, params={"k": 2}, seed=seed) for name in ("b", "a") for seed in range(2)]
    path = tmp_path / "results" / "rows.csv"
    with Store.open(tmp_path / "t.sqlite") as store:
        for number, run in enumerate(runs[:3]):
            store.pending([run])
            store.claim([run.key])
            told = {"versions": {"mtpp-dsl": "0.1.0"}, "started": "2026-01-02T03:04"}
            answer = '{"time": {"train": 2.5}}' if number == 1 else "{}" if number else None
            assert store.put(run, an_outcome(1.0 + number / 3, answer=answer, **told))
        assert take_rows(store, runs, path) == (4, 1)
    found = read_rows(path)
    assert found.field("problem") == ["a", "a", "b", "b"]
    assert found.field("status") == ["feasible", "missing", "feasible", "feasible"]
    assert found.field("value")[2:] == [1.0, 1.0 + 1 / 3], "every digit"
    assert found.field("train")[2:] == ["", 2.5], "the second run of b trained a policy"
    assert found.field("started")[0] == "2026-01-02"
    assert found.field("params.k") == [2, 2, 2, 2]
    path.write_text(path.read_text().replace("feasible", "feasible,more", 1))
    with pytest.raises(UsageError, match="by --take"):
        read_rows(path)


def test_half_a_unit_of_the_last_printed_place_is_rounding():
    assert rounding(Printed("27.90")) == 0.005
    assert rounding(Printed("1e3")) == 0
    assert rounding(12) == 0.5
    assert str(Printed("27.90")) == "27.90"
