"""Shapes of all tensors of an ONNX model, over the symbols of its inputs.

Shapes are inferred where the inputs have numbers for sizes, which also settles reshapes by computed shapes: for a few
choices of the symbols' values, to which polynomials are fitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.importers.onnx.contrib import Typed
from mtpp_dsl.exchange.importers.onnx.inference import UNKNOWN, Key, infer, inner_place
from mtpp_dsl.exchange.importers.onnx.model_file import TYPES, File, graphs_of
from mtpp_dsl.exchange.importers.polynomials import Amount, Polynomial
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
    fitted_shapes: dict[Key, Shape] = {}
    for key in runs[0]:
        shapes = [run.get(key, (0, None))[1] for run in runs]
        fitted = _fitted(shapes, fit)
        if fitted is not None:
            fitted_shapes[key] = fitted
    return Shapes(types, fitted_shapes, tuple(symbols))


def _run(file: File, dims: Mapping[Place, int | str], sample: Mapping[str, int]) -> dict[Key, Typed]:
    return _inferred(file, {place: value(size, sample) for place, size in dims.items()}, sample)


def _fitted(shapes: Sequence[tuple[int, ...] | None], fit: Fit) -> Shape | None:
    if any(shape is None or len(shape) != len(shapes[0] or ()) for shape in shapes):
        return None
    amounts: list[Amount] = []
    for numbers in zip(*(shape for shape in shapes if shape is not None), strict=True):
        if any(number < 0 or number > MAX_DIM for number in numbers):
            return None
        amount = fit(numbers)
        if amount is None:
            return None
        amounts.append(amount)
    return tuple(amounts)


def _input_dims(file: File) -> dict[Place, int | str]:
    """Return the sizes of the inputs that are no weights, each a number, a symbol or a formula over symbols."""
    weights = {tensor.name for tensor in file.proto.graph.initializer}
    sizes: dict[Place, int | str] = {}
    for i, given in enumerate(file.proto.graph.input):
        if given.name in weights or not given.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(given.type.tensor_type.shape.dim):
            sizes[i, axis] = _dim(dim, given.name, axis, file.name)
    plain = {text for text in sizes.values() if isinstance(text, str) and _NAME.match(text)}
    return {
        place: size if isinstance(size, int) else _formula(size, plain, file.proto.graph.input[place[0]].name, place[1])
        for place, size in sizes.items()
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
    every = sorted({symbol for size in dims.values() if isinstance(size, str) for symbol in symbols_of(size)})
    for given in sizes:
        if given not in every:
            listed = f"its symbols are: {', '.join(every[:12])}" if every else "all its sizes are numbers"
            raise UsageError(f"{name} has no symbol {given!r}{did_you_mean(given, every)} ({listed})")
    for place, size in dims.items():
        if isinstance(size, str) and symbols_of(size) & set(sizes):
            dims[place] = _replaced(size, sizes)
    left = sorted({symbol for size in dims.values() if isinstance(size, str) for symbol in symbols_of(size)})
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
    for i, graph_input in enumerate(file.proto.graph.input):
        if graph_input.name in weights or not graph_input.type.HasField("tensor_type"):
            continue
        typed = graph_input.type.tensor_type
        shape = tuple(_checked(dims[i, axis], file, graph_input.name) for axis in range(len(typed.shape.dim)))
        given[graph_input.name] = typed.elem_type, shape if typed.HasField("shape") else None
    return infer(file, given, dict(_declared(file.proto.graph, "", sample)))


def _checked(number: object, file: File, name: str) -> int:
    if not isinstance(number, int) or not 0 <= number <= MAX_DIM:
        raise UsageError(f"{file.name}: input {name[:80]!r} would have the size {number}, which no tensor can have")
    return number


def _declared(graph: Any, place: str, sample: Mapping[str, int]) -> Iterator[tuple[Key, Typed]]:
    """Yield what the file says of the types of tensors that nodes make."""
    for info in (*graph.output, *graph.value_info):
        kind = info.type
        if kind.HasField("tensor_type") and kind.tensor_type.elem_type in TYPES:
            typed, shape = kind.tensor_type, None
            if typed.HasField("shape"):
                shape = tuple(
                    dim.dim_value if dim.HasField("dim_value") else sample.get(dim.dim_param, UNKNOWN)
                    for dim in typed.shape.dim
                )
            yield (place, info.name), (typed.elem_type, shape)
    for node in graph.node:
        for name, inner in graphs_of(node):
            yield from _declared(inner, inner_place(place, node, name), sample)


MAX_SYMBOLS = 4
_FIRST = (5, 11, 17, 23)
_STEPS = (6, 8, 14, 20)
_CHECKS = ((9, 14, 33, 40), (13, 31, 20, 57))
"""Values of the symbols: where shapes are computed to find the coefficients, and where the result is tested."""


class Fit:
    """Finds numbers as sums of 1, each symbol, and each product of two, with whole coefficients.

    Attributes:
        samples: the values of the symbols at which the numbers are needed, in the order in which they are given.

    >>> fit = Fit(["batch", "seq"])
    >>> fit([s["batch"] * s["seq"] + 3 * s["seq"] for s in fit.samples])
    Polynomial('batch*seq + 3*seq')
    >>> fit([s["seq"] // 2 for s in fit.samples])
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        if len(symbols) > MAX_SYMBOLS:
            raise UsageError(
                f"the model has {len(symbols)} sizes without a value: {', '.join(symbols[:12])}; at most {MAX_SYMBOLS} "
                "can stay symbols: give values to the others"
            )
        k = len(symbols)
        single = [(a,) for a in range(k)]
        self._symbols = tuple(symbols)
        self._basis: list[tuple[int, ...]] = [(), *single, *combinations(range(k), 2)]
        points = [[_FIRST[a] + _STEPS[a] * (a in chosen) for a in range(k)] for chosen in self._basis]
        self._inverse = _inverted([[_at(powers, point) for powers in self._basis] for point in points])
        points += [list(values[:k]) for values in _CHECKS] if k else []
        self._points = points
        self.samples: tuple[Mapping[str, int], ...] = tuple(
            dict(zip(self._symbols, point, strict=True)) for point in points
        )

    def __call__(self, numbers: Sequence[int]) -> Amount | None:
        """Return what has these values at the samples, or None where it is no such sum."""
        if all(number == numbers[0] for number in numbers):
            return numbers[0]
        known = numbers[: len(self._basis)]
        coefficients = [sum((a * b for a, b in zip(row, known, strict=True)), Fraction(0)) for row in self._inverse]
        if any(number.denominator != 1 for number in coefficients):
            return None
        for point, number in zip(self._points, numbers, strict=True):
            if sum(a * _at(powers, point) for a, powers in zip(coefficients, self._basis, strict=True)) != number:
                return None
        named = [tuple(sorted((self._symbols[a], 1) for a in powers)) for powers in self._basis]
        return Polynomial({powers: int(number) for powers, number in zip(named, coefficients, strict=True)})


def _at(powers: tuple[int, ...], point: Sequence[int]) -> int:
    product = 1
    for a in powers:
        product *= point[a]
    return product


def _inverted(matrix: list[list[int]]) -> list[list[Fraction]]:
    """Return the inverse of a matrix that has one, exactly."""
    n = len(matrix)
    rows = [[Fraction(x) for x in row] + [Fraction(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(j for j in range(i, n) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n):
            if j != i and rows[j][i]:
                factor = rows[j][i]
                rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[n:] for row in rows]
