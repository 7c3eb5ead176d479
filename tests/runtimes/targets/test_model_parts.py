"""torch-stages and onnx-split: what is exported is read back, and a manifest that was changed is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.contracts.targets import Stamp, UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.targets.onnx_split import OnnxSplit
from mtpp_dsl.runtimes.targets.torch_stages import TorchStages
from mtpp_dsl.solving.drivers.export import write_files
from tests.onnx_models import light
from tests.runtimes.execution.splits import cut, placed, problem_of

STAMP = Stamp("a.mtpp", ("d0", "d1"), 1.5, 1.25, "bottleneck", "s", model_name="some model")
CODE = "tests.runtimes.execution.torch_models"
Change = Callable[[list[dict[str, Any]]], object]


@pytest.fixture(scope="module")
def rotary() -> Model:
    pytest.importorskip("torch", reason="torch is not installed")
    from mtpp_dsl.exchange.importers.torch_inputs import read_input
    from mtpp_dsl.exchange.importers.torch_model import import_torch

    return import_torch(f"{CODE}:rotary", [read_input("ids: int64[batch, seq]")], {"batch": 2, "seq": 9}, device="cpu")


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnx", reason="onnx is not installed")
    return light("squeezenet", tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def squeezenet(onnx_file: Path) -> Model:
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx

    return from_onnx(onnx_file)


def manifest_of(problem: Problem, plan: Plan) -> dict[str, Any]:
    files = TorchStages().export(problem, plan, STAMP)
    return json.loads(str(files["stages.json"]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("by", ["layer", "module", "operator"])
def test_round_trip(rotary: Model, k: int, by: str) -> None:
    """The plan comes back, also where stages compute the same operators anew."""
    problem = problem_of(rotary, k, by)
    plan = cut(problem)
    text = json.dumps(manifest_of(problem, plan))
    assert TorchStages().read(text, problem).assignment == tuple(plan.assignment.tolist())
    assert "1.25" in text
    assert "some model" in text


def moved(stages: list[dict[str, Any]], name: str, to: int) -> None:
    for stage in stages:
        if name in stage["operators"]:
            stage["operators"].remove(name)
    stages[to]["operators"].append(name)


WRONG: dict[str, tuple[str, Change]] = {
    "lost": ("is lost", lambda stages: stages[1]["operators"].remove("layers[3].qkv.linear")),
    "doubled": ("is doubled", lambda stages: stages[0]["operators"].append("layers[3].qkv.linear")),
    "twice": ("is doubled", lambda stages: stages[1]["operators"].append("layers[3].qkv.linear")),
    "moved": ("is torn", lambda stages: moved(stages, "layers[3].qkv.linear", 0)),
    "stages lost": ("is lost", lambda stages: stages.pop()),
    "stages swapped": ("a later one", lambda stages: stages.reverse()),
    "other device": ("no device of the spec", lambda stages: stages[0].update(device="d9")),
    "one device": ("two parts are on d0", lambda stages: stages[1].update(device="d0")),
    "other operator": ("no operator of the model", lambda stages: stages[0]["operators"].append("layers[9].add")),
    "reads": ("has been moved", lambda stages: stages[1]["reads"].popitem()),
}


@pytest.mark.parametrize("what", WRONG)
def test_changed(rotary: Model, what: str) -> None:
    """An operator lost, doubled or moved, stages lost or swapped, and other devices."""
    problem = problem_of(rotary, 2)
    data = manifest_of(problem, cut(problem))
    message, change = WRONG[what]
    change(data["stages"])
    with pytest.raises(UnsoundSplit, match=message):
        TorchStages().read(json.dumps(data), problem)


def test_moved_operator(rotary: Model) -> None:
    """Where every operator is a node, one that was moved is known by what its stages read."""
    problem = problem_of(rotary, 2, "operator")
    data = manifest_of(problem, cut(problem))
    last = data["stages"][0]["operators"][-1]
    moved(data["stages"], last, 1)
    with pytest.raises(UnsoundSplit, match=r"has been moved|a later one"):
        TorchStages().read(json.dumps(data), problem)


def test_refused(rotary: Model, squeezenet: Model) -> None:
    """A plan in a circle, models from elsewhere, and what is no manifest."""
    problem = problem_of(rotary, 2)
    with pytest.raises(UsageError, match="acyclic"):
        TorchStages().export(problem, placed(problem, lambda i: i % 2), STAMP)
    with pytest.raises(UsageError, match="comes from torch"):
        OnnxSplit().export(problem, cut(problem), STAMP)
    with pytest.raises(UsageError, match="comes from onnx"):
        TorchStages().restrict(problem_of(squeezenet, 2, "operator"))
    for text in ("[]", '{"format": "other"}', '{"format": "mtpp-torch-stages", "version": 2}'):
        with pytest.raises(UsageError):
            TorchStages().read(text, problem)


@pytest.mark.long
def test_standalone(rotary: Model, tmp_path: Path) -> None:
    """The file needs nothing of mtpp, and builds stages that compute what the model computes."""
    import torch

    torch.manual_seed(0)
    problem = problem_of(rotary, 2)
    write_files(TorchStages().export(problem, cut(problem), STAMP), tmp_path / "made")
    (tmp_path / "models.py").write_bytes(Path("tests/runtimes/execution/torch_models.py").read_bytes())
    code = (
        "import sys\nsys.modules['mtpp_dsl'] = None\nsys.path[:0] = ['made', '.']\n"
        "import torch, stages, models\n"
        "model = models.rotary().eval()\nids = torch.randint(0, 61, (3, 7))\n"
        "parts = stages.build(model)\n"
        "with torch.no_grad():\n    print(torch.equal(stages.run_stages(parts, (ids,))[0], model(ids)))\n"
        "print(len(parts), *(part.device for part in parts))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True", "2 d0 d1"], done.stderr


def exported(onnx_file: Path, model: Model, folder: Path) -> tuple[Problem, Plan]:
    problem = problem_of(model, 3, "operator")
    plan = cut(problem)
    stamp = Stamp("a.mtpp", ("d0",), 1.5, 1.25, "bottleneck", "s", model=str(onnx_file))
    write_files(OnnxSplit().export(problem, plan, stamp), folder)
    return problem, plan


def test_onnx_round_trip(onnx_file: Path, squeezenet: Model, tmp_path: Path) -> None:
    """The plan comes back from the folder, and from the text of the manifest alone."""
    from mtpp_dsl.runtimes.execution.onnx_files import check_files

    problem, plan = exported(onnx_file, squeezenet, tmp_path / "parts")
    check_files(tmp_path / "parts")
    assert OnnxSplit().read(tmp_path / "parts", problem).assignment == tuple(plan.assignment.tolist())
    text = (tmp_path / "parts" / "manifest.json").read_text(encoding="utf-8")
    assert OnnxSplit().read(text, problem).assignment == tuple(plan.assignment.tolist())
    data = json.loads(text)
    assert data["bound"] == 1.25
    assert data["model_sha256"] is None or len(data["model_sha256"]) == 64


@pytest.mark.parametrize("what", ["lost", "doubled", "moved", "file", "missing", "climbs", "other model"])
def test_onnx_changed(onnx_file: Path, squeezenet: Model, tmp_path: Path, what: str) -> None:
    """A node lost, doubled or moved, a file that was changed, lost or is elsewhere, and another model."""
    problem, _ = exported(onnx_file, squeezenet, tmp_path / "parts")
    path = tmp_path / "parts" / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    operators = [part["operators"] for part in data["parts"]]
    message = {"file": "has changed since", "missing": "there is no file", "climbs": "names no file beside"}.get(what)
    if what == "lost":
        operators[1].pop()
    elif what == "doubled":
        operators[2].append(operators[1][-1])
    elif what == "moved":
        operators[2].append(operators[1].pop())
    elif what == "file":
        with (tmp_path / "parts" / "part1.onnx").open("ab") as file:
            file.write(b"\0")
    elif what == "missing":
        (tmp_path / "parts" / "part1.onnx").unlink()
    elif what == "climbs":
        data["parts"][0]["file"] = "../part0.onnx"
    else:
        data["model_sha256"] = "0" * 64
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match=message or rf"is {what}|been {what}|another model|a later one"):
        OnnxSplit().read(tmp_path / "parts", problem)
