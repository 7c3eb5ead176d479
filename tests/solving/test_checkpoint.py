"""Checkpoints, and the writing of files: all or nothing, and what cannot be written is said before the work."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import jsonschema
import pytest

import mtpp_dsl.solving.checkpoint
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solving.answers.json import schema
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.checkpoint import Checkpoint
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"
UNEQUAL = QUICK.with_name("unequal.mtpp")


def problem_of(nodes: int = 12) -> Problem:
    graph = regal(nodes, "ba", "own-memory", 1)
    return Problem.create(graph, [Device("a"), Device("b")], Shared(1.0), constraints=[Acyclic()])


@dataclass
class Improves:
    """Finds ever better plans, without a pause; looks at the checkpoint before it ends, as *then* says."""

    path: Path
    then: str = "ends"
    name: str = "improves"
    summary: str = ""
    gives: Any = "plan and bound"
    seen: list[Any] = field(default_factory=list)

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        everything = Plan.create(problem, [0] * problem.graph.n)
        cost = evaluate(problem, everything).cost
        for step in range(3000):
            progress.report_bound(Bound(cost * step / 4000, "improves", "trusted", "test"))
        progress.report_plan(everything, cost)
        until = monotonic() + 10
        while not self.seen and monotonic() < until:
            sleep(0.02)
            if self.path.exists():
                data = json.loads(self.path.read_text())
                if data["plan"] is not None and data["bound"]["value"] == pytest.approx(cost * 2999 / 4000):
                    self.seen.append(data)
        if self.then == "fails":
            raise RuntimeError("it failed")
        return Result("complete", plan=everything, method=self.name)


def test_the_best_so_far_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of improvements are few files; the last is there soon, and the final answer at the end."""
    path = tmp_path / "c.json"
    texts: list[str] = []

    def counted(path: Path, text: str) -> None:
        texts.append(text)
        write_text(path, text)

    monkeypatch.setattr(mtpp_dsl.solving.checkpoint, "write_text", counted)
    problem, method = problem_of(), Improves(path)
    result = solve(problem, method, checkpoint=path, time_limit=None)
    (data,) = method.seen
    jsonschema.validate(data, schema())
    assert (data["status"], data["termination"], data["verified"]) == ("feasible", "running", True)
    assert len(texts) < 10
    last = json.loads(path.read_text())
    jsonschema.validate(last, schema())
    assert last["termination"] == result.termination
    assert last["objective"]["value"] == result.cost
    assert set(last["plan"]["assignment"].values()) == {"a"}
    assert evaluate(problem, Plan.from_json(problem, last)).cost == result.cost
    assert os.listdir(tmp_path) == ["c.json"]  # noqa: PTH208


def test_a_failure_keeps_what_was_found(tmp_path: Path) -> None:
    """An error does not cost the plan that was reported before it."""
    path = tmp_path / "c.json"
    with pytest.raises(RuntimeError):
        solve(problem_of(), Improves(path, then="fails"), checkpoint=str(path), time_limit=None)
    assert json.loads(path.read_text())["status"] == "feasible"


def test_what_is_wrong_is_not_kept(tmp_path: Path) -> None:
    """What a method reports is checked before it is written; the answer before it stays."""
    problem, progress, path = problem_of(), Progress(), tmp_path / "c.json"
    checkpoint = Checkpoint(path, problem, progress, method="test", seed=0)
    progress.report_bound(Bound(1.0, "test", "trusted", "test"))
    checkpoint.close(None)
    kept = path.read_text()
    assert json.loads(kept)["status"] == "bound"
    checkpoint = Checkpoint(path, problem, progress, method="test", seed=0)
    progress.report_plan(Plan.create(problem, [0] * problem.graph.n), 0.5)
    progress.report_bound(Bound(1e9, "test", "trusted", "test"))  # above the cost of that plan
    checkpoint.close(None)
    assert path.read_text() == kept


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that cannot be written is refused before the work; a disk that fills up meanwhile is noted."""
    with pytest.raises(UsageError, match="there is no folder"):
        solve(problem_of(), "simple", checkpoint=tmp_path / "none" / "c.json")

    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(mtpp_dsl.solving.checkpoint, "write_text", full)
    result = solve(problem_of(), "ideals", checkpoint=tmp_path / "c.json")
    assert result.status == "optimal"
    assert result.notes[-1] == f"the checkpoint {tmp_path / 'c.json'} could not be written: No space left on device"


@pytest.mark.parametrize("option", ["--json", "--checkpoint", "--trace", "--gantt", "--write-model"])
@pytest.mark.parametrize(
    ("place", "why"),
    [("none/a.svg", "there is no folder"), (".", "it is a folder"), ("file/a.svg", "there is no folder")],
)
def test_outputs_are_tried_before_the_work(
    option: str, place: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Law: nobody waits an hour to hear that the folder is missing."""
    (tmp_path / "file").touch()
    absent = tmp_path / "absent.mtpp"  # would be complained of next
    assert run(["solve", str(absent), option, str(tmp_path / place)]) == 2
    assert why in capsys.readouterr().err


def test_only_json_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """A dash is no file name."""
    assert run(["solve", str(QUICK), "--checkpoint", "-"]) == 2
    assert "only --json goes to stdout" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
def test_a_disk_that_is_full_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is printed, even where --quiet was asked for, and the exit code says that it could not be written."""
    assert run(["solve", str(QUICK), "--method", "ideals", "--json", "/dev/full", "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert "bottleneck" in out
    assert err == "error: cannot write /dev/full: No space left on device\n"


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its permissions stay, a link to it is followed, and where writing fails the old content stays."""
    path, link = tmp_path / "a.json", tmp_path / "b.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "ärger")
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "ärger"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    with pytest.raises(UsageError, match=r"cannot write .*new\.json: No space left on device"):
        check_writable(tmp_path / "new.json")
    assert path.read_text(encoding="utf-8") == "ärger"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_what_is_no_regular_file_is_written_as_it_is(tmp_path: Path) -> None:
    """Devices and pipes are not replaced."""
    check_writable(Path(os.devnull))
    write_text(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    with pytest.raises(OSError, match="a pipe without a reader"):  # not waited for
        write_text(pipe, "x")
    with pytest.raises(UsageError, match="a checkpoint cannot be kept in a pipe"):
        solve(problem_of(), "simple", checkpoint=pipe)
