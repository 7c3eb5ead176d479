"""What the commands say of a file, an option or a word that is not what they take: what to do instead."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run

SPEC = """mtpp 1
param k: int = 2
graph { node a (work = 1 ms) }
device d[k]
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ok.mtpp").write_text(SPEC)
    Path("answer.json").write_text("{}")
    Path("model.pt").write_bytes(b"PK")
    Path("model.py").write_text("raise SystemExit('this ran')")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ok.mtpp", "mtpp solve ok.mtpp solves this spec"),
        ("answer.json", "mtpp report answer.json shows an answer"),
        ("slove ok.mtpp", "did you mean 'solve'?"),
        (
            "verify ok.mtpp ok.mtpp",
            "ok.mtpp is a spec, not an answer: 'mtpp solve ok.mtpp --json answer.json' writes one",
        ),
        ("report ok.mtpp", "ok.mtpp is a spec, not an answer"),
        ("diff ok.mtpp answer.json", "ok.mtpp is a spec, not an answer"),
        ("export ok.mtpp --to vllm", "ok.mtpp is a spec, not an answer"),
        ("solve answer.json", "answer.json is JSON, and no spec"),
        ("solve ok.mtpp -D n=3", "the params are: k"),
        (
            "solve ok.mtpp --gap 5",
            "--gap: '5' is not a gap: write a share between 0 and 100 %; for 5 per cent write 5%",
        ),
        ("solve ok.mtpp --time-limit 5x", "--time-limit: '5x' is not a duration"),
        ("solve ok.mtpp --method exact --solver-option foo=1", "HiGHS has no option 'foo'"),
        ("solve ok.mtpp --method exact --solver scip --solver-option foo=1", "foo"),
        ("convert ok.mtpp out.json", "ok.mtpp is a spec, and no graph: 'mtpp solve ok.mtpp' solves it"),
        ("convert model.pt out.json", "model.pt holds weights, and no graph: 'mtpp import torch MODULE:CALLABLE"),
        ("import torch model.pt -o out.json", "name the code that makes the module, such as model.py:make_model"),
        ("import torch model.py -o out.json", "name what of it makes the module, such as model.py:make_model"),
        (
            "import hf meta-llama/Llama-3-8B -o out.json",
            "'hf download meta-llama/Llama-3-8B config.json --local-dir .'",
        ),
    ],
)
def test_what_to_do_instead_is_told(folder: Path, command: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run, solved or written before."""
    assert run(shlex.split(command)) in (2, 3)
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "s plan " not in told
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('graph from "model.pt"', "'mtpp import hf config.json -o model.json' of a configuration"),
        ("type big (memory = 1 GB)\ndevice e (type = bi)", "did you mean big?"),
        ('include "devices/nvidia.mtpp"\ndevice e (type = h100)', "did you mean h100_pcie, h100_sxm or h100_nvl?"),
        ("constraint x: load(d[i]) <= 1 s for i in range(2)", "for i in 0..<3"),
        ("constraint latency <= 5 ms", "write 'constraint limit: latency <= …'"),
        ("constraint latency(decode) <= 5 ms", "write 'constraint limit: latency(…) <= …'"),
    ],
)
def test_hints_of_the_language(folder: Path, line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ok.mtpp").write_text(f"{SPEC}{line}\n")
    assert run(["check", "ok.mtpp"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
