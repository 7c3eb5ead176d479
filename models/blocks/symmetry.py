"""Of equal devices, and of equal groups of them, the first does most; of equal chunks, the first runs first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import Measure, rankings
from mtpp_dsl.models.blocks.assignment import On

Does: TypeAlias = Callable[[Measure, int], list[tuple[float, Any]]]
"""By a measure, and of a device, the terms (coefficient, variable) that add up to what it does."""


def devices_in_order(model: Any, problem: Problem, does: Does) -> None:
    """Order devices that nothing tells apart by how much they do.

    Formula: ``sum_{d in more} does(d) >= sum_{d in less} does(d)`` of every ranking.
    Source -> target: ``break symmetry`` -> a row for all but one of each class of devices, or of groups.
    Exact: :func:`mtpp_dsl.core.views.symmetry.rankings` holds of some plan of every cost. Reference: ghannane2023, 5.2.

    Args:
        model: to add to.
        problem: whose constraints.
        does: what devices do.
    """
    model.devices_in_order = pyo.ConstraintList()
    for by, more, less in rankings(problem):
        one, two = (sum(a * x for d in side for a, x in does(by, d)) for side in (more, less))
        row = one - two
        if not isinstance(row, (int, float)):
            model.devices_in_order.add(row >= 0)


def does_nodes(time: Floats, home: Ints, on: On) -> Does:
    """Return what devices do in a makespan: its nodes are its tasks, and its batches too.

    Args:
        time: [n, k], ``inf`` where a node is not.
        home: [n] the class of each.
        on: of classes.
    """
    count = np.bincount(home)
    total = np.zeros((len(count), time.shape[1]))
    np.add.at(total, home, time)
    may = np.isfinite(total)

    def does(by: Measure, d: int) -> list[tuple[float, Any]]:
        weights = total[:, d] if by == "time" else count
        return [(float(weights[h]), on(h, d)) for h in range(len(count)) if may[h, d] and weights[h] > 0]

    return does


def chunks_in_order(model: Any, on: On, classes: Sequence[Sequence[int]], devices: Sequence[int]) -> None:
    """Sort chunks that nothing tells apart by the device of one node.

    Formula: ``sum_{f <= d} on(c,f) >= sum_{f <= d} on(c',f)`` for every device d and chunks c, c' in a row of a class.
    Source -> target: chunks of a batch -> a row for every device and all but one of them.
    Exact if the plans in which two chunks of a class take each other's place, at all nodes alike, are plans again: of
    all these some has the node's devices in order.

    Args:
        model: to add to.
        on: of the node: chunk c is on device d.
        classes: of chunks.
        devices: that the node may use, in order.
    """
    model.chunks_in_order = pyo.ConstraintList()
    for chunks in classes:
        for c, following in pairwise(chunks):
            for i in range(1, len(devices)):
                model.chunks_in_order.add(
                    sum(on(c, d) for d in devices[:i]) >= sum(on(following, d) for d in devices[:i])
                )
