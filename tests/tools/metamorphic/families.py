"""Random specs of every kind of objective and interconnect, of 3 to 200 nodes, as text."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.tools.metamorphic.drawing import Draw
from tests.tools.metamorphic.mixed import mixed
from tests.tools.metamorphic.rules import of_places, rows
from tests.tools.metamorphic.text import Spec

__all__ = ["FAMILIES", "make"]


HELD = {"cache": 0.2, "workspace": 0.25}
"""How often nodes have these."""


def make(family: str, seed: int, most: int = 200) -> Spec:
    """Return the random spec of a family and a seed, with *most* nodes at the most."""
    draw = Draw(Random(f"{family} {seed}"), most)
    FAMILIES[family](draw)
    return Spec(tuple(draw.lines))


def _bottleneck(draw: Draw) -> str:
    return draw.of("minimize bottleneck", "minimize bottleneck", "maximize throughput")


def shared(draw: Draw) -> None:
    """Write loads on ``shared`` or ``host``: memory, caches, workspaces, streams, rows, an order."""
    draw.graph({"params": 0.8, "memory": 0.2, **HELD, "kind": 0.2})
    host = draw.often(0.35)
    draw.devices(memory=0.8, reserve=0.2, free=0.3 if host else 0)
    overflow = draw.of("", "", ", overflow = stream", ", overflow = prefetch")
    draw.add(f"interconnect {'host' if host else 'shared'} (bandwidth = {draw.rate()} GB/s{overflow})")
    soft = draw.often(0.2)
    objective = "minimize bottleneck" if soft else _bottleneck(draw)
    draw.add(objective)
    if not overflow or draw.often(0.2):
        draw.memory(0.7)
    of_places(draw)
    rows(draw, ["load"], soft)


def weighted(draw: Draw) -> None:
    """Write sums of what devices cost, loads and a latency, with limits on the bottleneck."""
    draw.graph({"params": 0.6, **HELD, "kind": 0.1})
    draw.devices(memory=0.6, price=True)
    draw.add(f"interconnect {draw.of('shared', 'host')} (bandwidth = {draw.rate()} GB/s)")
    cost = "sum(price(d) * used(d) for d in devices)"
    energy = "sum(power(d) * load(d) for d in devices)"
    placed = f"sum(on(v, {draw.of(*draw.names)}) for v in nodes)"
    mixed = "bottleneck + 0.5 * sum(used(d) * 1 s for d in devices)"
    goal = draw.of(cost, energy, mixed, "latency", "latency", placed, f"latency - {draw.of(1, 3)} * bottleneck")
    if goal == placed and draw.often(0.5):
        draw.add(f"maximize goal: {goal}")
    else:
        draw.add(f"minimize goal: {goal}")
    if draw.often(0.25):
        draw.lines[-1] += draw.of("", " (within = 10%)")
        draw.add(f"minimize second: {draw.of(energy, 'bottleneck', cost)}")
    if goal in (cost, energy, placed) or draw.often(0.3):
        draw.add(f"constraint due: bottleneck <= {draw.limit()} s")
    draw.memory(0.5)
    of_places(draw)
    rows(draw, ["load"], goal.startswith(("bottleneck", "latency")) and draw.often(0.2))


def networks(draw: Draw) -> None:
    """Write loads on links and trees of switches."""
    draw.graph({"params": 0.6, **HELD})
    tree = draw.often(0.5)
    overlap = draw.of("", "overlap = full")
    options = [overlap, draw.of("", "send = each"), draw.of("", "", "duplex = half")]
    if tree:
        draw.devices(memory=0.5, tree=True)
        draw.add(f"interconnect tree ({', '.join(x for x in options if x)})".replace(" ()", ""))
    else:
        draw.devices(memory=0.5)
        rate = [f"bandwidth = {draw.rate()} GB/s", f"latency = {draw.of(0, 0, 1)} s", draw.of("", "routing = direct")]
        draw.add(f"interconnect links ({', '.join(x for x in [*rate, *options] if x)})")
        draw.links()
    draw.add(_bottleneck(draw) if draw.often(0.8) else "minimize latency")
    draw.memory(0.6)
    of_places(draw)
    rows(draw, draw.of([], ["load"]), False)


def makespans(draw: Draw) -> None:
    """Write schedules on links, with exclusive links and rows over times."""
    draw.graph({"params": 0.6, **HELD, "kind": 0.1}, size=0.2)
    draw.devices(memory=0.5)
    rate = f"bandwidth = {draw.rate()} GB/s, latency = {draw.of(0, 0, 1)} s"
    draw.add(f"interconnect links ({rate}{draw.of('', ', routing = direct')})")
    draw.links()
    draw.add("minimize makespan")
    if draw.often(0.4):
        draw.add("constraint exclusive links")
    draw.memory(0.5)
    of_places(draw, order=0.1)
    rows(draw, ["times"], draw.often(0.2))


def subgraphs(draw: Draw) -> None:
    """Write the latency of one input by subgraphs, on ``host`` or ``shared``."""
    draw.most = min(draw.most, 60)
    draw.graph({"params": 0.6})
    host = draw.often(0.7)
    draw.devices(memory=0.6, free=0.4 if host else 0)
    draw.add(f"interconnect {'host' if host else 'shared'} (bandwidth = {draw.rate()} GB/s)")
    draw.add("minimize makespan")
    draw.add(draw.of("constraint contiguous", f"constraint subgraphs at most {draw.of(1, 2, 3)}"))
    draw.memory(0.6)
    of_places(draw, order=0.0)


def phases(draw: Draw) -> None:
    """Write nodes that run in two phases, with objectives and limits of single phases."""
    draw.add(f"phase p, q (weight = {draw.of(1, 2, 16)})")
    draw.graph({"params": 0.6, **HELD}, phases=True)
    network = draw.of("shared", "host", "links", "tree")
    draw.devices(memory=0.6, tree=network == "tree")
    overflow = draw.of("", "", ", overflow = prefetch") if network in ("shared", "host") else ""
    rate = "" if network == "tree" else f" (bandwidth = {draw.rate()} GB/s{overflow})"
    draw.add(f"interconnect {network}{rate}")
    draw.add(
        "minimize "
        + draw.of(
            "bottleneck", "bottleneck(p)", "bottleneck(q)", "bottleneck(p) + 3 * bottleneck(q)",
            "max(bottleneck(p), 2 * bottleneck(q))", "latency(p)", "latency(q)", "latency(p) + 2 * latency(q)",
            "bottleneck(p) + latency(q)", "max(bottleneck(p) - 1 s, bottleneck(q) - 2 s)",
        )
    )  # fmt: skip
    if draw.often(0.4):
        draw.add(f"constraint due: {draw.of('bottleneck(p)', 'bottleneck(q)', 'latency(q)')} <= {draw.limit()} s")
    if not overflow:
        draw.memory(0.7)
    of_places(draw, order=0.7)


def copied(draw: Draw) -> None:
    """Write several routes that share the inputs."""
    draw.most = min(draw.most, 60)
    draw.graph({"memory": 0.7}, shape=draw.of("chain", "chain", "layers"))
    network = draw.of("shared", "shared", "host", "links", "tree")
    draw.devices(memory=0.7, tree=network == "tree")
    draw.add(f"interconnect {network}" + ("" if network == "tree" else f" (bandwidth = {draw.rate()} GB/s)"))
    draw.add("maximize throughput")
    draw.add("constraint acyclic")
    draw.memory(0.6)
    share = draw.of("any", "pipelines", "stages", "ranges")
    draw.add(f"constraint copies up to {draw.of(1, 2, 3, 5)} (share = {share})")
    if draw.often(0.2):
        of_places(draw, order=0.0)


def staged(draw: Draw) -> None:
    """Write stages: memory by schedule, iterations, shards and replicas, groups of devices."""
    draw.most = min(draw.most, 60)
    draw.graph({"params": 0.9, "saved": 0.5, "state": 0.3, "reduce": 0.3, "forward": 0.4})
    groups = draw.often(0.3)
    equal = draw.often(0.7)
    draw.devices(memory=0.8, equal=equal, groups=groups)
    rate = draw.rate()
    between = f", between = {rate / 2:g} GB/s" if groups else ""
    draw.add(f"interconnect {draw.of('shared', 'host')} (bandwidth = {rate} GB/s{between})")
    schedule = f"microbatches = {draw.of(1, 2, 4, 8)}, schedule = {draw.of('gpipe', chr(34) + '1f1b' + chr(34))}"
    iteration = draw.often(0.4) and not groups
    draw.add(f"minimize iteration ({schedule})" if iteration else _bottleneck(draw))
    draw.add("constraint acyclic")
    if draw.often(0.5):
        draw.add(f"constraint memory ({schedule}, recompute = {draw.of('free', 'never', 'always')})")
    else:
        draw.memory(0.6)
    if draw.often(0.4) and not groups:
        draw.add(f"constraint shard {', '.join(draw.names)} by {draw.of('[1, 2]', '[1, 2, 4]')}")
    if draw.often(0.4) and len(draw.names) > 1 and equal:
        sync = draw.of("", " (sync = weights)")
        draw.add(f"constraint replicate {', '.join(draw.names)} up to {draw.of(2, 3)}{sync}")
    if draw.often(0.2):
        of_places(draw, order=0.0)


def robust(draw: Draw) -> None:
    """Write loads that count nodes which take longer."""
    draw.graph({"params": 0.6, "deviation": 0.4, **HELD})
    draw.devices(memory=0.6)
    draw.add(f"interconnect {draw.of('shared', 'host')} (bandwidth = {draw.rate()} GB/s)")
    draw.add(_bottleneck(draw))
    draw.add(f"constraint robust up to {draw.of(1, 1, 2, 3)} (deviation = {draw.of(10, 10, 50)}%)")
    draw.memory(0.6)
    of_places(draw)
    rows(draw, ["load"], False)


def targets(draw: Draw) -> None:
    """Write chains for a runtime with limits of its own."""
    draw.layers = True
    draw.graph({"params": 0.8, "cache": 0.3, "workspace": 0.2}, shape=draw.of("chain", "residual"))
    draw.devices(memory=0.8)
    draw.add(f"interconnect {draw.of('shared', 'links')} (bandwidth = {draw.rate()} GB/s)")
    draw.add(_bottleneck(draw))
    draw.add(f"target {draw.of('deepspeed', 'torchtitan', 'vllm', 'llama_cpp', 'megatron', 'device_map')}")
    of_places(draw, order=0.1)


def training(draw: Draw) -> None:
    """Write training graphs, whose backward part mirrors the forward part."""
    draw.graph({"params": 0.6, **HELD}, backward=True)
    host = draw.often(0.6)
    draw.devices(memory=0.6, free=0.3 if host else 0)
    draw.add(f"interconnect {'host' if host else 'shared'} (bandwidth = {draw.rate()} GB/s)")
    draw.add(draw.of("minimize bottleneck", "minimize bottleneck (parts = separate)"))
    if draw.often(0.8):
        draw.add("constraint colocate by color")
    if draw.often(0.3):
        draw.add(draw.of("constraint acyclic (parts = forward)", "constraint contiguous (parts = forward)"))
    draw.memory(0.6)
    of_places(draw)


def batches(draw: Draw) -> None:
    """Write the throughput of a batch on links."""
    draw.most = min(draw.most, 20)
    draw.graph({"params": 0.5})
    draw.devices(memory=0.5, batch=True)
    draw.add(f"interconnect links (bandwidth = {draw.rate()} GB/s)")
    batch = draw.of(2, 4, 8)
    draw.add(f"maximize throughput (batch = {batch}{draw.of('', ', transfer = per_input')})")
    if draw.often(0.6):
        draw.add(f"constraint batch in [{batch // 2}, {batch}]")
    draw.memory(0.5)


FAMILIES: dict[str, Callable[[Draw], None]] = {
    "shared": shared, "weighted": weighted, "networks": networks, "makespans": makespans, "subgraphs": subgraphs,
    "phases": phases, "copies": copied, "stages": staged, "robust": robust, "targets": targets,
    "training": training, "batches": batches, "mixed": mixed,
}  # fmt: skip
