"""Take what is chosen of a model before it becomes a graph: symbols, a phase, types of weights, what ties mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mtpp_dsl.core.errors import OptionError, UsageError, did_you_mean
from mtpp_dsl.exchange.model.grouping import GROUP_BY
from mtpp_dsl.exchange.model.kinds import TYPES, bits_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.sizes import EXPERTS_READ, SizeValues, symbols_of

__all__ = ["OPTIONS", "Choices", "choices", "stored_bytes"]

TIES = ("colocate", "copy")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "group_by": GROUP_BY,
    "phase": (),
    "weight_type": (),
    "ties": TIES,
    "experts_read": EXPERTS_READ,
}
"""The options that are words, with those that there may be; () where any may be. All others are symbols."""

QUANTISED = {"matmul", "conv", "view"}
"""A weight that only operators of these kinds read, and that has two dimensions or more, changes its type."""


@dataclass(frozen=True)
class Choices:
    """What is chosen; see :func:`mtpp_dsl.exchange.model.graphs.graph_of`."""

    group_by: str
    phases: tuple[str, ...]
    weight_type: str | None
    ties: str
    experts_read: str
    symbols: Mapping[str, int]

    def options(self) -> dict[str, object]:
        """Return what is not usual of it, for :class:`mtpp_dsl.core.problem.graph_origin.GraphOrigin`."""
        options: dict[str, object] = {"ties": self.ties}
        if self.weight_type is not None:
            options["weight_type"] = self.weight_type
        if self.experts_read != EXPERTS_READ[0]:
            options["experts_read"] = self.experts_read
        return options | ({"phases": self.phases} if self.phases else {})


def choices(
    model: Model,
    group_by: str | None,
    phase: str | None,
    weight_type: str | None,
    ties: str,
    experts_read: str | None,
    symbols: Mapping[str, Any],
) -> Choices:
    """Check what is chosen of *model*.

    Raises:
        OptionError: an unknown word; and see :func:`symbols_for`.
    """
    if group_by is None:
        layers = any(operator.layer is not None for operator in model.operators)
        group_by = model.group_by or ("layer" if layers else "operator")
    if group_by not in GROUP_BY:
        hint = did_you_mean(group_by, GROUP_BY)
        raise OptionError(f"group_by is operator, module, part or layer, not {group_by!r}{hint}", "group_by")
    if ties not in TIES:
        raise OptionError(f"ties is colocate or copy, not {ties!r}{did_you_mean(ties, TIES)}", "ties")
    experts_read = experts_read or model.experts_read or EXPERTS_READ[0]
    if experts_read not in EXPERTS_READ:
        hint = did_you_mean(experts_read, EXPERTS_READ)
        raise OptionError(f"experts_read is expected or all_distinct, not {experts_read!r}{hint}", "experts_read")
    if phase is not None and phase not in model.phases:
        known = f"it has {', '.join(model.phases)}" if model.phases else "it has none"
        raise OptionError(f"the model has no phase {phase!r}: {known}{did_you_mean(phase, model.phases)}", "phase")
    if weight_type is not None and weight_type not in TYPES:
        hint = did_you_mean(weight_type, TYPES)
        raise OptionError(f"there is no type of numbers {weight_type!r}{hint}", "weight_type")
    phases = model.phases if phase is None else (phase,)
    return Choices(group_by, phases, weight_type, ties, experts_read, symbols_for(model, symbols))


def symbols_for(model: Model, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the values of all symbols of a model: those *given*, else their defaults.

    Raises:
        OptionError: a name that is no symbol of the model, a value that is no whole number, is outside of the range for
            which the model was exported or has no room for what others say, or a symbol without a value.
    """
    for name in given:
        if name not in model.symbols:
            known = f"its symbols are {', '.join(model.symbols)}" if model.symbols else "it has no symbols"
            hint = did_you_mean(name, [*model.symbols, *OPTIONS])
            raise OptionError(f"the model has no symbol or option {name!r}: {known}{hint}", name, unknown=True)
    values = {}
    for name, symbol in model.symbols.items():
        value = given.get(name, symbol.default)
        if value is None:
            raise OptionError(f"the model leaves {name!r} open: say {name} = …", name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise OptionError(f"{name} is {value!r}; it must be a whole number", name)
        if value < symbol.least or (symbol.most is not None and value > symbol.most):
            most = "" if symbol.most is None else f" to {symbol.most}"
            raise OptionError(
                f"{name} is {value}; the model was exported for {symbol.least}{most or ' and more'}", name
            )
        values[name] = value
    for name, symbol in model.symbols.items():
        room = SizeValues(values)(symbol.at_least)
        if values[name] < room:
            others = ", ".join(f"{other} = {values[other]}" for other in sorted(symbols_of(symbol.at_least)))
            raise OptionError(f"{name} is {values[name]}; with {others} it must be {room:.0f} or more", name)
    return values


def stored_bytes(model: Model, weight_type: str | None) -> tuple[list[int], list[bool]]:
    """Return the bytes of each weight, and whether it is stored in *weight_type*.

    That holds for weights of two dimensions or more that products and convolutions alone read: those that runtimes
    quantise. Tables of embeddings, one that the head shares too, norms and biases stay as they are.

    Raises:
        UsageError: such a weight does not say its own type.
    """
    sizes, changed = [weight.bytes for weight in model.weights], [False] * len(model.weights)
    if weight_type is None:
        return sizes, changed
    kinds: list[set[str]] = [set() for _ in sizes]
    for operator in model.operators:
        for w in operator.weights:
            kinds[w].add(operator.kind)
    for w, weight in enumerate(model.weights):
        if len(weight.shape) < 2 or not kinds[w] or not kinds[w] <= QUANTISED:
            continue
        if not weight.dtype or not bits_of(weight.dtype):
            raise UsageError(f"weight {weight.name!r} does not say its type, and weight_type is to change it")
        ratio = bits_of(weight_type) / bits_of(weight.dtype)
        sizes[w], changed[w] = -int(-Fraction(weight.bytes) * ratio // 1), True
    return sizes, changed
