"""Pictures and traces that ``mtpp solve`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
QUICKSTART = str(EXAMPLES / "quickstart.mtpp")


def test_pictures_and_traces_of_a_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several pictures, and the steady state as a trace over so many microbatches as were asked for."""
    files = [tmp_path / name for name in ("loads.svg", "graph.pdf", "gantt.png", "trace.json")]
    plots = ["--plot", str(files[0]), "--plot", f"graph:{files[1]}", "--gantt", str(files[2]), "--trace", str(files[3])]
    assert run(["solve", QUICKSTART, "-q", *plots, "--microbatches", "3"]) == 0
    assert [file.read_bytes()[:4] for file in files[:3]] == [b"<?xm", b"%PDF", b"\x89PNG"]
    trace = json.loads(files[3].read_text())
    assert trace["otherData"]["microbatches"] == 3
    ran = [event for event in trace["traceEvents"] if event.get("cat") == "node"]
    assert {event["args"]["microbatch"] for event in ran} == {1, 2, 3}
    assert {name for event in ran for name in event["args"]["nodes"]} >= {"embed", "attn[0]", "head"}
    ends = {event["id"]: event["ts"] for event in trace["traceEvents"] if event["ph"] == "s"}
    begins = {event["id"]: event["ts"] for event in trace["traceEvents"] if event["ph"] == "f"}
    assert ends.keys() == begins.keys()
    assert all(ends[i] <= begins[i] + 1e-3 for i in ends)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("quickstart", ["--plot", "grahp:x.svg"], "did you mean 'graph'"),
        ("quickstart", ["--plot", "x.gif"], "a picture ends in"),
        ("quickstart", ["--plot", "front:x.svg"], "--pareto"),
        (
            "quickstart",
            ["--plot", "a.svg", "--plot", "gap:a.svg"],
            "two outputs would be written to a.svg",
        ),
        ("quickstart", ["--microbatches", "3"], "goes with --trace"),
        ("quickstart", ["--method", "superblock", "--plot", "loads:x.svg"], "ask for gap"),
        ("unequal", ["--plot", "loads:x.svg"], "no loads per input"),
        ("unequal", ["--microbatches", "3", "--trace", "x.json"], "has a schedule"),
        ("training", ["--microbatches", "3", "--trace", "x.json"], "the iteration has 32"),
        ("quickstart", ["--sweep", "k=2..3", "--microbatches", "3"], "--microbatches is for one problem"),
        ("cheapest", ["--pareto", "cost,bottleneck", "--plot", "gap:x.svg"], "a picture of their front"),
    ],
)
def test_pictures_that_no_answer_has(
    spec: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be drawn is refused before anything is solved."""
    monkeypatch.chdir(EXAMPLES)
    assert run(["solve", f"{spec}.mtpp", *options]) == 2
    assert message in capsys.readouterr().err


def test_answers_without_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An infeasible problem has no picture: that is said, and the exit code is its own."""
    spec, picture = tmp_path / "full.mtpp", tmp_path / "x.svg"
    spec.write_text(
        "graph { node a (params = 2) }\ndevice d (memory = 1)\ninterconnect shared (bandwidth = 1)\n"
        "minimize bottleneck\nconstraint memory\n"
    )
    assert run(["solve", str(spec), "--plot", str(picture), "--plot", f"loads:{tmp_path / 'y.svg'}"]) == 3
    assert not picture.exists()
    assert capsys.readouterr().err.count("was not written") == 2


def test_pictures_of_answers_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``mtpp report --plot`` draws an answer as the solve that wrote it did, and no page unless -o asks for one."""
    answer, one, other = tmp_path / "a.json", tmp_path / "one.svg", tmp_path / "other.svg"
    assert run(["solve", QUICKSTART, "--method", "ideals", "-q", "--json", str(answer), "--plot", str(one)]) == 0
    assert run(["report", str(answer), "--plot", str(other), "--plot", f"gap:{tmp_path / 'gap.png'}"]) == 0
    assert other.read_bytes() == one.read_bytes()
    assert (tmp_path / "gap.png").exists()
    assert not (tmp_path / "a.html").exists()
    assert run(["report", str(answer), "--plot", f"front:{one}"]) == 2
    assert "one answer is no front" in capsys.readouterr().err
