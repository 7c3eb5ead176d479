"""Parts of ONNX models: the checker accepts them, and chained they compute what the whole model computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.run_options import RunOptions
from tests.late import late
from tests.onnx_models import light
from tests.runtimes.execution.splits import cut, placed, problem_of

onnx: Any = late("onnx")
pytestmark = [pytest.mark.needs("onnx", "onnxruntime"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def squeezenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return light("squeezenet", tmp_path_factory.mktemp("models"))


def model_of(path: Path) -> Any:
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx

    return from_onnx(path)


def parts_in(path: Path, problem: Problem, plan: Any, folder: Path, **more: Any) -> dict[str, Any]:
    """Cut a model as a plan says, check and return the manifest."""
    from mtpp_dsl.runtimes.execution.onnx_files import check_files, onnx_files, write_files
    from mtpp_dsl.runtimes.execution.onnx_plan import nodes_of
    from mtpp_dsl.runtimes.execution.plan_parts import parts_of

    parts = parts_of(problem, plan)
    rows = [nodes_of(problem.graph.origin.model, part) for part in parts]
    folder.mkdir(exist_ok=True)
    write_files(onnx_files(path, rows, [problem.devices[part.device].name for part in parts], **more), folder)
    check_files(folder)
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("optimise", [False, True])
def test_squeezenet(squeezenet: Path, optimise: bool) -> None:
    """Bit for bit with optimisations off, within 1e-5 of the largest result with them; results vary."""
    from mtpp_dsl.runtimes.execution.onnx_plan import run_onnx

    problem = problem_of(model_of(squeezenet), 4, "operator")
    report = run_onnx(problem, cut(problem), squeezenet, RunOptions(repeats=1, optimise=optimise))
    assert report.comparison.telling
    assert report.comparison.deviation > 0.1
    assert report.comparison.equal or (optimise and report.comparison.relative < 1e-5)
    assert len(report.stages) == 4


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["densenet121", "inception_v1"])
def test_branching(name: str, tmp_path: Path) -> None:
    """Networks with branches, cut anywhere: parts that skip each other, and a plan that uses devices in turn."""
    from mtpp_dsl.runtimes.execution.onnx_plan import run_onnx

    path = light(name, tmp_path)
    problem = problem_of(model_of(path), 4, "operator")
    once = RunOptions(repeats=1, microbatches=1)
    assert run_onnx(problem, cut(problem), path, once).comparison.equal
    turns = placed(problem, lambda i: (i // 12) % 4)
    report = run_onnx(problem, turns, path, once)
    assert report.comparison.equal
    assert report.comparison.telling
    assert any(row.parts > 1 for row in report.stages)


def test_processes(squeezenet: Path) -> None:
    """One process for each part, several inputs on their way at once."""
    from mtpp_dsl.runtimes.execution.onnx_plan import run_onnx

    problem = problem_of(model_of(squeezenet), 2, "operator")
    report = run_onnx(problem, cut(problem), squeezenet, RunOptions("stages", microbatches=3, repeats=2))
    assert report.comparison.equal
    assert [row.measured.runs for row in report.stages] == [6, 6]


def test_weights_outside(squeezenet: Path, tmp_path: Path) -> None:
    """Weights lie beside a part where they are many, or did so before; each part has its own alone."""
    from mtpp_dsl.runtimes.execution.onnx_run import OnnxChain, open_session, random_inputs

    problem = problem_of(model_of(squeezenet), 3, "operator")
    given = random_inputs(open_session(squeezenet), {}, 1, 0)[0]
    expected = OnnxChain(_written(squeezenet, problem, tmp_path / "inside")).run(given)[0]
    inside = [path for path in (tmp_path / "inside").iterdir() if path.suffix == ".data"]
    assert not inside
    outside = OnnxChain(_written(squeezenet, problem, tmp_path / "outside", most_inline=0)).run(given)[0]
    assert np.array_equal(expected[0], outside[0])
    sizes = [path.stat().st_size for path in (tmp_path / "outside").glob("*.data")]
    assert len(sizes) == 3
    assert sum(sizes) < 1.1 * squeezenet.stat().st_size
    whole = tmp_path / "whole" / "model.onnx"
    whole.parent.mkdir()
    onnx.save(onnx.load(squeezenet), whole, save_as_external_data=True, location="all.bin", size_threshold=0)
    problem = problem_of(model_of(whole), 3, "operator")
    again = OnnxChain(_written(whole, problem, tmp_path / "again")).run(given)[0]
    assert np.array_equal(expected[0], again[0])


def _written(path: Path, problem: Problem, folder: Path, **more: Any) -> Path:
    parts_in(path, problem, cut(problem), folder, **more)
    return folder


def test_climbing_weights(squeezenet: Path, tmp_path: Path) -> None:
    """Weights outside the folder of the model are refused before anything is read or written."""
    from mtpp_dsl.runtimes.execution.onnx_weights import read_model

    (tmp_path / "secret.bin").write_bytes(b"\0" * 10_000_000)
    folder = tmp_path / "in"
    folder.mkdir()
    model = onnx.load(squeezenet)
    onnx.external_data_helper.set_external_data(model.graph.initializer[-1], "../secret.bin")
    model.graph.initializer[-1].ClearField("raw_data")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(UsageError, match="outside the folder"):
        read_model(folder / "m.onnx")
    model.graph.initializer[-1].external_data[0].value = "link.bin"
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(UsageError, match=r"link out of|outside the folder"):
        read_model(folder / "m.onnx")


def test_inner_graphs(tmp_path: Path) -> None:
    """What the branches of an If take from outside comes with the node, or from the part before."""
    make = onnx.helper
    branch = [
        make.make_graph([make.make_node(op, ["x", weight], ["z"])], op, [], [make.make_tensor_value_info("z", 1, [4])])
        for op, weight in (("Add", "w"), ("Mul", "w"))
    ]
    nodes = [
        make.make_node("Relu", ["a"], ["x"]),
        make.make_node("If", ["flag"], ["y"], then_branch=branch[0], else_branch=branch[1]),
    ]
    weight = onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    inputs = [make.make_tensor_value_info("a", 1, [4]), make.make_tensor_value_info("flag", 9, [])]
    graph = make.make_graph(nodes, "g", inputs, [make.make_tensor_value_info("y", 1, [4])], [weight])
    path = tmp_path / "if.onnx"
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)
    problem = problem_of(model_of(path), 2, "operator")
    manifest = parts_in(path, problem, cut(problem), tmp_path / "parts")
    assert [[each["name"] for each in part["inputs"]] for part in manifest["parts"]] == [["a"], ["flag", "x"]]
    from mtpp_dsl.runtimes.execution.onnx_run import OnnxChain

    given = {"a": np.float32([-1, 2, 3, 4]), "flag": np.array(True)}
    assert OnnxChain(tmp_path / "parts").run(given)[0][0].tolist() == [0, 3, 5, 7]


def test_other_file(squeezenet: Path, tmp_path: Path) -> None:
    """A file that was not the one imported is refused."""
    from mtpp_dsl.runtimes.execution.onnx_plan import run_onnx

    problem = problem_of(model_of(squeezenet), 2, "operator")
    model = onnx.load(squeezenet)
    model.graph.name = "other"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(UsageError, match="not the file that was imported"):
        run_onnx(problem, cut(problem), tmp_path / "other.onnx", RunOptions())
