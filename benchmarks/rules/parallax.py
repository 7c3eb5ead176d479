"""Parallax's greedy rule: whole pipelines of the devices that hold most, each filled by compute within its memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.rules.places import Instance, devices, layers, memory, of_counts

__all__ = ["pipelines"]


def pipelines(instance: Instance) -> list[list[int]] | None:
    """Return the device of each node in each of several pipelines, or None if not one is whole.

    Devices are taken by the number of layers that fit, most first, until a pipeline has room for all layers; then the
    next one begins. In a pipeline the layers go in proportion to compute, and no device gets more than fits.
    """
    if not instance["model"]["layers"]:
        return None
    held, room = memory(instance), devices(instance, "usable")
    order = sorted(range(len(room)), key=lambda d: -int(room[d] // held[1]))
    found: list[list[int]] = []
    taken: list[int] = []
    for d in order:
        taken.append(d)
        fits = _fits(held, room, taken)
        if sum(fits) >= layers(instance):
            found.append(
                of_counts(instance, _filled(layers(instance), devices(instance, "tflops")[taken], fits), taken)
            )
            taken = []
    return found or None


def _fits(held: np.ndarray, room: np.ndarray, taken: Sequence[int]) -> list[int]:
    """Return how many layers fit on each device of a pipeline: the first holds the embedding, the last the head."""
    free = room[list(taken)].copy()
    free[0] -= held[0]
    free[-1] -= held[-1]
    return [max(0, int(free[place] // held[1])) for place in range(len(taken))]


def _filled(total: int, speed: np.ndarray, most: Sequence[int]) -> list[int]:
    """Return whole numbers of this sum in proportion to speeds, none above its most."""
    least, high = 0.0, total / speed.min()
    caps = np.array(most, float)
    for _ in range(100):
        level = (least + high) / 2
        least, high = (level, high) if np.minimum(caps, level * speed).sum() < total else (least, level)
    exact = np.minimum(caps, high * speed)
    counts = np.floor(exact + 1e-9).astype(int)
    for d in np.argsort(-(exact - counts), kind="stable")[: total - counts.sum()]:
        counts[d] += 1
    return [int(count) for count in counts]
