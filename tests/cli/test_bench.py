"""``mtpp bench SWEEP.toml`` and ``mtpp solve --sweep``: what they print, and what they refuse."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import mtpp_dsl
from mtpp_dsl.cli.bench.live import Live, line_of
from mtpp_dsl.cli.run import run
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.run.forecast import Forecast
from mtpp_dsl.sweeps.run.one_run import attempt
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome
from tests.tree import ROOT

QUICKSTART = str(ROOT / "examples" / "quickstart.mtpp")
SWEEP = """mtpp-sweep = 1
methods = ["simple", "single-device"]
time_limit = "20s"
[[problems]]
params = { k = [2, 3], bandwidth = "1" }
name = "chain-{k}"
text = '''
param k: int
param bandwidth: float
graph from generator chain (nodes = 4)
device d[k]
interconnect shared (bandwidth = bandwidth)
minimize bottleneck
'''
[[problems]]
spec = "night watch.mtpp"
scenario = "night"
methods = ["simple"]
group = "files"
"""
SPEC = """device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
scenario night { graph from generator chain (nodes = 4) }
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("night watch.mtpp").write_text(SPEC)
    Path("s.toml").write_text(SWEEP)
    return tmp_path / "s.toml"


def test_a_dry_run_shows_problems_as_solve_takes_them(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "s.toml", "--dry-run", "--jobs", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "s: 5 runs of 3 problems by 2 methods",
        "2 runs at once: at most 50 s",
        "",
        "chain-2: a text in the sweep -D k=2 -D bandwidth=1",
        "  simple, single-device",
        "chain-3: a text in the sweep -D k=3 -D bandwidth=1",
        "  simple, single-device",
        "night watch-night (files): mtpp solve 'night watch.mtpp' --scenario night",
        "  simple",
    ]
    assert not sweep.with_suffix(".sqlite").exists()


def test_a_sweep_is_run_once_and_goes_on(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "s.toml", "--only", "chain-2"]) == 0
    first = capsys.readouterr()
    assert "2 runs in" in first.out
    assert run(["bench", "run", "s.toml", "--verbose"]) == 0
    second = capsys.readouterr()
    assert second.out.splitlines()[0].split() == ["method", "runs", "feasible", "bound", "mean", "time"]
    assert "; 2 of 5 had a result before" in second.out
    assert sorted(line.split(":")[0] for line in second.err.splitlines()) == ["bound", "bound", "feasible"]
    with mtpp_dsl.bench(sweep, only="chain-3") as store:
        assert len(store) == 5
        assert {(row.status, row.grp, row.attempts) for row in store.rows(problem="night watch-night")} == {
            ("bound", "files", 1)
        }


def test_bounds_are_proved_again(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are true, once; one that is above the optimum is refuted, and what a changed spec lacks is counted."""
    with Store.open("s.sqlite") as store:
        for one in expand(read_sweep(sweep)):
            outcome = attempt(one)
            answer = json.loads(outcome.answer or "")
            assert outcome.bound is not None
            if one.problem == "chain-3":
                outcome = replace(outcome, bound=2 * outcome.bound)
                answer["bound"]["value"] *= 2 if one.method == "simple" else 1
            store.put(one, replace(outcome, answer=json.dumps(answer)))
    Path("night watch.mtpp").write_text(SPEC.replace("= 4", "= 5"))
    assert run(["bench", "prove", "s.toml", "--only", "chain-2"]) == 0
    assert "2 of 2 bounds proved again" in capsys.readouterr().out
    assert run(["bench", "prove", "s.sqlite", "--only", "*night*"]) == 0  # the database of the sweep beside it
    assert capsys.readouterr().out.splitlines()[0] == "0 of 0 bounds proved again"
    assert run(["bench", "prove", "s.toml", "--quiet"]) == 7
    said = capsys.readouterr().out
    assert re.search(r"chain-3, simple: WRONG: .* is not proved: its certificate proves", said)
    assert "chain-3, single-device: WRONG: its row says that the bound is" in said
    assert run(["bench", "table", "s.sqlite", "--rows", "problem", "--show", "proofs"]) == 0
    shown = {
        line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line[:5] in ("chain", "night")
    }
    assert [shown[name][1] for name in ("chain-2", "chain-3")] == ["1", "0"]
    with Store.open("s.sqlite") as store:
        rows = [*store.rows(problem="chain-2")]
        assert {row.proof for row in rows} == {"proved"}
        assert not store.set_proof(rows[0].key, -1.0, "checked")  # the run was repeated meanwhile
    Path("s.sqlite").rename("other.sqlite")
    assert run(["bench", "prove", "other.sqlite"]) == 2
    assert "which sweep has them, mtpp bench prove SWEEP.toml --db other.sqlite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "prove", "s.toml"], "there are no results in s.sqlite: mtpp bench s.toml makes them"),
        (["bench", "s.toml", "--size", "tiny"], "has no size 'tiny'"),
        (["bench", "s.toml", "--only", "chian-2"], "did you mean 'chain-2'"),
        (["bench", "s.toml", "--retry", "faild"], "did you mean 'failed'"),
        (["bench", "s.toml", "--shard", "3/2"], "no part of a sweep"),
        (["bench", "s.toml", "--time-limit", "0s"], "give it some time"),
        (["bench", "s.toml", "--scheduler", "tpc://x"], "did you mean 'tcp'"),
        (["bench", "gone.toml"], "there is no file gone.toml"),
        (["bench", "--dry-run", "gone.toml"], "there is no file gone.toml"),
        (["bench", "exprt"], "No such command 'exprt'"),
        (["bench", "a.mtpp"], "a.mtpp is a spec: mtpp solve takes it"),
        (["bench", "a.sqlite"], "such as mtpp bench table a.sqlite"),
        (["solve", QUICKSTART, "--sweep", "k=2..3", "--gantt", "a.svg"], "--gantt is for one problem"),
        (["solve", QUICKSTART, "--sweep", "q=2..3"], "has no param 'q'"),
        (["solve", QUICKSTART, "--sweep", "k=2-3"], "--sweep k=2-3: the numbers from 2 to 3 are 2..3"),
        (["solve", QUICKSTART, "--sweep", "seed=a,1"], "--sweep seed=a: a seed is a whole number from 0 on"),
        (["solve", QUICKSTART, "--sweep", "k=3..2"], "--sweep k=3..2: the range 3..2 is empty"),
        (["solve", QUICKSTART, "--sweep", "k=2", "-D", "k=2"], "given by -D and by --sweep"),
        (["solve", QUICKSTART, "--method", "heft,heft"], "a method is named twice"),
        (["solve", QUICKSTART, "--method", "simple,dpl", "--channels", "1"], "has no option 'channels'"),
        (["solve", QUICKSTART, "--method", "simple,dpl", "--solver", "scip"], "uses no solver, not scip"),
        (["solve", QUICKSTART, "--db", "a.sqlite"], "--db keeps the results of a sweep"),
    ],
)
@pytest.mark.usefixtures("sweep")
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_small_sweep_is_a_table_and_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Params times methods times seeds; the rows are those of a sweep file that says the same."""
    answers, database = tmp_path / "a.json", tmp_path / "a.sqlite"
    call = ["solve", QUICKSTART, "--sweep", "k=3,4", "--sweep", "seed=0..1", "--method", "simple,slicegraph"]
    assert run([*call, "--time-limit", "20s", "--json", str(answers), "--db", str(database)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["problem", "simple", "slicegraph", "simple", "gap", "slicegraph", "gap"]
    assert [line.split()[0] for line in out[1:3]] == ["k=3", "k=4"]
    rows = json.loads(answers.read_text())["rows"]
    assert [(row["params"], row["label"], row["seed"]) for row in rows] == [
        ({"k": k}, *each) for k in (3, 4) for each in (("simple", 0), ("slicegraph", 0), ("slicegraph", 1))
    ]
    text = 'mtpp-sweep = 1\nmethods = ["slicegraph"]\ntime_limit = 20\n[[problems]]\nparams.k = 3\n'
    text += f'spec = "{QUICKSTART}"\n'
    (tmp_path / "same.toml").write_text(text)
    assert run(["bench", str(tmp_path / "same.toml"), "--db", str(database)]) == 0
    assert "0 runs in" in capsys.readouterr().out


def shown(live: Live, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(live.picture(width))
    return out.getvalue().rstrip("\n")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_the_live_line_fits(width: int) -> None:
    """One line, in which the figures are whole where the terminal has room for them."""
    runs = [a_run(f"a problem with a long name {i}", label="milp-split (channels = 1)") for i in range(1234)]
    live = Live(runs, 2, quiet=True, verbose=False)
    live.began(runs[0])
    live.ended(runs[0], an_outcome())
    live.ended(runs[1], an_outcome(None, status="killed"))
    live.began(runs[2])
    live.began(runs[3])
    line = shown(live, width)
    assert len(line.splitlines()) == 1 or width < 40
    assert all(len(each) <= width for each in line.splitlines())
    if width >= 80:
        assert "2 of 1,234  1 failed" in line
        assert "left" in line


def test_time_left_follows_what_runs_take() -> None:
    runs = [a_run(f"p{i}", label=label, time_limit=100.0) for label in ("fast", "slow") for i in range(10)]
    forecast = Forecast(runs, 2)
    assert forecast.left() == (1000.0, False)
    forecast.ended(runs[0], 1.0)
    assert forecast.left() == ((9 * 1.0 + 10 * 100) / 2, False)
    forecast.ended(runs[10], 20.0)
    assert forecast.left() == ((9 * 1.0 + 9 * 20) / 2, True)
    for each in runs[1:10]:
        forecast.ended(each, 1.0)
    for each in runs[11:19]:
        forecast.ended(each, 20.0)
    assert forecast.left() == (20.0, True)


def test_lines_of_runs_say_why() -> None:
    assert line_of(a_run("p", seed=3), an_outcome(unit="s")) == "feasible: p by heft, seed 3: plan 1.5 s, 500 ms"
    killed = an_outcome(None, status="killed", error="12 s past its limit\nmore")
    assert line_of(a_run("p"), killed) == "killed: p by heft: 12 s past its limit"
