"""Certificates in the format VIPR: complete, and accepted by ``viprchk`` where it is there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.solvers.proofs.vipr import vipr_lines
from mtpp_dsl.solvers.proving.leaf_search import find_leaves
from tests.oracle import optimum
from tests.solvers.proofs.test_leaves import LESS, example
from tests.split_problems import split_problem

SPEC = """mtpp 1
graph {
  node a[i in 0..5] (work = 1 + i, output = 3)
  edge a[i] -> a[i + 1] for i in 0..4
}
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""


def sections(lines: list[str]) -> dict[str, int]:
    """Return the number behind each keyword that begins a section."""
    words = ("VAR", "INT", "CON", "SOL", "DER")
    return {word: int(line.split()[1]) for line in lines for word in words if line.startswith(f"{word} ")}


def test_every_box_is_derived() -> None:
    """The last constraint is a contradiction that rests on no assumption, and counts are those of the lines."""
    problem = example()
    best = optimum(problem)
    assert best is not None
    certificate = find_leaves(problem, best * LESS, Limits(time=20.0))
    assert certificate is not None
    lines = list(vipr_lines(problem, certificate.data))
    counts = sections(lines)
    derived = lines[lines.index(f"DER {counts['DER']}") + 1 :]
    assert len(derived) == counts["DER"]
    branches = sum("{ uns " in line for line in derived)
    assert sum("{ asm }" in line for line in derived) == 2 * branches
    assert sum("{ lin " in line for line in derived) == branches + 1
    assert derived[-1].split()[1:5] == ["G", "1", "0", "{"]


@pytest.mark.skipif(shutil.which("viprchk") is None, reason="viprchk is not installed")
@pytest.mark.parametrize("seed", range(6))
def test_another_program_agrees(seed: int, tmp_path: Path) -> None:
    """The checker of the format verifies what is exported."""
    problem = split_problem(seed)
    best = optimum(problem)
    certificate = None if not best else find_leaves(problem, best * LESS, Limits(time=20.0))
    if certificate is not None:
        path = tmp_path / "proof.vipr"
        path.write_text("\n".join(vipr_lines(problem, certificate.data)) + "\n")
        done = subprocess.run(["viprchk", str(path)], capture_output=True, text=True, check=True)
        assert "Successfully verified infeasibility" in done.stdout + done.stderr


def test_nothing_is_exported_that_is_no_proof() -> None:
    """A certificate of another problem, and one whose leaf proves nothing."""
    with pytest.raises(Refused):
        list(vipr_lines(example(), {"target": 5.0, "tree": None}))


def test_the_command_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``mtpp verify --export-proof`` writes both formats, and refuses others."""
    spec, answer = tmp_path / "spec.mtpp", tmp_path / "answer.json"
    spec.write_text(SPEC)
    assert run(["solve", str(spec), "--method", "ideals", "--json", str(answer), "--quiet"]) == 0
    for name in ("proof.json", "proof.vipr"):
        assert run(["verify", str(spec), str(answer), "--export-proof", str(tmp_path / name)]) == 0
    assert json.loads((tmp_path / "proof.json").read_text())["kind"] == "ideals"
    assert "RTP infeas" in (tmp_path / "proof.vipr").read_text()
    assert "was written to" in capsys.readouterr().out
    assert run(["verify", str(spec), str(answer), "--export-proof", str(tmp_path / "proof.txt")]) == 2
    assert ".json or .vipr" in capsys.readouterr().err
