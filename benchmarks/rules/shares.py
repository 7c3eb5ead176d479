"""Rules that give each device a share of the layers: even ones, and in proportion to what it has."""

from __future__ import annotations

import numpy as np

from benchmarks.rules.places import Instance, devices, largest_remainders, layers, nodes, of_counts

__all__ = [
    "deepspeed_parameters",
    "deepspeed_uniform",
    "even_before_last",
    "even_only",
    "llama_cpp",
    "proportional",
    "with_ends",
]


def even_before_last(instance: Instance) -> list[int]:
    """vLLM: as many layers each; those left over go one each to the devices before the last, from behind."""
    k = len(instance["devices"])
    each, over = divmod(layers(instance), k)
    return of_counts(instance, [each + (k - 1 - over <= d < k - 1) for d in range(k)])


def even_only(instance: Instance) -> list[int] | None:
    """Megatron without options, and mlx-lm: as many layers each; no plan where they do not divide."""
    each, over = divmod(layers(instance), len(instance["devices"]))
    if over or not instance["model"]["layers"]:
        return None
    return of_counts(instance, [each] * len(instance["devices"]))


def with_ends(instance: Instance) -> list[int] | None:
    """torchtitan: embedding and head count as a layer each; what is left over goes one each to the first devices."""
    if not instance["model"]["layers"]:
        return None
    return deepspeed_uniform(instance)


def deepspeed_uniform(instance: Instance) -> list[int]:
    """DeepSpeed, ``uniform``: as many nodes each; those left over go one each to the first devices."""
    k = len(instance["devices"])
    each, over = divmod(len(instance["model"]["nodes"]), k)
    return [d for d in range(k) for _ in range(each + (d < over))]


def proportional(instance: Instance, what: str) -> list[int]:
    """Give layers in proportion to a figure of the devices: ``usable`` (exo), ``tflops`` or ``gbs``."""
    return of_counts(instance, largest_remainders(layers(instance), devices(instance, what)))


def llama_cpp(instance: Instance) -> list[int]:
    """llama.cpp: item i of the layers and the output is on the first device whose shares of memory sum to more.

    The shares are sums in single precision, and i counts as i / (layers + 1).
    """
    sums = np.cumsum(devices(instance, "usable").astype(np.float32), dtype=np.float32)
    shares = sums / sums[-1]
    items = np.arange(layers(instance) + 1, dtype=np.float32) / np.float32(layers(instance) + 1)
    place = np.minimum(np.searchsorted(shares, items, side="right"), len(shares) - 1)
    return [int(place[0]), *map(int, place)] if instance["model"]["layers"] else [int(d) for d in place[:-1]]


def deepspeed_parameters(instance: Instance) -> list[int]:
    """DeepSpeed, ``parameters``: consecutive nodes whose parameters differ least between the parts.

    A programme over prefixes and parts that keeps, for each, the split with the least difference between the largest
    and the smallest part so far; of equals, the one whose last part begins latest.
    """
    weights, k = nodes(instance, "weights"), len(instance["devices"])
    n = len(weights)
    before = np.concatenate([[0.0], np.cumsum(weights)])
    most, least = np.full((n + 1, k + 1), np.inf), np.full((n + 1, k + 1), np.inf)
    cost, begin = np.full((n + 1, k + 1), np.inf), np.zeros((n + 1, k + 1), int)
    most[0, 0] = cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, min(i, k) + 1):
            parts = before[i] - before[:i]
            high, low = np.maximum(most[:i, j - 1], parts), np.minimum(least[:i, j - 1], parts)
            spread = np.where(np.isfinite(high), high - low, np.inf)
            at = i - 1 - int(np.argmin(spread[::-1]))
            most[i, j], least[i, j], cost[i, j], begin[i, j] = high[at], low[at], spread[at], at
    place = np.zeros(n, int)
    end = n
    for j in range(k, 0, -1):
        place[begin[end, j] : end] = j - 1
        end = begin[end, j]
    return [int(d) for d in place]
