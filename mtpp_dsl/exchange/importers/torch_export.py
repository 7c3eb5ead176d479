"""Exporting a module by torch.export, with symbols for sizes where that works and with numbers where it does not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.torch_inputs import Given
from mtpp_dsl.exchange.model.parts import Symbol
from mtpp_dsl.exchange.model.sizes import symbols_of, value

__all__ = ["Exported", "cause", "export", "export_module"]

MAX_TRIES = 5
_FIX = re.compile(r"^\s*(\w+) = (?:Dim\('\w+'((?:, (?:min|max)=\d+)*)\)|(\d+))\s*$", re.MULTILINE)
_VIOLATED = re.compile(r"Constraints violated \(([\w, ]+)\)")
_LIMIT = re.compile(r"(min|max)=(\d+)")


@dataclass(frozen=True)
class Exported:
    """A module as torch exports it.

    Attributes:
        program: the ``ExportedProgram``.
        symbols: those that its sizes speak of, with the values they may have.
        names: what torch calls them, and their names.
        warnings: which sizes became numbers, and why.
    """

    program: Any
    symbols: Mapping[str, Symbol]
    names: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def export_module(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], shapes: Any = None) -> Any:
    """Return a module as torch.export sees it, with the options that every import uses.

    Args:
        module: in the mode (``eval``, ``train``) that is meant.
        args: what it is called with, in order.
        kwargs: what it is called with by name.
        shapes: torch's ``dynamic_shapes``; None: every size is the number that it is here.
    """
    import torch

    tensors = [*module.parameters(), *module.buffers(), *_tensors((*args, *kwargs.values()))]
    device = tensors[0].device if tensors else torch.device("cpu")
    with torch.no_grad(), _quiet(), device:  # tensors that its code makes without a device are on that one too
        return torch.export.export(module, tuple(args), dict(kwargs), dynamic_shapes=shapes, strict=False)


def export(module: Any, given: Given) -> Exported:
    """Export *module* with symbols; where a symbol cannot be one, with its number.

    Raises:
        UsageError: it cannot be exported at all, with the cause; a size that must be a number has none.
    """
    limits = {**given.symbols, **_own(given)}
    numbers: dict[str, int] = {}
    first: Exception | None = None
    for _ in range(MAX_TRIES):
        free = {name: symbol for name, symbol in limits.items() if name not in numbers}
        at = with_sizes(given, numbers)
        try:
            program = export_module(module, at.args, at.kwargs, _dimensions(at.shapes, free) if free else None)
        except Exception as error:  # whatever the code of a model raises
            first = first or error
            if not free:
                raise UsageError(f"torch cannot export this model: {cause(error)}") from error
            if not _mend(str(error), limits, numbers, free, _samples(given)):
                numbers = _as_numbers(module, given, _violated(error, free), numbers, error)
            continue
        names = {sign: given.formulas.get(name, name) for sign, name in _names_in(program, at.shapes).items()}
        why = "" if first is None or "specialized it" in str(first) else f" ({cause(first)})"  # of our own sample
        narrowings = tuple(
            f"{name} is {number} in this model, and a spec cannot change it: torch.export makes it a number{why}"
            for name, number in numbers.items()
            if name not in given.formulas
        )
        fixed = {name: Symbol(number, number, number) for name, number in numbers.items()}
        symbols = {name: symbol for name, symbol in {**free, **fixed}.items() if name not in given.formulas}
        return Exported(program, symbols, names, narrowings)
    raise UsageError(f"torch cannot export this model: {cause(first) if first else 'no size was accepted'}")


def _tensors(given: Any) -> Iterator[Any]:
    """Yield the tensors in what a module is called with."""
    for item in given:
        if isinstance(item, (list, tuple)):
            yield from _tensors(item)
        elif hasattr(item, "element_size"):
            yield item


def cause(error: BaseException) -> str:
    """Return why an export failed, in one line: the innermost reason, without torch's advice."""
    while error.__cause__ is not None and not isinstance(error, UsageError):
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if _VIOLATED.search(text):  # what follows says which sizes the model takes
        text = next((line.removeprefix("- ") for line in lines[1:] if line.startswith("- ")), text)
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings and the log of torch.export, which are of its own code."""
    import logging

    logger = logging.getLogger("torch")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            logger.setLevel(level)


def _dimensions(shapes: Mapping[str, Any], symbols: Mapping[str, Symbol]) -> Any:
    """Return torch's ``dynamic_shapes``: its dimensions in place of names."""
    from torch.export import Dim

    made = {name: Dim(name, min=symbol.least, max=symbol.most) for name, symbol in symbols.items()}

    def dims(shape: Any) -> Any:
        if isinstance(shape, Mapping):
            return {place: made[name] for place, name in shape.items() if name in made}
        return None if shape is None else [dims(inner) for inner in shape]

    return {name: dims(shape) for name, shape in shapes.items()}


def _samples(given: Given) -> dict[str, int]:
    """Return the size that each symbol has in the tensors that a model is traced with, which are samples of ours."""
    sizes: dict[str, int] = {}

    def look(argument: Any, shape: Any) -> None:
        if isinstance(argument, (list, tuple)):
            for item, inner in zip(argument, shape or [None] * len(argument), strict=True):
                look(item, inner)
        elif isinstance(shape, Mapping):
            sizes.update({name: int(argument.shape[place]) for place, name in shape.items()})

    for name, argument in (*zip(given.shapes, given.args, strict=False), *given.kwargs.items()):
        look(argument, given.shapes.get(name))
    return sizes


def _mend(
    message: str,
    limits: dict[str, Symbol],
    numbers: dict[str, int],
    free: Mapping[str, Symbol],
    samples: Mapping[str, int],
) -> bool:
    """Narrow the symbols as the message of torch suggests; return whether anything changed.

    Where torch makes a size the number of our own sample, as a loop over it does, it becomes the number that was given.
    """
    _, _, fixes = message.partition("Suggested fixes:")
    changed = False
    for match in _FIX.finditer(fixes):
        name = match[1]
        if name not in free:
            continue
        if match[3] is not None:
            number = int(match[3])
            default = limits[name].default
            if number == samples.get(name):
                if default is None:
                    raise UsageError(f"torch.export cannot keep {name} open; give it a number: --set {name}=…")
                number = default
            if default is not None and default != number:
                raise UsageError(f"this model takes {name} = {number} alone, and it was set to {default}")
            numbers[name] = number
            changed = True
            continue
        limits_found = {which: int(number) for which, number in _LIMIT.findall(match[2] or "")}
        narrowed = replace(
            limits[name], least=limits_found.get("min", limits[name].least), most=limits_found.get("max")
        )
        if narrowed.most is None:
            narrowed = replace(narrowed, most=limits[name].most)
        changed |= narrowed != limits[name]
        limits[name] = narrowed
    return changed


def _violated(error: Exception, free: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """Return the symbols of which torch says that the model does not take all values; all if it names none."""
    match = _VIOLATED.search(str(error))
    named = {name.strip() for name in match[1].split(",")} if match else set()
    return {name: symbol for name, symbol in free.items() if name in named} or dict(free)


def _as_numbers(
    module: Any, given: Given, free: Mapping[str, Symbol], numbers: Mapping[str, int], error: Exception
) -> dict[str, int]:
    """Return *numbers* with the defaults of these symbols.

    Raises:
        UsageError: one has none, or the module cannot be exported with numbers either.
    """
    symbols = {**given.symbols, **_own(given)}
    missing = [name for name in free if symbols[name].default is None]
    if missing:
        try:
            export_module(module, given.args, given.kwargs)
        except Exception as other:  # whatever the code of a model raises
            raise UsageError(f"torch cannot export this model: {cause(other)}") from other
        says = ", ".join(f"{name}=…" for name in missing)
        raise UsageError(
            f"torch.export cannot keep {' and '.join(missing)} open ({cause(error)}); give numbers: --set {says}"
        )
    return {**numbers, **{name: symbols[name].default or 0 for name in free}}


def _own(given: Given) -> dict[str, Symbol]:
    """Return the symbols that are formulas of others, with the value that these give them."""
    known = {name: symbol.default for name, symbol in given.symbols.items() if symbol.default is not None}
    symbols = {}
    for name, formula in given.formulas.items():
        there = symbols_of(formula) <= set(known)
        symbols[name] = Symbol(int(value(formula, known)) if there else None)
    return symbols


def with_sizes(given: Given, numbers: Mapping[str, int]) -> Given:
    """Return *given* with tensors in which these symbols are these numbers."""
    if not numbers:
        return given

    def resized(argument: Any, shape: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return type(argument)(resized(item, inner) for item, inner in zip(argument, shape, strict=True))
        if not isinstance(shape, Mapping) or not any(name in numbers for name in shape.values()):
            return argument
        sizes = [numbers.get(shape.get(place, ""), size) for place, size in enumerate(argument.shape)]
        return argument.new_zeros(sizes)

    names = list(given.shapes)
    args = tuple(resized(argument, given.shapes[name]) for name, argument in zip(names, given.args, strict=False))
    kwargs = {name: resized(argument, given.shapes.get(name)) for name, argument in given.kwargs.items()}
    return replace(given, args=args, kwargs=kwargs)


def _names_in(program: Any, shapes: Mapping[str, Any]) -> dict[str, str]:
    """Return our names of torch's symbols, by what the inputs' sizes became."""
    flat: list[Any] = []

    def flatten(shape: Any) -> None:
        if isinstance(shape, (list, tuple)):
            for part in shape:
                flatten(part)
        else:
            flat.append(shape)

    for shape in shapes.values():
        flatten(shape)
    user = set(program.graph_signature.user_inputs)
    inputs = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in user]
    names = {}
    for node, shape in zip(inputs, flat, strict=False):
        for place, name in (shape or {}).items():
            size = node.meta["val"].shape[place]
            if hasattr(size, "node") and size.node.expr.is_Symbol:
                names[str(size.node.expr)] = name
    return names
