"""model.json: written and read back exactly, and refused where it cannot be meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import model_of, read, text_of, write
from tests.small_models import gpt, llama


@pytest.mark.parametrize("model", [gpt(2), llama(3)], ids=["gpt", "llama"])
def test_written_and_read_back(model: Model, tmp_path: Path) -> None:
    first = model.operators[0]
    several = replace(first, flop=MappingProxyType({"prefill": "2*batch", "decode": 3}), saved=1.5)
    model = replace(
        model,
        phases=("prefill", "decode"),
        operators=(several, *model.operators[1:]),
        warnings=("w\u202e",),
        tensors=(replace(model.tensors[0], bytes=0), *model.tensors[1:]),
        group_by="layer",
        experts_read="all_distinct",
    )
    write(model, tmp_path / "m.json")
    again = read(tmp_path / "m.json")
    assert again == model
    assert text_of(again) == (tmp_path / "m.json").read_text()


def test_a_model_needs_operators_alone() -> None:
    """What is left out, in the file or in its source, is at its default."""
    operators = [{"name": "a", "op": "aten.mm.default", "flop": 6}]
    for more in ({}, {"source": {}}, {"source": {"kind": "hand"}}, {"source": None}):
        model = model_of({"format": "mtpp-model", "version": 1, "operators": operators, **more}, "m.json")
        assert model.source.name == ""
        assert model_of(json.loads(text_of(model)), "again") == model


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Return what sets one place of a model.json."""
    *most, last = [int(part) if part.isdigit() else part for part in path.split(".")]

    def apply(data: dict[str, Any]) -> None:
        at: Any = data
        for part in most:
            at = at[part]
        at[last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("format", "x", "expected 'mtpp-model'"),
        ("version", 2, "version: found 2; this mtpp reads version 1"),
        ("operatros", [], "operatros: there is no such field; did you mean 'operators'?"),
        ("operators.1.fllop", 1, "operators[1] (id n1): fllop: there is no such field; did you mean 'flop'?"),
        ("operators.1.name", "a\x1bb", "has a control character"),
        ("operators.1.name", "transformer.wte.embedding", "two of the model's operators are called"),
        ("operators.1.name", "x" * 1001, "has 1,001 characters"),
        ("operators.1.flop", "2*bacth", "uses 'bacth', which is not a symbol of the model; did you mean 'batch'?"),
        ("operators.1.flop", "2*(batch", "at character 9: expected ')'"),
        ("operators.1.flop", -1, "flop of 'transformer.arange' is -1"),
        ("operators.1.flop", float("nan"), "is nan"),
        ("operators.1.flop", 10**70, "at most 1e60"),
        ("operators.1.flop", True, "expected a number or a formula, found True"),
        ("operators.1.flop", {"decode": 1}, "is of phase 'decode', which the model does not have"),
        ("operators.1.kind", "matmull", "kind 'matmull', which is unknown; did you mean 'matmul'?"),
        ("operators.1.dtype", "float", "the dtype 'float', which is unknown"),
        ("operators.1.layer", -1, "of layer -1"),
        ("operators.0.weights", [99], "weights of operator 'transformer.wte.embedding' name weight 99"),
        ("operators.0.weights", [1, 0], "not in rising order"),
        ("tensors.1.producer", 4, "does not stand after"),
        ("tensors.1.readers", [10**9], "name operator 1000000000"),
        ("weights.0.bytes", -5, "bytes of weight 'transformer.wte.weight' is -5"),
        ("weights.0.bytes", 2.0, "expected a whole number"),
        ("outputs", [10**6], "the model's outputs name tensor 1000000"),
        ("phases", ["a b"], "the phase 'a b' is no name"),
        ("symbols.batch.least", 10, "not zero or more, in order"),
        ("operators", [], "the model has no operators"),
        ("group_by", "layers", "group_by is 'layers', which is unknown; did you mean 'layer'?"),
        ("source.arguments", {"x": {"y": 1}}, "expected numbers, texts"),
    ],
)
def test_refused(path: str, value: object, said: str) -> None:
    data = json.loads(text_of(gpt(1)))
    change(path, value)(data)
    with pytest.raises(UsageError) as caught:
        model_of(data, "m.json")
    assert str(caught.value).startswith("m.json")
    assert said in str(caught.value)


def test_too_many_operators_are_refused_before_they_are_made() -> None:
    data = json.loads(text_of(gpt(1)))
    data["operators"] = [{}] * 200_001
    with pytest.raises(UsageError, match="there are 200,001; at most 200,000 are read"):
        model_of(data, "m.json")
