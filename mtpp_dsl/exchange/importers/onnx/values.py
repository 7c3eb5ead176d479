"""Values of small tensors that shapes are computed from: the operators with which exporters compute shapes.

Definitions: Operators.md of ONNX 1.23. Tensors of more than :data:`MOST` entries are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["MOST", "Array", "value_of"]

Array: TypeAlias = npt.NDArray[Any]
Attributes: TypeAlias = Mapping[str, Any]

MOST = 1024
_TYPES: Mapping[int, type] = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def value_of(op: str, attributes: Attributes, read: Sequence[Array | None]) -> Array | None:
    """Return the first output of an operator on known values; None where it is not known here, or is too large."""
    rule = _RULES.get(op)
    if rule is None or not read or read[0] is None:
        return None
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(rule(attributes, list(read)))
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, ZeroDivisionError, AttributeError, MemoryError):
        return None
    return found if found.size <= MOST else None


def _room(shape: Sequence[int]) -> list[int]:
    """Return a shape that is small enough to be made."""
    sizes = [int(size) for size in shape]
    if any(size < 0 for size in sizes) or prod(sizes) > MOST or len(sizes) > 16:
        raise ValueError
    return sizes


def _axes(attributes: Attributes, read: list[Any], place: int = 1) -> list[int] | None:
    if len(read) > place and read[place] is not None:
        return [int(axis) for axis in read[place].reshape(-1)]
    found = attributes.get("axes")
    return [int(axis) for axis in found] if found is not None else None


def _cast(attributes: Attributes, read: list[Any]) -> Any:
    return read[0].astype(_TYPES[attributes["to"]])


def _slice(attributes: Attributes, read: list[Any]) -> Any:
    if len(read) > 1:
        starts, ends = (row.reshape(-1) for row in read[1:3])
        axes, steps = _axes({}, read, 3), _axes({}, read, 4)
    else:
        starts, ends, axes, steps = attributes["starts"], attributes["ends"], attributes.get("axes"), None
    cuts = [slice(None)] * read[0].ndim
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        step = steps[i] if steps else 1
        stop = None if step < 0 and end < -(2**31) else int(end)
        cuts[axes[i] if axes else i] = slice(int(start), stop, step)
    return read[0][tuple(cuts)]


def _squeeze(attributes: Attributes, read: list[Any]) -> Any:
    axes = _axes(attributes, read)
    return np.squeeze(read[0], tuple(axes) if axes is not None else None)


def _unsqueeze(attributes: Attributes, read: list[Any]) -> Any:
    return np.expand_dims(read[0], tuple(_axes(attributes, read) or ()))


def _reshape(_: Attributes, read: list[Any]) -> Any:
    old = read[0].shape
    return read[0].reshape([old[i] if size == 0 else int(size) for i, size in enumerate(read[1].tolist())])


def _divide(_: Attributes, read: list[Any]) -> Any:
    first, second = read
    if first.dtype.kind == "f":
        return first / second
    return np.sign(first) * np.sign(second) * (np.abs(first) // np.abs(second))  # towards zero


def _range(_: Attributes, read: list[Any]) -> Any:
    start, limit, step = (row.reshape(-1)[0].item() for row in read)
    if step == 0 or abs(limit - start) / abs(step) > MOST:
        raise ValueError
    return np.arange(start, limit, step, dtype=read[0].dtype)


def _filled(attributes: Attributes, read: list[Any]) -> Any:
    value = attributes.get("value")
    fill = np.zeros(1, np.float32) if value is None else value.reshape(-1)
    return np.full(_room(read[0].tolist()), fill[0], fill.dtype)


def _expand(_: Attributes, read: list[Any]) -> Any:
    shape = np.broadcast_shapes(read[0].shape, tuple(_room(read[1].tolist())))
    return np.broadcast_to(read[0], _room(shape))


def _tile(_: Attributes, read: list[Any]) -> Any:
    counts = [int(count) for count in read[1].tolist()]
    _room([size * count for size, count in zip(read[0].shape, counts, strict=True)])
    return np.tile(read[0], counts)


def _reduced(function: Callable[..., Any]) -> Callable[[Attributes, list[Any]], Any]:
    def rule(attributes: Attributes, read: list[Any]) -> Any:
        axes = _axes(attributes, read)
        keep = bool(attributes.get("keepdims", 1))
        return function(read[0], axis=tuple(axes) if axes is not None else None, keepdims=keep).astype(read[0].dtype)

    return rule


def _pairwise(function: Callable[..., Any]) -> Callable[[Attributes, list[Any]], Any]:
    def rule(_: Attributes, read: list[Any]) -> Any:
        found = read[0]
        for other in read[1:]:
            _room(np.broadcast_shapes(found.shape, other.shape))
            found = function(found, other)
        return found

    return rule


def _single(function: Callable[..., Any]) -> Callable[[Attributes, list[Any]], Any]:
    return lambda _, read: function(read[0])


_RULES: Mapping[str, Callable[[Attributes, list[Any]], Any]] = {
    "Identity": _single(np.asarray),
    "Cast": _cast,
    "Gather": lambda attributes, read: np.take(read[0], read[1], axis=attributes.get("axis", 0), mode="raise"),
    "Concat": lambda attributes, read: np.concatenate(read, attributes["axis"]),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Transpose": lambda attributes, read: np.transpose(read[0], attributes.get("perm")),
    "Add": _pairwise(np.add),
    "Sub": _pairwise(np.subtract),
    "Mul": _pairwise(np.multiply),
    "Div": _divide,
    "Mod": _pairwise(np.mod),
    "Min": _pairwise(np.minimum),
    "Max": _pairwise(np.maximum),
    "Pow": _pairwise(np.power),
    "Neg": _single(np.negative),
    "Abs": _single(np.abs),
    "Floor": _single(np.floor),
    "Ceil": _single(np.ceil),
    "Sqrt": _single(np.sqrt),
    "Not": _single(np.logical_not),
    "And": _pairwise(np.logical_and),
    "Or": _pairwise(np.logical_or),
    "Equal": _pairwise(np.equal),
    "Less": _pairwise(np.less),
    "LessOrEqual": _pairwise(np.less_equal),
    "Greater": _pairwise(np.greater),
    "GreaterOrEqual": _pairwise(np.greater_equal),
    "Where": lambda _, read: np.where(*read),
    "Range": _range,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Tile": _tile,
    "NonZero": lambda _, read: np.array(np.nonzero(read[0]), np.int64),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
}
