"""Times from traces and tables: real traces of torch and of onnxruntime, and what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator
from mtpp_dsl.runtimes.profiling.recorded import profile_of_table, profile_of_trace
from tests.onnx_models import light

TWO = Model((Operator("a.linear", "aten.linear.default", flop=1), Operator("b.linear", "aten.linear.default", flop=1)))


def trace(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return path


def call(start: float, duration: float, name: str = "aten::linear", number: int = 0) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "ts": start,
        "dur": duration,
        "tid": 1,
        "args": {"External id": number},
    }


def test_passes(tmp_path: Path) -> None:
    """Calls come in the order of the model, pass after pass; what runs within another call does not count."""
    events = [call(30 * i, 10 + i) for i in range(4)]
    events += [call(1, 2), call(2, 1, "aten::mm"), call(200, 1, "aten::empty")]
    found = profile_of_trace(trace(tmp_path / "t.json", events), TWO, "gpu")
    assert {name: (t.median, t.runs) for name, t in found.times.items()} == {
        "a.linear": (pytest.approx(11e-6), 2),
        "b.linear": (pytest.approx(12e-6), 2),
    }
    assert found.device == "gpu"
    assert found.source == "trace"


def test_kernels(tmp_path: Path) -> None:
    """Where kernels ran on a device, an operator takes what its kernels take, also those of the calls within it."""
    events = [call(0, 10, number=1), call(1, 5, "aten::mm", 2), call(20, 10, number=3)]
    events += [{"ph": "X", "cat": "kernel", "ts": 50 + i, "dur": 7, "args": {"External id": i}} for i in (1, 2, 3)]
    found = profile_of_trace(trace(tmp_path / "t.json", events), TWO, "gpu")
    assert [round(timing.median * 1e6) for timing in found.times.values()] == [14, 7]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([call(0, 1)], "1 calls of aten::linear, and the model has 2"),
        ([call(0, 1, "aten::mm")], "0 calls of aten::linear"),
        ([{"ph": "X", "cat": "other", "ts": 0, "dur": 1}], "no operators of torch"),
        ([{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "ts": 0, "dur": -1}], "no operators of torch"),
    ],
)
def test_refused(events: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    """A trace of other passes, or of something else, is refused."""
    with pytest.raises(UsageError, match=message):
        profile_of_trace(trace(tmp_path / "t.json", events), TWO, "cpu")


def test_no_trace(tmp_path: Path) -> None:
    """What is no trace is refused."""
    for text in ("{}", "[1]", "not JSON", '{"traceEvents": 1}'):
        (tmp_path / "t.json").write_text(text, encoding="utf-8")
        with pytest.raises(UsageError):
            profile_of_trace(tmp_path / "t.json", TWO, "cpu")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_torchs_own(tmp_path: Path) -> None:
    """A trace that torch's profiler wrote, of two passes over the model."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from mtpp_dsl.exchange.importers.torch_inputs import read_input
    from mtpp_dsl.exchange.importers.torch_model import import_torch
    from tests.runtimes.execution.torch_models import gpt

    model = import_torch(
        "tests.runtimes.execution.torch_models:gpt", [read_input("ids: int64[batch, seq]")], {"batch": 2, "seq": 9}
    )
    module, ids = gpt().eval(), torch.zeros(2, 9, dtype=torch.int64)
    with torch.no_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(2):
            module(ids)
    profiler.export_chrome_trace(str(tmp_path / "t.json"))
    found = profile_of_trace(tmp_path / "t.json", model, "cpu")
    assert all(timing.runs == 2 for timing in found.times.values())
    missing = set(model.index) - set(found.times)
    assert all(model.operators[model.index[name]].kind in ("view", "fill") for name in missing)
    assert sum(timing.median for timing in found.times.values()) > 0


@pytest.mark.filterwarnings("ignore")
def test_onnxruntimes_own(tmp_path: Path) -> None:
    """A trace that onnxruntime wrote; nodes have no names in the file."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx
    from mtpp_dsl.runtimes.execution.onnx_run import random_inputs

    path = light("squeezenet", tmp_path)
    options = runtime.SessionOptions()
    options.enable_profiling = True
    options.log_severity_level = 3
    options.profile_file_prefix = str(tmp_path / "ort")
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for _ in range(3):
        session.run(None, random_inputs(session, {}, 1, 0)[0])
    model = from_onnx(path)
    found = profile_of_trace(Path(session.end_profiling()), model, "cpu")
    assert set(found.times) == set(model.index)
    assert {timing.runs for timing in found.times.values()} == {3}
    convolutions = sum(found.times[each.name].median for each in model.operators if each.op == "Conv")
    assert convolutions > 0.3 * sum(timing.median for timing in found.times.values())


def test_onnx_profile(tmp_path: Path) -> None:
    """Nodes of an ONNX file are measured one by one: each distinct one once."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx
    from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort
    from mtpp_dsl.runtimes.profiling.onnx_profile import onnx_jobs

    path = light("squeezenet", tmp_path)
    model = from_onnx(path)
    jobs = onnx_jobs(path, model, {}, MeasuringEffort(seconds=0.0, samples=3, warm=1), 1)
    assert [job.name for job in jobs] == [each.name for each in model.operators]
    keys = {job.key: job for job in jobs}
    assert len(keys) < len(jobs)
    first = keys[jobs[0].key].measure()
    assert 0 < first.median < 1


def test_table(tmp_path: Path) -> None:
    """A table of one's own: the median of several times, the unit in the head, names that the model has."""
    path = tmp_path / "t.csv"
    path.write_text("operator,time (us),note\na.linear,10,x\na.linear,30,y\nb.linear,5,\n", encoding="utf-8")
    found = profile_of_table(path, TWO, "cpu")
    assert [round(found.times[name].median * 1e6) for name in ("a.linear", "b.linear")] == [20, 5]
    for text, message in (
        ("operator,time (us)\nc.linear,1\n", "no operator 'c.linear'"),
        ("operator,time\na.linear,1\n", "say the unit"),
        ("operator,time (kB)\na.linear,1\n", "no unit of time"),
        ("operator,time (us)\na.linear,-1\n", "zero or more"),
        ("operator,time (us)\na.linear\n", "has 1 cells"),
        ("node,time (us)\na.linear,1\n", "begins with operator"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            profile_of_table(path, TWO, "cpu")
