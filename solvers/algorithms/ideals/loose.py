"""Groups of nodes that no order binds: what they cost the others, wherever they are put."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from mtpp_dsl.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.nets import Nets

__all__ = ["shares", "take_out"]

FEW = 6
"""Neighbours up to which shares are the best there are."""
UNLIKELY = 0.01
ALL = 100.0


def take_out(group: int, nets: Nets, time: Floats, pays: Bools, earlier: Sequence[int]) -> None:
    """Remove *group*, and leave to the others what no split can spare them.

    Every split, wherever it has the group, turns into one of what is left, of no larger loads. Three ways:

    * One net, of weight w, joins the group to a single other group u, all others at it weigh R, and its time on any
      device that pays is at most w - R. Then the group goes where u is: that device saves w, and pays at most R more;
      the device that had the group saves its time and w, and pays at most R more.
    * All its nets have one other pin each: see :func:`shares`, for the least time of the group on a device that pays.
    * Otherwise :meth:`Nets.take_out`.

    The memory and the parameters of the group are forgotten, and its time on devices that do not pay.

    Args:
        group: the group.
        nets: of all groups; changed.
        time: [groups, kinds of devices] of all groups; changed.
        pays: [kinds] whether cut nets are part of the load.
        earlier: the groups that come before each, as bits.
    """
    touching = {pins: nets.weight(pins) for pins in sorted(nets.at(group), key=sorted)}
    pairs = {next(iter(pins - {group})): weight for pins, weight in touching.items() if len(pins) == 2}
    nearest = max(pairs, key=lambda u: pairs[u], default=None)
    rest = sum(touching.values()) - (0.0 if nearest is None else pairs[nearest])
    if nearest is not None and float(time[group, pays].max(initial=0.0)) <= pairs[nearest] - rest:
        nets.merge(group, nearest)
        time[nearest, pays] += time[group, pays]
    elif len(pairs) == len(touching) > 0:
        members = sorted(pairs)
        before = np.array([[earlier[v] >> u & 1 for v in members] for u in members], dtype=np.bool_)
        shortest = float(time[group, pays].min(initial=np.inf))
        part, joint = shares(np.array([pairs[u] for u in members]), shortest, before)
        for u in members:
            nets.drop(frozenset((group, u)))
        for i, u in enumerate(members):
            time[u, pays] += part[i]
            for j in range(i):
                nets.add((u, members[j]), float(joint[i, j]))
    else:
        nets.take_out(group)


def shares(weights: Floats, time: float, before: Bools) -> tuple[Floats, Floats]:
    """Return what each neighbour u of a group takes on of its time, and the weight of a net between each two.

    Let D be the sum of the weights w_u of the nets between the group and its neighbours, t its time, or D if that is
    less. A device that holds neighbours of weight a, 0 < a <= D, pays a without the group, and t + D - a with it.
    Whatever set of them it holds, the parts of that set and the nets it cuts sum to at most the lesser of the two.

    In proportion that is t * w_u / D, and g * w_u * w_v with g = (1 - t / D) / (D - min w), which sum to t * a / D +
    g * a * (D - a). At a = D that is t. Else a <= D - min w and g * (D - a) <= 1 - t / D, as a >= min w, so it is a at
    most; and g * a <= 1 - t / D, so it is t + D - a at most. For few neighbours a linear programme finds larger ones,
    for the sets that ideals make.

    Args:
        weights: [neighbours], positive.
        time: of the group; ``inf`` where it may not be.
        before: [neighbours, neighbours] whether the first comes before the second.

    Returns:
        [neighbours], and [neighbours, neighbours], symmetric.
    """
    total, count = float(weights.sum()), len(weights)
    time = min(time, total)
    if 1 < count <= FEW:
        return _best(weights, time, before)
    apart = total - float(weights.min())
    rate = (1 - time / total) / apart if apart > 0 else 0.0
    return weights * (time / total), rate * np.outer(weights, weights) * (1 - np.eye(count))


def _best(weights: Floats, time: float, before: Bools) -> tuple[Floats, Floats]:
    """Solve the linear programme, one row for each set, and scale the solution into it."""
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
    worth[-1] = ALL
    found = np.maximum(linprog(-(worth @ rows), A_ub=rows, b_ub=most).x, 0.0)
    if time == 0:
        found[:count] = 0.0
    sums = rows @ found
    found *= total * float(np.min(np.divide(most, sums, out=np.ones_like(sums), where=sums > most)))
    joint = np.zeros((count, count))
    joint[first, second] = joint[second, first] = found[count:]
    return found[:count], joint
