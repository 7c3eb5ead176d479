"""An order of the classes, cut into pieces that stay together: fewer ideals, for a plan."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.plans.plan import Plan, quotient_order
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.ideals.classes import Classes
from mtpp_dsl.solvers.algorithms.ideals.outside import Prices

__all__ = ["along", "pieces"]


def along(classes: Classes, plan: Plan, k: int) -> Ints | None:
    """Return [n] an order of the classes in which those on one device of *plan* are neighbours, if there is one."""
    device = np.array([int(plan.assignment[members[0]]) for members in classes.members], np.int64)
    ends = np.array(classes.before, np.int64).reshape(-1, 2)
    devices = quotient_order(device, ends[:, 0], ends[:, 1], k)
    if devices is None:
        return None
    graph, _ = classes.as_graph()
    place = np.argsort(np.array(devices))
    order = graph.topological_order
    return np.asarray(order[np.argsort(place[device[order]], kind="stable")], np.int64)


def pieces(classes: Classes, order: Ints, most: int) -> Classes:
    """Return at most *most* classes, each some neighbours in *order*, of about the same work.

    Their order is that of the pieces.

    Args:
        classes: the classes.
        order: of all of them, that respects theirs.
        most: how many there may be.
    """
    if classes.n > most:
        weight = Prices(classes.time).weight[0][order]
        before = np.cumsum(weight) - weight / 2 + np.arange(classes.n) * (weight.sum() / classes.n + 1e-300)
        piece = np.minimum((before / (before[-1] * (1 + 1e-9)) * most).astype(np.int64), most - 1)
    else:
        piece = np.arange(classes.n)
    groups = [order[piece == p].tolist() for p in np.unique(piece).tolist()]
    return Classes(
        members=tuple(tuple(v for c in group for v in classes.members[c]) for group in groups),
        before=tuple((p, p + 1) for p in range(len(groups) - 1)),
        tensors=(),
        time=np.array([classes.time[group].sum(axis=0) for group in groups]),
        size=np.array([classes.size[group].sum() for group in groups]),
        params=np.array([classes.params[group].sum() for group in groups]),
    )
