"""What rules see of an instance: layers and devices as arrays, and counts of layers as the device of each node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Instance", "devices", "largest_remainders", "layers", "memory", "nodes", "of_counts", "times"]

Instance = Mapping[str, Any]
SHARES = 0.6, 0.8
"""Shares of a device's peak and of the bandwidth of its memory that nodes get."""


def layers(instance: Instance) -> int:
    """Return the number of layers between embedding and head; of a graph of operators, that of its nodes."""
    return int(instance["model"]["layers"] or len(instance["model"]["nodes"]))


def nodes(instance: Instance, what: str) -> np.ndarray:
    """Return a figure of each node, such as ``weights``."""
    return np.array([node[what] for node in instance["model"]["nodes"]], float)


def devices(instance: Instance, what: str) -> np.ndarray:
    """Return a figure of each device, such as ``usable``."""
    return np.array([device[what] for device in instance["devices"]], float)


def memory(instance: Instance) -> np.ndarray:
    """Return what each node needs of a device's memory."""
    return nodes(instance, "weights") + nodes(instance, "kv")


def times(instance: Instance) -> np.ndarray:
    """Return [n, devices] running times in seconds."""
    work = nodes(instance, "flops")[:, None] / (devices(instance, "tflops") * 1e12 * SHARES[0])
    return np.maximum(work, nodes(instance, "moved")[:, None] / (devices(instance, "gbs") * 1e9 * SHARES[1]))


def of_counts(instance: Instance, counts: Iterable[int], order: Sequence[int] | None = None) -> list[int]:
    """Return the device of each node from the number of layers of each device in turn.

    The embedding is with the first layer, norm and head with the last.
    """
    counts = list(counts)
    place = [d for d, count in zip(order or range(len(counts)), counts, strict=True) for _ in range(int(count))]
    assert len(place) == layers(instance)
    return [place[0], *place, place[-1]] if instance["model"]["layers"] else place


def largest_remainders(total: int, weights: Sequence[float] | np.ndarray) -> list[int]:
    """Return whole numbers of this sum in proportion to weights: rounded down, then up where most is missing."""
    exact = np.array(weights, float) * total / np.sum(weights)
    counts = np.floor(exact + 1e-9).astype(int)
    missing = np.argsort(-(exact - counts), kind="stable")[: total - counts.sum()]
    counts[missing] += 1
    return [int(count) for count in counts]
