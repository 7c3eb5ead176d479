"""``mtpp bench table``, ``plot`` and ``page``, as they are called."""

from __future__ import annotations

import csv
import io
import sys

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome

SWEEP = """
mtpp-sweep = 1
name = "few"
methods = ["heft"]
time_limit = "5s"
[[problems]]
spec = "few.mtpp"
name = "few"
"""
SPEC = """mtpp 1
graph { node a (work = 1) node b (work = 2) edge a -> b (bytes = 1) }
device d[2]
interconnect links (bandwidth = 1)
minimize makespan
"""
PAGE = """
mtpp-page = 1
title = "smith2020"
[[tables]]
name = "one"
title = "Makespans"
sweep = "few.toml"
rows = "problem"
[[tables.columns]]
show = "value"
"""


@pytest.fixture
def database(tmp_path):
    """Two methods on two problems; one run is out of memory."""
    path = tmp_path / "few.sqlite"
    with Store.open(path) as store:
        runs = [a_run(p, label=m, method=m, params={"k": 2}) for p in ("a_1", "b_2") for m in ("heft", "etf")]
        store.pending(runs)
        store.claim([each.key for each in runs])
        for number, each in enumerate(runs):
            found = an_outcome(1.0 + number, unit="s", nodes=10) if number < 3 else an_outcome(None, status="memory")
            store.put(each, found)
    return path


@pytest.mark.parametrize("call", [("table", "--rows", "problem", "--format", "csv"), ("export", "-o", "-")])
def test_what_is_not_seen_reaches_no_terminal(tmp_path, monkeypatch, capsys, call):
    """CSV has names as they are in a file and in a pipe, and with signs for what a terminal would obey on one."""
    path, hostile = tmp_path / "few.sqlite", "turned \u202e\x1b[2J round"
    with Store.open(path) as store:
        one = a_run(hostile, label="heft", method="heft", params={"k": 2})
        store.pending([one])
        store.claim([one.key])
        store.put(one, an_outcome(1.0, unit="s", nodes=10))
    command = ["bench", call[0], str(path), *call[1:]]
    assert run(command) == 0
    assert hostile in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(command) == 0
    printed = capsys.readouterr().out
    assert visible(printed) == printed
    assert visible(hostile) in printed


def test_a_table_in_each_form(database, tmp_path, capsys):
    assert run(["bench", "table", str(database)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == [
        "method",
        "solved",
        "proved",
        "wins",
        "value",
        "/",
        "best",
        "gap",
        "time",
    ]
    assert printed.splitlines()[1].split()[:5] == ["heft", "2", "of", "2", "0"]
    assert run(["bench", "table", str(database), "--rows", "problem", "--format", "markdown"]) == 0
    assert "| b\\_2 | 3 | out of memory |" in capsys.readouterr().out
    assert run(["bench", "table", str(database), "--rows", "problem", "-o", str(tmp_path / "t.csv")]) == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert (rows[0]["heft"], rows[1]["etf"], rows[1]["etf reasons"]) == ("1.0", "", "out of memory 1")
    assert (
        run(
            ["bench", "table", str(database), "--show", "ratio,gap", "--failed", "par10", "-o", str(tmp_path / "t.tex")]
        )
        == 0
    )
    assert r"\toprule" in (tmp_path / "t.tex").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table", "--show", "valu"], "did you mean 'value'"),
        (["table", "--rows", "{prblem}"], "did you mean 'problem'"),
        (["table", "--only", "label=sa"], "no run is left"),
        (["table", "--format", "html"], "there are terminal, csv, latex, markdown"),
        (["table", "-o", "x.txt"], "it ends in .md, .tex or .csv"),
        (["table", "--show", "gap", "--failed", "par2"], "is for times and for ratios"),
        (["table", "--show", "value", "--unit", "GB"], "not shown in 'GB'"),
        (["table", "--failed", "drop"], "say, none, par2 or par10"),
        (["table", "--best", "heft", "--show", "value"], "--best is for ratio"),
        (["table", "--unit", "ms"], "--unit is for value and bound"),
        (["table", "--title", "T", "--format", "csv"], "no place for a title"),
        (["plot", "-o", "x.svg", "--to", "best"], "--to is for --kind gap, not for profile"),
        (["plot", "-o", "x.svg", "--kind", "size", "--failed", "par10"], "--failed is for --kind line or bars"),
        (["plot", "-o", "x.gif"], "a picture ends in"),
        (["plot", "-o", "x.svg", "--kind", "gapp"], "did you mean 'gap'"),
        (["plot", "-o", "x.svg", "--kind", "gap"], "no run has a log"),
    ],
)
def test_what_cannot_be_meant_is_refused(database, arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["bench", arguments[0], str(database), *arguments[1:]]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_training_is_read_from_answers(tmp_path, capsys):
    with Store.open(tmp_path / "t.sqlite") as store:
        for label, time in (("placeto", '{"train": 2.5}'), ("heft", "{}")):
            run_ = a_run(label=label)
            store.claim([run_.key])
            assert store.put(run_, an_outcome(1.0, unit="s", answer=f'{{"time": {time}}}'))
    assert run(["bench", "table", str(tmp_path / "t.sqlite"), "--show", "train", "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [["placeto", "2.5"], ["heft", ""]]


def test_a_part_beside_its_page_has_the_name_of_their_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "part.toml").write_text(PAGE)
    (tmp_path / "page.toml").write_text('mtpp-page = 1\ntitle = "Results"\nparts = ["part.toml"]\n')
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "page", "page.toml", "--take", "other/one"]) == 2
    assert f"{tmp_path.name}/one" in "".join(capsys.readouterr().err.split())


def test_a_page_takes_rows_and_is_checked(tmp_path, capsys):
    (tmp_path / "smith2020").mkdir()
    (tmp_path / "smith2020" / "few.toml").write_text(SWEEP)
    (tmp_path / "smith2020" / "few.mtpp").write_text(SPEC)
    (tmp_path / "smith2020" / "page.toml").write_text(PAGE)
    page = tmp_path / "page.toml"
    page.write_text('mtpp-page = 1\ntitle = "Results"\nparts = ["smith2020/page.toml"]\n')
    assert run(["bench", "page", str(page)]) == 0
    assert "No rows of this sweep are here yet." in (tmp_path / "results.md").read_text()
    assert run(["bench", "page", str(page), "--take", "smith2020/one"]) == 2
    assert "there is no database" in capsys.readouterr().err
    Store.open(tmp_path / "smith2020" / "few.sqlite").close()
    assert run(["bench", "page", str(page), "--take", "all"]) == 0
    assert "1 rows, of which 1 have not been run" in capsys.readouterr().out
    assert "| few | not run |" in (tmp_path / "results.md").read_text()
    assert run(["bench", "page", str(page), "--check"]) == 0
    (tmp_path / "results.md").write_text("old")
    assert run(["bench", "page", str(page), "--check"]) == 1
    assert (tmp_path / "results.md").read_text() == "old"
