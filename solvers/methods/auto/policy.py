"""Say how ``auto`` shares its time by the kind of problem, where that was measured.

The shares were chosen on the half ``choose`` of the sample of ``benchmarks/regret`` and on problems of mtpplib outside
the sample, and measured on the half ``test``; docs/regret.md has the figures, and the commands that make them anew.
"""

from __future__ import annotations

from typing import NamedTuple


class ExactFirst(NamedTuple):
    """Where the exact model goes before searches and bounds: of a bottleneck whose devices need no order.

    Attributes:
        devices: on so many at most.
        rows: of the model, at most.
        share: of the time left, that it then has.
    """

    devices: int
    rows: int
    share: float


class ConvexFirst(NamedTuple):
    """Where one model of CP-SAT goes before the race: under ``contiguous`` without ``acyclic``.

    Attributes:
        size: nodes times devices, at most.
        share: of the time left, that it then has.
        small: the same where bounds go before searches.
    """

    size: int
    share: float
    small: float


EXACT_FIRST = ExactFirst(devices=2, rows=4_000, share=0.8)
"""It proves layered graphs of 60 nodes in 3 s and of 200 in 7 s, where what else there is took 16 s or left a gap."""
CONVEX = ConvexFirst(size=4_000, share=0.6, small=0.4)
"""It proves BERT-24 in training, InceptionV3 and a U-Net in 1 to 8 s, where all else left a gap after 20 s."""
MANY_DEVICES, BOUNDS_SHARE = 4, 0.85
"""On so many devices that need no order, in a graph too small for several processes, bounds go before searches, for
this share of the time left: after 20 s ``configuration`` is 1 to 15 % above the bound of the exact model there."""
TURNS = ((1.0, 1.0), (3.0, 3.0))
"""How long the turns of searches and of bounds are on one core beside each other."""
BOUNDS_FIRST = ((1.0, 8.0), (1.0, 0.0))
"""The same where bounds go first: they need one long turn, as they begin anew in each."""
LISTS_SHARE = 0.3
"""Of the time left, what each list schedule of a batch may take: with a twentieth of 5 s none ended on 1,280 chunks of
nodes, and a plan of twice the time was left."""
INTERVAL = (0.2, 5.0)
"""The share of ``interval``, and its seconds at most, for makespans of graphs that a model of everything is made of: a
twentieth of 5 s was too short for it."""
