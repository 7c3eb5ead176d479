"""Tests of explanations as a whole: their JSON, their parts, and the command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.cli.run import run
from mtpp_dsl.show.explaining.explain import explain_schema, explained
from mtpp_dsl.show.explaining.question import question_of
from mtpp_dsl.solving.answers.again import read_answer
from tests.show.explaining.mixed import KINDS, every_plan, problem_of
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_as_the_schema_says(kind: str) -> None:
    """Explanations of plans of every kind fit the schema, and can be said."""
    check = Draft202012Validator(explain_schema())
    for seed in range(2):
        problem = problem_of(kind, seed)
        for plan in every_plan(problem, 2):
            found = mtpp_dsl.explain(problem, plan, only=["bottleneck", "critical", "next"], time_limit=0.1)
            check.validate(json.loads(json.dumps(found.to_json(), allow_nan=False)))
            assert found.words()


def test_the_command_solves_first_where_no_answer_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(QUICK), "--only", "bottleneck", "--json", "-", "--time-limit", "10s"]) == 0
    out, err = capsys.readouterr()
    assert "no answer is given: solving" in err
    found = json.loads(out)
    assert found["status"] == "optimal"
    assert found["bottleneck"]["objectives"][0]["holders"][0]["kind"] == "device"


def test_the_command_takes_an_answer_or_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = mtpp_dsl.load(QUICK)
    result = mtpp_dsl.solve(problem, "ideals")
    assert result.plan is not None
    answer, plan = tmp_path / "answer.json", tmp_path / "plan.json"
    answer.write_text(result.to_json())
    plan.write_text(json.dumps(dict(result.plan)))
    said = []
    for path in (answer, plan):
        assert run(["explain", str(QUICK), str(path), "--only", "bottleneck", "-q"]) == 0
        said.append(capsys.readouterr().out.splitlines()[2:6])
    assert said[0] == said[1]
    assert "the largest load is" in said[0][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--time-limit", "none"], "give --time-limit a time"),
        (["--only", "causes"], "an explanation has no part 'causes'"),
        (["--point", "2"], "--point chooses an answer of a front"),
        (["--node", "atn"], "there is no node 'atn'"),
        (["--node", "attn"], "'attn' names 4 nodes; ask about one of them: attn[0..3]"),
        (["--only", ","], "--only names no part"),
        (["--method", "exakt"], "there is no method 'exakt'"),
    ],
)
def test_the_command_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(QUICK), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_answer_wants_its_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer in the place of the spec is not read as one."""
    answer = tmp_path / "answer.json"
    answer.write_text("{}")
    assert run(["explain", str(answer)]) == 2
    assert f"name its spec first: SPEC {answer}" in capsys.readouterr().err


def test_a_point_of_a_front_is_explained_among_plans_as_good_in_the_other_objective(tmp_path: Path) -> None:
    """The best price within what the point reached is the question: no change and no step leads below it."""
    spec, path = tmp_path / "shop.mtpp", tmp_path / "front.json"
    spec.write_text("""
graph {
  node a[i in 0..5] (work = 2 ms, output = 1 MB)
  edge a[i] -> a[i + 1] for i in 0..4
}
device d[3] (price = 1 USD)
interconnect shared (bandwidth = 1 GB/s)
minimize price: sum(price(d) * used(d) for d in devices)
minimize bottleneck
constraint acyclic
""")
    problem = mtpp_dsl.load(spec)
    front = mtpp_dsl.front(problem, ["price", "bottleneck"], points=3)
    path.write_text(front.to_json())
    assert [values[0] for values in front.values] == [1.0, 2.0, 3.0]
    read = read_answer(path, point=2)
    asked = question_of(read.problem, read), question_of(problem, front.points[1])
    for question, parts in zip(asked, (["what_if", "next", "constraints"], ["next"]), strict=True):
        assert question.plan is not None
        assert verify(question.problem, question.plan) == []
        assert question.bound == pytest.approx(2.0)
        found = explained(replace(question, time=10.0), parts).to_json()
        reached = front.values[1][1] * (1 + 1e-8)
        assert found["next"]["plans"]
        assert all(
            price >= 2 - 1e-9 and time <= reached for price, time in (p["values"] for p in found["next"]["plans"])
        )
        if found["what_if"] is not None:
            values = [case["value"] for case in found["what_if"]["cases"] if case["status"] == "optimal"]
            assert len(values) >= 2
            assert values == pytest.approx([2.0] * len(values))
            (row,) = (each for each in found["constraints"] if each["named"] == "keep bottleneck")
            assert row["lines"] == []
            assert row["effect"] == "restricts"
            assert row["least"] - 1e-6 <= 1.0 <= row["most"] + 1e-6  # without the row the best is at 1 USD


def test_an_answer_that_says_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not taken for none, in place of which the spec would be solved."""
    answer = tmp_path / "null.json"
    answer.write_text("null")
    assert run(["explain", str(QUICK), str(answer)]) == 2
    assert "a plan is a JSON answer of mtpp" in " ".join(capsys.readouterr().err.split())


def test_an_interrupt_leaves_what_was_found(tmp_path: Path) -> None:
    """Ctrl-C in a search ends it; what is known is told and written, and the exit code is 130."""
    spec, written = ROOT / "examples" / "cases" / "inception.mtpp", tmp_path / "why.json"
    call = ["explain", str(spec), "--time-limit", "60s", "--json", str(written)]
    child = subprocess.Popen(
        [sys.executable, "-m", "mtpp_dsl", *call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    for line in child.stderr:
        if " s  " in line:  # a plan was found
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "stopping, with what has been found out so far" in err
    assert "the critical path spends" in out
    assert "not looked at, as the search was stopped" in out
    found = json.loads(written.read_text())
    assert found["interrupted"] is True
    assert found["bottleneck"]["objectives"][0]["holders"]
    Draft202012Validator(explain_schema()).validate(found)


def test_what_a_file_says_of_a_bound_is_told_as_its_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody has proved it again: of a result that was just found it is told as it is."""
    answer = tmp_path / "answer.json"
    problem = mtpp_dsl.load(QUICK)
    result = mtpp_dsl.solve(problem, "ideals")
    answer.write_text(result.to_json())
    only = ["bottleneck", "constraints"]
    assert run(["explain", str(QUICK), str(answer), "--only", ",".join(only), "-q", "--time-limit", "9s"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no plan is below 14.465 ms, as the answer says: so it is optimal" in said
    assert "With all of them the plan is at 14.465 ms, the best, as the answer says:" in said
    told = " ".join(mtpp_dsl.explain(problem, result, only=["bottleneck"]).words())
    assert "no plan is below 14.465 ms: so it is optimal" in told


def test_where_no_plan_was_found_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(QUICK), "--method", "simple"]) == 4
    told = " ".join(capsys.readouterr().err.split())
    assert "no plan was found in the part of --time-limit 30s that is for solving" in told
    assert "or explain an answer of 'mtpp solve" in told
