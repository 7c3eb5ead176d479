"""Eliminating supernodes that no edge orders: the others are charged what every split has to pay for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.changing_nets import ChangingNets

__all__ = ["eliminate", "shares"]

MAX_EXACT = 6
"""With at most this many neighbours the shares come from a linear programme, else from a formula."""
UNLIKELY = 0.01
"""Weight, in the objective of the linear programme, of a set that no ideal makes."""
WHOLE = 100.0
"""Weight of the set of all neighbours."""


def eliminate(supernode: int, nets: ChangingNets, time: Floats, pays: Bools, earlier: Sequence[int]) -> None:
    """Remove *supernode* and charge its neighbours what no split can avoid paying for it.

    Every split of all supernodes, wherever it has this one, is one of those left whose loads are no larger. There are
    three cases:

    * One net, of cost w, joins the supernode to a single other u, all others at it cost R together, and its time on any
      device that pays is at most w - R. Then the supernode goes where u is: that device saves w and pays at most R
      more; the device that had the supernode saves its time and w, and pays at most R more.
    * All its nets have one other pin each: see :func:`shares`, for the least time of the supernode on a device that
      pays.
    * Otherwise see :meth:`ChangingNets.eliminate`.

    The memory and the parameters of the supernode are dropped, and its time on devices that do not pay.

    Args:
        supernode: the supernode.
        nets: of all supernodes; changed.
        time: [supernodes, device types]; changed.
        pays: [device types] whether cut nets are part of the load.
        earlier: [supernodes] the ancestors of each, as bits.
    """
    touching = {pins: nets.cost(pins) for pins in sorted(nets.at(supernode), key=sorted)}
    pairs = {next(iter(pins - {supernode})): cost for pins, cost in touching.items() if len(pins) == 2}
    nearest = max(pairs, key=lambda u: pairs[u], default=None)
    rest = sum(touching.values()) - (0.0 if nearest is None else pairs[nearest])
    if nearest is not None and float(time[supernode, pays].max(initial=0.0)) <= pairs[nearest] - rest:
        nets.merge(supernode, nearest)
        time[nearest, pays] += time[supernode, pays]
    elif len(pairs) == len(touching) > 0:
        members = sorted(pairs)
        before = np.array([[earlier[v] >> u & 1 for v in members] for u in members], dtype=np.bool_)
        shortest = float(time[supernode, pays].min(initial=np.inf))
        part, joint = shares(np.array([pairs[u] for u in members]), shortest, before)
        for u in members:
            nets.drop(frozenset((supernode, u)))
        for i, u in enumerate(members):
            time[u, pays] += part[i]
            for j in range(i):
                nets.add((u, members[j]), float(joint[i, j]))
    else:
        nets.eliminate(supernode)


def shares(weights: Floats, time: float, before: Bools) -> tuple[Floats, Floats]:
    """Return the time that each neighbour of a supernode takes on, and the cost of a net between each two of them.

    Let D be the sum of the weights w_u of the nets between the supernode and its neighbours, t its time, or D if that
    is less. A device that holds neighbours of weight a, 0 < a <= D, pays a without the supernode, and t + D - a with
    it. Whatever set of them it holds, the parts of that set and the nets it cuts sum to at most the lesser of the two.

    In proportion that is t * w_u / D, and g * w_u * w_v with g = (1 - t / D) / (D - min w), which sum to t * a / D +
    g * a * (D - a). At a = D that is t. Else a <= D - min w and g * (D - a) <= 1 - t / D, as a >= min w, so it is at
    most a; and g * a <= 1 - t / D, so it is at most t + D - a. For few neighbours a linear programme finds larger
    ones, for the sets that ideals make.

    Args:
        weights: [neighbours], positive.
        time: of the supernode; ``inf`` where it may not be.
        before: [neighbours, neighbours] whether the first comes before the second.

    Returns:
        [neighbours], and [neighbours, neighbours], symmetric.
    """
    total, count = float(weights.sum()), len(weights)
    time = min(time, total)
    if 1 < count <= MAX_EXACT:
        return _best(weights, time, before)
    others = total - float(weights.min())
    rate = (1 - time / total) / others if others > 0 else 0.0
    return weights * (time / total), rate * np.outer(weights, weights) * (1 - np.eye(count))


def _best(weights: Floats, time: float, before: Bools) -> tuple[Floats, Floats]:
    """Solve the linear programme, one row for each set, and scale its solution until every row holds."""
    from scipy.optimize import linprog

    count, total = len(weights), float(weights.sum())
    inside: Ints = np.arange(1, 2**count)[:, None] >> np.arange(count) & 1
    first, second = np.array(list(combinations(range(count), 2))).T
    rows = np.hstack((inside, inside[:, first] ^ inside[:, second])).astype(np.float64)
    held = inside @ weights
    most = np.minimum(held, time + np.maximum(total - held, 0.0)) / total
    below = (inside @ before.T.astype(np.int64) > 0) & (inside == 0)
    above = (inside @ before.astype(np.int64) > 0) & (inside == 0)
    worth = np.where(below.any(axis=1) & above.any(axis=1), UNLIKELY, 1.0)
    worth[-1] = WHOLE
    found = np.maximum(linprog(-(worth @ rows), A_ub=rows, b_ub=most).x, 0.0)
    if time == 0:
        found[:count] = 0.0
    sums = rows @ found
    found *= total * float(np.min(np.divide(most, sums, out=np.ones_like(sums), where=sums > most)))
    joint = np.zeros((count, count))
    joint[first, second] = joint[second, first] = found[count:]
    return found[:count], joint
