"""Training: FLOP, what is kept and the state, held against what torch counts when it runs a module."""

from __future__ import annotations

from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.torch_model import from_torch
from mtpp_dsl.exchange.importers.torch_training import training_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers import torch_modules
from tests.late import late

torch: Any = late("torch")
pytestmark = pytest.mark.needs("torch")
AT = {"batch": 2, "seq": 16}
SHAPES = {"ids": ("batch", "seq")}


def train(make: Any, **options: Any) -> Model:
    module = torch_modules.on_meta(make).train()
    return from_torch(module, (torch_modules.tokens(2, 16),), shapes=SHAPES, phase="train", **options)


def total(model: Model, what: str, *, backward: bool | None = None) -> Any:
    chosen = [one for one in model.operators if backward is None or one.backward == backward]
    return sum(value(getattr(one, what), AT) for one in chosen)  # type: ignore[misc]


@pytest.fixture(scope="module")
def gpt() -> Model:
    return train(torch_modules.gpt)


def test_flop_and_kept_bytes_are_those_of_torch(gpt: Model) -> None:
    """What torch counts, and what its autograd keeps beside parameters and whole numbers."""
    from torch.utils.flop_counter import FlopCounterMode

    module = torch_modules.gpt()
    parameters = {each.untyped_storage().data_ptr() for each in module.parameters()}
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with FlopCounterMode(display=False) as counted, torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        module(torch_modules.tokens(2, 16, "cpu")).sum().backward()
    assert total(gpt, "flop") == counted.get_total_flops()
    assert total(gpt, "flop", backward=True) == 2 * total(gpt, "flop", backward=False)
    floats = [one for at, one in kept.items() if at not in parameters and one.dtype.is_floating_point]
    assert total(gpt, "saved") == sum(one.untyped_storage().nbytes() for one in floats)


def test_gradients_go_back_along_the_edges(gpt: Model) -> None:
    """Backward operators stand behind all others in reverse, with the paths and layers of those that they belong to."""
    first = next(number for number, one in enumerate(gpt.operators) if one.backward)
    assert all(one.backward for one in gpt.operators[first:])
    forward = {one.name: number for number, one in enumerate(gpt.operators[:first])}
    numbers = [forward[one.name.removesuffix("_backward")] for one in gpt.operators[first:]]
    assert numbers == sorted(numbers, reverse=True)
    for number, one in zip(numbers, gpt.operators[first:], strict=True):
        other = gpt.operators[number]
        assert (one.path, one.layer, one.role, one.weights) == (other.path, other.layer, other.role, other.weights)
    assert not {"full_backward", "triu_backward", "arange_backward"} & set(gpt.index)
    crossing = {
        (gpt.operators[a].layer, gpt.operators[b].layer)
        for a, b in gpt.edges
        if gpt.operators[a].backward and gpt.operators[b].backward
    }
    assert {(2, 1), (1, 0)} <= crossing
    assert not {(0, 1), (1, 2), (2, 0)} & crossing


def test_one_gradient_of_a_tensor_leaves_a_layer(gpt: Model) -> None:
    """What several operators of a layer read is added up there: one gradient goes back, of the size of the tensor."""
    sent = [
        tensor
        for tensor in gpt.tensors
        if tensor.producer is not None
        and gpt.operators[tensor.producer].backward
        and gpt.operators[tensor.producer].layer == 2
        and any(gpt.operators[reader].layer == 1 for reader in tensor.readers)
    ]
    assert [value(tensor.bytes, AT) for tensor in sent] == [2 * 16 * 32 * 4]  # type: ignore[arg-type]


@pytest.mark.parametrize(("optimizer", "each"), [("adam", 16), ("sgd", 8), (12, 12), ("20", 20)])
def test_state_of_the_optimizer(optimizer: Any, each: int) -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(8, 4)
            self.register_buffer("scale", torch.ones(4))

        def forward(self, x: Any) -> Any:
            return self.linear(x) * self.scale

    model = from_torch(Two(), (torch.zeros(2, 8),), phase="train", optimizer=optimizer)
    state = {one.name: one.state for one in model.weights}
    assert state == {"linear.weight": 32 * each, "linear.bias": 4 * each, "scale": None}
    half = from_torch(Two().to(torch.bfloat16), (torch.zeros(2, 8, dtype=torch.bfloat16),), phase="train")
    assert half.weights[0].state == 32 * (2 + 2 + 4 + 8)  # with a copy in fp32


@pytest.mark.long
def test_a_stated_ratio() -> None:
    model = train(torch_modules.rotary, backward_ratio=1.5)
    assert model.source.arguments == {"phase": "train", "optimizer": "adam", "backward_ratio": 1.5}
    forward = {one.name: one for one in model.operators if not one.backward}
    assert total(model, "flop", backward=True) == 1.5 * total(model, "flop", backward=False)
    backward = [one for one in model.operators if one.backward]
    assert all(2 * total_of(one) == 3 * total_of(forward[one.name.removesuffix("_backward")]) for one in backward)


def total_of(one: Any) -> Any:
    return value(one.flop, AT)


def test_what_torch_cannot_derive_is_listed() -> None:
    with torch.library._scoped_library("mtpp_tests", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

        class Custom(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = torch.nn.Linear(8, 8)

            def forward(self, x: Any) -> Any:
                return torch.ops.mtpp_tests.twice(self.linear(x))

        forward = from_torch(Custom(), (torch.zeros(2, 8),))
        assert [one.op for one in forward.operators if one.flop is None] == ["mtpp_tests.twice.default"]
        assert "--flop 'mtpp_tests.twice=FORMULA'" in forward.warnings[0]
        model = from_torch(Custom(), (torch.zeros(2, 8),), phase="train", flops={"mtpp_tests.twice": 16})
        assert "torch cannot derive mtpp_tests.twice (1 times)" in model.warnings[-1]
        assert model.operators[model.index["twice_backward"]].flop is None
        stated = from_torch(
            Custom(), (torch.zeros(2, 8),), phase="train", backward_ratio=2, flops={"mtpp_tests.twice": 16}
        )
        assert not stated.warnings
        assert stated.operators[stated.index["twice_backward"]].flop == 32


def test_what_is_refused() -> None:
    for optimizer, ratio, message in (
        ("lion", None, "the optimizer 'lion' is not one of adam, sgd"),
        ("-4", None, "is not one of"),
        ("adam", 0.0, "a number between 0 and 100"),
        ("adam", float("nan"), "a number between 0 and 100"),
    ):
        with pytest.raises(UsageError, match=message):
            training_of(optimizer, ratio)
    x = (torch.zeros(2, 8),)
    with pytest.raises(UsageError, match="there is no phase 'training'; did you mean 'train'"):
        from_torch(torch.nn.Linear(8, 8), x, phase="training")
    with pytest.raises(UsageError, match="is for phase train"):
        from_torch(torch.nn.Linear(8, 8), x, backward_ratio=2.0)
