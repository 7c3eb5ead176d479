"""Splits on networks whose stages are in the order of devices: the columns of devices in that order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.core.problem.in_order import Line
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.algorithms.homes.shipping import Shipping

__all__ = ["chain_in_line", "filled_places", "shipping_in_line"]


def shipping_in_line(shipping: Shipping, line: Line) -> Shipping:
    """Return the same supernodes on the devices in their order, of which each may only be followed by a later one."""
    at = list(line.devices)
    return replace(
        shipping,
        time=np.ascontiguousarray(shipping.time[:, at]),
        room=shipping.room[at],
        sent=np.ascontiguousarray(shipping.sent[:, at][:, :, at]),
        received=np.ascontiguousarray(shipping.received[:, at][:, :, at]),
        routes=tuple(tuple(shipping.routes[d][e] for e in at) for d in at),
        half=shipping.half[at],
        owed=sum(1 << place for place in np.flatnonzero(filled_places(line)).tolist()),
    )


def filled_places(line: Line) -> Bools:
    """Return [devices] in their order whether each has to have a node."""
    return np.array([d in line.filled for d in line.devices], np.bool_)


def chain_in_line(chain: NodeChain, line: Line) -> NodeChain:
    """Return a chain, whose devices are in the order, in which data can only go on to a later one.

    Nothing leads back, nor past a device that has to have a node; the chain may begin on no device behind such a one,
    and end on none before it.
    """
    k, owed = chain.k, np.concatenate([[0], np.cumsum(filled_places(line))])
    place = np.arange(k)
    between = owed[None, :-1] - owed[1:, None]  # behind the first and before the second
    barred = (place[None, :] <= place[:, None]) | (between > 0)
    time = chain.time.copy()
    time[0, owed[:-1] > 0] = np.inf
    time[-1, owed[1:] < owed[-1]] = np.inf
    return replace(
        chain,
        time=time,
        sent=np.where(barred[None], np.inf, chain.sent),
        received=np.where(barred[None], np.inf, chain.received),
        in_line=True,
    )
