"""The end of every ``mtpp import``: the model is written, and what is in it is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from mtpp_dsl.cli.parameters import key_values
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.base.writing import check_writable
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.grouping import group
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import write
from mtpp_dsl.exchange.model.parts import Amount
from mtpp_dsl.exchange.model.sizes import Size, value

__all__ = ["finish", "prepare", "sizes_of"]

SUFFIX = ".json"


def prepare(output: Path) -> None:
    """Refuse a place for a model that cannot be written, before the work begins.

    Raises:
        UsageError: it cannot be written, or is not named as JSON: formats are found by the names of files.
    """
    if output.suffix.lower() != SUFFIX:
        raise UsageError(f"--output {output}: a model is written as JSON; name it {output.with_suffix(SUFFIX).name}")
    check_writable(output)


class ImportCall(Protocol):
    """Options of every import about the file that it writes."""

    @property
    def output(self) -> Path:
        """Where to."""

    @property
    def group_by(self) -> str | None:
        """How specs group the model unless they say otherwise; None: the usual."""

    @property
    def experts_read(self) -> str | None:
        """How specs count the experts that tokens read unless they say otherwise; None: the usual."""

    @property
    def quiet(self) -> bool:
        """Whether only warnings are printed."""


def finish(model: Model, call: ImportCall) -> int:
    """Write a model, print its warnings and what is in it; return the exit code.

    Raises:
        UsageError: the groups are invalid, or the model has no layers.
    """
    if call.group_by is not None:
        group(model, call.group_by)
        model = replace(model, group_by=call.group_by)
    if call.experts_read is not None:
        model = replace(model, experts_read=call.experts_read)
    write(model, call.output)
    for warning in model.warnings:
        say(f"warning: {warning}", stderr=True)
    if not call.quiet:
        say(f"wrote {call.output}: {', '.join(_facts(model))}")
    return 0


def sizes_of(pairs: list[str]) -> dict[str, int | str]:
    """Return what ``--size NAME=SIZE`` gives: whole numbers, and formulas over other symbols.

    Raises:
        UsageError: a pair is invalid.
    """
    given = key_values(pairs, "--size")
    return {
        name: int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text
        for name, text in given.items()
    }


def _facts(model: Model) -> Iterator[str]:
    """Yield what a user wants to see at once: counts, bytes, operations, symbols."""
    yield counted(model.n, "operator")
    layers = {operator.layer for operator in model.operators if operator.layer is not None}
    if layers:
        yield f"in {counted(len(layers), 'layer')}"
    yield f"{format_quantity(float(sum(weight.bytes for weight in model.weights)), 'B', decimal=True)} of weights"
    usual = {name: symbol.default for name, symbol in model.symbols.items() if symbol.default is not None}
    for phase in model.phases or ("",):
        total = _total((operator.flop for operator in model.operators), phase, usual, len(model.symbols))
        if total is not None:
            yield f"{total / 1e9:,.4g} GFLOP{' of ' + phase if phase else ''}"
    if len(usual) == len(model.symbols):
        origin = model.graph(ties="copy").origin
        if origin is not None and max(origin.working) > 0:
            yield f"up to {format_quantity(max(origin.working), 'B', decimal=True)} of activations at once"
    tokens = model.source.arguments.get("image_tokens")
    if isinstance(tokens, int):
        size = "x".join(map(str, model.source.arguments.get("image_size", ())))
        yield f"{counted(tokens, 'token')} an image of {size}"
    if model.symbols:
        shown = (f"{name} = {usual[name]}" if name in usual else name for name in model.symbols)
        yield f"symbols {', '.join(shown)}"


def _total(amounts: Iterable[Amount | None], phase: str, usual: dict[str, int], symbols: int) -> float | None:
    """Return a sum of amounts with the usual values of symbols, None where it depends on others, or is not known."""
    if len(usual) < symbols:
        return None
    total = 0.0
    for amount in amounts:
        size: Size | None = amount if isinstance(amount, (int, float, str, type(None))) else amount.get(phase, 0)
        total += float(value(size, usual)) if size is not None else 0.0
    return total
