"""Read what a model of torch is given: names, types and sizes that may be symbols, as ``ids: int64[batch, seq]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.model.parts import Symbol
from mtpp_dsl.exchange.model.sizes import Size, symbols_of

MAX_SIZE = 2**40
MAX_DIMENSIONS = 16
MAX_SIDE = 65_536
"""Pixels of an image."""
_INPUT = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*([A-Za-z]\w*)\s*(?:\[([^\[\]]*)\])?\s*", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,13}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w{0,40}", re.ASCII)

TYPES: Mapping[str, str] = {
    **{
        name: name for name in ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")
    },
    "bool": "bool",
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
}
"""What types of inputs are called in torch."""


@dataclass(frozen=True)
class Input:
    """One input of a model.

    Attributes:
        name: of the parameter of ``forward``.
        dtype: as torch calls it: "int64".
        shape: its sizes: numbers, and names of symbols.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


def read_input(text: str) -> Input:
    """Return the input that a text describes.

    Raises:
        UsageError: it is not of the form ``name: type[size, size]``, or the type is unknown.

    >>> read_input("ids: int64[batch, 128]")
    Input(name='ids', dtype='int64', shape=('batch', 128))
    """
    match = _INPUT.fullmatch(text[:1000])
    if match is None:
        raise UsageError(
            f"--input {text[:200]!r} is not of the form 'name: type[size, size]', as 'ids: int64[batch, seq]'"
        )
    name, dtype, inside = match[1], match[2], match[3] or ""
    if dtype not in TYPES:
        raise UsageError(f"--input {text[:200]!r}: there is no type {dtype!r}{did_you_mean(dtype, TYPES)}")
    parts = [part.strip() for part in inside.split(",")] if inside.strip() else []
    if len(parts) > MAX_DIMENSIONS:
        raise UsageError(f"--input {name!r} has {len(parts)} sizes; at most {MAX_DIMENSIONS} are read")
    return Input(name, TYPES[dtype], tuple(_size(part, text) for part in parts))


def _size(part: str, text: str) -> int | str:
    if _NUMBER.fullmatch(part) and 0 < int(part) <= MAX_SIZE:
        return int(part)
    if _NAME.fullmatch(part):
        return part
    raise UsageError(f"--input {text[:200]!r}: {part!r} is no size; a size is a whole number, 1 or more, or a name")


def numbers_given(texts: Iterable[str], option: str = "--set") -> dict[str, int]:
    """Return the numbers of texts such as ``batch=8`` by their names.

    Raises:
        UsageError: one is not of that form.

    >>> numbers_given(["batch=8"])
    {'batch': 8}
    """
    numbers = {}
    for text in texts:
        name, equals, number = (part.strip() for part in text.partition("="))
        if not (equals and _NAME.fullmatch(name) and _NUMBER.fullmatch(number) and 0 < int(number) <= MAX_SIZE):
            raise UsageError(f"{option} {text[:200]!r} is not of the form name=number, as batch=8")
        numbers[name] = int(number)
    return numbers


def formulas_given(texts: Iterable[str]) -> dict[str, Size]:
    """Return the formulas of texts such as ``mylib.attention=4*batch*seq**2`` by their names.

    Raises:
        UsageError: one is not of that form, or is no formula.

    >>> formulas_given(["mylib.attention=4*batch"])
    {'mylib.attention': '4*batch'}
    """
    formulas: dict[str, Size] = {}
    for text in texts:
        name, equals, formula = (part.strip() for part in text.partition("="))
        if not (equals and name and formula):
            raise UsageError(f"--flop {text[:200]!r} is not of the form name=formula, as my.attention=4*batch*seq")
        symbols_of(formula)
        formulas[name] = int(formula) if _NUMBER.fullmatch(formula) else formula
    return formulas


def sides_given(text: str) -> tuple[int, int]:
    """Return height and width of ``HxW``, or of one number for both.

    Raises:
        UsageError: it is not of that form.

    >>> sides_given("1080x1920"), sides_given("336")
    ((1080, 1920), (336, 336))
    """
    sides = [part.strip() for part in text.lower().replace("×", "x").split("x")]
    if len(sides) > 2 or not all(_NUMBER.fullmatch(side) and 0 < int(side) <= MAX_SIDE for side in sides):
        raise UsageError(
            f"--image-size {text[:40]!r} is not of the form HEIGHTxWIDTH, as 1080x1920, each at most {MAX_SIDE:,}"
        )
    return int(sides[0]), int(sides[-1])


@dataclass(frozen=True)
class Given:
    """What a model is exported with: tensors for its inputs, and which of their sizes are symbols.

    Attributes:
        args: tensors, or lists and tuples of them, in the order of ``forward``'s parameters.
        kwargs: the same by name.
        shapes: for each of *args* and *kwargs*, by the name of the parameter, the symbols of its sizes by their place,
            in the form of torch's ``dynamic_shapes``, with the name of a symbol in place of a dimension.
        symbols: by name; ``default`` is the size that a spec gets where it says none.
        formulas: symbols that are none of a spec's: what they are of the others.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    shapes: Mapping[str, Any]
    symbols: Mapping[str, Symbol]
    formulas: Mapping[str, str] = field(default_factory=dict)


def tensors_for(inputs: Sequence[Input], values: Mapping[str, int], device: str) -> Given:
    """Return tensors of the inputs' shapes on *device*, passed by name.

    Raises:
        UsageError: a value is given for what is no symbol; two inputs share a name.
    """
    import torch

    names = list(dict.fromkeys(size for one_input in inputs for size in one_input.shape if isinstance(size, str)))
    for name in values:
        if name not in names:
            raise UsageError(f"--set {name}: no input has a size {name!r}{did_you_mean(name, names)}")
    if len({one_input.name for one_input in inputs}) < len(inputs):
        raise UsageError("two inputs have one name")
    sizes = sizes_to_trace(names)
    tensors = {
        one_input.name: torch.zeros(
            [sizes[size] if isinstance(size, str) else size for size in one_input.shape],
            dtype=getattr(torch, one_input.dtype),
            device=device,
        )
        for one_input in inputs
    }
    shapes = {
        one_input.name: {place: size for place, size in enumerate(one_input.shape) if isinstance(size, str)}
        for one_input in inputs
    }
    return Given((), tensors, shapes, {name: Symbol(values.get(name)) for name in names})


def sizes_to_trace(names: Sequence[str]) -> dict[str, int]:
    """Return a size for each symbol to trace with: small, no two equal, and no size that models have elsewhere."""
    primes = (3, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127)
    if len(names) > len(primes):
        raise UsageError(f"the inputs have {len(names)} symbols; at most {len(primes)} are read")
    return dict(zip(names, primes, strict=False))
