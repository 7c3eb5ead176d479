"""Count what tensors take between the stages of a split, on one channel and over a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class TensorIo:
    """What is read and written once for each input.

    Attributes:
        tensors, readers: [pairs] the node that makes a tensor, and a device with a reader of it: each pair once.
        reads: [pairs] what the device pays for reading it.
        written: [tensors] the nodes whose tensors are read elsewhere.
        writes: [tensors] what the device of each pays for writing it.
    """

    tensors: Ints
    readers: Ints
    reads: Floats
    written: Ints
    writes: Floats


def spans(problem: Problem, plan: Plan) -> Ints:
    """Return [devices] a number for the set of groups that the device's stage is spread over."""
    sets = [frozenset({g}) for g in problem.group.tolist()]
    for lead, members in plan.replicas.items():
        sets[lead] = frozenset(problem.group[list(members)].tolist())
    return np.array([sets.index(groups) for groups in sets], np.int64)


def tensor_io(problem: Problem, device: Ints, span: Ints, cost: Floats) -> TensorIo:
    """Return what stages read and write, tensor by tensor; between stages of other groups a tensor costs more.

    Args:
        problem: on ``shared`` or ``host``.
        device: [n] device of each node.
        span: by :func:`spans`.
        cost: [n] what the tensor of each node takes within a group.
    """
    graph, k, link = problem.graph, problem.k, problem.interconnect
    assert isinstance(link, (Shared, Host))
    pays = np.array([d.pays_io or isinstance(link, Shared) for d in problem.devices])
    far = 1.0 if link.between is None else link.bandwidth / link.between
    crossing = device[graph.tails] != device[graph.heads]
    pairs = np.unique(graph.tails[crossing] * k + device[graph.heads[crossing]])
    tensors, readers = pairs // k, pairs % k
    outside = span[readers] != span[device[tensors]]
    leaves = np.zeros(graph.n, np.bool_)
    leaves[tensors[outside]] = True
    written = np.unique(tensors)
    reads = cost[tensors] * np.where(outside, far, 1.0) * pays[readers]
    writes = cost[written] * np.where(leaves[written], far, 1.0) * pays[device[written]]
    return TensorIo(tensors, readers, reads, written, writes)


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
