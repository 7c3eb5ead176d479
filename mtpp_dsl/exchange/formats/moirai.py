"""Task graphs on a few unequal devices, the published inputs of zhang2023."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mtpp_dsl.core.base.json_record import JsonRecord, load, located, repeated_edges
from mtpp_dsl.core.base.spec_limits import MAX_NODES, check_graph, check_table
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph, frozen
from mtpp_dsl.exchange.formats.workload import Workload

MAX_DEVICES = 1000


class MoiraiFormat:
    """JSON with ``devices, device_memory, tasks, transfers``; every quantity in abstract units.

    ================================== ======================================================
    in the file                        here
    ================================== ======================================================
    ``devices`` (K), ``device_memory`` devices ``d0 .. d(K-1)`` with these memories
    ``tasks[].id``                     the node's name, as a string
    ``tasks[].times`` [K]              ``times["d0"] .. times["d(K-1)"]``
    ``tasks[].memory``                 ``memory``
    ``tasks[].successors``             the edges
    ``transfers[].times`` [K, K]       ``Links.transfers[e]``: sender's row, receiver's column
    ================================== ======================================================

    ``Links.transfers`` is [m, K, K] in the order of the graph's edges; an edge without a transfer costs
    nothing, as the dummy edges out of the inputs in the published files. A successor named twice counts once, with a
    warning. A transfer between nodes that no
    edge joins, two for one edge, and one that takes time within a device are errors; no published file has
    any. The ``id`` of a transfer is not read. The file says nothing of tensor sizes, so ``output(v)`` is 0:
    an interconnect other than the file's own finds no communication in this graph.

    ``work(v)``, which devices of other names use, is the time on ``d0``: speeds are relative to that device.
    """

    name = "moirai"
    suffixes = (".json",)

    def read(self, path: Path) -> Workload:
        """Return the workload in *path*.

        Raises:
            UsageError: see :func:`mtpp_dsl.exchange.formats.reading.read`.
        """
        file = load(path)
        k = file.integer("devices")
        if not 1 <= k <= MAX_DEVICES:
            raise file.error("devices", f"expected 1 to {MAX_DEVICES}, found {k}")
        memory = file.array("device_memory", [k])
        tasks = file.records("tasks", most=MAX_NODES)
        if not tasks:
            raise file.error("tasks", "an empty list; a graph has one task or more")
        times = np.array([task.array("times", [k]) for task in tasks]).reshape(-1, k)
        graph, warnings = _graph(file, tasks, times)
        every_pair = np.ones((k, k))
        links = Links(
            bandwidth=frozen(every_pair, np.float64),
            latency=frozen(0 * every_pair, np.float64),
            transfers=_transfers(file, graph, k),
        )
        return Workload(graph, tuple(Device(f"d{d}", memory=float(memory[d])) for d in range(k)), links, warnings)


def _graph(file: JsonRecord, tasks: list[JsonRecord], times: Floats) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph, and warnings of edges given twice."""
    index = file.index("tasks", "id")
    edges = []
    for v, task in enumerate(tasks):
        for i, successor in enumerate(task.identifiers("successors")):
            if successor not in index:
                raise task.error(f"successors[{i}]", f"there is no task {successor!r}")
            edges.append((v, index[successor]))
    check_graph(len(tasks), len(edges), file.place)
    with located(file.place):
        graph = Graph.create(
            list(index),
            edges,
            work=times[:, 0],
            memory=[task.number("memory") for task in tasks],
            times={f"d{d}": times[:, d] for d in range(times.shape[1])},
        )
    return graph, repeated_edges(file.place, list(index), edges)


def _transfers(file: JsonRecord, graph: Graph, k: int) -> Floats:
    """Return [m, k, k] transfer times; zero for an edge without any."""
    position = {edge: e for e, edge in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))}
    check_table("the times of transfers", (graph.m, "edges"), (k, "devices"), (k, "devices"))
    times = np.zeros((graph.m, k, k))
    seen: set[int] = set()
    for transfer in file.records("transfers"):
        ends = transfer.identifier("source"), transfer.identifier("target")
        for field, end in zip(("source", "target"), ends, strict=True):
            if end not in graph.index:
                raise transfer.error(field, f"there is no task {end!r}")
        edge = position.get((graph.index[ends[0]], graph.index[ends[1]]))
        if edge is None:
            raise transfer.error("source, target", f"no edge joins {ends[0]!r} to {ends[1]!r}")
        if edge in seen:
            raise transfer.error("source, target", f"a second transfer from {ends[0]!r} to {ends[1]!r}")
        seen.add(edge)
        times[edge] = transfer.array("times", [k, k])
        if times[edge].diagonal().any():
            raise transfer.error("times", "a transfer within one device takes time; the diagonal must be zero")
    return frozen(times, np.float64)
