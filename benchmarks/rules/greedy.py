"""accelerate's rules: device after device is filled with the weights of the layers in their order."""

from __future__ import annotations

import numpy as np

from benchmarks.rules.places import Instance, devices, nodes

__all__ = ["balanced", "sequential"]

MARGIN = 1.25


def sequential(instance: Instance, room: np.ndarray | None = None) -> list[int] | None:
    """``device_map="sequential"``: a device takes nodes while their weights fit; no plan where some are left over.

    The first device keeps room for the largest node that is not placed yet.
    """
    weights = nodes(instance, "weights")
    room = devices(instance, "usable") if room is None else room
    place: list[int] = []
    for d, most in enumerate(room):
        used = 0.0
        while len(place) < len(weights):
            kept = weights[len(place) :].max() if d == 0 else 0.0
            if used + weights[len(place)] + kept > most:
                break
            used += weights[len(place)]
            place.append(d)
    return place if len(place) == len(weights) else None


def balanced(instance: Instance) -> list[int] | None:
    """``device_map="auto"``: as :func:`sequential`, and no device but the last takes more than an even share.

    The share is the weights over the devices, and 1.25 times the largest block that stays whole: a layer, embedding or
    head; of a graph of operators, which has none, the mean node.
    """
    weights, room = nodes(instance, "weights"), devices(instance, "usable")
    block = weights.max() if instance["model"]["layers"] else weights.mean()
    share = weights.sum() / len(room) + MARGIN * block
    return sequential(instance, np.append(np.minimum(room[:-1], share), room[-1]))
