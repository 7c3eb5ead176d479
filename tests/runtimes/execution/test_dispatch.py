"""Exported device maps run in accelerate, over CPU and disk, and change no number: of torch, and of Hugging Face."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.contracts.targets import Stamp
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.device_map import DeviceMap
from mtpp_dsl.solving.answers.again import under_target
from tests.exchange.importers.families import DECODERS, OTHERS
from tests.late import late
from tests.runtimes.execution.splits import problem_of

torch: Any = late("torch")
pytestmark = [
    pytest.mark.needs("torch", "accelerate"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["gpt", "rotary"])
def test_dispatch(name: str, tmp_path: Path) -> None:
    """Bit for bit, with the first layers on the CPU and the others on disk."""
    from mtpp_dsl.exchange.importers.torch_inputs import read_input
    from mtpp_dsl.exchange.importers.torch_model import import_torch
    from tests.runtimes.execution import torch_models

    code = f"tests.runtimes.execution.torch_models:{name}"
    model = import_torch(code, [read_input("ids: int64[batch, seq]")], {"batch": 2, "seq": 9}, device="cpu")
    problem = problem_of(model, 2)
    ends = {v for v, role in enumerate(problem.graph.origin.roles) if role != "layer"}
    plan = Plan.create(problem, [int(v not in ends and "[0]" not in x) for v, x in enumerate(problem.graph.names)])
    stamp = Stamp("a.mtpp", ("d0", "d1"), 1.5, None, "bottleneck", "s")
    files = DeviceMap().export(problem, plan, stamp)
    found = json.loads(str(files["device_map.json"]))
    assert set(found.values()) == {0, 1}
    torch.manual_seed(0)
    ids = torch.randint(0, torch_models.VOCABULARY, (2, 9))
    dispatched(getattr(torch_models, name)().eval(), found, [ids], {}, tmp_path)


def dispatched(module: Any, found: dict[str, int], args: list[Any], given: dict[str, Any], folder: Path) -> None:
    """Hold a module on the CPU and on disk, as a map says, against the whole one."""
    from accelerate import dispatch_model
    from accelerate.utils.modeling import check_device_map

    devices = {path: ("cpu", "disk")[place] for path, place in found.items()}
    check_device_map(module, devices)
    with torch.no_grad():
        whole = _numbers(module(*args, **given)).clone()
        split = dispatch_model(module, device_map=devices, offload_dir=str(folder), main_device="cpu")
        assert torch.equal(_numbers(split(*args, **given)), whole)
    assert any(folder.iterdir())


def _numbers(result: Any) -> Any:
    return getattr(result, "logits", result)


def some_plan(problem: Problem, random: Random) -> Plan:
    """Return a plan that keeps together what the problem keeps together, on both devices."""
    homes = list(range(problem.graph.n))
    for rule in problem.constraints:
        if isinstance(rule, Colocate):
            joined = {homes[v] for v in rule.nodes}
            homes = [min(joined) if home in joined else home for home in homes]
    own = sorted(set(homes))
    places = {home: int(at >= len(own) // 2) for at, home in enumerate(random.sample(own, len(own)))}
    return Plan.create(problem, [places[home] for home in homes])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", [*DECODERS, *OTHERS])
def test_families_of_hugging_face(kind: str, tmp_path: Path) -> None:
    """Each has something of its own: shared tables, norms between layers, weights of modules around others."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from mtpp_dsl.exchange.importers.hf import from_hf

    said = {"model_type": kind, **(DECODERS | OTHERS)[kind]}
    problem = under_target(problem_of(from_hf(said, batch=2, seq=16), 2), "device-map")
    plan = some_plan(problem, Random(kind))
    assert verify(problem, plan) == []
    text = str(
        DeviceMap().export(problem, plan, Stamp("a.mtpp", ("d0", "d1"), 1.5, None, "bottleneck", "s"))[
            "device_map.json"
        ]
    )
    assert DeviceMap().read(text, problem).assignment == tuple(plan.assignment)
    classes = {"bert": "MaskedLM", "t5": "Seq2SeqLM", "vit": "ImageClassification"}
    factory = getattr(transformers, f"AutoModelFor{classes.get(kind, 'CausalLM')}")
    module = factory.from_config(transformers.AutoConfig.for_model(**said)).eval()
    ids = torch.randint(3, 300, (2, 16))
    given = {"pixel_values": torch.rand(2, 3, 32, 32)} if kind == "vit" else {"input_ids": ids}
    dispatched(module, json.loads(text), [], given | ({"decoder_input_ids": ids} if kind == "t5" else {}), tmp_path)
