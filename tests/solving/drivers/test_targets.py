"""Tests of plans for a runtime: what its limits cost, files of answers, and splits that somebody else wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import Pin
from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.target_cost import TargetCost
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import free_of
from mtpp_dsl.show.report.terminal import summary
from mtpp_dsl.solving.answers.again import under_target
from mtpp_dsl.solving.answers.shape import check_shape
from mtpp_dsl.solving.drivers.target_starts import first_plan

SPEC = """mtpp 1
graph {
  node embed (work = 1 ms, params = 1 GB, output = 1 MB)
  node attn[i in 0..5] (work = 2 ms, params = 1 GB, output = 1 MB)
  node mlp[i in 0..5] (work = 3 ms, params = 2 GB, output = 4 MB)
  node head (work = 4 ms, params = 1 GB)
  edge embed -> attn[0]
  edge attn[i] -> mlp[i] for i in 0..5
  edge mlp[i] -> attn[i + 1] for i in 0..4
  edge mlp[5] -> head
}
device gpu[2] (speed = 1, memory = 12 GB)
device fast (speed = 2, memory = 16 GB)
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint acyclic
"""


@pytest.fixture
def problem() -> Problem:
    return mtpp_dsl.load(SPEC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, which is the working one, with the spec."""
    monkeypatch.chdir(tmp_path)
    Path("s.mtpp").write_text(SPEC, encoding="utf-8")
    return tmp_path


def test_says_what_the_limits_of_a_runtime_cost(problem: Problem) -> None:
    result = mtpp_dsl.solve(problem, target="vllm", time_limit=30)
    free = mtpp_dsl.solve(problem, time_limit=30)
    assert result.status == free.status == "optimal"
    assert result.target is not None
    assert result.target.cost == pytest.approx(free.cost)
    assert result.cost is not None
    assert free.cost is not None
    assert result.target.share == pytest.approx(result.cost / free.cost - 1)
    said = result.to_dict()
    check_shape(said, "the answer")
    assert said["target"]["name"] == "vllm"
    assert said["target"]["cost"] == result.target.share
    assert result.plan is not None
    assert mtpp_dsl.verify(free_of(problem), result.plan) == []


def test_memories_are_no_limit_of_a_runtime() -> None:
    """One device is fast and too small for all; without the runtime it is so, too, though the spec does not say it."""
    small = SPEC.replace("device fast (speed = 2, memory = 16 GB)", "device fast (speed = 9, memory = 8 GB)")
    result = mtpp_dsl.solve(mtpp_dsl.load(small), target="layers", time_limit=30)
    within = mtpp_dsl.solve(mtpp_dsl.load(f"{small}constraint memory"), time_limit=30)
    assert result.target is not None
    assert result.target.cost == pytest.approx(within.cost)


@pytest.mark.parametrize(
    ("under", "free", "share", "least", "most"),
    [
        ((11.0, 11.0), (10.0, 10.0), 0.1, 0.1, 0.1),
        ((11.0, 10.5), (10.0, 8.0), None, 0.05, 0.375),
        ((10.0, 10.0), (10.0, 10.0), 0.0, 0.0, 0.0),
        ((11.0, None), (10.0, 10.0), None, None, 0.1),
        ((None, None), (10.0, 10.0), None, None, None),
        ((0.0, -1.0), (0.0, -1.0), None, None, None),
    ],
)
def test_a_cost_is_told_only_where_it_is_proved(
    under: tuple[float | None, float | None],
    free: tuple[float | None, float | None],
    share: float | None,
    least: float | None,
    most: float | None,
) -> None:
    found = TargetCost.between("vllm", under, free)
    assert [found.share, found.least, found.most] == [
        None if each is None else pytest.approx(each) for each in (share, least, most)
    ]


def test_the_cost_of_a_throughput_is_a_share_of_the_throughput(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 2 and 1 a second it is a half, not the whole by which the period is longer; verify counts the same."""
    assert TargetCost.between("vllm", (1.0, 1.0), (0.5, 0.5), of_rate=True).share == 0.5
    Path("t.mtpp").write_text(Path("s.mtpp").read_text().replace("minimize bottleneck", "maximize throughput"))
    assert run(["solve", "t.mtpp", "--for", "vllm", "--json", "t.json", "--time-limit", "30s"]) == 0
    answer = json.loads(Path("t.json").read_text())
    free, here = answer["target"]["free"]["value"], answer["objective"]["value"]
    assert answer["target"]["cost"] == pytest.approx(1 - here / free, abs=1e-6)
    assert here < free
    assert run(["verify", "t.mtpp", "t.json"]) == 0


def test_answers_for_a_runtime_are_exported_verified_and_refused_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["solve", "s.mtpp", "--for", "vllm", "--json", "a.json", "--time-limit", "30s"]) == 0
    assert "the limits of vllm cost" in capsys.readouterr().out
    assert json.loads(Path("a.json").read_text())["target"]["name"] == "vllm"
    assert run(["verify", "s.mtpp", "a.json"]) == 0
    capsys.readouterr()
    assert run(["export", "a.json", "--to", "vllm"]) == 0
    line = capsys.readouterr().out
    assert "VLLM_PP_LAYER_PARTITION=" in line
    assert "no plan for vllm is better than" in line
    assert run(["export", "a.json", "--to", "accelerate", "-o", "map.json"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "map.json", "map.manifest.json", "s.mtpp"]
    assert json.loads(Path("map.manifest.json").read_text())["answer"] == "a.json"
    assert run(["validate", "map.json", "--format", "device-map", "--spec", "s.mtpp"]) == 0
    changed = json.loads(Path("a.json").read_text())
    changed["target"]["free"]["value"] = changed["objective"]["value"] * 2
    Path("b.json").write_text(json.dumps(changed), encoding="utf-8")
    assert run(["verify", "s.mtpp", "b.json"]) == 7
    Path("s.mtpp").write_text(SPEC.replace("4 ms", "5 ms"), encoding="utf-8")
    assert run(["export", "a.json", "--to", "vllm"]) == 2
    assert "solve it again" in capsys.readouterr().err


def test_a_plan_that_a_runtime_cannot_run_is_refused_with_the_constraint_to_add(problem: Problem) -> None:
    plan = Plan.create(problem, [0] * problem.graph.n).of(problem)
    result = replace(
        mtpp_dsl.solve(problem, "simple").of(problem), plan=plan, evaluation=mtpp_dsl.evaluate(problem, plan)
    )
    with pytest.raises(UsageError, match=r"gpu\[1\] has no layer; add 'constraint stages .*, or solve with --for vllm"):
        mtpp_dsl.export(result, "vllm")
    with pytest.raises(UsageError, match="device-map cannot run this plan: it breaks what --for device-map adds"):
        mtpp_dsl.export(result, "device-map")  # 20 GB on gpu[0]


@pytest.mark.parametrize(
    ("split", "code", "said"),
    [
        ("1,3,2", 0, "yours is"),
        ("VLLM_PP_LAYER_PARTITION=2,2,2", 0, "times the best possible"),
        ("5,0,1", 7, "stage 1 has no layer"),
        ("4,1,1", 7, "runs out of memory on gpu[0]"),
        ("2,2,1", 7, "5, and the model has 6 layers: 1 is lost"),
        ("3,3", 7, "too few stages"),
        ("nonsense.txt", 2, "there is no file nonsense.txt"),
        ("2,2,x", 2, "there is no file 2,2,x, and this is no text of a split either"),
    ],
)
def test_splits_of_others_are_judged(
    split: str, code: int, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", split, "--format", "vllm", "--spec", "s.mtpp"]) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err


def test_a_split_that_nothing_beats_is_as_fast_as_the_best_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A method that proves too little leaves it open how good the split is, but finds nothing better."""
    call = ["validate", "--format", "vllm", "--spec", "s.mtpp", "--method", "annealing", "--", "1,2,3"]
    assert run(call) == 0
    assert "yours is as fast as the best plan found, and at most 1." in capsys.readouterr().out


def test_a_split_is_held_against_the_best_plan(problem: Problem) -> None:
    found = mtpp_dsl.validate("2,2,2", "vllm", problem)
    assert found.sound
    assert found.best.status == "optimal"
    assert found.ratio is not None
    assert found.ratio == pytest.approx(found.evaluation.cost / (found.best.cost or 1))
    assert found.ratio > 1
    with pytest.raises(UnsoundSplit):
        mtpp_dsl.validate("2,2,3", "vllm", problem)


def test_says_so_where_the_cost_of_limits_is_not_known(problem: Problem) -> None:
    progress = mtpp_dsl.Progress()
    progress.stop()
    result = mtpp_dsl.solve(problem, target="device-map", time_limit=20, progress=progress)
    assert result.target == TargetCost("device-map")
    assert "what the limits of device-map cost is not known: the search was stopped" in result.notes
    lines = [line.plain for line in summary(problem, result)]
    assert any("device-map; what its limits cost is not known" in line for line in lines)


def test_an_answer_without_a_plan_for_the_runtime_says_what_there_is_without_its_limits(problem: Problem) -> None:
    small = [replace(device, memory=4e9 if device.name == "gpu[1]" else 30e9) for device in problem.devices]
    pinned = [*problem.constraints, Pin(nodes=(0,), devices=(1,))]
    changed = Problem.create(problem.graph, small, problem.interconnect, constraints=pinned)
    result = mtpp_dsl.solve(changed, target="vllm", time_limit=20)
    assert result.status == "infeasible"
    assert result.target is not None
    assert result.target.cost is not None
    lines = [line.plain for line in summary(changed, result)]
    assert any("vllm can run no plan; the best plan found without them has" in line for line in lines)


def test_a_split_that_breaks_a_memory_may_be_better_than_any_sound_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = "graph { node layer[i in 0..7] (work = 1 ms, params = 1 GB)  edge layer[i] -> layer[i+1] for i in 0..6 }\n"
    spec += "device a (memory = 10 GB)\ndevice b (memory = 3 GB)\ninterconnect shared (bandwidth = 1 GB/s)\n"
    Path("tight.mtpp").write_text(spec + "minimize bottleneck\nconstraint memory\n", encoding="utf-8")
    assert run(["validate", "4,4", "--format", "vllm", "--spec", "tight.mtpp"]) == 7
    assert "yours is better than any plan that is sound, and runs out of memory on b" in capsys.readouterr().out
    assert run(["validate", "5,3", "--format", "vllm", "--spec", "tight.mtpp"]) == 0
    assert "yours is as fast as the best possible" in capsys.readouterr().out


EXPERTS = """mtpp 1
phase prefill, decode (weight = 64)
graph {
  node embed (work = {prefill: 2 ms, decode: 0.02 ms}, params = 1 GB, output = {prefill: 8 MB, decode: 8 kB})
  node attn[i in 0..4] (work = {prefill: 6 ms, decode: 0.4 ms}, params = 0.5 GB, output = {prefill: 8 MB, decode: 8 kB})
  node experts[i in 0..4] (work = {prefill: 12 ms, decode: 0.6 ms}, params = 2.5 GB, output = 8 MB, kind = "experts")
  node head (work = {prefill: 5 ms, decode: 0.5 ms}, params = 1 GB, output = 1 MB)
  edge embed -> attn[0]
  edge attn[i] -> experts[i] for i in 0..4
  edge experts[i] -> attn[i + 1] for i in 0..3
  edge experts[4] -> head
}
device cpu (memory = 64 GB, speed = 0.1)
device big (memory = 8 GB, speed = 2)
device small (memory = 5 GB)
interconnect links (bandwidth = 20 GB/s, latency = 10 us)
minimize latency
constraint memory
"""


def test_a_first_plan_keeps_limits_that_few_searches_know() -> None:
    limited = under_target(mtpp_dsl.load(EXPERTS), "llama-cpp")
    plan = first_plan(limited, None)
    assert plan is not None
    assert mtpp_dsl.verify(limited, plan) == []
    assert first_plan(limited, None, lambda: True) is not None  # the first split that is checked is one
    cost = mtpp_dsl.evaluate(limited, plan).cost
    assert cost < 0.4 * mtpp_dsl.evaluate(limited, Plan.create(limited, [0] * limited.graph.n)).cost
    result = mtpp_dsl.solve(limited, time_limit=0.2)
    assert result.cost is not None
    assert result.cost <= cost


def test_no_time_goes_into_what_limits_cost_while_there_is_no_plan() -> None:
    """All memories are together .3 GB larger than all nodes, which do not fill them so well."""
    tight = mtpp_dsl.load(EXPERTS.replace("memory = 64 GB", "memory = 4.3 GB"))
    limited = under_target(tight, "llama-cpp")
    assert first_plan(limited, None) is None
    result = mtpp_dsl.solve(limited, time_limit=0.4)
    assert result.plan is None
    assert result.status in {"infeasible", "bound", "unknown"}
    if result.status != "infeasible":
        assert "what the limits of llama-cpp cost is not known: no plan was found under them" in result.notes
