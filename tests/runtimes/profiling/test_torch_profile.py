"""Operators of torch are measured one by one: each distinct one once, and a run that was ended goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import write
from mtpp_dsl.exchange.model.profile import Timing, read_profile
from mtpp_dsl.runtimes.execution.clocks import TimeSpread
from mtpp_dsl.runtimes.execution.machine import ForeignLoad
from mtpp_dsl.runtimes.profiling.jobs import Journal, MeasuringJob, profile_of_jobs
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort
from tests.small_models import gpt

CODE = "tests.runtimes.execution.torch_models:rotary"
SIZES = {"batch": 2, "seq": 9}


@pytest.fixture(scope="module")
def rotary() -> Model:
    pytest.importorskip("torch", reason="torch is not installed")
    from mtpp_dsl.exchange.importers.torch_inputs import read_input
    from mtpp_dsl.exchange.importers.torch_model import import_torch

    return import_torch(CODE, [read_input("ids: int64[batch, seq]")], SIZES)


def jobs_of(model: Model, measured: list[str]) -> list[MeasuringJob]:
    """Return jobs that note which operators they measure; every kind takes the same."""

    def job(name: str, op: str) -> MeasuringJob:
        def measure() -> TimeSpread:
            measured.append(op)
            return TimeSpread(1e-6, 1e-6, 2e-6, 3)

        return MeasuringJob(name, op, op, measure)

    return [job(each.name, each.op or each.name.rpartition(".")[2]) for each in model.operators]


def test_every_operator_of_torch(rotary: Model) -> None:
    """Jobs are the operators of the model; equal calls share a signature, calls of other shapes do not."""
    from mtpp_dsl.runtimes.profiling.torch_profile import torch_jobs

    jobs = torch_jobs(CODE, rotary, SIZES, "cpu", MeasuringEffort(seconds=0.0, samples=1, warm=1), 1)
    assert [job.name for job in jobs] == [operator.name for operator in rotary.operators]
    linear = {job.key for job in jobs if job.op == "aten.linear.default"}
    assert len(linear) == 5  # qkv, proj, up, down and head
    assert "f32[2,9,32], f32[96,32], f32[96]" in "".join(linear)
    keys = {job.key: job for job in jobs}
    assert len(keys) < len(jobs) / 3
    found = {key: job.measure() for key, job in keys.items()}
    assert all(spread.median > 0 for spread in found.values())


def test_other_model(rotary: Model) -> None:
    """A model that is not the one imported is refused, and so is a device that is not there."""
    import torch

    from mtpp_dsl.runtimes.profiling.torch_profile import check_device, torch_jobs

    with pytest.raises(UsageError, match=r"has no operator|has the operator"):
        torch_jobs("tests.runtimes.execution.torch_models:gpt", rotary, SIZES, "cpu", MeasuringEffort(), 1)
    with pytest.raises(UsageError, match="say what seq is"):
        torch_jobs(CODE, rotary, {"batch": 2}, "cpu", MeasuringEffort(), 1)
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="no CUDA device"):
            check_device("cuda")


def test_journal(tmp_path: Path) -> None:
    """What has been measured is not measured again; a torn line is; other conditions are refused."""
    path, model = tmp_path / "p.json.part", gpt()
    measured: list[str] = []
    jobs = jobs_of(model, measured)
    profile, _ = profile_of_jobs(jobs, model, "cpu", {"batch": 1}, {"threads": 1}, path, lambda *_: None)
    first = list(measured)
    assert len(first) == len(set(first)) == len(profile.signatures)
    assert set(profile.times) == set(model.index)
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size - 20)
    profile_of_jobs(jobs, model, "cpu", {"batch": 1}, {"threads": 1}, path, lambda *_: None)
    assert measured == [*first, first[-1]]
    with pytest.raises(UsageError, match="another machine, model or setting"):
        profile_of_jobs(jobs, model, "cpu", {"batch": 2}, {"threads": 1}, path, lambda *_: None)
    journal = Journal(tmp_path / "other", {})
    journal.add("a", Timing(1.0, 1.0, 1.0))
    (tmp_path / "other").write_text("", encoding="utf-8")
    assert Journal(tmp_path / "other", {}).known == {}


@pytest.mark.long
def test_killed(rotary: Model, tmp_path: Path) -> None:
    """Killed at any moment, the same command goes on: what it had is kept as it was."""
    write(rotary, tmp_path / "model.json")
    command = [sys.executable, "-m", "mtpp_dsl", "profile", CODE, "--model", str(tmp_path / "model.json")]
    command += ["-o", str(tmp_path / "p.json"), "--effort", "30ms"]
    part = tmp_path / "p.json.part"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = monotonic() + 60
    while monotonic() < until and not (part.exists() and part.read_bytes().count(b"\n") > 4):
        sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = [json.loads(line) for line in part.read_text(encoding="utf-8").splitlines()[1:] if line.endswith("}")]
    assert len(kept) >= 4
    assert not (tmp_path / "p.json").exists()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ})
    assert not part.exists()
    profile = read_profile(tmp_path / "p.json")
    assert all(profile.signatures[row["key"]].median == row["median"] for row in kept)
    assert set(profile.times) == set(rotary.index)


def test_spec_reads_it(rotary: Model, tmp_path: Path) -> None:
    """The sums of the operators' times are those of the nodes of a spec, and are called measured."""
    import mtpp_dsl

    write(rotary, tmp_path / "model.json")
    jobs = jobs_of(rotary, [])
    profile, _ = profile_of_jobs(jobs, rotary, "cpu", SIZES, {}, tmp_path / "part", lambda *_: None)
    from mtpp_dsl.exchange.model.profile import text_of

    (tmp_path / "profile.json").write_text(text_of(profile), encoding="utf-8")
    spec = (
        "mtpp 1\n"
        'graph from "model.json" (group_by = layer, batch = 2, seq = 9)\n'
        'device d[2] (type = "cpu")\ninterconnect shared (bandwidth = 1 GB/s)\n'
        'times from "profile.json"\nminimize bottleneck\n'
    )
    (tmp_path / "s.mtpp").write_text(spec, encoding="utf-8")
    problem = mtpp_dsl.load(tmp_path / "s.mtpp")
    counts = [len(members) for members in problem.graph.origin.members]
    assert np.allclose(problem.time[:, 0].sum(), rotary.n * 1e-6)
    assert np.all(problem.time[:, 0] <= np.array(counts) * 1.0001e-6)


@pytest.mark.parametrize(
    ("processor", "others", "options", "said"),
    [
        (0.99e-6, 0.0, [], ""),
        (0.25e-6, None, [], "the times are 4.0 times those on the processor. Measure again when nothing else runs"),
        (None, 3.9, ["--threads", "2"], "other programs kept 3.9 of 4 cores busy. Measure again"),
        (0.25e-6, 3.9, ["--clock", "cpu"], ""),
    ],
)
def test_a_busy_machine_is_warned_of(
    processor: float | None,
    others: float | None,
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the clock, a call that waits for other programs takes longer; its time on the processor is kept beside it."""
    model = gpt()
    found = TimeSpread(1e-6, 1e-6, 2e-6, 3, processor)
    jobs = [replace(job, measure=lambda: found) for job in jobs_of(model, [])]
    monkeypatch.setattr("mtpp_dsl.runtimes.profiling.torch_profile.check_device", lambda device: device)
    monkeypatch.setattr("mtpp_dsl.runtimes.profiling.torch_profile.torch_jobs", lambda *_: jobs)
    monkeypatch.setattr("mtpp_dsl.runtimes.execution.machine.ForeignLoad.others", lambda _: others)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    write(model, tmp_path / "m.json")
    call = ["profile", "a:b", "--model", str(tmp_path / "m.json"), "-o", str(tmp_path / "p.json"), "--size", "batch=1"]
    assert run([*call, "--size", "seq=8", *options]) == 0
    err = capsys.readouterr().err
    assert said in " ".join(err.split())
    assert bool(said) == ("the machine was busy" in err)
    assert ("--threads 1 --clock cpu" in err) == (options[:1] == ["--threads"])
    assert {one.processor for one in read_profile(tmp_path / "p.json").signatures.values()} == {processor}


def test_load_is_what_other_programs_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process spends itself does not count, nor do cores that are idle or wait for a disk."""
    tick = os.sysconf("SC_CLK_TCK")
    times = iter([(10.0, 5.0, 0.0, 0.0, 0.0), (11.0, 5.0, 0.0, 0.0, 0.0)])
    clock = iter([0.0, 2.0])
    monkeypatch.setattr("mtpp_dsl.runtimes.execution.machine.os.times", lambda: next(times))
    monkeypatch.setattr("mtpp_dsl.runtimes.execution.machine.perf_counter", lambda: next(clock))
    monkeypatch.setattr("mtpp_dsl.runtimes.execution.machine.STATISTICS", tmp_path / "stat")
    (tmp_path / "stat").write_text(f"cpu  0 0 {20 * tick} 0 0 0 0 0 0 0\ncpu0 1\n")
    load = ForeignLoad()
    (tmp_path / "stat").write_text(f"cpu  {3 * tick} {tick} {20 * tick} {9 * tick} {9 * tick} 0 0 {tick} 7 7\n")
    assert load.others() == pytest.approx(2.0)  # 5 s in 2 s, of which one was our own
    monkeypatch.undo()
    monkeypatch.setattr("mtpp_dsl.runtimes.execution.machine.STATISTICS", tmp_path / "absent")
    assert ForeignLoad().others() is None


def test_waiting_is_not_time_on_the_processor() -> None:
    from mtpp_dsl.runtimes.profiling.measuring import measure

    effort = MeasuringEffort(seconds=0.0, samples=3, warm=1)
    found = measure(lambda: sleep(0.005), effort)
    assert found.processor is not None
    assert found.processor < 0.5 * found.median
    assert measure(lambda: None, effort, wait=lambda: None).processor is None  # another device does the work


def test_measure_is_a_median() -> None:
    """Short runs are taken together, the warm-up does not count, and waiting does."""
    from mtpp_dsl.runtimes.profiling.measuring import measure

    calls: list[Any] = []
    found = measure(
        lambda: calls.append(0), MeasuringEffort(seconds=0.001, samples=5, warm=2), lambda: calls.append("wait")
    )
    assert found.runs >= 5
    assert 0 < found.low <= found.median <= found.high < 1e-3
    assert calls.count("wait") == found.runs + 1
