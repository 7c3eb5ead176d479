"""Compute what handing on a tensor costs the sender, the receiver and channels, between any two devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.network import Network
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Transfers", "transfers_of"]


@dataclass(frozen=True, eq=False)
class Transfers:
    """Costs of transfers, which grow with the size of a tensor, between any two devices.

    Sending a tensor costs a device ``delay + size * factor / rate``.

    Attributes:
        size: [n] of the tensor of each node.
        tables: (delay, factor, rate), [devices, devices] each, of the sender; the same of the receiver.
        through: [channels, devices, devices] whether a transfer loads each channel that no device's load covers.
        bandwidth: [channels] theirs.
    """

    size: Floats
    tables: tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
    through: Bools
    bandwidth: Floats

    def alike(self, d: int, e: int) -> bool:
        """Return whether every transfer costs the same where devices *d* and *e* change places."""
        others = np.ones(self.through.shape[1], np.bool_)
        others[[d, e]] = False
        for costs in (*self.tables[0], *self.tables[1], *self.through):
            rows = np.array_equal(costs[d, others], costs[e, others])
            if not rows or costs[d, e] != costs[e, d] or not np.array_equal(costs[others, d], costs[others, e]):
                return False
        return True

    def of(self, members: Sequence[Sequence[int]], order: Ints) -> tuple[Floats, Floats, Floats]:
        """Return [n, types, types] what sender and receiver pay, and [channels, n, types, types] what channels carry.

        Between two devices of one type it is what the first and the second pay; of one alone it means nothing.

        Args:
            members: the devices of each type.
            order: [n] the node at each place.
        """
        first = np.array([group[0] for group in members], np.int64)
        second = np.array([group[min(1, len(group) - 1)] for group in members], np.int64)
        one = np.repeat(first[:, None], len(first), axis=1)
        other = np.where(np.eye(len(first), dtype=np.bool_), second, np.repeat(first[None], len(first), axis=0))
        wide = self.size[order][:, None, None]
        sent, received = (
            delay[one, other] + wide * factor[one, other] / rate[one, other] for delay, factor, rate in self.tables
        )
        carried = np.zeros((len(self.bandwidth), *sent.shape))
        for c, bandwidth in enumerate(self.bandwidth.tolist()):
            carried[c] = np.where(self.through[c, one, other], wide / bandwidth, 0.0)
        return sent, received, carried


def transfers_of(problem: Problem) -> Transfers:
    """Return the transfers of a problem whose graph is a chain."""
    k, link, graph = problem.k, problem.interconnect, problem.graph
    nothing = np.zeros((k, k))
    if isinstance(link, (Shared, Host)):
        group = problem.group
        rate = np.full((k, k), link.bandwidth)
        if link.between is not None:
            rate[group[:, None] != group] = link.between
        pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices], np.float64)
        sender = nothing, nothing + pays[:, None], rate
        receiver = nothing, nothing + pays, rate
        return Transfers(graph.output, (sender, receiver), np.zeros((0, k, k), np.bool_), np.zeros(0))
    net = problem.network
    size = np.zeros(graph.n)
    size[graph.tails] = graph.sizes
    one = np.ones((k, k))
    through = _uncovered(net, k)
    tables = (net.out_delay, net.out_inverse, one), (net.in_delay, net.in_inverse, one)
    bandwidth = np.array([net.bandwidth[c] for c in through], np.float64)
    return Transfers(size, tables, np.array(list(through.values()), np.bool_).reshape(-1, k, k), bandwidth)


def _uncovered(net: Network, k: int) -> dict[int, Bools]:
    """Return the channels that no device covers, and [k, k] which transfers go through each.

    A device covers a channel if it pays for all that goes through it, at least as much as the channel takes.
    """
    pairs: list[list[tuple[int, int]]] = [[] for _ in net.channels]
    for d in range(k):
        for e in range(k):
            if d != e:
                for c in net.route[d][e]:
                    pairs[c].append((d, e))
    uncovered = {}
    for c, its in enumerate(pairs):
        own = 1.0 / net.bandwidth[c]
        covering = set(range(k))
        for d, e in its:
            payers = {d} if net.out_inverse[d, e] >= own else set()
            covering &= payers | ({e} if net.in_inverse[d, e] >= own else set())
        if not covering:
            uncovered[c] = np.zeros((k, k), np.bool_)
            for d, e in its:
                uncovered[c][d, e] = True
    return uncovered
