"""States of the programmes: sets of devices, or how many of each type are used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance

__all__ = ["CopiesStates", "of_sets", "of_types"]


@dataclass(frozen=True, eq=False)
class CopiesStates:
    """States of devices used.

    Attributes:
        members: the devices of each type; of sets, each device by itself.
        count: [states, types] how many of each type are used.
        after: [states, types] the state with one more of the type, -1 where there is none left.
    """

    members: tuple[tuple[int, ...], ...]
    count: Ints
    after: Ints


def of_sets(k: int, *, ordered: bool = True) -> CopiesStates:
    """Return sets of devices as numbers with a bit for each; one state alone where a device may have several stages."""
    members = tuple((d,) for d in range(k))
    if not ordered:
        return CopiesStates(members, np.zeros((1, k), np.int64), np.zeros((1, k), np.int64))
    sets = np.arange(1 << k)[:, None] >> np.arange(k) & 1
    after = np.where(sets == 1, -1, np.arange(1 << k)[:, None] | (1 << np.arange(k)))
    return CopiesStates(members, sets.astype(np.int64), after.astype(np.int64))


def of_types(instance: ChainInstance) -> CopiesStates:
    """Return how many devices of each type are used; devices of one type may be exchanged everywhere."""
    members: list[list[int]] = []
    for d in range(instance.k):
        group = next((group for group in members if _equal(instance, group[0], d)), None)
        if group is None:
            members.append([d])
        else:
            group.append(d)
    counts = np.array([len(group) for group in members])
    stride = np.concatenate([[1], np.cumprod(counts[:-1] + 1)]).astype(np.int64)
    used = np.arange(int(np.prod(counts + 1)))[:, None] // stride % (counts + 1)
    after = np.where(used < counts, np.arange(len(used))[:, None] + stride, -1)
    return CopiesStates(tuple(map(tuple, members)), used, after.astype(np.int64))


def _equal(instance: ChainInstance, d: int, e: int) -> bool:
    """Return whether devices *d* and *e* may be exchanged."""
    same = (instance.room[d] == instance.room[e]) and np.array_equal(instance.time[:, d], instance.time[:, e])
    if not same or not np.array_equal(instance.end[:, d], instance.end[:, e]):
        return False
    swap = np.arange(instance.k)
    swap[[d, e]] = e, d
    pairs = (instance.sent, instance.received, *instance.carried)
    return all(np.array_equal(cost, cost[:, swap][:, :, swap]) for cost in pairs)
