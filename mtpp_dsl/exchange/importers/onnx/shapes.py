"""Shapes of all tensors of an ONNX model, over the symbols of its inputs.

Shapes are inferred where the inputs have numbers for sizes, which also settles reshapes by computed shapes: for a few
choices of the symbols' values, to which polynomials are fitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.importers.fitting import MAX_SYMBOLS, Fit
from mtpp_dsl.exchange.importers.onnx.contrib import Typed
from mtpp_dsl.exchange.importers.onnx.files import File, graphs_of
from mtpp_dsl.exchange.importers.onnx.inference import UNKNOWN, Key, infer, inner_place
from mtpp_dsl.exchange.importers.onnx.types import TYPES
from mtpp_dsl.exchange.importers.polynomials import Amount
from mtpp_dsl.exchange.model.sizes import symbols_of, value

__all__ = ["Shape", "Shapes", "shapes_of"]

Shape: TypeAlias = tuple[Amount, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
MAX_DIM = 2**50
MAX_STEPS = 400_000
"""Nodes, times the choices of the symbols' values for which they are gone through."""
Place: TypeAlias = tuple[int, int]
"""Which input of the graph, and which of its axes."""


@dataclass(frozen=True)
class Shapes:
    """What is known of the tensors of a model.

    Attributes:
        types: the type of each tensor, as ONNX numbers them.
        dims: the shape of each tensor whose rank and sizes are known.
        symbols: what the shapes speak of.
    """

    types: Mapping[Key, int]
    dims: Mapping[Key, Shape]
    symbols: tuple[str, ...]


def shapes_of(file: File, sizes: Mapping[str, int | str]) -> Shapes:
    """Return the shapes of all tensors; *sizes* are values of symbols, or formulas over other symbols.

    Raises:
        UsageError: a size for a symbol that the model does not have (says which it has), too many symbols, or shapes
            that do not fit together.
    """
    dims = _input_dims(file)
    symbols = _bound(dims, sizes, file.name)
    fit = Fit(symbols)
    if len(fit.samples) * len(file.proto.graph.node) > MAX_STEPS:
        raise UsageError(
            f"{file.name} has {len(file.proto.graph.node):,} nodes: too many for {len(symbols)} symbols; give some "
            f"a value, such as --size {symbols[0]}=8"
        )
    runs = [_run(file, dims, sample) for sample in fit.samples]
    types = {key: typed[0] for key, typed in runs[0].items()}
    found: dict[Key, Shape] = {}
    for key in runs[0]:
        shapes = [run.get(key, (0, None))[1] for run in runs]
        fitted = _fitted(shapes, fit)
        if fitted is not None:
            found[key] = fitted
    return Shapes(types, found, tuple(symbols))


def _run(file: File, dims: Mapping[Place, int | str], sample: Mapping[str, int]) -> dict[Key, Typed]:
    return _inferred(file, {place: value(size, sample) for place, size in dims.items()}, sample)


def _fitted(shapes: Sequence[tuple[int, ...] | None], fit: Fit) -> Shape | None:
    if any(shape is None or len(shape) != len(shapes[0] or ()) for shape in shapes):
        return None
    found: list[Amount] = []
    for numbers in zip(*(shape for shape in shapes if shape is not None), strict=True):
        if any(number < 0 or number > MAX_DIM for number in numbers):
            return None
        amount = fit(numbers)
        if amount is None:
            return None
        found.append(amount)
    return tuple(found)


def _input_dims(file: File) -> dict[Place, int | str]:
    """Return the sizes of the inputs that are no weights, each a number, a symbol or a formula over symbols."""
    weights = {tensor.name for tensor in file.proto.graph.initializer}
    found: dict[Place, int | str] = {}
    for i, given in enumerate(file.proto.graph.input):
        if given.name in weights or not given.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(given.type.tensor_type.shape.dim):
            found[i, axis] = _dim(dim, given.name, axis, file.name)
    plain = {text for text in found.values() if isinstance(text, str) and _NAME.match(text)}
    return {
        place: size if isinstance(size, int) else _formula(size, plain, file.proto.graph.input[place[0]].name, place[1])
        for place, size in found.items()
    }


def _dim(dim: Any, name: str, axis: int, file: str) -> int | str:
    if dim.HasField("dim_param") and dim.dim_param:
        return str(dim.dim_param)
    if dim.HasField("dim_value") and dim.dim_value != UNKNOWN:
        size = int(dim.dim_value)
        if not 0 <= size <= MAX_DIM:
            raise UsageError(
                f"{file}: axis {axis} of input {name[:80]!r} has the size {size}, which no tensor can have"
            )
        return size
    return _symbol(name, axis)


def _symbol(name: str, axis: int) -> str:
    """Return a symbol for an axis to which the file gives no name."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:60].strip("_") or "input"
    return f"{'_' if word[0].isdigit() else ''}{word}_{axis}"


def _formula(text: str, plain: set[str], name: str, axis: int) -> str:
    """Return *text* where it is a symbol, or a formula over symbols of the file; else a symbol made of its letters."""
    if text in plain:
        return text
    try:
        if symbols_of(text) and symbols_of(text) <= plain:
            return text
    except UsageError:
        pass
    word = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:60].strip("_")
    return f"{'_' if word[0].isdigit() else ''}{word}" if word else _symbol(name, axis)


def _bound(dims: dict[Place, int | str], sizes: Mapping[str, int | str], name: str) -> list[str]:
    """Put *sizes* in place of symbols in *dims*, and return the symbols that are left."""
    every = sorted({each for size in dims.values() if isinstance(size, str) for each in symbols_of(size)})
    for given in sizes:
        if given not in every:
            listed = f"its symbols are: {', '.join(every[:12])}" if every else "all its sizes are numbers"
            raise UsageError(f"{name} has no symbol {given!r}{did_you_mean(given, every)} ({listed})")
    for place, size in dims.items():
        if isinstance(size, str) and symbols_of(size) & set(sizes):
            dims[place] = _replaced(size, sizes)
    left = sorted({each for size in dims.values() if isinstance(size, str) for each in symbols_of(size)})
    if len(left) > MAX_SYMBOLS:
        raise UsageError(
            f"{name} has {len(left)} sizes without a value: {', '.join(left[:12])}; at most {MAX_SYMBOLS} can stay "
            f"symbols: give values to the others, such as --size {left[0]}=8"
        )
    return left


def _replaced(size: str, sizes: Mapping[str, int | str]) -> int | str:
    text = re.sub(r"[A-Za-z_][A-Za-z0-9_]*", lambda word: f"({sizes.get(word[0], word[0])})", size)
    if symbols_of(text):
        return text
    number = value(text)
    if not isinstance(number, int) or not 0 <= number <= MAX_DIM:
        raise UsageError(f"the size {size!r} would be {number}; it must be a whole number, zero or more")
    return number


def _inferred(file: File, dims: Mapping[Place, Any], sample: Mapping[str, int]) -> dict[Key, Typed]:
    """Return the types and shapes of all tensors where the inputs have these sizes; sizes below zero are unknown."""
    given: dict[str, Typed] = {}
    weights = {tensor.name for tensor in file.proto.graph.initializer}
    for i, each in enumerate(file.proto.graph.input):
        if each.name in weights or not each.type.HasField("tensor_type"):
            continue
        typed = each.type.tensor_type
        shape = tuple(_checked(dims[i, axis], file, each.name) for axis in range(len(typed.shape.dim)))
        given[each.name] = typed.elem_type, shape if typed.HasField("shape") else None
    return infer(file, given, dict(_declared(file.proto.graph, "", sample)))


def _checked(number: object, file: File, name: str) -> int:
    if not isinstance(number, int) or not 0 <= number <= MAX_DIM:
        raise UsageError(f"{file.name}: input {name[:80]!r} would have the size {number}, which no tensor can have")
    return number


def _declared(graph: Any, place: str, sample: Mapping[str, int]) -> Iterator[tuple[Key, Typed]]:
    """Yield what the file says of the types of tensors that nodes make."""
    for each in (*graph.output, *graph.value_info):
        kind = each.type
        if kind.HasField("tensor_type") and kind.tensor_type.elem_type in TYPES:
            typed, shape = kind.tensor_type, None
            if typed.HasField("shape"):
                shape = tuple(
                    dim.dim_value if dim.HasField("dim_value") else sample.get(dim.dim_param, UNKNOWN)
                    for dim in typed.shape.dim
                )
            yield (place, each.name), (typed.elem_type, shape)
    for node in graph.node:
        for name, inner in graphs_of(node):
            yield from _declared(inner, inner_place(place, node, name), sample)
