"""Modules of torch as models: FLOP, bytes, ties, layers, and that formulas give what an export with numbers gives."""

from __future__ import annotations

from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.torch_inputs import Input, formulas_given, read_input, tensors_for
from mtpp_dsl.exchange.importers.torch_model import from_torch, import_torch, made_by, model_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.operator_names import Names
from mtpp_dsl.exchange.model.parts import Source
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers import torch_modules
from tests.late import late

torch: Any = late("torch")
pytestmark = pytest.mark.needs("torch")
SHAPES = {"ids": ("batch", "seq")}


@pytest.fixture(scope="module")
def gpt() -> Model:
    return from_torch(torch_modules.on_meta(torch_modules.gpt), (torch_modules.tokens(2, 16),), shapes=SHAPES)


@pytest.fixture(scope="module")
def rotary() -> Model:
    return from_torch(torch_modules.on_meta(torch_modules.rotary), (torch_modules.tokens(2, 16),), shapes=SHAPES)


def total(model: Model, what: str, **symbols: int) -> int:
    found = sum(value(getattr(operator, what), symbols) for operator in model.operators)
    assert isinstance(found, int)
    return found


def test_flop_is_the_analytic_figure(gpt: Model, rotary: Model) -> None:
    for b, t in ((1, 7), (8, 64)):
        w, v = 32, 100
        assert total(gpt, "flop", batch=b, seq=t) == 2 * b * t * (3 * 12 * w * w + w * v) + 3 * 4 * b * t * t * w
        assert total(rotary, "flop", batch=b, seq=t) == (
            2 * b * t * (3 * (4 * w * w + 3 * w * 64) + w * v) + 3 * 4 * b * t * t * w
        )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", [torch_modules.gpt, torch_modules.rotary])
def test_formulas_give_what_an_export_with_numbers_gives(make: Any, request: pytest.FixtureRequest) -> None:
    """At one more point, and where batch is 1, which torch keeps apart."""
    model = request.getfixturevalue(make.__name__)
    for b, t in ((1, 31), (5, 8)):
        plain = from_torch(torch_modules.on_meta(make), (torch_modules.tokens(b, t),))
        known = {operator.name: operator for operator in plain.operators}
        assert [one.name for one in model.operators] == [one.name for one in plain.operators]
        for one in model.operators:
            for what in ("flop", "read", "write"):
                assert value(getattr(one, what), {"batch": b, "seq": t}) == getattr(known[one.name], what), one.name
        for tensor, other in zip(model.tensors, plain.tensors, strict=True):
            assert value(tensor.bytes, {"batch": b, "seq": t}) == other.bytes, tensor.name


def test_ties_layers_roles_and_symbols(gpt: Model) -> None:
    tied = [weight for weight in gpt.weights if weight.tied]
    assert [(weight.name, weight.tied) for weight in tied] == [("wte.weight", ("head.weight",))]
    number = gpt.weights.index(tied[0])
    assert [one.name for one in gpt.operators if number in one.weights] == ["wte.embedding", "head.linear"]
    assert sum(weight.bytes for weight in gpt.weights) == 4 * (100 * 32 + 64 * 32 + 3 * (12 * 32 * 32 + 13 * 32) + 64)
    roles = {one.name: one.role for one in gpt.operators}
    assert (roles["wte.embedding"], roles["wpe.embedding"], roles["ln_f.layer_norm"], roles["head.linear"]) == (
        "embedding",
        "embedding",
        "norm",
        "head",
    )
    assert {one.layer for one in gpt.operators if one.role == "layer"} == {0, 1, 2}
    assert {name: symbol.default for name, symbol in gpt.symbols.items()} == {"batch": 2, "seq": 16}


def test_masks_and_rotary_angles_are_recomputable(gpt: Model, rotary: Model) -> None:
    again = {one.name for one in gpt.operators if one.recomputable}
    assert again == {"full", "triu", "arange"}
    again = {one.name for one in rotary.operators if one.recomputable}
    assert {"arange", "cos", "sin"} < again
    assert not any(one.weights or one.kind == "matmul" for one in rotary.operators if one.recomputable)
    assert "frequency" not in {weight.name for weight in rotary.weights}


def test_views_cost_nothing_and_look_ups_read_rows(gpt: Model) -> None:
    for one in gpt.operators:
        if one.kind == "view":
            assert (one.flop, one.read, one.write) == (0, 0, 0)
    lookup = gpt.operators[gpt.index["wte.embedding"]]
    assert value(lookup.weight_read or 0, {"batch": 2, "seq": 16}) == 2 * 16 * 32 * 4
    linear = gpt.operators[gpt.index["head.linear"]]
    assert linear.weight_read is None  # all of it


def test_names_are_those_of_models(gpt: Model) -> None:
    """The file of names that stages carry gives what mtpp's own names are."""
    names = Names()
    again = [names.operator(one.path, one.op.split(".")[1].strip("_")) for one in gpt.operators]
    assert again == [one.name for one in gpt.operators]
    on_cpu = from_torch(torch_modules.gpt().eval(), (torch_modules.tokens(2, 16, "cpu"),))
    assert [one.name for one in on_cpu.operators] == again


def test_what_nobody_counts_is_listed_and_may_be_given() -> None:
    class Spectrum(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x).abs() + x.cumsum(-1)[..., :9]

    x = torch.zeros(3, 16)
    model = from_torch(Spectrum(), (x,))
    assert [one.op for one in model.operators if one.flop is None] == ["aten.fft_rfft.default"]
    assert "the FLOP of aten.fft_rfft (1 times) are unknown" in model.warnings[0]
    given = formulas_given(["aten.fft_rfft=5*batch*16*4", "aten.sin=1"])
    model = from_torch(Spectrum(), (x,), shapes={"x": ("batch", None)}, flops=given)
    assert total(model, "flop", batch=3) == 960
    assert model.warnings == ("--flop aten.sin: the model has no such operator",)


def test_what_depends_on_data_is_listed() -> None:
    """A size that only a run tells is never taken for zero."""

    class Chosen(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x[x > 0] * 2

    model = from_torch(Chosen(), (torch.zeros(4, 8),))
    assert {one.op for one in model.operators if one.flop is None} == {"aten.index.Tensor", "aten.mul.Tensor"}
    assert "sizes of aten.index depend on the data (1 times)" in model.warnings[0]
    given = from_torch(Chosen(), (torch.zeros(4, 8),), flops={"aten.index": 32, "mul": 32})
    assert all(one.flop is not None for one in given.operators)
    assert not given.warnings


def test_changes_in_place_come_before_what_reads_them() -> None:
    class Masked(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 2
            rows = y[0]
            y.add_(1)
            return rows.sum()  # sees the sum

    model = from_torch(Masked(), (torch.zeros(4, 8),))
    names = [one.name for one in model.operators]
    edges = {(names[a], names[b]) for a, b in model.edges}
    assert ("add", "sum") in edges


def test_sizes_that_must_be_numbers() -> None:
    """A size that the module fixes is a number, or is refused with the reason."""

    class Fixed(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.view(-1, 8, 4).sum() + x[:, :5].sum() if x.shape[1] == 32 else x.sum()

    model = from_torch(Fixed(), (torch.zeros(4, 32),), shapes={"x": ("batch", "width")})
    assert (model.symbols["width"].least, model.symbols["width"].most) == (32, 32)
    assert "width is 32 in this model" in model.warnings[0]


def test_messages(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_model.py").write_text(
        "import torch\nlayer = torch.nn.Linear(4, 4)\nnumber = 4\n"
        "def make(): return torch.nn.Linear(4, 4)\ndef fails(): raise ValueError('no such\\nluck')\n"
        "def wrong(): return 4\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    x = [read_input("input: fp32[rows, 4]")]
    assert import_torch("users_model:make", x, {"rows": 3}).symbols["rows"].default == 3
    assert import_torch("users_model.py:layer", x).operators[0].flop == "32*rows"
    for target, inputs, message in (
        ("users_model:mak", x, "users_model has no 'mak'; did you mean 'make'"),
        ("users_models:make", x, "there is no module 'users_models'"),
        ("users_model", x, "not of the form package.module:callable"),
        ("users_model:number", x, "is no module of torch and nothing that can be called"),
        ("users_model:fails", x, "failed when it was called: ValueError: no such; if it cannot"),
        ("users_model:wrong", x, "made an object of type int"),
        ("users_model:make", [read_input("y: fp32[rows, 4]")], "forward takes no such input; it takes input"),
        ("users_model:make", [], "forward needs 'input'"),
        ("users_model:make", [read_input("input: fp32[rows, 5]")], "torch cannot export this model: "),
    ):
        with pytest.raises(UsageError, match=message):
            import_torch(target, inputs)
    with pytest.raises(UsageError, match="--set batch: no input has a size 'batch'"):
        import_torch("users_model:make", x, {"batch": 3})
    assert made_by("users_model:make", device="cpu").weight.device.type == "cpu"


def made_of(module: Any, given: Input, **values: int) -> Model:
    """Return the model of a module that is given such an input."""
    return model_of(module, tensors_for([given], values, "cpu"), source=Source("torch"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "options", "matrices"),
    [
        ("GRU", {}, 3 * 32 * (16 + 32)),
        ("RNN", {}, 32 * (16 + 32)),
        ("LSTM", {"num_layers": 2, "bidirectional": True}, 2 * 4 * 32 * (16 + 32 + 64 + 32)),
        ("LSTM", {"proj_size": 8}, 4 * 32 * (16 + 8) + 8 * 32),
    ],
)
def test_recurrent_layers_grow_with_their_batch(kind: str, options: dict[str, Any], matrices: int) -> None:
    """Each step of each sequence is multiplied by each matrix; no size becomes that of a sample by being counted."""
    model = made_of(torch_modules.recurrent(kind, **options), Input("x", "float32", ("batch", 8, 16)), batch=2)
    (layer,) = [each for each in model.operators if each.kind == "rnn"]
    assert layer.flop is not None
    for batch in (1, 6):
        assert value(layer.flop, {"batch": batch}) == 2 * 8 * batch * matrices
        assert value(layer.read, {"batch": batch}) >= 8 * 16 * 4 * batch


def test_a_loop_over_a_size_takes_the_number_that_was_given() -> None:
    """Not that of our own sample, of which nobody has to know."""
    given = Input("x", "float32", ("batch", "seq", 4))
    model = made_of(torch_modules.loop(), given, batch=2, seq=5)
    assert sum(each.kind == "matmul" for each in model.operators) == 5
    assert model.symbols["seq"].most == 5
    assert model.warnings[0].startswith("seq is 5 in this model, and a spec cannot change it")
    assert "19" not in model.warnings[0]
    with pytest.raises(UsageError, match=r"cannot keep seq open.*--set seq="):
        made_of(torch_modules.loop(), given, batch=2)


def test_small_buffers_that_products_read_are_weights() -> None:
    model = made_of(torch_modules.quantised(), Input("x", "float32", ("batch", 64)), batch=2)
    assert [each.bytes for each in model.weights] == [64 * 64] * 3


def test_an_operation_without_overloads_has_its_name() -> None:
    given = Input("x", "float32", ("batch", 4))
    assert made_of(torch_modules.conditional(), given, batch=2).warnings == (
        "the FLOP of cond (1 times) are unknown; give them: --flop 'cond=FORMULA'",
    )
    model = model_of(
        torch_modules.conditional(),
        tensors_for([given], {"batch": 2}, "cpu"),
        source=Source("torch"),
        flops=formulas_given(["cond=32*batch"]),
    )
    assert not model.warnings
