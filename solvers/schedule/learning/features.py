"""Compute what a policy sees of a graph: numbers without units, so that what it learns holds for other graphs."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.list.ranks import mean_carry, mean_time, upward

__all__ = ["NODE_FEATURES", "PAIR_FEATURES", "node_features", "relative_times", "scale_of"]

OWN = ("time", "spread of times", "transfers in", "transfers out", "edges in", "edges out", "memory", "rank")
HOPS = ("", " of parents", " of children", " of parents' parents", " of children's children")
NODE_FEATURES = tuple(f"{name}{hop}" for hop in HOPS for name in OWN)
"""Features of a node: its own, and their means over its neighbours (Wu et al. 2019: graph convolution without layers).

Times are relative to the mean over all nodes, transfers to the mean time, memory to what the largest device holds, the
rank to the largest upward rank; all but the last two as log(1 + x).
"""
PAIR_FEATURES = ("time", "end", "wait", "load", "share of inputs", "memory used", "fastest")
"""Features of a node on a device, given where the nodes before it are.

Its time there relative to its least, when it would end after the earliest end of all devices, how long the device
would wait for its inputs, when the device is free beside the mean of all, the share of its inputs that are there, the
share of the memory that would be used, whether no device runs it sooner.
"""


def scale_of(instance: ScheduleInstance) -> float:
    """Return the mean running time of a node, by which times are divided; 1 where all are zero."""
    return float(mean_time(instance).sum()) / max(instance.n, 1) or 1.0


def node_features(instance: ScheduleInstance) -> Floats:
    """Return [n, node features]; see :data:`NODE_FEATURES`."""
    graph, scale = instance.graph, scale_of(instance)
    takes, carry = mean_time(instance), mean_carry(instance)
    inward, outward = (np.bincount(ends, weights=carry, minlength=graph.n) for ends in (graph.heads, graph.tails))
    edges_in, edges_out = np.diff(graph.offsets_in), np.diff(graph.offsets)
    rank = upward(graph, takes, carry)
    may = np.isfinite(instance.time)
    spread = np.where(may, np.where(may, instance.time, 0.0) - takes[:, None], 0.0).std(axis=1) / np.maximum(
        takes, scale
    )
    limits = instance.limit[np.isfinite(instance.limit)]
    memory = instance.memory / max(float(limits.max(initial=0.0)), float(instance.memory.max(initial=0.0)), 1e-300)
    sized = [
        np.log1p(column) for column in (takes / scale, spread, inward / scale, outward / scale, edges_in, edges_out)
    ]
    own = np.stack([*sized, memory, rank / max(float(rank.max(initial=0.0)), 1e-300)], axis=1)
    found = [own]
    for hop in (1, 2):
        before, after = (own, own) if hop == 1 else (found[1], found[2])
        found += [_mean(before, graph.tails, graph.heads, edges_in), _mean(after, graph.heads, graph.tails, edges_out)]
    return np.concatenate(found, axis=1)


def _mean(values: Floats, source: Ints, target: Ints, count: Ints) -> Floats:
    """Return [n, features] the mean of the *values* at the sources of the edges that reach each node; 0 without any."""
    total = np.zeros_like(values)
    np.add.at(total, target, values[source])
    found: Floats = total / np.maximum(count, 1)[:, None]
    return found


def relative_times(times: Floats) -> Floats:
    """Return [n, k] the logarithm of each node's time over its least, at most 5; 5 where it cannot run."""
    finite = np.where(np.isfinite(times), times, 0.0)
    least = np.where(np.isfinite(times), times, np.inf).min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(least > 0, finite / least, np.where(finite > 0, np.inf, 1.0))
    found: Floats = np.where(np.isfinite(times), np.minimum(np.log(np.maximum(ratio, 1.0)), 5.0), 5.0)
    return found
