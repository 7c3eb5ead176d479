"""Tests of experts that are apart from their layers: the limits, the launch lines, and reading them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import mtpp_dsl
from mtpp_dsl.core.contracts.targets import UnsoundSplit, target_called
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp
from mtpp_dsl.solving.answers.again import under_target
from tests.exchange.importers import gguf_files
from tests.runtimes.targets import experts
from tests.runtimes.targets.splits import STAMP

SPEC = """
graph {
  node embed (work = 1 ms, output = 8 kB, params = 1 GB)
  node attn[i in 0..3] (work = 1 ms, params = 1 GB, output = 8 kB)
  node moe[i in 1..3] (work = 2 ms, params = 4 GB, output = 8 kB, kind = "experts")
  node head (work = 1 ms, params = 1 GB)
  edge embed -> attn[0] -> attn[1]
  edge attn[i] -> moe[i] for i in 1..3
  edge moe[i] -> attn[i + 1] for i in 1..2
  edge moe[3] -> head
}
device gpu (memory = 10 GB)
device cpu (memory = 64 GB, speed = 0.1)
interconnect links (bandwidth = 25 GB/s)
minimize latency
constraint memory
"""


def line_of(target: LlamaCpp, problem: Problem, assignment: list[int]) -> str:
    (text,) = target.export(problem, Plan.create(problem, assignment), STAMP).values()
    assert isinstance(text, str)
    return text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("objective", ["bottleneck", "latency"])
def test_the_best_plan_is_the_best_of_all_launch_lines(objective: str) -> None:
    random, target, solved = Random(objective), LlamaCpp(), 0
    for number in range(3):
        gpus = 1 + number % 2
        made = experts.problem(random, 2, gpus, cpu=bool(number % 3), dense=number % 2)
        made = Problem.create(made.graph, made.devices, made.interconnect, Objective(objective))
        limited = under_target(made, "llama-cpp")
        costs = [
            mtpp_dsl.evaluate(limited, plan).cost
            for homes in experts.every_assignment(target, made)
            if not mtpp_dsl.verify(limited, plan := Plan.create(made, homes))
        ]
        found = mtpp_dsl.solve(replace(limited, target=None), time_limit=30)
        solved += bool(costs)
        assert found.status == ("optimal" if costs else "infeasible")
        assert not costs or found.cost == pytest.approx(min(costs))
    assert solved


def test_every_launch_line_keeps_to_the_limits_and_is_read_back() -> None:
    random, target = Random(1), LlamaCpp()
    for number in range(8):
        made = experts.problem(random, 2, 1 + number % 2, cpu=number % 4 > 0, dense=number % 2)
        roomy = [replace(device, memory=None) for device in made.devices]
        made = Problem.create(made.graph, roomy, made.interconnect)
        every = list(experts.every_assignment(target, made))
        limited = under_target(made, "llama-cpp")
        for homes in random.sample(every, min(len(every), 15)):
            assert mtpp_dsl.verify(limited, Plan.create(made, homes)) == []
            line = line_of(target, made, homes)
            assert target.read(line, made).assignment == tuple(homes)
            expected = experts.wanted(made, homes)
            places = experts.places(line, made)
            assert {name: places[name] for name in expected} == expected, line


def test_whole_layers_are_the_same_with_either_grain_where_nothing_is_apart() -> None:
    random = Random(2)
    made = experts.problem(random, 3, 2)
    coarse, fine = LlamaCpp("layer"), LlamaCpp("tensor")
    for homes in experts.every_assignment(coarse, made):
        assert line_of(coarse, made, homes) == line_of(fine, made, homes)
        assert "-ot" not in line_of(fine, made, homes)
        assert "moe" not in line_of(fine, made, homes)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ("cpu", "-ngl 5 -ts 5 --n-cpu-moe 4"),
        ({1: "cpu"}, "-ngl 5 -ts 5 --n-cpu-moe 2"),
        ({2: "cpu"}, r"-ngl 5 -ts 5 -ot 'blk\.2\.ffn_.*_exps\.=CPU'"),
        ({2: "cpu", 3: "cpu"}, r"-ngl 5 -ts 5 -ot 'blk\.(2|3)\.ffn_.*_exps\.=CPU'"),
        ({}, "-ngl 5 -ts 5"),
    ],
)
def test_first_experts_on_the_cpu_are_a_number(places: dict[int, str] | str, expected: str) -> None:
    """The first layer is dense; the families of nodes are numbered from different numbers."""
    problem = mtpp_dsl.load(SPEC)
    names = problem.graph.names
    homes = [
        int(name == "embed" or (name[:3] == "moe" and (places == "cpu" or int(name[4]) in places))) for name in names
    ]
    line = line_of(LlamaCpp(), problem, homes)
    assert line.endswith(f"--split-mode layer {expected}\n")
    assert LlamaCpp().read(line, problem).assignment == tuple(homes)


def test_names_of_gpus_are_written_where_tensors_are_on_another_one() -> None:
    problem = mtpp_dsl.load(SPEC.replace("device gpu", "device gpu[2]"))
    homes = [2, 0, 0, 1, 1, 1, 2, 0, 1]
    line = line_of(LlamaCpp(), problem, homes)
    assert "# gpu[0] is taken to be CUDA0, gpu[1] is taken to be CUDA1" in line
    patterns = [f"blk\\.{i}\\.ffn_.*_exps\\.={buffer}" for i, buffer in ((3, "CUDA0"), (1, "CUDA1"), (2, "CPU"))]
    assert line.endswith(f"--device CUDA0,CUDA1 -ngl 5 -ts 2,3 -ot '{','.join(patterns)}'\n")
    assert LlamaCpp().read(line, problem).assignment == tuple(homes)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-ngl 99 --cpu-moe", "0gcgcgcg"),
        ("-ngl 99 -ot exps=CPU", "0gcgcgcg"),
        (r"-ngl 99 -ot '\.ffn_.*_exps\.=CPU'", "0gcgcgcg"),
        ("-ngl 99 -ncmoe 2", "0gcgggg"),
        (r"-ngl 3 -ot 'blk\.[0-2]\.ffn_(up|gate|down)_exps.*=CUDA0'", ""),
        ("-ngl all -ncmoe 0", ""),
        ("-ngl -1 -ncmoe 0", ""),
        (r"-ngl 99 -ot 'blk\.2\.ffn_up_exps=CPU'", "part blk.2.ffn_gate_exps.weight from blk.2.ffn_up_exps.weight"),
        (r"-ngl 99 -ot 'blk\.2\.=CPU'", "puts blk.2.attn_norm.weight into CPU, which the spec has with layer 2"),
        ("-ngl 99 -ot output=CPU", "which the spec has with layer 0"),
        ("-ngl 99 -ot token_embd=CUDA0", "which the spec has with the embedding"),
        ("-ngl 99 -ot exps=CUDA3", "puts tensors into 'CUDA3', which is no device of the spec"),
        ("-ngl 99 --device CUDA1", "is not the GPUs of the spec: CUDA0 is gpu"),
    ],
)
def test_lines_of_others_are_read(line: str, expected: str) -> None:
    problem = mtpp_dsl.load(SPEC)
    if " " in expected:
        with pytest.raises(UnsoundSplit, match=expected):
            LlamaCpp().read(line, problem)
        return
    homes = LlamaCpp().read(line, problem).assignment
    again = line_of(LlamaCpp(), problem, list(homes))
    assert LlamaCpp().read(again, problem).assignment == homes
    on_cpu = {problem.graph.names[v] for v, d in enumerate(homes) if d == 1}
    if "moe 2" in line or "ncmoe 2" in line:
        assert on_cpu == {"embed", "moe[1]"}
    elif "[0-2]" in line:
        assert on_cpu == {"embed", "attn[0]", "attn[1]"}
    elif "ncmoe 0" in line:
        assert on_cpu == {"embed"}
    else:
        assert on_cpu == {"embed", "moe[1]", "moe[2]", "moe[3]"}


def test_small_tensors_may_come_along_and_that_is_said() -> None:
    problem = mtpp_dsl.load(SPEC)
    split = LlamaCpp().read(r"-ngl 99 -ot 'blk\.[1-3]\.ffn_.*=CPU'", problem)
    (note,) = split.notes
    assert "take ffn_norm.weight, ffn_gate_inp.weight along, which counts with the attention" in note


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-ngl 5 -ot 'a,b=CPU'", "a pattern has no comma in it"),
        ("-ngl 5 -ot '(a=CPU'", "cannot be read from character 3"),
        ("-ngl 5 -ot '(?=a)=CPU'", "cannot be read from character"),
        ("-ngl 5 -ot", "-ot has no value"),
        ("-ngl x", "-ngl 'x' is no number of layers"),
        ("-ngl 5 --n-cpu-moe -1", "'-1' is no number of layers"),
        ("-ngl 5 -sm row -ts 5", "only --split-mode layer is read"),
        ("-ngl 5 -ts '5", "cannot be read as a shell does"),
        ("-ngl 5 -ts 5 -ts 4", "several lists of shares, which differ"),
    ],
)
def test_damaged_lines_are_refused(line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LlamaCpp().read(line, mtpp_dsl.load(SPEC))


def test_the_grain_is_chosen_in_the_spec_and_on_the_command_line() -> None:
    free = mtpp_dsl.load(SPEC)
    fine, coarse = (mtpp_dsl.load(f"{SPEC}target llama_cpp{said}") for said in ("", " (grain = layer)"))
    assert fine.target is not None
    assert coarse.target is not None
    assert (fine.target.name, coarse.target.name) == ("llama-cpp", "llama-cpp:layer")
    assert under_target(free, "llama-cpp:layer").constraints == coarse.constraints
    assert mtpp_dsl.load(coarse.to_spec()).constraints == coarse.constraints
    costs = [mtpp_dsl.solve(replace(one, target=None), time_limit=30).cost for one in (free, fine, coarse)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-3)
    assert costs[1] < costs[2]
    with pytest.raises(
        UsageError, match=r"no option 'layers'; did you mean 'layer'.*it takes llama-cpp:layer, llama-cpp:tensor"
    ):
        target_called("llama-cpp:layers")
    with pytest.raises(UsageError, match="target vllm has no option 'layer'; it takes no options"):
        target_called("vllm:layer")
    with pytest.raises(SpecError, match="grain is one of layer, tensor"):
        mtpp_dsl.load(f"{SPEC}target llama_cpp (grain = tensors)")
    with pytest.raises(SpecError, match="target vllm takes no options"):
        mtpp_dsl.load(f"{SPEC}target vllm (grain = tensor)")


def test_an_order_of_stages_is_warned_of() -> None:
    (warning,) = mtpp_dsl.load(f"{SPEC}constraint acyclic\ntarget llama_cpp").warnings
    assert "constraint acyclic keeps experts from a device that their layers come back from" in warning


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("attn[i in 0..3] (", 'attn[i in 0..3] (kind = "experts", '), "the graph has no layers"),
        (("attn[i in 0..3] (", 'attn[i in 0..3] (kind = if i == 2 then "experts" else "", '), "there is no layer 2"),
        (("edge attn[i] -> moe[i] for i in 1..3", "edge attn[i] -> moe[i] for i in 1..2"), "reads from no layer"),
    ],
)
def test_graphs_without_a_layer_for_experts_are_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LlamaCpp().restrict(mtpp_dsl.load(SPEC.replace(*change)))


def test_a_gguf_file_by_its_parts(tmp_path: Path) -> None:
    """From the file to the launch line: experts of the second layer on the CPU, and shared ones of the third."""
    facts = gguf_files.metadata("llama", 3, expert_used_count=2)
    gguf_files.write(tmp_path / "mixed.gguf", facts, gguf_files.with_experts(3, 64, 96, dense=1, shared=True))
    text = """graph from "mixed.gguf" (group_by = part, phase = decode)
    device gpu (peak = {fp32: 1 TFLOP/s, fp16: 1 TFLOP/s}, bandwidth = 100 GB/s)
    device cpu (peak = {fp32: 1 TFLOP/s, fp16: 1 TFLOP/s}, bandwidth = 10 GB/s)
    interconnect shared (bandwidth = 16 GB/s)
    minimize latency
    """
    spec = tmp_path / "spec.mtpp"
    spec.write_text(text, encoding="utf-8")
    problem = mtpp_dsl.load(spec)
    away = {"token_embd", "blk[1].experts", "blk[2].shared_experts"}
    homes = [int(name in away) for name in problem.graph.names]
    line = line_of(LlamaCpp(), problem, homes)
    assert line.endswith(r"-ngl 4 -ts 4 --n-cpu-moe 2 -ot 'blk\.2\.ffn_.*_shexp\.=CPU'" + "\n")
    assert LlamaCpp().read(line, problem).assignment == tuple(homes)
    assert "(group_by = part)" not in str(under_target(problem, "llama-cpp").warnings)
    spec.write_text(text.replace("group_by = part", "group_by = layer"), encoding="utf-8")
    (warning,) = under_target(mtpp_dsl.load(spec), "llama-cpp").warnings
    assert "read it with (group_by = part)" in warning
