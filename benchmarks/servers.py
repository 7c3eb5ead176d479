"""Servers of equal GPUs, in the form of the instances that planners were compared on, with the models of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["servers"]

CARDS = {
    "h100": (989.4, 3350.0, 80.0, 450.0),
    "a100": (312.0, 2039.0, 80.0, 300.0),
    "l40s": (362.0, 864.0, 48.0, 25.0),
    "4090": (165.0, 1008.0, 24.0, 25.0),
    "a10": (125.0, 600.0, 24.0, 25.0),
}
"""TFLOP/s of 16 bits, GB/s and GB of memory, and GB/s to another card of the same server (NVLink, or PCIe 4)."""
BETWEEN = 12.5
"""GB/s between servers: 100 Gbit/s."""
USABLE = 0.9
"""Of the memory, as in the other instances."""
SETS = {
    "2x8": ("h100 8", "l40s 8"),
    "4x4": ("h100 4", "a100 4", "l40s 4", "4090 4"),
    "4x4-small": ("l40s 4", "4090 4", "4090 4", "a10 4"),
    "2x8-4090": ("4090 8", "4090 8"),
    "9-servers": ("h100 1", "a100 2", "l40s 3", "4090 1", "a10 2", "h100 1", "l40s 1", "4090 3", "a10 2"),
    "4x8": ("h100 8", "a100 8", "l40s 8", "4090 8"),
    "8x8": ("h100 8", "h100 8", "h100 8", "h100 8", "l40s 8", "l40s 8", "l40s 8", "l40s 8"),
}


def servers(instances: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every model of layers on every set of servers, with its name."""
    models = {one["model"]["name"] + one["model"]["phase"]: one for one in instances.values() if one["model"]["layers"]}
    for name, made_of in SETS.items():
        cards = [
            (card, server) for server, (card, count) in enumerate(map(str.split, made_of)) for _ in range(int(count))
        ]
        links = [
            [0.0 if d == e else CARDS[a][3] if s == t else BETWEEN for e, (_, t) in enumerate(cards)]
            for d, (a, s) in enumerate(cards)
        ]
        devices = [
            {"name": f"{card}-{d}", "tflops": flops, "gbs": rate, "usable": USABLE * memory * 1e9}
            for d, (card, _) in enumerate(cards)
            for flops, rate, memory, _ in [CARDS[card]]
        ]
        for one in models.values():
            label = one["id"].split("@")[0] + "@" + name
            yield label, {**one, "id": label, "devices": devices, "links": links}
