"""``mtpp run``, ``profile`` and ``export --to onnx-split`` as a user calls them, on an ONNX file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.cli.run import run
from tests.onnx_models import light

pytestmark = pytest.mark.needs("onnx", "onnxruntime")

SPEC = """mtpp 1
graph from "model.json" (group_by = operator)
device a (peak = 100 GFLOP/s, bandwidth = 20 GB/s)
device b (peak = 80 GFLOP/s, bandwidth = 20 GB/s)
interconnect shared (bandwidth = 100 GB/s)
minimize bottleneck
constraint acyclic
constraint pin n0 on a
constraint pin n64 on b
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a model, a spec and its answer."""
    monkeypatch.chdir(tmp_path)
    light("squeezenet", tmp_path)
    (tmp_path / "s.mtpp").write_text(SPEC, encoding="utf-8")
    assert run(["import", "onnx", "squeezenet.onnx", "-o", "model.json", "--quiet"]) == 0
    assert run(["solve", "s.mtpp", "--json", "a.json", "--quiet", "--gap", "60%"]) == 0
    return tmp_path


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report in words and as data; options that cannot be meant are refused."""
    assert run(["run", "a.json", "--model", "squeezenet.onnx", "--repeats", "1", "--json", "r.json"]) == 0
    said = capsys.readouterr().out
    assert "equal bit for bit" in said
    assert max(map(len, said.splitlines())) <= 100
    report = json.loads((here / "r.json").read_text(encoding="utf-8"))
    assert report["results"]["equal"]
    assert [stage["device"] for stage in report["stages"]] == ["a", "b"]
    np.savez(here / "in.npz", other=np.zeros(3))
    np.savez(here / "data.npz", data_0=np.zeros((1, 3, 9, 9), np.float32))
    (here / "bad.npz").write_bytes(b"no archive")
    for more, message in (
        (["--size", "batch=3"], "there is no 'batch'"),
        (["--size", "batch=x"], "a size is a whole number"),
        (["--processes", "2"], "it is 1 or stages"),
        (["--backend", "tensor"], "it is torch or onnx"),
        (["--backend", "torch"], "comes from onnx"),
        (["--clock", "cpu", "--threads", "2"], "for --threads 1"),
        (["--inputs", "in.npz"], "there is no 'other'"),
        (["--inputs", "data.npz"], "fails on these inputs"),
        (["--inputs", "bad.npz"], "cannot read arrays"),
    ):
        assert run(["run", "a.json", "--model", "squeezenet.onnx", *more]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_profile(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Times are measured, or read from a table; a call that says no way, or two, is refused."""
    first = json.loads((here / "model.json").read_text(encoding="utf-8"))["operators"][0]["name"]
    (here / "t.csv").write_text(f"operator,time (ms)\n{first},2.5\n", encoding="utf-8")
    assert run(["profile", "--csv", "t.csv", "--model", "model.json", "--type", "phone"]) == 0
    found = json.loads((here / "profile.json").read_text(encoding="utf-8"))
    assert found["device"] == "phone"
    assert found["signatures"][first]["median"] == 2.5e-3
    for words, message in (
        ([], "say where times come from"),
        (["squeezenet.onnx", "--csv", "t.csv"], "one of them alone"),
        (["my.module:make"], "say with --model"),
        (["squeezenet.onnx", "--device", "cuda"], "measured on the CPU"),
        (["squeezenet.onnx", "--size", "batch=3"], "--size batch"),
    ):
        assert run(["profile", *words]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_export_and_validate(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are exported are sound; without one of them they are not."""
    assert run(["export", "a.json", "--to", "onnx-split", "-o", "parts"]) == 0
    assert {path.name for path in (here / "parts").iterdir()} == {"manifest.json", "part0.onnx", "part1.onnx"}
    assert run(["validate", "parts", "--format", "onnx-split", "--spec", "s.mtpp", "--time-limit", "5s"]) == 0
    (here / "parts" / "part1.onnx").unlink()
    assert run(["validate", "parts", "--format", "onnx-split", "--spec", "s.mtpp", "--time-limit", "5s"]) == 7
    assert "part 1 is lost" in capsys.readouterr().err
