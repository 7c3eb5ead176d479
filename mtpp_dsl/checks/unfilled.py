"""Devices that have to have a node, and for which there are too few: found by counting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Bools

__all__ = ["unfilled"]


def unfilled(allowed: Bools, filled: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return devices of *filled* and all groups of nodes that may be on them, which are fewer; None if there are none.

    Fewer groups than devices is the only way in which devices cannot each have a group of its own (Hall 1935). A device
    that may have as many groups as there are devices in *filled* is never among them.

    Args:
        allowed: [groups, devices] where the nodes of each group, which are all on one device, may be.
        filled: devices that have to have a node.

    >>> unfilled(np.array([[True, True, False], [True, True, True]]), [0, 1, 2])
    ([0, 1, 2], [0, 1])
    >>> unfilled(np.array([[True, True], [True, False]]), [0, 1]) is None
    True
    """
    scarce = [d for d in filled if int(allowed[:, d].sum()) < len(filled)]
    holder: dict[int, int] = {}  # of a group, the device that has it
    for d in scarce:
        came: dict[int, int] = {}  # the device from which a group was reached
        waiting, free = [d], -1
        reached = {d}
        while waiting and free < 0:
            e = waiting.pop()
            for group in np.flatnonzero(allowed[:, e]).tolist():
                if group in came:
                    continue
                came[group] = e
                if group not in holder:
                    free = group
                    break
                reached.add(holder[group])
                waiting.append(holder[group])
        if free < 0:
            return sorted(reached), sorted(came)
        while True:
            e = came[free]
            before = next((group for group, of in holder.items() if of == e), None)
            holder[free] = e
            if before is None:
                break
            free = before
    return None
