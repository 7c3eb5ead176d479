"""What is read and written as text around torch: inputs, formulas, layers."""

from __future__ import annotations

from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.module_paths import layer_numbers, roles
from mtpp_dsl.exchange.importers.torch_inputs import formulas_given, numbers_given, read_input
from mtpp_dsl.exchange.model.sizes import value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ids", "is not of the form 'name: type"),
        ("ids: int64[batch", "is not of the form 'name: type"),
        ("ids: int65[batch]", "there is no type 'int65'; did you mean 'int64'"),
        ("ids: int64[batch, -1]", "'-1' is no size"),
        ("ids: int64[0]", "'0' is no size"),
        ("x: fp32[" + "1," * 20 + "1]", "has 21 sizes; at most 16"),
    ],
)
def test_inputs_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_input(text)


def test_numbers_and_formulas_that_are_none() -> None:
    for text in ("batch", "batch=", "batch=-1", "=3", "batch=x"):
        with pytest.raises(UsageError, match="is not of the form name=number"):
            numbers_given([text])
    with pytest.raises(UsageError, match="is not of the form name=formula"):
        formulas_given(["mylib.attention"])
    with pytest.raises(UsageError, match="is no formula"):
        formulas_given(["mylib.attention=4**batch"])


def test_layers_of_stacks() -> None:
    assert layer_numbers(["stem", "layer1.0", "layer1.1.conv", "layer2.0", "layer2.1", "fc"]) == [
        None,
        0,
        1,
        2,
        3,
        None,
    ]
    assert layer_numbers(["0", "1", "2"]) == [0, 1, 2]
    assert layer_numbers(["a.0", "a.2"]) == [None, None]  # one is missing
    assert layer_numbers(["only.0.x", "only.0.y"]) == [None, None]
    paths = ["wte", "h.0", "h.1", "ln", "head", ""]
    found = roles(
        paths, ["embedding", "matmul", "matmul", "norm", "matmul", "view"], layer_numbers(paths), [True] * 5 + [False]
    )
    assert found == ["embedding", "layer", "layer", "norm", "head", ""]


def test_formulas_of_torch() -> None:
    sympy: Any = pytest.importorskip("sympy", reason="sympy is not installed")
    functions: Any = pytest.importorskip("torch.utils._sympy.functions", reason="torch is not installed")
    from mtpp_dsl.exchange.importers.torch_graph import NotAFormula, size_of

    a, b = sympy.symbols("s1 s2", integer=True, positive=True)
    names = {"s1": "batch", "s2": "seq"}
    for expression in (
        3 * a * b**2 - 2 * a + 7,
        -a + b + 20,
        (a + b) ** 2 * (a - 3 * b + 100),
        functions.FloorDiv(a * b + 5, 4) * 3,
        functions.Max(a, 2 * b) + functions.Min(b, 4),
        functions.CeilDiv(b, 16),
        functions.Mod(a * b, 5),
        sympy.Integer(12),
    ):
        for x, y in ((1, 1), (3, 17), (8, 64)):
            expected = int(expression.subs({a: x, b: y})) if expression.free_symbols else int(expression)
            assert value(size_of(expression, names), {"batch": x, "seq": y}) == expected, expression
    with pytest.raises(NotAFormula, match="depends on the data"):
        size_of(a + sympy.Symbol("u0"), names)
    with pytest.raises(NotAFormula, match="log"):
        size_of(sympy.log(a), names)
