"""Results in a Python session: what they show, what they are turned into, and what survives copying."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import DeviceError, SpecError, UsageError
from mtpp_dsl.core.executors.wire import receive, send
from mtpp_dsl.solving.answers.json import schema
from mtpp_dsl.solving.plugins.samples import small
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"


@pytest.fixture(scope="module")
def problem() -> mtpp_dsl.Problem:
    return mtpp_dsl.load(QUICK)


@pytest.fixture(scope="module")
def result(problem: mtpp_dsl.Problem) -> mtpp_dsl.Result:
    return mtpp_dsl.solve(problem, "ideals")


def test_plan_is_a_mapping(problem: mtpp_dsl.Problem, result: mtpp_dsl.Result) -> None:
    """plan["embed"] is the name of a device, for plans that a solve, a JSON answer and create give."""
    assert result.plan is not None
    for plan in (
        result.plan,
        mtpp_dsl.Plan.create(problem, result.plan.assignment),
        mtpp_dsl.Plan.from_json(problem, result.to_dict()),
        pickle.loads(pickle.dumps(result.plan)),
    ):
        assert plan["embed"] == problem.devices[result.plan.assignment[0]].name
        assert dict(plan) == result.to_dict()["plan"]["assignment"]
        assert [*plan] == [*plan.keys()] == [node for node, _ in plan.items()] == [*problem.graph.names]
        assert "embed" in plan
        assert "embd" not in plan
        assert plan.to_json()["assignment"] == dict(plan)
        with pytest.raises(KeyError, match="there is no node 'embd'; did you mean 'embed'"):
            plan["embd"]
    stranger = result.plan.of(None)
    for use in (lambda: stranger["embed"], stranger.to_json, lambda: [*stranger]):
        with pytest.raises(UsageError, match="does not know its problem"):
            use()
    assert stranger.of(problem)["embed"] == result.plan["embed"]


def test_plan_of_a_batch() -> None:
    """Of a batch, a node whose inputs are on several devices has all of them, as the JSON answer says it."""
    problem = small()["measured batches"]
    plan = mtpp_dsl.solve(problem, "heft", time_limit=10).plan
    assert plan is not None
    assert dict(plan) == plan.to_json(problem)["assignment"]


def test_processes_send_plans_alone(problem: mtpp_dsl.Problem, result: mtpp_dsl.Result) -> None:
    """Between processes a plan goes without its problem, which both have."""
    assert result.plan is not None
    stream = io.BytesIO()
    send(stream, result.plan)
    assert stream.tell() < len(pickle.dumps(problem)) / 2
    stream.seek(0)
    plan = receive(stream)
    assert plan.problem is None
    assert plan.assignment.tolist() == result.plan.assignment.tolist()


def test_values(problem: mtpp_dsl.Problem, result: mtpp_dsl.Result) -> None:
    """The value of a result is in the user's objective, its cost in what is minimised."""
    assert result.value == result.cost
    assert result.bound is not None
    assert result.bound_value == result.bound.cost
    several = mtpp_dsl.load(QUICK.read_text().replace("minimize bottleneck", "maximize throughput"))
    turned = mtpp_dsl.solve(several, "ideals")
    assert turned.value == pytest.approx(1 / result.value)  # type: ignore[operator]
    assert turned.bound_value == pytest.approx(1 / result.bound_value)  # type: ignore[operator]
    nothing = mtpp_dsl.Result("time_limit").of(problem)
    assert (nothing.value, nothing.bound_value) == (None, None)


def test_json(result: mtpp_dsl.Result) -> None:
    """to_dict and to_json are the JSON answer of the command line."""
    jsonschema.validate(result.to_dict(), schema())
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
    for use in (mtpp_dsl.Result.to_dict, mtpp_dsl.Result.to_json, mtpp_dsl.Result.show):
        with pytest.raises(UsageError, match=r"write result\.of\(problem\)"):
            use(mtpp_dsl.Result("time_limit"))


def test_dataframes(problem: mtpp_dsl.Problem, result: mtpp_dsl.Result) -> None:
    """A table has a row for each node, device or entry of the log, and of a batch one for each batch."""
    nodes = result.to_dataframe()
    assert nodes["node"].tolist() == list(problem.graph.names)
    assert nodes["device"].tolist() == [*dict(result.plan or {}).values()]
    assert nodes["time"].sum() == pytest.approx(problem.graph.work.sum())
    assert result.to_dataframe("devices")["load"].max() == pytest.approx(result.cost)
    assert len(result.to_dataframe("log")) == len(result.log)
    timed = mtpp_dsl.solve(small()["makespan"], "heft")
    assert timed.to_dataframe()["end"].max() == pytest.approx(timed.cost)
    batched = mtpp_dsl.solve(small()["measured batches"], "heft")
    assert batched.problem is not None
    inputs = batched.to_dataframe().groupby("node")["inputs"].sum()
    assert set(inputs) == {batched.problem.batching.inputs}
    with pytest.raises(UsageError, match="did you mean 'nodes'"):
        result.to_dataframe("node")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no plan"):
        mtpp_dsl.solve(problem, "simple").to_dataframe()


def test_no_pandas(result: mtpp_dsl.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas, the error says how to install it, and what there is without."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install pandas; or use result\.to_dict\(\)"):
        result.to_dataframe()


def test_shown(result: mtpp_dsl.Result, capsys: pytest.CaptureFixture[str]) -> None:
    """show() prints the report of the command line, in the width asked for; a notebook shows HTML with a picture."""
    result.show()
    printed = capsys.readouterr().out
    assert "stage[0]  █" in printed
    assert "bottleneck  14.465 ms" in printed
    assert max(map(len, printed.splitlines())) <= 100
    narrow = io.StringIO()
    result.show(width=50, file=narrow)
    assert max(map(len, narrow.getvalue().splitlines())) <= 50
    page = result._repr_html_()
    assert page is not None
    assert page.startswith("<div")
    assert "14.465 ms" in page
    assert "<svg" in page
    assert mtpp_dsl.Result("time_limit")._repr_html_() is None


def test_hostile_names_are_harmless() -> None:
    """What a terminal would obey, and what HTML means, is shown as text."""
    builder = mtpp_dsl.Builder().node("<b>\x1b[31m&", work=1).device("d").interconnect("shared", bandwidth=1)
    result = mtpp_dsl.solve(builder.minimize("bottleneck").build(), "ideals")
    page = result._repr_html_()
    assert page is not None
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "\x1b" not in page
    out = io.StringIO()
    result.show(file=out)
    assert "\x1b" not in out.getvalue()


def test_short_texts(problem: mtpp_dsl.Problem, result: mtpp_dsl.Result) -> None:
    """Nothing public is shown in more than a line, however large it is."""
    large = mtpp_dsl.load(
        "graph from generator layered (nodes = 400, seed = 1)\ndevice d[3] (unsupported = "
        f"{[f'kind{i}' for i in range(50)]}".replace("'", '"')
        + ")\ninterconnect links (bandwidth = 1)\nminimize makespan\n"
    )
    timed = mtpp_dsl.solve(large, "heft")
    assert timed.plan is not None
    shown = [result, result.plan, result.bound, result.evaluation, problem, problem.graph, problem.interconnect]
    shown += [large, large.devices[0], large.interconnect, timed, timed.plan, timed.plan.schedule, timed.evaluation]
    shown += [mtpp_dsl.Limits(), mtpp_dsl.Progress(), problem.objective, problem.origin, mtpp_dsl.Builder()]
    wrong = mtpp_dsl.analyse("graph { node a (wrk = 3) }\n" + 99 * "# more\n")
    shown += [mtpp_dsl.read(QUICK.read_text()), wrong, wrong.source, wrong.diagnostics[0], wrong.diagnostics[0].span]
    for each in shown:
        assert len(repr(each)) <= 160, repr(each)
        assert " object at " not in repr(each)
    assert repr(problem.devices[0]) == "Device(name='stage[0]', memory=268435456.0)"
    assert repr(result).startswith("Result(optimal: bottleneck 14.465 ms, bound 14.465 ms, gap 0 %, by ideals in ")
    assert repr(mtpp_dsl.Result("time_limit", method="exact")) == "Result(time limit, by exact)"


HOW: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]


@pytest.mark.parametrize("how", HOW)
def test_copies(how: Callable[[Any], Any], problem: mtpp_dsl.Problem, result: mtpp_dsl.Result) -> None:
    """Limits, progress and errors are copied and pickled, too; a result keeps its problem."""
    again = how(result)
    assert again.to_dict() == result.to_dict()
    assert again.plan["embed"] == result.plan["embed"]  # type: ignore[index]
    limits = mtpp_dsl.Limits(3.0, solver_options={"x": 1}, start=result.plan)
    assert how(limits).solver_options == {"x": 1}
    progress = mtpp_dsl.Progress(lambda *_: None)
    mtpp_dsl.solve(problem, "ideals", progress=progress)
    progress.stop()
    copied = how(progress)
    assert copied.cost == progress.cost
    assert copied.stopped
    assert copied.log == progress.log
    copied.log.clear()
    assert progress.log
    wrong = DeviceError("no", "gpu[0]")
    assert (str(how(wrong)), how(wrong).device) == ("no", "gpu[0]")
    with pytest.raises(SpecError) as caught:
        mtpp_dsl.load("graph { node a (wrk = 3) }\n")
    assert str(how(caught.value)) == str(caught.value)
    analysis = mtpp_dsl.analyse(QUICK)
    assert repr(how(analysis)) == repr(analysis)
    assert how(mtpp_dsl.read(QUICK)).problem(k=4).k == 4
    assert how(caught.value).diagnostics[0].message == caught.value.diagnostics[0].message


def test_numbers_of_any_kind(problem: mtpp_dsl.Problem) -> None:
    """Params and limits are numbers of numpy and of the standard library, or texts with units."""
    for k in (np.int64(4), np.float32(4), Fraction(4), Decimal(4), 4.0, "2 + 2"):
        assert mtpp_dsl.load(QUICK, k=k).k == 4
    text = "param p: path\ngraph from p\ndevice d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
    with pytest.raises(SpecError, match=r"there is no file nowhere\.json"):
        mtpp_dsl.load(text, p=Path("nowhere.json"))
    with pytest.raises(SpecError, match="cannot use a dict_keys as a value"):
        mtpp_dsl.load(QUICK, k={}.keys())
    for limit in ("10s", 10, np.float64(10), np.int32(10), timedelta(seconds=10), "0.2min"):
        result = mtpp_dsl.solve(problem, "ideals", time_limit=limit, gap="1%", seed=np.int64(1))
        assert result.gap is not None
        assert result.gap <= 0.011
        assert type(result.seed) is int
        assert result.to_json()
