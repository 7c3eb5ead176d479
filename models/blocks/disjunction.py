"""Two things at once on one device, or at one end of a link, do not happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.clashes import ClashPairs


def disjunction(
    model: Any,
    name: str,
    pairs: ClashPairs,
    owner: Mapping[int, int],
    use: Callable[[Any, Any], Any],
    start: Callable[[Any], Any],
    end: Callable[[Any], Any],
) -> None:
    """Add the orders of the items that may meet, as the block *name* with binaries ``o``.

    Formula: ``o[i,j] + o[j,i] >= use(i,t) + use(j,t) - 1`` for every pair and thing t on which they may meet, with the
    orders that are left there; ``start(j) >= end(i) - M[i,j] (1 - o[i,j])``, M[i,j] the overlap of their windows.
    Source -> target: no overlap -> a binary for every order that is left.
    Exact for schedules within the windows. Reference: zhang2023, eq. 6 and 8, with an M of each pair.

    Args:
        model: to add to.
        name: of the block.
        pairs: those that clash.
        owner: of every item, what is asked of *use* in its place.
        use: 1 if that uses a thing, else 0; as *start* and *end* of the indices of a rule.
        start: of an item.
        end: of an item.
    """
    part = pyo.Block(concrete=True)
    model.add_component(name, part)
    part.o = pyo.Var(list(pairs.slack), domain=pyo.Binary)
    kinds: tuple[tuple[str, list[tuple[int, int, int]], Callable[..., Any]], ...] = (
        ("either", pairs.either, lambda b, i, j, u, v, t: b.o[i, j] + b.o[j, i] >= use(u, t) + use(v, t) - 1),
        ("only", pairs.only, lambda b, i, j, u, v, t: b.o[i, j] >= use(u, t) + use(v, t) - 1),
        ("never", pairs.never, lambda _b, _i, _j, u, v, t: use(u, t) + use(v, t) <= 1),
    )
    for word, triples, rule in kinds:
        if triples:
            rows = [(i, j, owner[i], owner[j], t) for i, j, t in triples]
            part.add_component(f"{word}_of", pyo.Set(initialize=rows, dimen=5))
            constrain(part, word, part.component(f"{word}_of"), rule=rule)
    if pairs.slack:
        part.slack = pyo.Param(part.o.index_set(), initialize=pairs.slack)
        constrain(
            part,
            "before",
            part.o.index_set(),
            rule=lambda b, i, j: start(j) >= end(i) - b.slack[i, j] * (1 - b.o[i, j]),
        )
