"""Score devices for nodes by a small network, from features that have no units.

So what is learned on some graphs holds for others; the network is small enough to train without a framework.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.list.ranks import mean_carry, mean_time, upward

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
    columns = [own]
    for hop in (1, 2):
        before, after = (own, own) if hop == 1 else (columns[1], columns[2])
        columns += [
            _mean(before, graph.tails, graph.heads, edges_in),
            _mean(after, graph.heads, graph.tails, edges_out),
        ]
    return np.concatenate(columns, axis=1)


def _mean(values: Floats, source: Ints, target: Ints, count: Ints) -> Floats:
    """Return [n, features] the mean of the *values* at the sources of the edges that reach each node; 0 without any."""
    total = np.zeros_like(values)
    np.add.at(total, target, values[source])
    mean: Floats = total / np.maximum(count, 1)[:, None]
    return mean


def relative_times(times: Floats) -> Floats:
    """Return [n, k] the logarithm of each node's time over its least, at most 5; 5 where it cannot run."""
    finite = np.where(np.isfinite(times), times, 0.0)
    least = np.where(np.isfinite(times), times, np.inf).min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(least > 0, finite / least, np.where(finite > 0, np.inf, 1.0))
    logarithms: Floats = np.where(np.isfinite(times), np.minimum(np.log(np.maximum(ratio, 1.0)), 5.0), 5.0)
    return logarithms


HIDDEN = 24
"""Hidden units."""
FORMAT, VERSION = "mtpp-policy", 1
LARGEST = 1e6
"""The largest weight that a file may hold."""


@dataclass(frozen=True)
class Policy:
    """Weights of a network with one hidden layer, which scores a node on a device; equal for all of them.

    It knows nothing of how many nodes and devices there are, so that one that was trained on some graphs can place
    others.

    Attributes:
        node: [node features, hidden] applied to the features of the node.
        bias: [hidden].
        pair: [pair features, hidden] applied to the features of the node on the device.
        out: [hidden] the score is this times the hyperbolic tangents of the hidden units.
    """

    node: Floats
    bias: Floats
    pair: Floats
    out: Floats

    @classmethod
    def untrained(cls, rng: np.random.Generator) -> Policy:
        """Return random weights that are so small in the last layer that all devices are almost equally probable."""
        node = rng.normal(size=(len(NODE_FEATURES), HIDDEN)) / np.sqrt(len(NODE_FEATURES))
        pair = rng.normal(size=(len(PAIR_FEATURES), HIDDEN)) / np.sqrt(len(PAIR_FEATURES))
        return cls(node, np.zeros(HIDDEN), pair, 0.01 * rng.normal(size=HIDDEN))

    @classmethod
    def zeros(cls) -> Policy:
        """Return weights that are all zero, to add gradients to."""
        nodes, pairs = len(NODE_FEATURES), len(PAIR_FEATURES)
        return cls(np.zeros((nodes, HIDDEN)), np.zeros(HIDDEN), np.zeros((pairs, HIDDEN)), np.zeros(HIDDEN))

    def __iter__(self) -> Iterator[Floats]:
        return (getattr(self, one.name) for one in fields(self))

    def to_json(self) -> dict[str, Any]:
        """Return the weights, with the names of the features that they belong to, as JSON has them."""
        weights = {one.name: getattr(self, one.name).tolist() for one in fields(self)}
        features = {"node": list(NODE_FEATURES), "pair": list(PAIR_FEATURES)}
        return {"format": FORMAT, "version": VERSION, "features": features, "weights": weights}

    @classmethod
    def from_json(cls, data: object) -> Policy:
        """Return the policy that JSON describes.

        Raises:
            UsageError: it is invalid, or one for other features.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise UsageError(f'not a policy: "format" is not "{FORMAT}"; mtpp train writes one')
        if data.get("version") != VERSION:
            raise UsageError(f"a policy of version {data.get('version')!r}, and this mtpp reads version {VERSION}")
        if data.get("features") != {"node": list(NODE_FEATURES), "pair": list(PAIR_FEATURES)}:
            raise UsageError("a policy for other features than this mtpp has; train it again")
        weights = data.get("weights")
        if not isinstance(weights, Mapping):
            raise UsageError("a policy without weights")
        return cls(
            *(_array(weights, one.name, wanted.shape) for one, wanted in zip(fields(cls), cls.zeros(), strict=True))
        )


def _array(weights: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Floats:
    """Return an array of weights of a given shape, all finite."""
    try:
        array = np.array(weights.get(name), np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != shape or not (np.abs(array) <= LARGEST).all():
        raise UsageError(f"a policy whose {name!r} is not an array of {' x '.join(map(str, shape))} moderate numbers")
    return array


def probabilities(scores: Floats, allowed: Any) -> Floats:
    """Return the softmax of *scores* along the last axis over the entries that are *allowed*, of which there is one."""
    safe = np.where(allowed, scores, -np.inf)
    weight = np.exp(safe - safe.max(axis=-1, keepdims=True))
    chances: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return chances


class Adam:
    """Gradient ascent with moments (Kingma, Ba 2015).

    Args:
        rate: of the steps.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._steps = 0
        self._first, self._second = Policy.zeros(), Policy.zeros()

    def step(self, policy: Policy, gradient: Policy) -> None:
        """Change *policy* in place along *gradient*."""
        self._steps += 1
        for weights, slope, first, second in zip(policy, gradient, self._first, self._second, strict=True):
            first += 0.1 * (slope - first)
            second += 0.001 * (slope**2 - second)
            ahead = first / (1 - 0.9**self._steps)
            weights += self._rate * ahead / (np.sqrt(second / (1 - 0.999**self._steps)) + 1e-8)
