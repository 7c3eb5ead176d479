"""Tensors that no block of the plans of interest can hold with all their readers: they are paid for in any case."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.within import BlockFacts


@dataclass(frozen=True)
class SplitNets:
    """Nets of which no block of the plans of interest holds all pins: every block that holds one pays.

    Attributes:
        cliques: for each such net pins of which no two are in one block, one at least.
        several: parts that stand for several blocks, each of which may pay.
        everywhere: whether every node is in one of the parts that pay.
    """

    cliques: Mapping[int, Sequence[int]]
    several: Collection[int] = ()
    everywhere: bool = True

    @classmethod
    def of(cls, facts: BlockFacts, several: Collection[int] = (), *, everywhere: bool = True) -> SplitNets:
        """Return what *facts* say of the nets."""
        split = np.flatnonzero(facts.split).tolist()
        return cls({u: facts.cliques[u] for u in split}, several, everywhere)


def split_cut(model: Any, part: Any, on: On, split: SplitNets) -> None:
    """Add what blocks pay for split nets.

    Formula: ``c[u,d] >= sum_{m in clique} on(m,d)``; ``c[u,d] >= on(m,d)`` for every other pin m; and, where the
    clique is a single pin, ``sum_d c[u,d] >= 2``.
    Source -> target: nets of :class:`SplitNets` -> rows on the ``c`` of *part*, in place of those of ``tensor_cut``.
    Exact for plans of which the facts hold. Reference: must-cut nets (notes on bounds, 2.2 and 4).
    """
    pins = {u: [p] for u, p, _ in model.EU}
    for u, _, v in model.EU:
        pins[u].append(v)
    part.split = pyo.Set(initialize=sorted(split.cliques))
    part.clique = pyo.Set(part.split, initialize={u: list(clique) for u, clique in split.cliques.items()})
    part.others = pyo.Set(
        initialize=[(u, m) for u, clique in split.cliques.items() for m in pins[u] if m not in clique], dimen=2
    )
    constrain(part, "each", part.split, part.D, rule=lambda b, u, d: b.c[u, d] >= sum(on(m, d) for m in b.clique[u]))
    constrain(part, "any", part.others, part.D, rule=lambda b, u, m, d: b.c[u, d] >= on(m, d))
    part.twice = pyo.Set(initialize=[u for u, clique in split.cliques.items() if len(clique) == 1 and split.everywhere])
    constrain(part, "two", part.twice, rule=lambda b, u: sum(b.c[u, d] for d in b.D) >= 2)
