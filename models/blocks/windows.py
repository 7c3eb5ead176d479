"""Where nodes can be in plans that cost no more than a known one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpp_dsl.models.blocks.components import impossible
from mtpp_dsl.models.blocks.order import Step
from mtpp_dsl.models.facts.within import BlockFacts

MAX_MIDDLES = 600
"""Nodes up to which pairs are held against all others between them; in larger graphs edges alone take steps."""


def windows(model: Any, facts: BlockFacts, borders: Sequence[int]) -> None:
    """Fix the prefixes that can hold a node only, or only not.

    Formula: ``y[v,b] = 0`` if ``borders[b] <= earliest(v)``; ``y[v,b] = 1`` if ``borders[b] > latest(v)``.
    Source -> target: windows of blocks -> fixed variables of ``assignment.prefixes``.
    Exact for plans of which the facts hold. Reference: notes on bounds, 4.

    Args:
        model: with ``y``.
        facts: of the plans of interest.
        borders: [parts + 1] how many blocks the first parts are.
    """
    if (facts.earliest > facts.latest).any():
        impossible(model, "no_window")
        return
    for v, (low, high) in enumerate(zip(facts.earliest.tolist(), facts.latest.tolist(), strict=True)):
        for b, blocks in enumerate(borders[1:-1], start=1):
            if blocks <= low:
                model.y[v, b].fix(0)
            elif blocks > high:
                model.y[v, b].fix(1)


def steps_of(facts: BlockFacts) -> list[Step]:
    """Return how far apart nodes are, without the pairs that follow from nodes between them."""
    distance, after = facts.distance, facts.after
    if len(distance) > MAX_MIDDLES:
        return [(u, v, int(distance[u, v])) for u, v in facts.asked.edges]
    nothing = -1
    by_middle = np.full(distance.shape, nothing, np.int64)
    for x in range(len(distance)):
        before, behind = np.flatnonzero(after[:, x]), np.flatnonzero(after[x])
        block = np.ix_(before, behind)
        by_middle[block] = np.maximum(by_middle[block], distance[before, x][:, None] + distance[x, behind][None, :])
    kept = after & (distance > by_middle)
    return [(u, v, int(distance[u, v])) for u, v in np.argwhere(kept).tolist()]
