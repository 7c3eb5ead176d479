"""Say how ``auto`` shares its time by the kind of problem, where that was measured.

The shares were chosen on the half ``choose`` of the sample of ``benchmarks/regret`` and on problems of mtpplib outside
the sample, and measured on the half ``test``; docs/regret.md has the figures, and the commands that make them anew.
"""

from __future__ import annotations

from typing import NamedTuple

SHORT, LEAST_SECONDS = 5.0, 0.5
"""With less time than the first, slices and plans come before what needs compiled code, for the second at the least."""


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
        short: the same where time is short.
    """

    size: int
    share: float
    small: float
    short: float


class Parts(NamedTuple):
    """What ``decomposition`` has of a makespan, whose modules between cut nodes it solves.

    Attributes:
        nodes: modules of so many are small; where all are, it goes before models of everything.
        density: graphs of so many edges a node are sparse; their modules are solved where links are not exclusive.
        share: of the time left, where modules are small, or the graph is sparse.
        dense: the same where neither holds.
        short: the same where modules are small and time is short.
    """

    nodes: int
    density: float
    share: float
    dense: float
    short: float


class OneCore(NamedTuple):
    """What the methods that get furthest have of a race on one core, where all take turns; the others share the rest.

    Attributes:
        lns: share of the time left for windows of a schedule made anew, which come first.
        lifted: the same for lifted programmes after these.
        batches: as ``lns``, for batches in graphs of few nodes.
        moves: the same for moves in larger ones, which windows come after.
        lns_nodes: so many nodes are few.
    """

    lns: float
    lifted: float
    batches: float
    moves: float
    lns_nodes: int


EXACT_FIRST = ExactFirst(devices=2, rows=4_000, share=0.8)
"""It proves layered graphs of 60 nodes in 3 s and of 200 in 7 s, where what else there is took 16 s or left a gap."""
EXACT_FAR, FAR = ExactFirst(devices=2, rows=8_000, share=0.6), 0.25
"""The same under ``acyclic``, where plan and bound are further apart than this after slices and ideals: it proves
BERT-3 in training (509 nodes) in 9 s, parts together or separate; all else left it on one device after 30 s."""
EXACT_SEPARATE = ExactFirst(devices=8, rows=4_000, share=0.6)
"""The same under ``separate`` and ``acyclic``, which neither ideals nor slices know, before both: it proves
places-separate-n96 in 1.8 s, where all else left a gap of 37 % after 5 s."""
CONVEX = ConvexFirst(size=4_000, share=0.6, small=0.25, short=0.85)
"""It proves BERT-24 in training, InceptionV3 and a U-Net in 1 to 8 s, where all else left a gap after 20 s. Where
bounds go before searches it proves the U-Net in 2 s, and nothing of layered-contiguous-n30-k8 in 20 s."""
MANY_DEVICES, BOUNDS_SHARE = 4, 0.9
"""On so many devices that need no order, in a graph too small for several processes, bounds go before searches, for
this share of the time left: after 20 s ``configuration`` is 1 to 15 % above the bound of the exact model there."""
TURNS = ((1.0, 1.0), (3.0, 3.0))
"""How long the turns of searches and of bounds are on one core beside each other."""
BOUNDS_FIRST = ((1.0, 12.0), (1.0, 0.0))
"""The same where bounds go first: they need one long turn, as they begin anew in each."""
LISTS_SHARE = 0.3
"""Of the time left, what each list schedule of a batch may take: with a twentieth of 5 s none ended on 1,280 chunks of
nodes, and a plan of twice the time was left."""
EVOLVED = (0.2, 10.0)
"""The share of ``ea`` for batches, and its seconds at most: of 100 nodes it is ahead after 3 s of what all other
searches have after 20 s."""
ALONE = (0.1, 2.0)
"""The same from its own beginning, for batches of few chunks: it ends in a second, and was 6 % (batch-ba-weak-m2-s0),
2 % (batch-er-weak-m2-s0) and .05 % ahead of what it makes of the best list schedule, and 2 % behind in one of four."""
ORDER, ORDER_SECONDS = (0.4, 40.0), 0.025
"""The share of ``chunk-order``, and its seconds at most; it is left out where that is less than so long for each chunk
of a node: a linear programme ends or is no use. It took 1 s on 20 nodes of 4 chunks, 10 s on 100, 20 s on 334; on a
busy machine twice as long."""
WHOLE_BATCH = (0.2, 20.0)
"""The same for one model of a batch of few chunks: in three of three it had a worse plan after 20 s than ``lns``."""
FEW_DEVICES, SOME_NODES, ORDERS_ASIDE = 4, 40, (0.25, 20.0)
"""Up to how many devices, and above how many nodes, ``orders`` has a turn where ideals have not proved the plan; its
share of the time, and its seconds at most. It proves layered-n300-k4 and experts-acyclic-l3-e16-k4 in 3 s, and
layered-w2-n100-k4 in 12 s, which a minute left open; its bound of regal-sbm-n500-k4 is 1.7 % above all others after
20 s."""
PARTS = Parts(nodes=16, density=1.5, share=0.75, dense=0.2, short=0.9)
"""It closes modules of 8 to 13 nodes in seconds, and in 25 s those of up to 33 nodes of InceptionV4 (1.1 edges a node).
It got nowhere in 20 s with modules of 30 nodes and 3 edges a node, where ``lns`` and ``lifted`` did."""
LIFTED_NODES = 1_000
"""Makespans of so few nodes are bounded by lifted programmes: in 20 s up to 5 % above all other bounds (60 to 491
nodes)."""
ONE_CORE = OneCore(lns=0.45, lifted=0.75, batches=0.55, moves=0.75, lns_nodes=60)
"""In 20 s ``lns`` alone was up to 4 % ahead of equal turns on makespans and 5 % on batches. ``annealing`` is 5 % ahead
of it on a batch of 320 nodes (batch-n32-m10) and 1 % on one of 128, and behind on those of 20 and 40. On those of 100
it is ahead after 4 and 10 s."""
MOVES_SHORT = 0.5
"""The share of ``annealing`` for a batch in larger graphs, after the first list schedule, where time is short: alone it
was 2 and 12 % ahead after 4 s (two networks of 100 nodes, ghannane2023)."""
MOVES_ALIKE = 0.4
"""The same where several devices are equal, in place of list schedules and ``ea``: of GPT-3 on 24 GPUs (examples/cases)
these take 20 s, for half of the throughput that ``annealing`` has after 10 s."""
ALIKE_SHORT, BOUNDS_SHORT = 0.85, 0.5
"""The same where time is short, before any bound, and then the share of each of the simple bounds: the first list
schedule of a batch on six equal cards and a CPU has 5 % of the throughput that ``annealing`` has after 2 s."""
LEARNED = (0.4, 20.0)
"""The share of ``placeto``, and its seconds at most, in large graphs that nothing parts: 8 s of it and 12 s of
``annealing`` are 5 and 7 % ahead of 20 s of ``annealing`` from list schedules (wired-weak-er-n100-m20, -ws)."""
PIECES, MANY_NODES = (0.5, 60.0), 200
"""The share of ``piecewise``, and its seconds at most, in large graphs that few tensors part into four pieces or more;
and above how many nodes batches are such. On a busy core, after 20 s: batches of 320 nodes 3.40 inputs/s in place of
3.32, of 1,000 nodes .86 in place of .82 after 60 s; makespans of 2,000 nodes 1.77 in place of 1.86 (ws), 1.86 (er)."""
INTERVAL = (0.2, 5.0)
"""The share of ``interval``, and its seconds at most, for makespans of graphs that a model of everything is made of: a
twentieth of 5 s was too short for it."""
APART, INTERVAL_FAR = 0.1, (0.3, 20.0)
"""The same for larger graphs, where plan and bound are further apart than this after what went before: of the published
transformer (1,374 nodes) its bound is 16.9 after 5 s and 17.2 after 10; modules in a row leave 13.5."""
