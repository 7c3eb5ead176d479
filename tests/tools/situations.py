"""What users have before them, and which methods to choose by hand: the table of docs/methods.md.

A test holds that each method accepts the spec of its row, and gives what its column says.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Situation(NamedTuple):
    """A kind of problem: in words, a spec of it, and methods in the order in which to try them."""

    words: str
    spec: str
    soon: tuple[str, ...]
    best: tuple[str, ...]
    proof: tuple[str, ...]
    bound: tuple[str, ...]
    pages: tuple[str, ...] = ("partition", "exact-models", "bounds")


def example(name: str) -> str:
    """Return a spec of examples/."""
    return (ROOT / "examples" / f"{name}.mtpp").read_text(encoding="utf-8")


LAYERS = """
graph {
  node embed    (work = 1 ms, output = 1 MiB, params = 8 MiB, kind = "embedding")
  node layer[8] (work = 2 ms, output = 1 MiB, params = 8 MiB, kind = "layer")
  edge embed    -> layer[0]
  edge layer[i] -> layer[i + 1] for i in 0..6
}
device gpu[3] (memory = 64 MiB)
"""
SHARED = LAYERS + "interconnect shared (bandwidth = 8 GiB/s)\nminimize bottleneck\nconstraint memory\n"
LINKS = LAYERS + "interconnect links (bandwidth = 8 GiB/s)\nminimize makespan\n"
HOST = LAYERS + "interconnect host (bandwidth = 8 GiB/s)\nminimize makespan\nconstraint subgraphs at most 1\n"
NAMED = "constraint few: sum(on(v, gpu[0]) for v in layer) <= 2\n"
MAKESPAN = ("schedules", "modules", "exact-models", "bounds")

SITUATIONS = (
    Situation(
        "a pipeline: `minimize bottleneck` with `acyclic`",
        example("quickstart"),
        ("slicegraph",),
        ("ideals", "annealing"),
        ("ideals", "branching"),
        ("configuration", "superblock"),
    ),
    Situation(
        "the same without `acyclic`: data may flow back",
        SHARED,
        ("annealing",),
        ("annealing",),
        ("exact",),
        ("configuration", "anchor"),
    ),
    Situation(
        "a pipeline on unequal devices with tight memories",
        SHARED.replace("device gpu[3]", "device fast (memory = 24 MiB, speed = 2)\ndevice gpu[2]")
        + "constraint acyclic\n",
        ("slicegraph",),
        ("orders", "annealing"),
        ("ideals", "orders"),
        ("reach",),
    ),
    Situation(
        "labelled constraints such as `few: sum(on(v, d) …) <= 2`",
        SHARED + "constraint acyclic\n" + NAMED,
        ("annealing",),
        ("annealing",),
        ("exact",),
        ("configuration",),
    ),
    Situation(
        "nodes to `separate`, on `shared` or `host`",
        SHARED + "constraint separate layer[0], layer[1]\n",
        ("annealing",),
        ("annealing",),
        ("exact",),
        ("configuration",),
    ),
    Situation(
        "devices in a tree of switches", example("network"), ("ideals",), ("ideals",), ("ideals", "exact"), ("anchor",)
    ),
    Situation("replicas, groups of devices", example("replicas"), ("ideals",), ("ideals",), ("ideals",), ("simple",)),
    Situation(
        "training in stages, `minimize iteration`",
        example("training"),
        ("slicegraph",),
        ("ideals",),
        ("ideals", "exact"),
        ("simple",),
    ),
    Situation(
        "phases such as prefill and decode", example("serving"), ("ideals",), ("ideals",), ("ideals", "exact"), ()
    ),
    Situation("copies of a model", example("copies"), ("copies",), ("copies",), ("copies",), ()),
    Situation(
        "a price to pay, times that are off",
        example("buying"),
        ("ideals",),
        ("ideals",),
        ("ideals", "exact"),
        ("divided",),
    ),
    Situation(
        "one sample on links: `minimize makespan`",
        example("unequal"),
        ("heft",),
        ("annealing", "lns"),
        ("decomposition", "moirai", "branch-and-bound"),
        ("interval", "critical-path"),
        MAKESPAN,
    ),
    Situation(
        "one sample by subgraphs, on `host` or `shared`",
        HOST,
        ("latency-search",),
        ("latency-search",),
        ("latency",),
        ("path-hull",),
        ("latency",),
    ),
    Situation(
        "a batch, to be cut as well as the graph",
        example("batch"),
        ("heft",),
        ("annealing", "lns"),
        ("batched", "milp-split"),
        ("chunk-order", "split-bound"),
        ("batches", "modules"),
    ),
)
"""In the order of the table."""
