"""Compute what a transfer over ``links`` takes, by whatever way it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, frozen

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Links


@dataclass(frozen=True, eq=False, repr=False)
class Transfers(Short, Picklable):
    """What edges take: e from device d to device f ``latency[d,f] + size[e] * inverse[d,f] + table[row[e],d,f]``.

    Arrays of one shape for both ways to give times, so that a compiled loop needs no cases. ``inf`` where no way
    leads from d to f; zero within a device.

    Attributes:
        latency, inverse: [devices, devices] of the path taken; ``inverse`` is one over its bandwidth.
        size: [m] what the edge carries.
        row, table: [m], [rows, devices, devices] explicit times; one row of zeros where there are none.
    """

    latency: Floats
    inverse: Floats
    size: Floats
    row: Ints
    table: Floats

    def time(self, e: int, d: int, f: int) -> float:
        """Return what edge *e* takes from device *d* to device *f*."""
        if d == f:
            return 0.0
        return float(self.latency[d, f] + self.size[e] * self.inverse[d, f] + self.table[self.row[e], d, f])

    def scaled(self, e: int, d: int, f: int, inputs: int) -> float:
        """Return what edge *e* takes from device *d* to *f* for so many inputs: only the latency does not grow."""
        if d == f:
            return 0.0
        return float(self.latency[d, f] + inputs * (self.size[e] * self.inverse[d, f] + self.table[self.row[e], d, f]))

    def of(self, e: int) -> Floats:
        """Return [devices, devices] what edge *e* takes between every two devices."""
        times: Floats = self.latency + self.size[e] * self.inverse + self.table[self.row[e]]
        return times

    def along(self, edges: Ints, d: Ints, f: Ints) -> Floats:
        """Return what each of *edges* takes from the device in *d* to the one in *f*, all three of one length."""
        times: Floats = self.latency[d, f] + self.size[edges] * self.inverse[d, f] + self.table[self.row[edges], d, f]
        return times


def transfers(links: Links, graph: Graph) -> Transfers:
    """Return the times of all transfers of *graph* over *links*.

    Explicit times are taken as they are. Without them a pair of devices uses its own link, where it has one, else,
    unless routing is "direct", the path of the largest least bandwidth (zhang2023, Fig. 3), and among those the one of
    least latency.
    """
    k = len(links.bandwidth)
    if links.transfers is not None:
        table, row = np.unique(links.transfers.reshape(graph.m, k * k), axis=0, return_inverse=True)
        table = table.reshape(-1, k, k) if graph.m else np.zeros((1, k, k))
        zero = np.zeros((k, k))
        return Transfers(
            frozen(zero, np.float64),
            frozen(zero, np.float64),
            frozen(np.zeros(graph.m), np.float64),
            frozen(row.reshape(-1), np.int64),
            frozen(table, np.float64),
        )
    bandwidth, latency = routed(links) if links.routing == "widest" else _direct(links)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / bandwidth
    unreachable = np.isinf(inverse)
    return Transfers(
        frozen(np.where(unreachable, np.inf, latency), np.float64),
        frozen(np.where(unreachable, 0.0, inverse), np.float64),
        graph.sizes,
        frozen(np.zeros(graph.m), np.int64),
        frozen(np.zeros((1, k, k)), np.float64),
    )


def _direct(links: Links) -> tuple[Floats, Floats]:
    """Return bandwidth and latency of the links themselves, as :func:`routed` does of paths."""
    wide, late = np.array(links.bandwidth), np.array(links.latency)
    np.fill_diagonal(wide, np.inf)
    np.fill_diagonal(late, 0.0)
    return wide, late


def routed(links: Links) -> tuple[Floats, Floats]:
    """Return [devices, devices] bandwidth and latency of the path that every pair uses; bandwidth 0: there is none.

    A path's bandwidth is its least, its latency the sum. Within a device both are free: ``inf`` and 0.
    """
    direct = np.array(links.bandwidth)
    wide, late = direct.copy(), np.where(direct > 0, links.latency, np.inf)
    np.fill_diagonal(wide, np.inf)
    np.fill_diagonal(late, 0.0)
    for via in range(len(wide)):
        wide = np.maximum(wide, np.minimum(wide[:, via, None], wide[None, via, :]))
    for d in range(len(wide)):
        late[d] = _least_latency(d, direct, wide[d], links.latency)
    own = direct > 0
    wide[own], late[own] = direct[own], links.latency[own]
    np.fill_diagonal(wide, np.inf)
    np.fill_diagonal(late, 0.0)
    return wide, late


def _least_latency(d: int, direct: Floats, widest: Floats, latency: Floats) -> Floats:
    """Return [devices] the least latency from *d* to each over links no narrower than its widest path."""
    best = np.full(len(widest), np.inf)
    for width in np.unique(widest[widest > 0]):
        usable = np.where(direct >= width, latency, np.inf)
        reached = np.full(len(widest), np.inf)
        reached[d] = 0.0
        for _ in range(len(widest)):
            reached = np.minimum(reached, (reached[:, None] + usable).min(axis=0))
        best[widest == width] = reached[widest == width]
    return best
