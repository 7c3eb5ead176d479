"""``mtpp train`` and the policy that it writes, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run

SPEC = """mtpp 1
graph from generator layered (nodes = 4, width = 2, seed = 1)
device d[2]
interconnect links (bandwidth = 1)
minimize makespan
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """Return the path of a small spec."""
    (tmp_path / "a.mtpp").write_text(SPEC)
    return str(tmp_path / "a.mtpp")


def test_a_policy_is_trained_and_used(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file says on what it was trained; solve begins with it; training goes on from it."""
    policy = str(tmp_path / "p.json")
    assert run(["train", spec, "-o", policy, "--updates", "3", "--seed", "4"]) == 0
    assert "heft" in capsys.readouterr().out
    first = json.loads(Path(policy).read_text())
    assert first["trained"]["on"] == ["a.mtpp"]
    assert (first["trained"]["updates"], first["trained"]["seed"]) == (3, 4)
    assert run(["train", spec, "-o", policy, "--updates", "3", "--start", policy, "-q"]) == 0
    assert not capsys.readouterr().out
    assert json.loads(Path(policy).read_text())["weights"] != first["weights"]
    answer = tmp_path / "answer.json"
    call = ["solve", spec, "--method", "placeto", "--policy", policy, "--json", str(answer), "--time-limit", "none"]
    assert run([*call, "-q"]) == 0
    found = json.loads(answer.read_text())
    assert found["verified"]
    assert found["time"]["train"] > 0


def test_problems_of_a_sweep_are_generated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each seed of a sweep is a problem to train on; what is no makespan is left out, and said."""
    text = SPEC.replace("seed = 1", "seed = s").replace("mtpp 1", "mtpp 1\nparam s: int = 0")
    (tmp_path / "a.mtpp").write_text(text)
    (tmp_path / "b.mtpp").write_text(SPEC.replace("links", "shared").replace("makespan", "bottleneck"))
    sweep = tmp_path / "s.toml"
    sweep.write_text("""mtpp-sweep = 1
name = "training"
methods = ["heft", "placeto"]
[[problems]]
spec = "a.mtpp"
params = {s = "1..3"}
[[problems]]
spec = "b.mtpp"
""")
    assert run(["train", str(sweep), "-o", str(tmp_path / "p.json"), "--updates", "2"]) == 0
    assert "1 of 4 problems are left out" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "p.json").read_text())["trained"]["on"]) == 3
    sweep.write_text(sweep.read_text().replace('spec = "a.mtpp"\nparams = {s = "1..3"}\n[[problems]]\n', ""))
    assert run(["train", str(sweep), "-o", str(tmp_path / "q.json")]) == 2
    assert "no problem to train on" in capsys.readouterr().err


def test_wrong_calls_are_refused(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A spec without a makespan, a policy that is none, and a method that takes none."""
    Path(spec).with_name("b.mtpp").write_text(SPEC.replace("links", "shared").replace("makespan", "bottleneck"))
    assert run(["train", spec, str(Path(spec).with_name("b.mtpp")), "-o", str(tmp_path / "p.json")]) == 2
    assert "b.mtpp" in capsys.readouterr().err
    (tmp_path / "no.json").write_text("{}")
    assert run(["solve", spec, "--method", "placeto", "--policy", str(tmp_path / "no.json")]) == 2
    assert "not a policy" in capsys.readouterr().err
    assert run(["solve", spec, "--method", "heft", "--policy", str(tmp_path / "no.json")]) == 2
    assert "placeto has it" in capsys.readouterr().err
    assert not (tmp_path / "p.json").exists()
