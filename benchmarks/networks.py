"""Prove bottlenecks on unequal links: a language model over two servers, and a convolutional network over four devices.

The language model has the sizes of Llama-3-70B: 80 layers of two operators, an embedding and a head, decoding for 32
requests, over two servers of four unequal GPUs each: NVLink in pairs, PCIe in a server, Ethernet between servers. The
network has 1,000 operators: modules of four branches of unequal depth, whose outputs are joined; over four unequal
devices, each pair with a link of its own rate.

Usage: .venv/bin/python benchmarks/networks.py [seconds]
"""

from __future__ import annotations

import sys
from time import monotonic, process_time

import numpy as np

import mtpp_dsl
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem

PEAK = (312e12, 312e12, 181e12, 181e12, 165e12, 165e12, 125e12, 125e12)
RATE = (2.0e12, 2.0e12, 0.86e12, 0.86e12, 1.0e12, 1.0e12, 0.9e12, 0.9e12)
ROOM = (80e9, 80e9, 48e9, 48e9, 24e9, 24e9, 32e9, 32e9)
NVLINK, PCIE, ETHERNET = 300e9, 25e9, 1.25e9


def language_model(requests: int = 32) -> Problem:
    """Return the language model on two servers."""
    hidden, inner, layers = 8192, 28672, 80
    attention, feed = 2 * hidden * hidden * 2.25, 2 * hidden * inner * 3.0
    sizes = [2.0 * 128256 * hidden] + [attention, feed] * layers + [2.0 * 128256 * hidden]
    graph_of = list(enumerate(sizes))
    names = [f"op{i}" for i, _ in graph_of]
    bytes_ = np.array(sizes)
    times = {}
    for d, (peak, rate) in enumerate(zip(PEAK, RATE, strict=True)):
        times[f"gpu{d}"] = np.maximum(bytes_ * requests / (0.6 * peak), bytes_ / (0.8 * rate))
    graph = Graph.create(
        names,
        [(i, i + 1) for i in range(len(sizes) - 1)],
        output=2.0 * hidden * requests,
        memory=bytes_,
        times=times,
        work_unit="s",
        size_unit="B",
        memory_unit="B",
    )
    bandwidth = np.full((8, 8), ETHERNET)
    for d in range(8):
        for e in range(8):
            if d // 4 == e // 4:
                bandwidth[d, e] = NVLINK if d // 2 == e // 2 else PCIE
    devices = [Device(f"gpu{d}", memory=0.9 * room) for d, room in enumerate(ROOM)]
    return Problem.create(graph, devices, Links(bandwidth, np.zeros((8, 8))), constraints=[Acyclic(), Memory()])


def convolutions(modules: int = 62, seed: int = 0) -> Problem:
    """Return the network of about 1,000 operators on four devices."""
    random = np.random.default_rng(seed)
    names, edges, work, output = ["input"], [], [0.0], [2e6]

    def add(*before: int, cost: float, size: float) -> int:
        names.append(f"op{len(names)}")
        edges.extend((u, len(names) - 1) for u in before)
        work.append(cost)
        output.append(size)
        return len(names) - 1

    last = 0
    for _ in range(modules):
        ends = []
        for depth in (2, 3, 4, 6):
            at = last
            for _ in range(depth):
                at = add(at, cost=float(random.lognormal(0, 0.7)) * 2e-5, size=float(random.uniform(0.1, 0.6)) * 1e6)
            ends.append(at)
        last = add(*ends, cost=1e-6, size=1.5e6)
    graph = Graph.create(names, edges, work=work, output=output, work_unit="s", size_unit="B")
    devices = [Device(f"d{i}", speed=speed) for i, speed in enumerate((1.0, 1.4, 2.1, 0.6))]
    rate = random.uniform(4e9, 25e9, (4, 4))
    return Problem.create(graph, devices, Links(rate, np.zeros((4, 4))), constraints=[Acyclic()])


def main() -> None:
    """Solve both, and print how near plan and bound come."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    for name, problem in (("language model", language_model()), ("convolutions", convolutions())):
        began, before = monotonic(), process_time()
        found = mtpp_dsl.solve(problem, time_limit=seconds)
        gap = "-" if found.gap is None else f"{found.gap:.2%}"
        print(
            f"{name}: {problem.graph.n} nodes, {problem.k} devices: {found.status}, gap {gap}, "
            f"{monotonic() - began:.1f} s (CPU {process_time() - before:.1f} s)",
            *found.notes,
            flush=True,
        )


if __name__ == "__main__":
    main()
