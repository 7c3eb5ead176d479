"""Archives of torch.export as operators: as torch itself counts them, without torch; what is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.polynomials import Amount, product, size_of, symbol
from mtpp_dsl.exchange.importers.pt2.importer import from_pt2
from mtpp_dsl.exchange.importers.pt2.srepr import amount_of
from mtpp_dsl.exchange.model.model_json import read
from mtpp_dsl.exchange.model.sizes import value
from tests.late import late

torch: Any = late("torch")
pytestmark = pytest.mark.needs("torch")


def network() -> Any:
    """Return a small model with a convolution, attention, tied weights and a mask."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

        def forward(self, x: Any, mask: Any) -> Any:
            batch, seq, _ = x.shape
            parts = (part.view(batch, seq, 4, 8).transpose(1, 2) for part in self.qkv(self.norm(x)).split(32, 2))
            mixed = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
            return x + self.out(mixed.transpose(1, 2).reshape(batch, seq, 32))

    class Network(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.conv = nn.Embedding(50, 32), nn.Conv1d(32, 32, 3, padding=1, groups=2)
            self.layers = nn.ModuleList([Block(), Block()])
            self.head = nn.Linear(32, 50, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: Any) -> Any:
            x = self.conv(self.embed(ids).transpose(1, 2)).transpose(1, 2)
            mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
            for layer in self.layers:
                x = layer(x, mask)
            x = torch.einsum("bsd,de->bse", x, torch.ones(32, 32)) + torch.matmul(x, x.transpose(1, 2)).sum(2, True)
            return self.head(x)

    return Network().eval()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Save the model with two sizes that may vary."""
    model, ids = network(), torch.zeros(2, 12, dtype=torch.int64)
    shapes = {"ids": {0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("seq", max=512)}}
    path = tmp_path_factory.mktemp("pt2") / "model.pt2"
    torch.export.save(torch.export.export(model, (ids,), dynamic_shapes=shapes), path)
    return path, model


def test_operations_are_those_of_torch(
    archive: tuple[Path, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All operations equal what FlopCounterMode counts while the model runs, at sizes of which none was exported."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    path, network = archive
    names = [f"--size={old}={new}" for old, new in zip(sorted(from_pt2(path).symbols), ("batch", "seq"), strict=True)]
    assert run(["import", "pt2", str(path), "-o", str(tmp_path / "model.json"), *names]) == 0
    model = read(tmp_path / "model.json")
    assert not model.warnings
    assert {name: symbol.most for name, symbol in model.symbols.items()} == {"batch": 64, "seq": 512}
    for batch, seq in [(2, 12), (3, 40), (1, 7)]:
        math = sdpa_kernel(SDPBackend.MATH)  # the counter knows no others on a CPU
        with math, FlopCounterMode(display=False) as counted, torch.no_grad():
            network(torch.zeros(batch, seq, dtype=torch.int64))
        ours = sum(value(each.flop, {"batch": batch, "seq": seq}) for each in model.operators)  # type: ignore[arg-type]
        assert ours == counted.get_total_flops()
    assert capsys.readouterr().err == ""


def test_weights_and_layers(archive: tuple[Path, Any]) -> None:
    """Tied weights are one, layers have their numbers, masks can be made anywhere, views cost nothing."""
    model = from_pt2(archive[0])
    assert [(each.name, each.tied) for each in model.weights if each.tied] == [("embed.weight", ("head.weight",))]
    expected = sum(each.numel() for each in archive[1].parameters()) * 4
    stored = sum(each.bytes for each in model.weights if each.dtype == "fp32")
    assert expected <= stored <= expected + 32 * 32 * 4
    assert {each.layer for each in model.operators} == {None, 0, 1}
    assert next(each for each in model.operators if each.op == "aten.tril.default").recomputable
    assert not next(each for each in model.operators if each.op == "aten.embedding.default").recomputable
    assert all(each.read == each.write == 0 for each in model.operators if each.kind == "view")
    assert all(each.kind == "view" for each in model.operators if each.op == "aten.transpose.int")


def test_agrees_with_the_importer_of_torch(archive: tuple[Path, Any]) -> None:
    """Each operator has the operations that the importer counts which runs it in torch."""
    from mtpp_dsl.exchange.importers.torch_model import from_torch

    ids = torch.zeros(2, 12, dtype=torch.int64)
    theirs = from_torch(archive[1], (ids,))
    ours = from_pt2(archive[0])
    symbols = dict(zip(sorted(ours.symbols), (2, 12), strict=True))
    counted = [(each.op, int(value(each.flop, symbols))) for each in ours.operators if each.flop]  # type: ignore[arg-type]
    assert counted == [(each.op, each.flop) for each in theirs.operators if each.flop]


def test_experts_are_those_of_the_importer_of_torch(tmp_path: Path) -> None:
    """What is read is known by the router's choice, which is far from the product."""
    from mtpp_dsl.exchange.importers.torch_model import from_torch

    class Mixture(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.router = torch.nn.Linear(32, 8, dtype=torch.bfloat16)
            self.experts = torch.nn.Parameter(torch.zeros(8, 32, 64, dtype=torch.bfloat16))

        def forward(self, x: Any) -> Any:
            weights, chosen = torch.topk(self.router(x), 2)
            order = chosen.view(-1).argsort()
            ends = torch.histc(chosen.view(-1).float(), 8, 0, 7).cumsum(0, dtype=torch.int32)
            return torch._grouped_mm(x[order // 2], self.experts, offs=ends) * weights.view(-1)[order, None]

    x = torch.zeros(64, 32, dtype=torch.bfloat16)
    program = torch.export.export(Mixture(), (x,), dynamic_shapes=({0: torch.export.Dim("batch", max=4096)},))
    torch.export.save(program, tmp_path / "mixture.pt2")
    (symbol,) = from_pt2(tmp_path / "mixture.pt2").symbols
    models = (
        from_pt2(tmp_path / "mixture.pt2", {symbol: "batch"}),
        from_torch(Mixture(), (x,), shapes={"x": ("batch", None)}),
    )
    for model in models:
        (product,) = [one for one in model.operators if "grouped_mm" in one.op]
        assert value(product.flop, {"batch": 4}) == 2 * 8 * 32 * 64  # type: ignore[arg-type]
        assert float(value(product.weight_read, {"batch": 4})) == pytest.approx(5.46875 * 32 * 64 * 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Integer(3)", 3),
        ("Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(-1))", "-1 + 2*s0"),
        ("Pow(Symbol('s0'), Integer(2))", "s0**2"),
        ("FloorDiv(Symbol('s0'), Integer(2))", "((s0) // (2))"),
        ("torch.utils._sympy.functions.Max(Integer(1), Symbol('s0'))", "max(1, s0)"),
    ],
)
def test_expressions(text: str, expected: int | str) -> None:
    """Sizes are read as sympy writes them."""
    assert size_of(amount_of(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "s0",
            "Integer(",
            "Integer(3))",
            "Eval('x')",
            "Symbol(3)",
            "Pow(Symbol('s'), Integer(99))",
            "Add(",
            "'x'",
        ),
        *("Add(" * 100 + ")" * 100, f"Integer({'9' * 40})", "__import__('os')", "Mul(Integer(2), 'x')", "x" * 3000),
    ],
)
def test_other_expressions_are_refused(text: str) -> None:
    """Nothing else is read, and nothing is run."""
    with pytest.raises(UsageError):
        amount_of(text)


def changed(archive: Path, folder: Path, change: Callable[[Any], None]) -> Path:
    """Return a copy of an archive whose program is changed."""
    path = folder / "model.pt2"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename.endswith("models/model.json"):
                program = json.loads(data)
                change(program)
                data = json.dumps(program).encode()
            new.writestr(member.filename, data)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda program: program.pop("graph_module"), "KeyError"),
        (lambda program: program["graph_module"]["graph"].update(nodes=[]), "no operators"),
        (lambda program: program["graph_module"]["graph"].update(nodes=7), "TypeError"),
        (lambda program: program["graph_module"]["graph"]["nodes"].reverse(), "which nothing before it makes"),
        (lambda program: program["graph_module"]["graph"]["tensor_values"]["embedding"].update(dtype=99), "type 99"),
        (
            lambda program: program["graph_module"]["graph"]["tensor_values"]["embedding"].update(
                sizes=[{"as_int": -4}]
            ),
            "has the shape",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_programs_are_refused(
    change: Callable[[Any], None], message: str, archive: tuple[Path, Any], tmp_path: Path
) -> None:
    """A program that lacks a part, or speaks of tensors that are not there, is refused with the reason."""
    with pytest.raises(UsageError, match=message):
        from_pt2(changed(archive[0], tmp_path, change))


def test_pickles_are_not_opened(archive: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the members only two texts are opened."""
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def spy(self: zipfile.ZipFile, member: Any, *more: Any, **given: Any) -> Any:
        opened.append(getattr(member, "filename", member))
        return original(self, member, *more, **given)

    monkeypatch.setattr(zipfile.ZipFile, "open", spy)
    from_pt2(archive[0])
    assert [name.partition("/")[2] for name in opened] == [
        "models/model.json",
        "data/weights/model_weights_config.json",
    ]


def test_unknown_operations_are_listed(archive: tuple[Path, Any], tmp_path: Path) -> None:
    """An operation of somebody's own has no operations, and a symbol that is not there is named."""

    def own(program: Any) -> None:
        node = next(each for each in program["graph_module"]["graph"]["nodes"] if ".linear." in each["target"])
        node["target"] = "torch.ops.own.linear.default"

    model = from_pt2(changed(archive[0], tmp_path, own))
    assert model.warnings == (
        "the operations of own.linear.default are unknown: give them, as --flop 'own.linear.default=FORMULA'",
    )
    with pytest.raises(UsageError, match="has no symbol 'batch'"):
        from_pt2(archive[0], {"batch": 3})


def test_texts_within_texts_are_bounded() -> None:
    """A formula of 390 characters, Max(Pow(Add(…), 8), …) six deep, would be gigabytes once it is multiplied out."""

    def deeper(amount: Amount) -> Amount:
        return symbol(f"max({size_of(product([amount + 1] * 8))}, 1)")

    once = deeper(symbol("n"))
    with pytest.raises(UsageError, match="a formula of more than 2,000 characters"):
        deeper(deeper(once))
