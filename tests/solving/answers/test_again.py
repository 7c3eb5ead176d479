"""Tests of reading an answer again with its spec and its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core.errors import MtppError, UsageError
from mtpp_dsl.solving.answers.again import read_again, read_answer
from mtpp_dsl.solving.answers.json import dumps, result_to_json
from tests.exchange.formats.hostile_files import edited

SPEC = """mtpp 1
param k = 2
graph { node a (work = 1) node b (work = 2) edge a -> b }
device d[k]
interconnect shared (bandwidth = 1)
minimize bottleneck
"""


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an answer in a folder of its own, made from the folder above."""
    monkeypatch.chdir(tmp_path)
    Path("specs").mkdir()
    Path("specs/a.mtpp").write_text(SPEC, encoding="utf-8")
    problem = mtpp_dsl.load("specs/a.mtpp", k=3)
    result = mtpp_dsl.solve(problem, "ideals")
    path = Path("answer.json")
    path.write_text(dumps(result_to_json(problem, result)), encoding="utf-8")
    return path


def test_reads_the_spec_with_the_params_of_the_answer(answer: Path) -> None:
    again = read_again(answer)
    assert again.problem.k == 3
    assert dict(again.plan) == json.loads(answer.read_text())["plan"]["assignment"]


def test_finds_the_spec_beside_the_answer_or_where_it_is_said(answer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = answer.rename("specs/answer.json").absolute()
    monkeypatch.chdir("/")
    assert read_again(moved).problem.k == 3
    assert read_again(moved, moved.parent / "a.mtpp").problem.k == 3
    (moved.parent / "a.mtpp").unlink()
    with pytest.raises(UsageError, match="which is not there: say where it is with --spec"):
        read_again(moved)


def test_refuses_a_spec_that_has_changed(answer: Path) -> None:
    Path("specs/a.mtpp").write_text(SPEC.replace("work = 2", "work = 3"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"not an answer to .* as it is now; solve it again"):
        read_again(answer)


def test_shows_nothing_of_files_that_are_no_spec(answer: Path) -> None:
    """An answer of somebody else's may name any file: it is not read as a spec, and no line of it is shown."""
    Path("secret.txt").write_text("password swordfish\n", encoding="utf-8")
    data = json.loads(answer.read_text())
    answer.write_text(json.dumps({**data, "spec": {**data["spec"], "path": "secret.txt"}}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"not an answer to secret\.txt as it is now") as caught:
        read_again(answer)
    assert "swordfish" not in str(caught.value)


def test_refuses_what_is_no_answer_with_a_plan(answer: Path) -> None:
    data = json.loads(answer.read_text())
    for changed, message in (
        ({"assignment": {}}, "is no answer of mtpp"),
        ({**data, "plan": None, "devices": []}, "an answer without a plan"),
        ({**data, "plan": {**data["plan"], "assignment": {"a": "d[9]", "b": "d[0]"}}}, "d\\[9\\]"),
    ):
        answer.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            read_again(answer)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(source=st.data())
def test_damaged_answers_are_read_or_refused(answer: Path, source: st.DataObject) -> None:
    """An answer with some bytes changed is read, or refused by an error of ours."""
    damaged = Path("damaged.json")
    damaged.write_bytes(source.draw(edited(answer.read_bytes())))
    reason = ""
    try:
        read_again(damaged)
    except MtppError as error:
        reason = str(error)
    assert len(reason) < 2_000


def test_reads_answers_without_a_plan_too(answer: Path) -> None:
    """An infeasible answer and a bound are read with their problem, and refused by what needs a plan."""
    found = read_answer(answer)
    assert found.plan is not None
    assert found.bound == pytest.approx(2.0)
    Path("specs/b.mtpp").write_text(SPEC + "constraint pin a on d[0]\nconstraint forbid a on d[0]\n", encoding="utf-8")
    problem = mtpp_dsl.load("specs/b.mtpp")
    answer.write_text(dumps(result_to_json(problem, mtpp_dsl.solve(problem, "exact"))), encoding="utf-8")
    found = read_answer(answer)
    assert (found.plan, found.bound, found.answer["status"]) == (None, None, "infeasible")
    with pytest.raises(UsageError, match="without a plan: its status is infeasible"):
        read_again(answer)
    with pytest.raises(UsageError, match="no front that has points"):
        read_answer(answer, point=1)


FALSE = {
    "a better value": [("objective.value", 1.0), ("objectives.0.value", 1.0), ("objectives.0.best", 1.0)],
    "a bound beyond the plan": [("bound.value", 9.0), ("objectives.0.bound.value", 9.0)],
    "a bound below, called optimal": [("bound.value", 0.5), ("objectives.0.bound.value", 0.5)],
    "another status": [("status", "infeasible")],
    "another gap": [("gap", 0.5)],
    "the load of a device": [("devices.0.load", 99.0)],
    "the unit": [("objective.unit", "h")],
}


@pytest.mark.parametrize("edits", FALSE.values(), ids=FALSE)
def test_answers_that_say_what_is_not_so_are_refused(answer: Path, edits: list[tuple[str, object]]) -> None:
    """An answer whose plan holds, and whose figures do not follow from it, is not shown, explained or compared."""
    data = json.loads(answer.read_text())
    for place, value in edits:
        at = data
        *path, last = place.split(".")
        for step in path:
            at = at[int(step)] if isinstance(at, list) else at[step]
        at[last] = value
    answer.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="says what is not so"):
        read_answer(answer)
    with pytest.raises(UsageError, match="says what is not so"):
        read_again(answer)


def test_fronts_that_are_none_are_refused_before_a_point_is_asked_for(answer: Path) -> None:
    one = json.loads(answer.read_text())
    front = {"schema": 2, "front": [one], "complete": True}
    for damaged, message in (
        ({**front, "front": []}, "is a front without a point"),
        ({**front, "front": [one, 3]}, "point 2 of .* is no answer of mtpp"),
        ({**front, "schema": 9}, "is no front of mtpp"),
        ({**front, "complete": "yes"}, "is no front of mtpp"),
    ):
        answer.write_text(json.dumps(damaged), encoding="utf-8")
        for point in (None, 1):
            with pytest.raises(UsageError, match=message):
                read_answer(answer, point=point)


def test_reads_one_point_of_a_front(answer: Path) -> None:
    problem = mtpp_dsl.load("specs/a.mtpp", k=2)
    front = mtpp_dsl.front(problem, ["bottleneck", "latency"], points=3)
    answer.write_text(front.to_json(), encoding="utf-8")
    with pytest.raises(UsageError, match=r"a front of \d points, of which one is to be chosen: take one with --point"):
        read_answer(answer)
    with pytest.raises(UsageError, match="which has no point 99"):
        read_answer(answer, point=99)
    found = read_answer(answer, point=1)
    assert [objective.shown for objective in found.problem.objectives] == ["bottleneck", "latency"]
    assert found.plan is not None
