"""The command line: what it prints, what it writes, and the code it ends with."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.contracts.protocols import Availability
from mtpp_dsl.solving.answers.json import schema
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"
UNEQUAL = QUICK.with_name("unequal.mtpp")
TOY = """
param most: int = 4
graph {
  node a[i in 0..3] (work = i + 1, output = 1)
  edge a[i] -> a[i + 1] for i in 0..2
}
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
constraint few: forall e in devices: sum(on(v, e) for v in nodes) <= most
"""


@pytest.fixture
def toy(tmp_path: Path) -> str:
    path = tmp_path / "toy.mtpp"
    path.write_text(TOY)
    return str(path)


def test_solve(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is on stdout and the progress on stderr."""
    assert run(["solve", toy]) == 0
    out, err = capsys.readouterr()
    assert "bottleneck  7" in out
    assert "optimal" in out
    assert "d[0]" in out
    assert "plan" in err or "bound" in err


@pytest.mark.parametrize("method", ["auto", "exact", "slicegraph", "simple", "superblock", "guess"])
def test_json(toy: str, tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every method's answer keeps to the published schema, and stdout carries nothing else."""
    plain = tmp_path / "plain.mtpp"  # without the labelled constraint, which slicegraph refuses
    plain.write_text(TOY[: TOY.index("constraint few")])
    assert run(["solve", str(plain), "--method", method, "--json", "-"]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, schema())
    assert answer["method"] == method
    only_bounds = method in ("simple", "superblock", "guess")
    assert (answer["plan"] is None) == only_bounds
    assert answer["status"] == ("bound" if only_bounds else answer["status"])
    assert answer["bound"]["value"] <= 7 + 1e-6
    if not only_bounds:
        assert answer["objective"]["value"] == 7
        assert answer["verified"] is True
        assert max(device["load"] for device in answer["devices"]) == 7


def test_json_in_base_units(tmp_path: Path) -> None:
    """Values are in s and B, and the spec's path, digest and params are recorded."""
    path = tmp_path / "out.json"
    assert run(["solve", str(QUICK), "--json", str(path), "-q", "-D", "k=4", "--method", "slicegraph"]) == 0
    answer = json.loads(path.read_text())
    jsonschema.validate(answer, schema())
    assert 0.009 < answer["objective"]["value"] < 0.02
    assert answer["objective"]["unit"] == "s"
    assert answer["devices"][0]["memory_limit"] == 256 * 2**20
    assert answer["spec"]["params"] == {"k": 4}
    assert len(answer["spec"]["sha256"]) == 64


def test_infeasible(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Proven infeasible is exit code 3, with the constraints that clash."""
    assert run(["solve", toy, "-D", "most=1"]) == 3
    assert "No plan exists" in capsys.readouterr().out
    assert run(["solve", toy, "-D", "most=1", "--json", "-"]) == 3
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, schema())
    assert answer["status"] == "infeasible"
    assert any("few" in constraint for constraint in answer["infeasible"]["clash"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "exct"], "did you mean 'exact'"),
        (["--solver", "hihgs"], "did you mean 'highs'?"),
        (["--time-limit", "soon"], "--time-limit: 'soon' is not a duration"),
        (["--gap", "120%"], "--gap: '120%' is not a gap: write a share between 0 and 100 %"),
        (["-D", "most"], "write -D name=value"),
        (["-D", "mst=3"], "did you mean 'most'?"),
        (["--start", "none.json"], "there is no file none.json"),
        (["--json", "none/x.json"], "there is no folder none"),
        (["--json", "."], "it is a folder"),
        (["--tim", "3s"], "--time-limit)"),
        (["--solver-o", "a=1"], "(Possible options: --solver-option)"),
        (["--metod", "exact"], "--method"),
        (["--write-model", "x.txt", "--method", "exact"], ".lp"),
        (["--solver-option", "no_such_option=3", "--method", "exact"], "no_such_option"),
        (["--quiet", "--verbose"], "exclude each other"),
        (["--method", "moirai"], "exact can"),
        (["--method", "simple", "--solver", "scip"], "uses no MIP solver, and so has no use for a solver"),
        (["--method", "simple", "--solver-option", "a=1"], "no use for solver options"),
        (["--method", "simple", "--write-model", "m.lp"], "no use for a model"),
        (
            ["--write-model", "m.lp"],
            "'auto' may end without a model: m.lp would not be written; choose --method exact, ",
        ),
        (
            ["--solver-option", "a=1"],
            "'auto' may use several solvers, or none, so it takes no solver options such as a",
        ),
        (["--method", "exact", "--write-model", "none/m.lp"], "there is no folder none"),
        (["--method", "slicegraph", "--threads", "2"], "no use for threads"),
    ],
)
def test_wrong_calls(toy: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong call is exit code 2, says what is wrong, and prints nothing on stdout."""
    assert run(["solve", toy, *arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""


def test_unknown_flags_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The call itself is checked too."""
    assert run(["solve", "x.mtpp", "--methd", "auto"]) == 2
    assert "--method" in capsys.readouterr().err
    assert run(["sove"]) == 2
    assert run(["solve"]) == 2
    assert run(["solve", "nowhere.mtpp"]) == 2
    assert "there is no file nowhere.mtpp" in capsys.readouterr().err


def test_spec_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of a spec are exit code 2, each with its place, counted."""
    path = tmp_path / "bad.mtpp"
    path.write_text("constraint acylic\nminimise bottleneck\n")
    assert run(["check", str(path)]) == 2
    err = capsys.readouterr().err
    assert "bad.mtpp:1:12-17: error[MTPP-E012]: there is no constraint 'acylic'; did you mean 'acyclic'?" in err
    assert err.endswith("2 errors\n")


def test_missing_solver(toy: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is not installed is exit code 5 with the command that installs it."""
    from mtpp_dsl.solvers.backends.mip.cbc import Cbc

    absent = Availability(ok=False, install="apt-get install coinor-cbc")
    monkeypatch.setattr(Cbc, "available", lambda _: absent)
    for method in ("exact", "auto"):
        assert run(["solve", toy, "--solver", "cbc", "--method", method]) == 5
        assert "coinor-cbc" in capsys.readouterr().err


def test_batches(specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A batch's answer says which inputs run where and when, verifies, is drawn and traced, and is a start."""
    path, answer = str(specs / "rwnn_batched.mtpp"), tmp_path / "a.json"
    files = ["--json", str(answer), "--trace", str(tmp_path / "trace.json"), "--gantt", str(tmp_path / "gantt.svg")]
    assert run(["solve", path, "--method", "heft", *files]) == 0
    assert "128 inputs, 4 chunks of 32" in capsys.readouterr().out
    data = json.loads(answer.read_text())
    jsonschema.validate(data, schema())
    assert data["objective"]["batch"] == 128
    assert {row["batch"] for row in data["plan"]["schedule"]} <= {32, 64, 96, 128}
    assert run(["verify", path, str(answer)]) == 0
    assert run(["solve", path, "--method", "expert", "--start", str(answer)]) == 0


def test_schedules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A makespan's answer has a schedule that verifies, is drawn and traced, and is a start for another method."""
    answer, trace, picture = (tmp_path / name for name in ("a.json", "trace.json", "gantt.svg"))
    files = ["--json", str(answer), "--trace", str(trace), "--gantt", str(picture)]
    assert run(["solve", str(UNEQUAL), "--method", "heft", *files]) == 0
    assert "critical path" in capsys.readouterr().out
    data = json.loads(answer.read_text())
    jsonschema.validate(data, schema())
    assert len(data["plan"]["schedule"]) == 12
    assert json.loads(trace.read_text())["traceEvents"]
    assert picture.read_text().startswith("<?xml")
    assert run(["verify", str(UNEQUAL), str(answer)]) == 0
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(data["plan"]["assignment"]))
    assert run(["verify", str(UNEQUAL), str(bare)]) == 7  # it says where, not when
    capsys.readouterr()
    assert run(["solve", str(UNEQUAL), "--method", "expert", "--start", str(bare)]) == 0
    assert "verified" in capsys.readouterr().out
    data["plan"]["schedule"][0]["end"] += 1.0
    answer.write_text(json.dumps(data))
    assert run(["verify", str(UNEQUAL), str(answer)]) == 7


def test_schedules_that_cannot_be_shown(toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A picture of no schedule, or in no known format, and unknown rules are refused before any work."""
    for spec, options, message in (
        (toy, ["--microbatches", "3"], "goes with --trace"),
        (str(UNEQUAL), ["--gantt", str(tmp_path / "g.gif")], ".svg"),
        (str(UNEQUAL), ["--coarsen", "gcofe"], "gcof"),
        (str(UNEQUAL), ["--method", "heft", "--channels", "2"], "--channels is not an option of method 'heft'"),
        (str(UNEQUAL), ["--method", "milp-split", "--module-time-limit", "2x"], "not a duration"),
        (str(UNEQUAL), ["--method", "milp-split", "--module-method", "hefty"], "no method 'hefty' for modules"),
    ):
        assert run(["solve", spec, *options]) == 2
        assert message in capsys.readouterr().err


def test_options_of_milp_split(capsys: pytest.CaptureFixture[str]) -> None:
    """Channels, and what solves modules and for how long, are said on the command line."""
    call = ["solve", str(UNEQUAL), "--method", "milp-split", "--channels", "2", "--module-method", "heft"]
    assert run([*call, "--module-time-limit", "none", "--time-limit", "30s", "--gap", "60%"]) == 0
    assert "each solved by heft" in capsys.readouterr().out


def test_coarsened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Operators are fused before any method, and the plan is one of the graph itself."""
    rules = tmp_path / "rules.toml"
    rules.write_text('rules = [["conv", "conv"]]\n')
    assert run(["solve", str(UNEQUAL), "--method", "heft", "--coarsen", str(rules)]) == 0
    assert "12 operators became 8" in capsys.readouterr().out


def test_verify(toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer verifies; a plan that breaks a constraint or lies about its cost does not."""
    answer = tmp_path / "a.json"
    run(["solve", toy, "--json", str(answer), "-q"])
    assert run(["verify", toy, str(answer)]) == 0
    assert "every constraint holds" in capsys.readouterr().out
    data = json.loads(answer.read_text())
    answer.write_text(json.dumps({**data, "objective": {**data["objective"], "value": 3.0}}))
    assert run(["verify", toy, str(answer)]) == 7
    assert "the answer says 3.0, the plan has 7.0" in capsys.readouterr().out
    answer.write_text(json.dumps({**data, "bound": {**data["bound"], "value": 9.0}}))
    assert run(["verify", toy, str(answer)]) == 7
    assert "no plan beats 9.0" in capsys.readouterr().out
    answer.write_text(json.dumps({**data, "bond": None, "objective": {"value": 3.0}}))
    assert run(["verify", toy, str(answer)]) == 2
    assert all(words in capsys.readouterr().err for words in ["objective.name is missing"])
    answer.write_text(json.dumps({"a[0]": "d[0]", "a[1]": "d[1]", "a[2]": "d[0]", "a[3]": "d[1]"}))
    assert run(["verify", toy, str(answer)]) == 7
    assert "acyclic" in capsys.readouterr().out
    answer.write_text('{"a[0]": "d[0]", "a[1]": "d[0]", "a[2]": "d[0]", "a[3]": "d[0]", "a[3]": "d[1]"}')
    assert run(["verify", toy, str(answer)]) == 2
    assert "gives 'a[3]' twice" in capsys.readouterr().err
    answer.write_text("{")
    assert run(["verify", toy, str(answer)]) == 2


def test_start_and_model(toy: str, tmp_path: Path) -> None:
    """An answer starts another run; models are written in both formats."""
    answer = tmp_path / "a.json"
    run(["solve", toy, "--json", str(answer), "-q"])
    for suffix in (".lp", ".mps"):
        model = tmp_path / f"m{suffix}"
        options = ["--start", str(answer), "--method", "exact", "-q", "--write-model", str(model)]
        assert run(["solve", toy, *options]) == 0
        assert ("bounds" if suffix == ".lp" else "ROWS") in model.read_text(encoding="utf-8")


def test_a_model_is_written_of_a_problem_that_counting_solves(toy: str, tmp_path: Path) -> None:
    """What ends before the solver begins has been written all the same, the members of a family too."""
    spec = tmp_path / "full.mtpp"
    text = TOY.replace("output = 1", "output = 1, params = 3").replace("device d[2]", "device d[2] (memory = 4)")
    spec.write_text(text + "constraint memory\n")
    for method, names in (("exact", ["m.lp"]), ("guess", ["g-j1.lp", "g-j2.lp"])):
        path = tmp_path / f"{names[0][0]}.lp"
        assert run(["solve", str(spec), "--method", method, "-q", "--write-model", str(path)]) == 3
        for name in names:
            assert "bounds" in (tmp_path / name).read_text(encoding="utf-8")


def test_a_model_that_was_not_written_is_an_error(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the time is up before the model is built there is no answer with code 0."""
    monkeypatch.setattr("mtpp_dsl.models.formulations.exact.Exact.build", lambda *_: time.sleep(3))
    path = tmp_path / "m.lp"
    assert run(["solve", toy, "--method", "exact", "--time-limit", "1s", "--write-model", str(path)]) == 2
    assert "no model was written to" in capsys.readouterr().err
    assert not path.exists()


def test_a_solver_that_auto_did_not_need_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Auto checks that the solver is there, and says so where it came to an end without it."""
    assert run(["solve", str(QUICK), "--solver", "cbc", "--time-limit", "20s"]) in (0, 5)
    out, err = capsys.readouterr()
    assert "--solver cbc was not used: no model had to be solved" in out or "not installed" in err


def test_cp_sat_writes_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an engine the formulation has a model of another kind."""
    batch = QUICK.with_name("batch.mtpp")
    options = ["--method", "batched", "--solver", "cp-sat", "--write-model", str(tmp_path / "m.lp")]
    assert run(["solve", str(batch), *options]) == 2
    assert "solver 'cp-sat' solves no MIP" in capsys.readouterr().err


def test_fmt(toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--check changes nothing and says so; without it files are formatted in place, once."""
    ugly = tmp_path / "ugly.mtpp"
    ugly.write_text("device  d # one\n")
    assert run(["fmt", "--check", str(ugly)]) == 1
    assert ugly.read_text() == "device  d # one\n"
    assert run(["fmt", str(ugly)]) == 0
    assert ugly.read_text() == "device d  # one\n"
    assert run(["fmt", "--check", str(ugly)]) == 0
    broken = tmp_path / "broken.mtpp"
    broken.write_text("device")
    assert run(["fmt", str(broken)]) == 2


def test_listings(capsys: pytest.CaptureFixture[str]) -> None:
    """Every method and solver is listed with what it is."""
    assert run(["methods"]) == 0
    assert run(["solvers"]) == 0
    out = capsys.readouterr().out
    for word in (
        "auto",
        "exact",
        "slicegraph",
        "superblock",
        "guess",
        "simple",
        "highs",
        "scip",
        "cbc",
        "glpk",
        "gurobi",
    ):
        assert word in out


@pytest.mark.parametrize(
    ("method", "objectives"),
    [
        ("ideals", "bottleneck, linear, iteration"),
        ("heft", "makespan, batch"),
        ("path-hull", "latency"),
        ("annealing", "bottleneck, makespan, batch, linear"),
    ],
)
def test_methods_are_listed_with_their_objectives(
    method: str, objectives: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a method is for comes from its scopes."""
    assert run(["methods"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{method} "))
    assert re.split("  +", line)[2] == objectives


def test_what_is_reserved_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The memory kept free stands beside what the nodes take, so that the two add up to what is compared."""
    spec = tmp_path / "reserve.mtpp"
    spec.write_text(
        "graph { node a (work = 1, params = 3 MiB) }\ndevice d (memory = 8 MiB, reserve = 2 MiB)\n"
        "interconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint memory\n"
    )
    assert run(["solve", str(spec)]) == 0
    assert "3 MiB + 2 MiB of 8 MiB" in capsys.readouterr().out


def test_sigterm(tmp_path: Path) -> None:
    """It ends with 143; the best plan and bound so far are printed and written. Copies of it count once."""
    spec = tmp_path / "hard.mtpp"
    spec.write_text(
        'graph from generator regal (nodes = 120, model = "er", seed = 1)\n'
        "device d[8]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint acyclic\n"
    )
    answer = tmp_path / "a.json"
    command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "--json", str(answer), "--time-limit", "120s"]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=os.environ
    )
    assert child.stderr is not None
    seen = ""
    deadline = time.monotonic() + 60
    while "plan" not in seen and time.monotonic() < deadline:
        seen += child.stderr.readline()
    time.sleep(1)
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGTERM)  # as timeout does
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 143
    assert "bottleneck" in out
    data = json.loads(answer.read_text())
    jsonschema.validate(data, schema())
    assert data["termination"] == "interrupted"
    assert data["verified"] is True


def test_what_is_in_brackets_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets are no markup: how to install a solver, or the name of a node, is shown as it is."""
    absent = Availability(ok=False, install="pip install ortools")
    monkeypatch.setattr("mtpp_dsl.solvers.methods.cp_sat.CpSat.available", lambda _: absent)
    assert run(["solvers"]) == 0
    assert "pip install ortools" in capsys.readouterr().out
    monkeypatch.setattr("mtpp_dsl.solvers.methods.auto.makespan.availability", lambda: absent)
    assert run(["solve", str(UNEQUAL), "-D", "width=1"]) == 0
    assert "pip install ortools" in capsys.readouterr().out


def test_no_schedule_is_shown_where_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A picture or a trace from a method that only bounds is refused; without a plan, it is said that there is none."""
    picture = str(tmp_path / "gantt.svg")
    assert run(["solve", str(UNEQUAL), "--method", "simple", "--gantt", picture]) == 2
    assert "gives only bounds" in capsys.readouterr().err
    spec = tmp_path / "full.mtpp"
    spec.write_text(
        "graph { node a (params = 2) }\ndevice d (memory = 1)\ninterconnect links (bandwidth = 1)\n"
        "minimize makespan\nconstraint memory\n"
    )
    assert run(["solve", str(spec), "--method", "heft", "--gantt", picture]) == 3
    assert "not written" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["solve", "check", "verify", "fmt"])
def test_help_fills_its_lines(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A paragraph is broken where the terminal ends, not where the source is broken: the next word would not fit."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out.split("Arguments")[0].splitlines()[:-1]
    for line, following in itertools.pairwise(line.strip() for line in text):
        if line and following and not line.startswith("Usage"):
            assert len(line) + 1 + len(following.split()[0]) > 76


def test_help_is_quick() -> None:
    """--help imports neither Pyomo nor numpy nor a solver."""
    code = (
        "import sys; from mtpp_dsl.cli.run import run; run(['--help']); run(['solve', '--help']);"
        "print([m for m in ('pyomo', 'numpy', 'highspy', 'lark', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_time_counts_from_the_start_of_the_command(toy: str, tmp_path: Path) -> None:
    """What an answer says that it took is what the time limit counts: starting, reading, and solving."""
    out = tmp_path / "answer.json"
    assert run(["solve", toy, "--method", "ideals", "--quiet", "--json", str(out)]) == 0
    spent = json.loads(out.read_text(encoding="utf-8"))["time"]
    assert list(spent)[:2] == ["start", "read"]
    assert spent["total"] > spent["start"] + spent["read"] > 0
