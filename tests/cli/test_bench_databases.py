"""mtpp bench diff, export and merge: what they print, their exit codes, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., str]:
    def make(name: str, factor: float = 1.0, **others: object) -> str:
        with Store.open(tmp_path / name) as store:
            for seed in range(8):
                outcome = an_outcome(factor * (1 + seed / 100), bound=0.5, unit="s", objective="makespan", **others)
                store.put(a_run("chain", seed=seed, params={"k": 2}), outcome)
        return str(tmp_path / name)

    return make


def test_diff_says_what_is_worse(database: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    before, after = database("a"), database("b", 1.1)
    assert run(["bench", "diff", before, before]) == 0
    assert capsys.readouterr().out.endswith("\nno regression\n")
    assert run(["bench", "diff", before, after]) == 1
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines()[2:])) <= 80
    assert "heft\n  value      8      8       0     0  9.1 % worse  0.012  worse\n" in printed
    assert printed.endswith("\n1 regression\n")
    assert run(["bench", "diff", before, after, "--tolerance", "10%"]) == 0
    assert run(["bench", "diff", before, after, "--level", "0.01"]) == 0
    assert run(["bench", "diff", before, after, "--of", "bound,time"]) == 0
    assert run(["bench", "diff", after, before]) == 0


def test_diff_as_json(database: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = database("a"), database("b", 1.1)
    assert run(["bench", "diff", before, after, "--json", "-"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["methods"][0]["verdict"] == "worse"
    assert data["methods"][0]["p_worse"] == pytest.approx(3 / 256)
    assert run(["bench", "diff", before, after, "--json", str(tmp_path / "x.json")]) == 1
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == data


def test_diff_of_answers_that_contradict(database: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "diff", database("a"), database("b", 0.4)]) == 7
    assert "heft on chain (k=2) seed 0 has a plan of 400 ms, and heft" in capsys.readouterr().out


def test_export_and_merge(database: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = database("a")
    assert run(["bench", "export", before, "-o", "-", "--columns", "seed,param.k", "--only", "seed=1,2"]) == 0
    assert capsys.readouterr().out == "seed,param.k\n1,2\n2,2\n"
    assert run(["bench", "export", before, "-o", str(tmp_path / "x.csv")]) == 0
    assert len((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()) == 9
    assert run(["bench", "merge", str(tmp_path / "all"), before, before]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"{before}: 8 added",
        f"{before}: 8 no better than what was there",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "{a}", "none"], "there is no database none"),
        (["diff", "{a}", "{a}", "--level", "5"], "--level 5: write a share between 0 and 100 %"),
        (["diff", "{a}", "{a}", "--of", "values"], "write some of value, bound, time; did you mean 'value'?"),
        (["diff", "{a}", "{a}", "--only", "label=hft"], "no run is left; there are heft; did you mean 'heft'?"),
        (["export", "{a}", "-o", "x.xlsx"], "has to end in .csv or .parquet"),
        (["export", "{a}", "-o", "-", "--columns", "valu"], "there is no column 'valu'; did you mean 'value'?"),
        (["merge", "{a}", "{a}"], "into itself"),
        (["export", "pyproject.toml", "-o", "-"], "no SQLite database"),
    ],
)
def test_what_is_refused(
    database: Callable[..., str], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    path = database("a")
    assert run(["bench", *(argument.format(a=path) for argument in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, status in (("a", "feasible"), ("b", "crashed")):
        with Store.open(tmp_path / name) as store:
            store.put(a_run("\x1b[31mred"), an_outcome(None, status=status, error="\x1b]0;title\x07"))
    assert run(["bench", "diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "\x1b" not in capsys.readouterr().out
