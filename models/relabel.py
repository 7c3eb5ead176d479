"""A plan of interchangeable devices, renamed into the one that a model's symmetry breaking keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.graph import Ints

__all__ = ["canonical", "quotient_order"]


def quotient_order(assignment: Ints, edges: Sequence[tuple[int, int]], k: int) -> list[int] | None:
    """Return all k devices in an order that every edge respects, or None if their quotient has a cycle."""
    after = np.zeros((k, k), dtype=bool)
    for u, v in edges:
        after[assignment[u], assignment[v]] = True
    np.fill_diagonal(after, False)
    waiting = after.sum(axis=0)
    left, order = list(range(k)), []
    while left:
        free = next((d for d in left if waiting[d] == 0), None)
        if free is None:
            return None
        left.remove(free)
        order.append(free)
        waiting = waiting - after[free]
    return order


def canonical(assignment: Ints, rank: Sequence[int], classes: Sequence[tuple[int, ...]]) -> Ints:
    """Return *assignment* with the members of each class renamed so that *rank* rises along the class.

    Args:
        assignment: [n] devices.
        rank: [devices] what to sort each class by.
        classes: interchangeable devices, each class in declared order.
    """
    name = np.arange(len(rank))
    for members in classes:
        name[sorted(members, key=lambda d: rank[d])] = members
    renamed: Ints = name[assignment]
    return renamed
