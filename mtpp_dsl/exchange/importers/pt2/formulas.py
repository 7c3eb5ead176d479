"""Operations of calls of aten, as torch's FlopCounterMode counts them, from shapes alone.

Only products are counted, a multiplication and an addition being two operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mtpp_dsl.exchange.importers.polynomials import Amount, product
from mtpp_dsl.exchange.importers.torch_kinds import KIND

Shape: TypeAlias = tuple[Amount, ...]

_VIEWS = """
    alias as_strided chunk detach diagonal expand expand_as flatten_dense_tensors lift_fresh movedim narrow numpy_T
    permute real imag select slice split split_with_sizes squeeze t transpose swapaxes swapdims tensor_split unbind
    unflatten unsqueeze view view_as view_as_real view_as_complex mT mH adjoint hsplit vsplit dsplit unfold
"""
VIEWS = frozenset(_VIEWS.split())
"""Operations that give the data that they were given."""
RESHAPES = frozenset(("reshape", "flatten", "contiguous", "reshape_as", "to", "type_as", "float", "half", "clone"))
"""Operations that give the data that they were given where its order and type suit."""
_POINTWISE = """
    add sub mul div pow maximum minimum fmax fmin sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh
    floor ceil round trunc frac log1p log2 log10 exp2 expm1 erfc erfinv reciprocal rsqrt sqrt square sigmoid logit
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
    clamp_min clamp_max deg2rad digamma lgamma hypot nextafter signbit sgn trunc_divide logaddexp
"""


@dataclass(frozen=True)
class AtenCall:
    """One call of aten.

    Attributes:
        name: of the operation: "linear", "conv2d".
        tensors: the shape of each tensor among the arguments, by the argument's name; lists are numbered: "tensors.0".
        made: shapes of what it gives.
        arguments: other arguments: numbers, texts, lists of whole numbers.
    """

    name: str
    tensors: Mapping[str, Shape]
    made: Sequence[Shape]
    arguments: Mapping[str, Any]


def kind_of(name: str) -> str | None:
    """Return the kind of an operation; None where it is unknown what it does."""
    if name in VIEWS:
        return "view"
    return KIND.get(name) or ("elementwise" if name in _POINTWISE.split() else None)


def flop_of(call: AtenCall) -> Amount | None:
    """Return the operations of a call; None where they cannot be counted.

    >>> flop_of(AtenCall("linear", {"input": (2, 5), "weight": (7, 5)}, [(2, 7)], {}))
    140
    """
    kind = kind_of(call.name)
    if kind not in ("matmul", "conv", "attention", "rnn"):
        return 0 if kind is not None else None
    formula = _FORMULAS.get(call.name)
    try:
        return formula(call) if formula is not None else None
    except (LookupError, TypeError, ValueError):
        return None


def _first(first: str, place: int = -1) -> Callable[[AtenCall], Amount]:
    """Return the formula of products whose sum runs over an axis of the tensor *first*."""
    return lambda call: product([2, *call.made[0], call.tensors[first][place]])


def _conv(call: AtenCall) -> Amount:
    weight = call.tensors["weight"]
    if call.arguments.get("transposed") or "transpose" in call.name:
        return product([2, *call.tensors["input"], *weight[1:]])
    return product([2, *call.made[0], *weight[1:]])


def _attention(call: AtenCall) -> Amount:
    query, key, value = (call.tensors[name] for name in ("query", "key", "value"))
    return product([2, *query[:-1], key[-2], query[-1] + value[-1]])


def _recurrent(call: AtenCall) -> Amount:
    """Each step multiplies its input, or its state, with each matrix of weights."""
    matrices = [shape for name, shape in call.tensors.items() if name.startswith("params.") and len(shape) == 2]
    if not matrices or len(call.tensors["input"]) != 3:
        raise LookupError
    total: Amount = 0
    for shape in matrices:
        total = total + product(shape)
    return product([2, *call.tensors["input"][:2], total])


def _einsum(call: AtenCall) -> Amount:
    left, _, right = call.arguments["equation"].replace(" ", "").partition("->")
    operands = left.split(",")
    if "." in left or len(operands) != 2:
        raise LookupError
    sizes: dict[str, Amount] = {}
    for number, letters in enumerate(operands):
        for letter, size in zip(letters, call.tensors[f"tensors.{number}"], strict=True):
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
    if not set(sizes) - set(right):
        raise LookupError
    return product([2, *sizes.values()])


_FORMULAS: Mapping[str, Callable[[AtenCall], Amount]] = {
    "linear": _first("input"),
    "mm": _first("self"),
    "bmm": _first("self"),
    "mv": _first("self"),
    "dot": _first("self"),
    "matmul": _first("self"),
    "addmm": _first("mat1"),
    "grouped_mm": _first("self"),
    "baddbmm": _first("batch1"),
    "addmv": _first("mat"),
    "einsum": _einsum,
    "lstm": _recurrent,
    "gru": _recurrent,
    "rnn_tanh": _recurrent,
    "rnn_relu": _recurrent,
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv
    ),
}
