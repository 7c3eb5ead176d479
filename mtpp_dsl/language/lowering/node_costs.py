"""The options ``flop``, ``read``, ``write``, ``dtype`` and ``weight_type`` of nodes, and the costs that they make."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

from mtpp_dsl.core.base.units import SIZE, WORK
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.phases import per_phase
from mtpp_dsl.language.values.scope import Complaint

__all__ = ["COST_OPTIONS", "cost_options", "costs_of"]

AMOUNTS = (("flop", WORK), ("read", SIZE), ("write", SIZE))
WORDS = ("dtype", "weight_type")

COST_OPTIONS = (*(name for name, _ in AMOUNTS), *WORDS)
"""The options."""


def cost_options(name: str, options: Options, sizes: UnitKeeper) -> dict[str, Any]:
    """Return what the options of node *name* say of its costs: numbers, or numbers by phase, and words.

    Raises:
        Complaint: a value in another unit; options that say nothing without ``flop``.
    """
    found: dict[str, Any] = {}
    for what, dimension in AMOUNTS:
        each = per_phase(options, what, (dimension,))
        value = None if each is not None else options.quantity(what, (dimension,))
        for given in each.values() if each is not None else () if value is None else (value,):
            if dimension == SIZE:
                sizes.add(given, f"{what} of {name}", options.span(what))
        if each is not None:
            found[what] = {phase: float(given.value) for phase, given in each.items()}
        elif value is not None:
            found[what] = float(value.value)
    for what in WORDS:
        word = options.label(what)
        if word is not None:
            found[what] = word
    alone = next((what for what in found if "flop" not in found), None)
    if alone is not None:
        raise Complaint(
            f"{alone} says something of an operator whose operations are counted: give flop, too; flop = 0 FLOP where "
            "it computes nothing",
            options.span(alone),
            code="MTPP-E108",
        )
    return found


def costs_of(nodes: Mapping[str, Mapping[str, object]], phase: str) -> Costs | None:
    """Return the costs that nodes have in a phase ("" where there are none), by what their options say; None for none.

    Args:
        nodes: what :func:`cost_options` returned, among other things, by name.
        phase: in which the costs are wanted.
    """
    owner = [v for v, said in enumerate(nodes.values()) if "flop" in said]
    if not owner:
        return None
    given = [said for said in nodes.values() if "flop" in said]

    def column(what: str, default: object) -> list[Any]:
        values = [said.get(what, default) for said in given]
        return [value[phase] if isinstance(value, dict) else value for value in values]

    return Costs.create(
        owner,
        flop=column("flop", nan),
        read=column("read", nan),
        write=column("write", nan),
        dtypes=column("dtype", ""),
        weight_types=column("weight_type", ""),
    )
