"""``mtpp import torch`` and ``mtpp import hf``, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.exchange.model.model_json import read


def test_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is absent is named with the extra that brings it, before anything runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert run(["import", "torch", "a:b", "--input", "x: fp32[4]", "-o", "m.json"]) == 2
    assert "this needs torch: pip install 'mtpp-dsl[torch]'" in capsys.readouterr().err
    assert run(["import", "hf", "config.json", "-o", "m.json"]) == 2
    assert "this needs torch: pip install 'mtpp-dsl[hf]'" in capsys.readouterr().err
    assert not (tmp_path / "m.json").exists()


def test_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It says that it runs the user's code, and writes what a spec reads."""
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (tmp_path / "cli_model.py").write_text(
        "import torch\ndef make(): return torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(3)])\n"
    )
    words = ["import", "torch", "cli_model:make", "--input", "input: fp32[rows, 8]", "--set", "rows=4", "-o", "m.json"]
    assert run(words) == 0
    shown = capsys.readouterr()
    assert "running the code of cli_model" in shown.err
    assert "3 operators, in 3 layers" in shown.out
    model = read(tmp_path / "m.json")
    assert [one.flop for one in model.operators] == ["128*rows"] * 3
    assert model.source.name == "cli_model:make"
    (tmp_path / "spec.mtpp").write_text(
        'mtpp 1\ngraph from "m.json" (group_by = layer, rows = 2)\n'
        "device fast (peak = 1 GFLOP/s, bandwidth = 1 GB/s)\ndevice slow (peak = 1 GFLOP/s, bandwidth = 1 GB/s)\n"
        "interconnect shared (bandwidth = 1 GB/s)\nminimize bottleneck\nconstraint acyclic\n"
    )
    assert run(["solve", "spec.mtpp", "--json", "answer.json", "--quiet"]) == 0
    assert json.loads((tmp_path / "answer.json").read_text())["status"] == "optimal"
    capsys.readouterr()
    assert run([*words[:-2], "-o", "m.txt"]) == 2
    assert "a model is written as JSON" in capsys.readouterr().err
