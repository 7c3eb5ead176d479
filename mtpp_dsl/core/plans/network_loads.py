"""Count what shipments take of devices and of channels, of a split (see :mod:`mtpp_dsl.core.problem.network`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Carried", "carried"]


@dataclass(frozen=True, eq=False)
class Carried:
    """What all shipments of a plan take.

    Attributes:
        sends, receives: [devices] what every device is busy for.
        channels: [channels] load of each.
        total: the times of all shipments, latencies too, in sum.
    """

    sends: Floats
    receives: Floats
    channels: Floats
    total: float


def carried(problem: Problem, device: Ints) -> Carried:
    """Return what the shipments of an assignment take; ``inf`` where no route leads."""
    graph, k, net = problem.graph, problem.k, problem.network
    crossing = np.flatnonzero(device[graph.tails] != device[graph.heads])
    pair, inverse = np.unique(graph.tails[crossing] * k + device[graph.heads[crossing]], return_inverse=True)
    size = np.zeros(len(pair))
    np.maximum.at(size, inverse, graph.sizes[crossing])
    tensor, reader = pair // k, pair % k
    sender = device[tensor]
    sending = net.out_delay[sender, reader] + size * net.out_inverse[sender, reader]
    receives = np.zeros(k)
    np.add.at(receives, reader, net.in_delay[sender, reader] + size * net.in_inverse[sender, reader])
    sends = np.zeros(k)
    if net.send == "each":
        np.add.at(sends, sender, sending)
    else:
        slowest = np.zeros(graph.n)
        np.maximum.at(slowest, tensor, sending)
        np.add.at(sends, device, slowest)
    loads = np.zeros(len(net.channels))
    largest: dict[tuple[int, int], float] = {}
    total = 0.0
    for u, d, e, amount in zip(tensor.tolist(), sender.tolist(), reader.tolist(), size.tolist(), strict=True):
        total += net.shipment(amount, d, e)
        for c in net.route[d][e]:
            if net.send == "each":
                loads[c] += amount
            else:
                largest[u, c] = max(largest.get((u, c), 0.0), amount)
    for (_, c), amount in largest.items():
        loads[c] += amount
    return Carried(sends, receives, loads / net.bandwidth, total)
