"""Splits in the form of tarnawski2020's program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from tests.solvers.partition.test_classical import workload


def problem() -> Problem:
    """Return two forward nodes, their colocated backward nodes, and one more."""
    graph = Graph.create(
        ["1", "2", "3", "4", "5"],
        [(0, 1), (2, 3)],
        work=1.0,
        colors=[7, 8, 8, 7, -1],
        backward=[False, False, True, True, False],
    )
    cpu = Device("cpu", pays_io=False)
    return Problem.create(graph, [Device("a0"), cpu, Device("a1")], Host(1.0))


def test_lists_are_devices_in_order() -> None:
    """Accelerators are the devices that pay, CPUs the others; backward nodes follow their colour class."""
    split = {"fpgas": [{"nodes": [1]}, {"nodes": [2], "load": -1}], "cpus": [{"nodes": ["5"]}], "maxLoad": -1}
    assert Plan.from_json(problem(), split).assignment.tolist() == [0, 2, 2, 0, 1]


@pytest.mark.parametrize(
    ("fpgas", "cpus", "message"),
    [
        ([{"nodes": [1, 2]}], [], "does not place node '5'"),
        ([{"nodes": [1, 2]}, {"nodes": [5, 2]}], [], "places node '2' twice, on a0 and a1"),
        ([{"nodes": [1]}, {"nodes": [2]}, {"nodes": [5]}], [], r"nodes in fpgas\[2\], and there are 2 such devices"),
        ([{"nodes": [1, 2, 5, 9]}], [], "'9', which is no node"),
        ([[1, 2, 5]], [], r"fpgas\[0\] of the split is not"),
        ([{"nodes": [1.5]}], [], r"fpgas\[0\] of the split is not"),
        ([{"nodes": [1, 2, 5]}], 3, r"cpus\[0\] of the split is not"),
    ],
)
def test_what_is_wrong_is_said(fpgas: Any, cpus: Any, message: str) -> None:
    """A split that is none is an error that names the list or the node."""
    with pytest.raises(UsageError, match=message):
        Plan.from_json(problem(), {"fpgas": fpgas, "cpus": cpus})


def test_a_class_on_two_devices_places_nothing() -> None:
    """Where colour says two things, the node must be given."""
    split = {"fpgas": [{"nodes": [1, 5]}, {"nodes": [4, 2]}], "cpus": []}
    assert Plan.from_json(problem(), split).assignment[2] == 2
    graph = Graph.create(["1", "2", "3"], [], colors=1)
    two = Problem.create(graph, [Device("a0"), Device("a1")], Host(1.0))
    with pytest.raises(UsageError, match="'3', and has its colour class on a0 and a1"):
        Plan.from_json(two, {"fpgas": [{"nodes": [1]}, {"nodes": [2]}], "cpus": []})


EXPERTS = {
    "bert24_inference": ("bert24_inference", 20.08),
    "bert24_training": ("bert24_training", 49.40),
    "gnmt_inference": ("gnmt_inference", 46.21),
    "inceptionv3_inference": ("inceptionv3_inference", 102.48),
    "inceptionv3_training": ("inceptionv3_inference", 213.65),
    "resnet50_inference": ("resnet50_inference", 43.92),
    "resnet50_training": ("resnet50_inference", 112.11),
}


@pytest.mark.parametrize("name", EXPERTS)
def test_published_splits(name: str, data: Path) -> None:
    """Every published split by hand breaks nothing and has the value of Table 1."""
    folder, (split, value) = data / "dnn-partitioning", EXPERTS[name]
    asked = workload(folder / "throughput" / "LayerGraphs" / f"{name}.json", Acyclic(parts="forward"), Memory())
    start = Plan.from_json(asked, json.loads((folder / "experts" / f"{split}_expert.json").read_text()))
    result = mtpp_dsl.solve(asked, "expert", start=start)
    assert result.cost == pytest.approx(value, abs=0.006)


def test_from_the_command_line(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The published file is the start as it is; without one the method is refused."""
    folder = data / "dnn-partitioning"
    spec = tmp_path / "bert.mtpp"
    spec.write_text(
        f'import "{folder}/throughput/LayerGraphs/bert24_inference.json" (format = msr)\n'
        "minimize bottleneck\nconstraint acyclic\nconstraint colocate by color\n"
    )
    split = folder / "experts" / "bert24_inference_expert.json"
    answer = tmp_path / "answer.json"
    call = ["solve", str(spec), "--method", "expert"]
    assert run([*call, "--start", str(split), "--json", str(answer)]) == 0
    assert json.loads(answer.read_text())["objective"]["value"] == pytest.approx(20.083953)
    assert run([*call, "--start", str(answer), "-q"]) == 0
    assert run(call) == 2
    assert "--start" in capsys.readouterr().err
