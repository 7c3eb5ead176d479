"""A policy: how probable each device is for a node, from features; small enough to train without a framework."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.learning.features import NODE_FEATURES, PAIR_FEATURES

__all__ = ["Adam", "Policy", "probabilities"]

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
            UsageError: it is none, or one for other features.
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
        found = np.array(weights.get(name), np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != shape or not (np.abs(found) <= LARGEST).all():
        raise UsageError(f"a policy whose {name!r} is not an array of {' x '.join(map(str, shape))} moderate numbers")
    return found


def probabilities(scores: Floats, allowed: Any) -> Floats:
    """Return the softmax of *scores* along the last axis over the entries that are *allowed*, of which there is one."""
    safe = np.where(allowed, scores, -np.inf)
    weight = np.exp(safe - safe.max(axis=-1, keepdims=True))
    found: Floats = weight / weight.sum(axis=-1, keepdims=True)
    return found


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
