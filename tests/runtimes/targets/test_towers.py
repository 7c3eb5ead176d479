"""Tests of towers that read images: the limits of llama.cpp, its launch lines, and reading them back."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model import model_json
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp
from mtpp_dsl.runtimes.targets.llama_cpp_tower import BEHIND
from mtpp_dsl.solving.answers.again import under_target
from tests.exchange.importers import mmproj_files
from tests.runtimes.targets.splits import STAMP

SPEC = """
graph {
  node vit[i in 0..1] (work = 3 ms, params = 1 GB, output = 8 kB, kind = "tower")
  node mm (work = 1 ms, params = 1 GB, output = 8 kB, kind = "tower")
  node embed (work = 1 ms, output = 8 kB, params = 1 GB)
  node join (work = 0 ms, output = 16 kB)
  node blk[i in 0..2] (work = 2 ms, params = 2 GB, output = 8 kB)
  node head (work = 1 ms, params = 1 GB)
  edge vit[0] -> vit[1] -> mm -> join -> blk[0] -> blk[1] -> blk[2] -> head
  edge embed -> join
}
device gpu[2] (memory = 7 GB)
device cpu (memory = 64 GB, speed = 0.1)
interconnect links (bandwidth = 25 GB/s)
minimize latency
constraint memory
"""
TOWER, EMBED, JOIN, FIRST = (0, 1, 2), 3, 4, 5
"""Of the nodes of :data:`SPEC`."""


def line_of(problem: Problem, assignment: list[int]) -> str:
    (text,) = LlamaCpp().export(problem, Plan.create(problem, assignment), STAMP).values()
    assert isinstance(text, str)
    return text


def every_assignment(problem: Problem) -> Iterator[list[int]]:
    """Yield the device of every node for each place of the tower and each split of layers and output."""
    order = sorted(range(problem.k), key=lambda d: (problem.devices[d].name != "cpu", d))
    for homes in itertools.combinations_with_replacement(range(problem.k), 4):
        for tower in range(homes[0] + 1):
            first = order[0] if problem.devices[order[0]].name == "cpu" else order[homes[0]]
            yield [*[order[tower]] * 3, first, order[homes[0]], *(order[home] for home in homes)]


def place_of_tower(line: str) -> str:
    """Return where llama.cpp has the tower: "cpu", or the number of a GPU in the order of the spec."""
    words = shlex.split(line.splitlines()[-1])
    assert words[words.index("--mmproj") + 1].startswith("${2:?")
    if "--no-mmproj-offload" in words:
        return "cpu"
    devices = words[words.index("--device") + 1].split(",") if "--device" in words else ["CUDA0"]
    return (words[words.index("-mmdev") + 1] if "-mmdev" in words else devices[0]).removeprefix("CUDA")


@pytest.mark.parametrize("cpu", [True, False])
def test_the_best_plan_is_the_best_of_all_launch_lines(cpu: bool) -> None:
    problem = mtpp_dsl.load(SPEC if cpu else SPEC.replace("device cpu", "# device cpu"))
    limited, costs = under_target(problem, "llama-cpp"), []
    for homes in every_assignment(problem):
        plan = Plan.create(problem, homes)
        broken = mtpp_dsl.verify(limited, plan)
        assert all(one.constraint.startswith("memory") for one in broken)
        if not broken:
            costs.append(mtpp_dsl.evaluate(limited, plan).cost)
        line = line_of(problem, homes)
        place = place_of_tower(line)
        assert problem.devices[homes[0]].name == (f"gpu[{place}]" if place != "cpu" else place)
        assert LlamaCpp().read(line, problem).assignment == tuple(homes)
    answer = mtpp_dsl.solve(replace(limited, target=None), method="exact", time_limit=30)
    assert answer.status == "optimal"
    assert answer.cost == pytest.approx(min(costs))


def test_a_tower_in_pieces_or_behind_its_layers_is_refused() -> None:
    problem = mtpp_dsl.load(SPEC)
    limited = under_target(problem, "llama-cpp")
    parted, behind = [2, 0, 0, 2, 0, 0, 0, 1, 1], [1, 1, 1, 2, 0, 0, 0, 1, 1]
    for homes, constraint in ((parted, "colocate"), (behind, "stages")):
        broken = mtpp_dsl.verify(limited, Plan.create(problem, homes))
        assert {one.constraint.split()[0] for one in broken} - {"memory"} == {constraint}
    with pytest.raises(
        UsageError, match=r"what reads images is on gpu\[0\] and cpu.*one place for it; add 'constraint"
    ):
        line_of(problem, parted)
    line = line_of(problem, behind)  # llama.cpp can, though the target leaves it out
    assert " --device CUDA0,CUDA1 " in line
    assert line.endswith('--mmproj "${2:?which mmproj file?}" -mmdev CUDA1\n')
    split = LlamaCpp().read(line, problem)
    assert split.assignment == tuple(behind)
    assert split.notes == (f"gpu[1] has what reads images, {BEHIND}",)


@pytest.mark.parametrize(
    ("options", "home"),
    [
        ("", "gpu[0]"),
        ("--mmproj a.gguf", "gpu[0]"),
        ("-mm a.gguf --device CUDA1,CUDA0", "gpu[1]"),
        ("--mmproj-device CUDA1", "gpu[1]"),
        ("-mmdev none", "cpu"),
        ("--no-mmproj-offload -mmdev CUDA1", "gpu[1]"),
        ("-mmdev CUDA1 --no-mmproj-offload", "cpu"),
        ("-mmdev CUDA1 --no-mmproj-offload --mmproj-offload", "gpu[1]"),
        ("-mmdev CUDA1 -mmdev none --mmproj-offload", "gpu[0]"),
        ("--no-mmproj", "leaves out what reads images, which the spec has"),
        ("-mmdev CUDA7", "-mmdev CUDA7 is none of the GPUs of the spec: CUDA0 is gpu"),
    ],
)
def test_lines_of_others_are_read(options: str, home: str) -> None:
    problem, line = mtpp_dsl.load(SPEC), f"llama-server -m b.gguf -ngl 4 -ts 2,2 {options}"
    if " " in home:
        with pytest.raises(UnsoundSplit, match=home):
            LlamaCpp().read(line, problem)
        return
    split = LlamaCpp().read(line, problem)
    assert [problem.devices[split.assignment[v]].name for v in TOWER] == 3 * [home]
    assert problem.devices[split.assignment[EMBED]].name == "cpu"
    assert split.assignment[JOIN] == split.assignment[FIRST]


def test_the_variable_of_the_environment_names_the_device_as_well() -> None:
    """GPUs of the machine itself come before those of servers, where the line does not order them."""
    problem = mtpp_dsl.load(SPEC.replace("device gpu[2]", 'device "10.0.0.2:50052" (memory = 7 GB)\ndevice CUDA0'))
    for words, place in (("MTMD_BACKEND_DEVICE=RPC0 ", 0), ("", 1)):
        line = f"{words}llama-server --rpc 10.0.0.2:50052 -ngl 4 -ts 2,2"
        assert LlamaCpp().read(line, problem).assignment[0] == place


def test_hosts_and_models_that_a_spec_does_not_have() -> None:
    without_cpu = mtpp_dsl.load(SPEC.replace("device cpu", "# device cpu"))
    with pytest.raises(UnsoundSplit, match="has what reads images on the host, and the spec has no CPU"):
        LlamaCpp().read("-ngl 4 -ts 2,2 --no-mmproj-offload", without_cpu)
    text = SPEC.replace("  edge vit[0] -> vit[1] -> mm -> join", "  edge join").replace(', kind = "tower"', "")
    text = "\n".join(line for line in text.splitlines() if "node vit" not in line and "node mm" not in line)
    (note,) = LlamaCpp().read("-ngl 4 -ts 2,2 -mm a.gguf", mtpp_dsl.load(text)).notes
    assert "loads what reads images (--mmproj), which the spec does not have" in note


@pytest.mark.parametrize("group_by", ["layer", "part", "operator"])
def test_a_gguf_file_with_its_tower(group_by: str, tmp_path: Path) -> None:
    """From the files to the launch line, and the same of a graph that does not know its model any more."""
    table = mmproj_files.gemma3(2, 32, 48, 4, 16, 64)
    said = mmproj_files.facts("gemma3", 2, 4, 16, projector__scale_factor=2)
    tower = mmproj_files.tower(tmp_path / "mmproj.gguf", table, said)
    model = mtpp_dsl.from_gguf(mmproj_files.text(tmp_path / "m.gguf", 2, 64), mmproj=tower)
    model_json.write(model, tmp_path / "m.json")
    spec = tmp_path / "spec.mtpp"
    spec.write_text(
        f"""graph from "m.json" (group_by = {group_by}, phase = prefill)
    device gpu[2] (peak = {{fp32: 1 TFLOP/s, fp16: 1 TFLOP/s}}, bandwidth = 100 GB/s)
    device cpu (peak = {{fp32: 1 TFLOP/s, fp16: 1 TFLOP/s}}, bandwidth = 10 GB/s)
    interconnect shared (bandwidth = 16 GB/s)
    minimize latency
    """,
        encoding="utf-8",
    )
    problem = mtpp_dsl.load(spec)
    limited = under_target(problem, "llama-cpp:layer")
    names = problem.graph.names
    homes = [2 if name.startswith("token_embd") else int(name.startswith("output")) for name in names]
    assert mtpp_dsl.verify(limited, Plan.create(problem, homes)) == []
    line = line_of(problem, homes)
    assert line.endswith('-ngl 3 -ts 2,1 --mmproj "${2:?which mmproj file?}"\n')
    assert "# what reads images on gpu[0], from mmproj.gguf\n" in line
    assert LlamaCpp().read(line, problem).assignment == tuple(homes)
    if group_by == "layer":
        plain = replace(problem.graph, origin=None)
        assert layout_of(plain) == layout_of(problem.graph)
