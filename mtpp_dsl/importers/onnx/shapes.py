"""Shapes of all tensors of an ONNX model, over the symbols of its inputs.

The package onnx infers shapes where the inputs have numbers for sizes, which also settles reshapes by computed shapes.
That is done for a few choices of the symbols' values, and polynomials are fitted to the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.importers.fitting import MAX_SYMBOLS, Fit
from mtpp_dsl.importers.onnx.files import File, graphs_of
from mtpp_dsl.importers.onnx.surrogates import with_surrogates
from mtpp_dsl.importers.polynomials import Amount
from mtpp_dsl.model.sizes import symbols_of, value

__all__ = ["Shape", "Shapes", "shapes_of"]

Shape: TypeAlias = tuple[Amount, ...]
Typed: TypeAlias = tuple[int, tuple[int, ...] | None]
Key: TypeAlias = tuple[str, str]
"""Where a graph is, "" for the outermost, and the name of a tensor in it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_UNKNOWN = -1
MAX_DIM = 2**50


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
    runs = [_inferred(file, {place: value(size, sample) for place, size in dims.items()}) for sample in fit.samples]
    types = {key: typed[0] for key, typed in runs[0].items()}
    found: dict[Key, Shape] = {}
    for key in runs[0]:
        shapes = [run.get(key, (0, None))[1] for run in runs]
        fitted = _fitted(shapes, fit)
        if fitted is not None:
            found[key] = fitted
    return Shapes(types, found, tuple(symbols))


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


Place: TypeAlias = tuple[int, int]
"""Which input of the graph, and which of its axes."""


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
    if dim.HasField("dim_value") and dim.dim_value != _UNKNOWN:
        size = int(dim.dim_value)
        if not 0 <= size <= MAX_DIM:
            raise UsageError(f"{file}: axis {axis} of input {name[:80]!r} has the size {size}, which no tensor can have")
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


def _inferred(file: File, dims: Mapping[Place, Any]) -> dict[Key, Typed]:
    """Return the types and shapes of all tensors where the inputs have these sizes; sizes below zero are unknown."""
    proto = file.onnx.ModelProto()
    proto.CopyFrom(file.proto)
    for (i, axis), number in dims.items():
        if not isinstance(number, int) or not 0 <= number <= MAX_DIM:
            raise UsageError(f"{file.name}: axis {axis} of input {i} would have the size {number}")
        proto.graph.input[i].type.tensor_type.shape.dim[axis].dim_value = number
    _forget_names(proto.graph)
    with_surrogates(proto, file.onnx)
    try:
        typed = file.onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except Exception as error:  # of C++, in its own words
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        raise UsageError(f"{file.name}: the shapes of its tensors cannot be inferred: {reason}") from None
    return dict(_found(typed.graph, ""))


def _forget_names(graph: Any) -> None:
    """Make all sizes in the file that are no numbers unknown, so that what is inferred takes their place."""
    for given in (*graph.output, *graph.value_info):
        if given.type.HasField("tensor_type"):
            for dim in given.type.tensor_type.shape.dim:
                if dim.HasField("dim_param") or dim.dim_value < 0:
                    dim.Clear()
    for node in graph.node:
        for _, inner in graphs_of(node):
            _forget_names(inner)


def _found(graph: Any, place: str) -> Iterator[tuple[Key, Typed]]:
    """Yield the types and shapes of the tensors of a graph and of those within it."""
    for tensor in graph.initializer:
        yield (place, tensor.name), (tensor.data_type, tuple(tensor.dims))
    for given in (*graph.value_info, *graph.output, *graph.input):
        kind = given.type
        if kind.HasField("tensor_type"):
            typed = kind.tensor_type
            shape = None
            if typed.HasField("shape"):
                shape = tuple(dim.dim_value if dim.HasField("dim_value") else _UNKNOWN for dim in typed.shape.dim)
            yield (place, given.name), (typed.elem_type, shape)
    for i, node in enumerate(graph.node):
        for name, inner in graphs_of(node):
            yield from _found(inner, f"{place}/{i}.{name}")
