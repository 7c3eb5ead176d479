"""Splits of torch models compute what the models compute, bit for bit, in one process and in several."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.run_options import RunOptions
from mtpp_dsl.runtimes.execution.run_report import RunReport
from tests.runtimes.execution.splits import cut, placed, problem_of

pytestmark = [
    pytest.mark.needs("torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

CODE = "tests.runtimes.execution.torch_models"
FEW = RunOptions(repeats=1, microbatches=2)


def model_of(name: str) -> Any:
    from mtpp_dsl.exchange.importers.torch_inputs import read_input
    from mtpp_dsl.exchange.importers.torch_model import import_torch

    inputs = ["x: float32[batch, 5, 8]", "scale: float32[4]"] if name == "spread" else ["ids: int64[batch, seq]"]
    if name == "writes":
        inputs = ["x: float32[batch, 8]"]
    values = {"batch": 2, "seq": 9} if inputs[0].startswith("ids") else {"batch": 2}
    return import_torch(f"{CODE}:{name}", [read_input(text) for text in inputs], values, device="cpu")


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {name: model_of(name) for name in ("gpt", "rotary")}


def ran(problem: Problem, plan: Any, name: str, options: RunOptions = FEW) -> RunReport:
    from mtpp_dsl.runtimes.execution.torch_run import run_torch

    return run_torch(problem, plan, f"{CODE}:{name}", options)


def assert_equal(report: RunReport) -> None:
    assert report.comparison.equal
    assert report.comparison.telling
    assert report.sound


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["gpt", "rotary"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("by", ["layer", "operator"])
def test_one_process(models: dict[str, Any], name: str, k: int, by: str) -> None:
    """Layers, or single operators cut anywhere, on 2 and 3 devices."""
    problem = problem_of(models[name], k, by)
    report = ran(problem, cut(problem), name)
    assert_equal(report)
    assert [row.device for row in report.stages] == [f"d{i}" for i in range(k)]
    assert all(row.measured.median > 0 and row.measured.runs == 2 for row in report.stages)
    assert [row.predicted for row in report.stages] == [row.nodes for row in report.stages]


@pytest.mark.long
@pytest.mark.parametrize(("name", "k"), [("gpt", 2), pytest.param("rotary", 3, marks=pytest.mark.long)])
def test_processes(models: dict[str, Any], name: str, k: int) -> None:
    """One process for each stage: gloo, and a GPipe schedule of three microbatches."""
    problem = problem_of(models[name], k)
    report = ran(problem, cut(problem), name, RunOptions("stages", microbatches=3, repeats=2))
    assert_equal(report)
    assert report.processes == k
    assert all(row.measured.runs == 6 for row in report.stages)


def test_circle(models: dict[str, Any]) -> None:
    """A plan that uses devices in turn runs in one process, and is refused as a pipeline."""
    problem = problem_of(models["rotary"], 2)
    plan = placed(problem, lambda i: i % 2)
    report = ran(problem, plan, "rotary")
    assert_equal(report)
    assert report.stages[0].parts > 1
    assert "in a circle" in report.notes[0]
    with pytest.raises(UsageError, match="in a circle"):
        ran(problem, plan, "rotary", RunOptions("stages"))


def test_branches() -> None:
    """Two branches on two devices: no cut between layers, tensors with gaps, lists, and an input that both read."""
    model = model_of("spread")
    problem = problem_of(model, 3, "operator")
    assert_equal(ran(problem, cut(problem), "spread"))
    branch = {v for v, name in enumerate(problem.graph.names) if "argmax" in name or "transpose" in name}
    order = problem.graph.topological_order.tolist()
    last = {v for v in range(problem.graph.n) if v not in branch and "linear" not in problem.graph.names[v]}
    plan = placed(problem, lambda i: 1 if order[i] in branch else 2 if order[i] in last else 0)
    assert_equal(ran(problem, plan, "spread"))


def test_inputs(models: dict[str, Any]) -> None:
    """Inputs of one's own take the place of random ones, and other sizes are said."""
    problem = problem_of(models["gpt"], 2)
    report = ran(problem, cut(problem), "gpt", RunOptions(inputs={"ids": np.zeros((2, 9), np.int64)}, repeats=1))
    assert_equal(report)
    report = ran(problem, cut(problem), "gpt", RunOptions(symbols={"batch": 1}, repeats=1))
    assert_equal(report)
    assert report.notes == ("run with batch = 1; the predicted times are for batch = 2",)


def test_refused(models: dict[str, Any]) -> None:
    """Another model than that of the plan, and a stage that writes into another's tensor, are refused."""
    problem = problem_of(models["gpt"], 2)
    with pytest.raises(UsageError, match=r"has no operator|has the operator"):
        ran(problem, cut(problem), "rotary")
    problem = problem_of(model_of("writes"), 2, "operator")
    names = problem.graph.names
    order = problem.graph.topological_order.tolist()
    with pytest.raises(UsageError, match="writes into"):
        ran(problem, placed(problem, lambda i: int("one" not in names[order[i]])), "writes")


@pytest.mark.long
@pytest.mark.parametrize(("name", "message"), [("others", "other weights each time"), ("dies", "exit code 3")])
def test_failures(models: dict[str, Any], name: str, message: str) -> None:
    """Weights that differ from process to process, and a process that dies, end the run with the reason."""
    problem = problem_of(models["gpt"], 2)
    with pytest.raises(SolverError, match=message):
        ran(problem, cut(problem), name, RunOptions("stages", repeats=1))
    assert not workers()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no list of processes")
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_nothing_left(number: int, tmp_path: Path) -> None:
    """Whatever ends the parent, its processes end too, and their folder is gone."""
    code = (
        "from mtpp_dsl.runtimes.execution.torch_pipeline import run_pipeline\n"
        "from mtpp_dsl.runtimes.execution.torch_signature import Signature\n"
        "from mtpp_dsl.runtimes.execution.torch_split import TorchRecipe\n"
        f"run_pipeline(TorchRecipe('{CODE}:gpt', 0, Signature((), {{}}), [], ['a', 'b']), [()])\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path.cwd())}
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)
    until = monotonic() + 60
    while len(workers(tmp_path)) < 2 and monotonic() < until:
        sleep(0.02)
    assert len(workers(tmp_path)) == 2
    parent.send_signal(number)
    parent.wait()
    while (workers(tmp_path) or list(tmp_path.iterdir())) and monotonic() < until:
        sleep(0.02)
    assert not workers(tmp_path)
    assert not list(tmp_path.iterdir())


def workers(folder: Path | None = None) -> list[int]:
    """Return the processes of pipelines, of those whose files are in *folder*."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "mtpp_dsl.runtimes.execution.torch_pipeline" in words and (folder is None or str(folder) in " ".join(words)):
            found.append(int(path.parent.name))
    return found
