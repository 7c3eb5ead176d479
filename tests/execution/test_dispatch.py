"""An exported device map runs in accelerate, over CPU and disk, and changes no number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpp_dsl.contracts import Stamp
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.targets.device_map import DeviceMap
from tests.execution.splits import problem_of

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


@pytest.mark.parametrize("name", ["gpt", "rotary"])
def test_dispatch(name: str, tmp_path: Path) -> None:
    """Bit for bit, with the first layers on the CPU and the others on disk."""
    from accelerate import dispatch_model
    from accelerate.utils.modeling import check_device_map

    from mtpp_dsl.importers.torch_inputs import read_input
    from mtpp_dsl.importers.torch_model import import_torch
    from tests.execution import torch_models

    code = f"tests.execution.torch_models:{name}"
    model = import_torch(code, [read_input("ids: int64[batch, seq]")], {"batch": 2, "seq": 9}, device="cpu")
    problem = problem_of(model, 2)
    ends = {v for v, role in enumerate(problem.graph.origin.roles) if role != "layer"}
    plan = Plan.create(problem, [int(v not in ends and "[0]" not in x) for v, x in enumerate(problem.graph.names)])
    stamp = Stamp("a.mtpp", ("d0", "d1"), 1.5, None, "bottleneck", "s")
    files = DeviceMap().export(problem, plan, stamp)
    found = json.loads(str(files["device_map.json"]))
    assert set(found.values()) == {0, 1}
    devices = {path: ("cpu", "disk")[place] for path, place in found.items()}
    torch.manual_seed(0)
    module = getattr(torch_models, name)().eval()
    check_device_map(module, devices)
    ids = torch.randint(0, torch_models.VOCABULARY, (2, 9))
    with torch.no_grad():
        whole = module(ids).clone()
        split = dispatch_model(module, device_map=devices, offload_dir=str(tmp_path), main_device="cpu")
        assert torch.equal(split(ids), whole)
    assert any(tmp_path.iterdir())
