"""Raise a bound by targets that are out of reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from mtpp_dsl.solvers.algorithms.reach.measures import MEMORY, ROOM, Measures
from mtpp_dsl.solvers.algorithms.reach.states import ReachTables

QUICK = (1 << 10, 2e-3)
STAGES = (QUICK, (1 << 13, 2e-4))
"""How many values of a measure are told apart, and, relatively, how near to a target that is not refuted to go."""
FIRST_STEP = 0.02
"""Relative: how far above what is proved the first target lies."""
DETAIL = "no chain of ideals has its loads below this within the memories, whatever the order of the devices"
NONE = "no chain of ideals fits into the memories, whatever the order of the devices"


def raise_bound(
    measures: Measures,
    low: float,
    report: Callable[[float], None],
    stopped: Callable[[], bool],
    stages: Sequence[tuple[int, float]] = STAGES,
) -> float:
    """Refute larger and larger targets until one next to them is not refuted; return what no plan is below.

    Args:
        measures: of the ideals.
        low: what no plan is below, above 0.
        report: called with every larger bound.
        stopped: whether there is no time left.
        stages: see :data:`STAGES`; tables of few values come first, as they take less time.

    Returns:
        The bound, lowered for rounding; ``inf`` if there is no plan.

    Raises:
        Unfinished: stopped before.
    """
    if low <= 0 or not (measures.room < measures.total[MEMORY]).any():
        return low
    most = max(float(measures.graph.time.max(axis=1, initial=0.0).sum()) * (1 + ROOM), low)
    step = FIRST_STEP
    for cells, near in stages:
        table, high = ReachTables(measures, cells, stopped), inf
        while high - low > near * low:
            target = min(low * (1 + step), (low + high) / 2, most)
            if not table.refutes(target):
                high = target
                continue
            if target >= most:
                return inf
            step *= 2
            low = target
            report(low * (1 - ROOM))
        step = near
    return low * (1 - ROOM)
