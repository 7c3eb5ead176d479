"""Find what every device may compute for itself: masks, positions and the like, of no weights and little work."""

from __future__ import annotations

from mtpp_dsl.exchange.importers.torch_graph import Drawn, ProgramCall
from mtpp_dsl.exchange.importers.torch_sizes import NotAFormula
from mtpp_dsl.exchange.model.sizes import value

__all__ = ["recomputable"]

SMALL = 2**20
"""Bytes up to which a buffer that recomputable operators alone read is a constant that every device holds."""
PRODUCTS = ("matmul", "conv")
"""Kinds of calls whose operands are weights."""
CHEAP = 1e-4
"""Share of the model's FLOP up to which an operator is cheap."""


def recomputable(drawn: Drawn) -> tuple[set[int], set[int]]:
    """Return the numbers of the calls that may be run again anywhere, and of the buffers that they alone read.

    Such a call is cheap and not random, and reads nothing but sizes, small buffers, inputs of whole numbers and what
    other such calls make. A buffer that a product reads, as it is or converted, is a weight and no constant, however
    small: quantised weights are kept so.
    """
    constants = {at for at, one in enumerate(drawn.weights) if drawn.is_buffer[at] and one.bytes <= SMALL}
    cheap = _cheap(drawn)
    while True:
        again = _again(drawn, constants, cheap)
        lost = {
            each.root[1]
            for number, call in enumerate(drawn.calls)
            for each in call.values
            if each is not None and each.root[0] == "weight" and number not in again
        }
        lost |= _multiplied(drawn, again)
        if not constants & lost:
            return again, constants
        constants -= lost


def _multiplied(drawn: Drawn, again: set[int]) -> set[int]:
    """Return the buffers of which calls in *again* make what products read that are not among these."""
    made_of: dict[int, set[int]] = {}
    found: set[int] = set()
    for number, call in enumerate(drawn.calls):
        read: set[int] = set()
        for each in call.values:
            if each is not None and each.root[0] == "weight":
                read.add(each.root[1])
            if each is not None and each.made is not None:
                read |= made_of.get(each.made[0], set())
        if number in again:
            made_of[number] = read
        elif call.kind in PRODUCTS:
            found |= read
    return found


def _again(drawn: Drawn, constants: set[int], cheap: set[int]) -> set[int]:
    """Return the calls that may be run again if these weights are constants."""
    again: set[int] = set()
    for number, call in enumerate(drawn.calls):
        if number in cheap and all(_free(drawn, call, at, constants, again) for at in range(len(call.values))):
            again.add(number)
    return again


def _free(drawn: Drawn, call: ProgramCall, at: int, constants: set[int], again: set[int]) -> bool:
    """Return whether every device has an input of a call, or can compute it."""
    found = call.values[at]
    if found is None:
        return call.after == ()
    if found.made is not None:
        return found.made[0] in again and all(number in again for number in call.after)
    if found.root[0] == "weight":
        return found.root[1] in constants and call.after == ()
    return not drawn.inputs[found.root[1]].tensor.dtype.is_floating_point and call.after == ()


def _cheap(drawn: Drawn) -> set[int]:
    """Return the calls of little work that are not random."""
    symbols = {name: symbol.default or 128 for name, symbol in drawn.exported.symbols.items()}
    amounts: list[float] = []
    for call in drawn.calls:
        try:
            amounts.append(
                float("inf") if call.cost.flop is None else float(value(drawn.size(call.cost.flop), symbols))
            )
        except NotAFormula:
            amounts.append(float("inf"))
    limit = CHEAP * sum(amount for amount in amounts if amount < float("inf"))
    return {number for number, call in enumerate(drawn.calls) if amounts[number] <= limit and not _random(call)}


def _random(call: ProgramCall) -> bool:
    return (
        any("nondeterministic_seeded" in str(tag) for tag in getattr(call.node.target, "tags", ()))
        and call.kind != "view"
    )
