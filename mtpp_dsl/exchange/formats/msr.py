"""Workloads of msr-fiddle/dnn-partitioning, the published inputs of tarnawski2020."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mtpp_dsl.core.base.json_record import JsonRecord, load, located, repeated_edges
from mtpp_dsl.core.base.spec_limits import MAX_EDGES, MAX_NODES
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Bools, Graph
from mtpp_dsl.exchange.formats.workload import Workload

UNEQUAL = 1e-6  # relative: costs of one producer that differ by less are rounding
MAX_DEVICES = 10_000


class Msr:
    """JSON with ``maxFPGAs, maxCPUs, maxSizePerFPGA, nodes, edges`` (throughput and latency alike).

    ============================ =============================================================
    in the file                  here
    ============================ =============================================================
    ``nodes[].id, name``         the node's name (as a string) and its label
    ``fpgaLatency, cpuLatency``  ``work``, and ``times["cpu"]``; abstract units
    ``supportedOnFpga`` = false  infinite in ``times["accelerator"]``; ``work`` is the CPU's, with a warning
    ``size``                     ``memory``, in B
    ``colorClass``               ``colors``; -1 where missing or null
    ``isBackwardNode``           ``backward``
    ``edges[].cost``             ``output`` of the edge's source: a transfer time, bandwidth 1
    ``maxFPGAs, maxSizePerFPGA`` devices ``acc[0..]`` of type accelerator with that memory
    ``maxCPUs``                  devices ``cpu[0..]`` of type cpu, I/O free, without a limit
    ============================ =============================================================

    The interconnect is ``host`` with bandwidth 1. A file without ``maxFPGAs`` and ``maxCPUs`` has no
    devices. Costs of one producer that differ by 1e-6 relative or less are one tensor of the larger
    cost; other differences are an error. An edge given twice, at one cost, counts once, with a warning; a
    color class that has supported nodes and others is read, with a warning. Other fields are not read
    (``edges[].size`` among them, which disagrees with ``cost`` in published files and is read by no published
    program).

    * The one ``size`` of a node is all it takes in memory, so it is ``memory(v)``; ``params(v)`` is 0,
      without a unit, as ``output(v)`` is a time and sizes share one unit. ``overflow = stream`` is
      therefore refused on these graphs: what would be streamed is not in the file.
    * Each file is taken at its word: transfer costs in the published ``throughput/LayerGraphs`` are
      1000 times smaller, relative to the same node times, than in ``latency/LayerGraphs`` and in every
      operator graph.
    * Published training layer graphs have a backward part that copies the forward edges in the same
      direction, with no edge between the parts; it is read as it stands.
    """

    name = "msr"
    suffixes = (".json",)

    def read(self, path: Path) -> Workload:
        """Return the workload in *path*.

        Raises:
            UsageError: see :func:`mtpp_dsl.exchange.formats.reading.read`.
        """
        file = load(path)
        nodes = file.records("nodes", most=MAX_NODES)
        if not nodes:
            raise file.error("nodes", "an empty list; a graph has one node or more")
        supported = np.array([node.flag("supportedOnFpga", True) for node in nodes], dtype=np.bool_)
        graph, repeated = _graph(file, nodes, supported)
        devices = _devices(file)
        warnings = (*repeated, *_warnings(file, graph, supported))
        return Workload(graph, devices, Host(1.0) if devices else None, warnings)


def _graph(file: JsonRecord, nodes: list[JsonRecord], supported: Bools) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph, and warnings of edges given twice."""
    index = file.index("nodes", "id")
    work = [node.number("fpgaLatency" if ok else "cpuLatency") for node, ok in zip(nodes, supported, strict=True)]
    edges, output = _edges(file, index)
    times = {"cpu": [node.number("cpuLatency") for node in nodes]}
    if not supported.all():
        times["accelerator"] = np.where(supported, work, np.inf).tolist()
    with located(file.place):
        graph = Graph.create(
            list(index),
            edges,
            work=work,
            output=output,
            memory=[node.number("size") for node in nodes],
            labels=[node.text("name", "") for node in nodes],
            colors=[node.integer("colorClass") if "colorClass" in node else -1 for node in nodes],
            backward=[node.flag("isBackwardNode", False) for node in nodes],
            times=times,
            memory_unit="B",
        )
    return graph, repeated_edges(file.place, list(index), edges)


def _warnings(file: JsonRecord, graph: Graph, supported: Bools) -> tuple[str, ...]:
    """Return what to tell of nodes that the accelerator does not support, and of classes with some of both."""
    if supported.all():
        return ()
    message = (
        f"{file.place}: {np.count_nonzero(~supported)} of {supported.size} nodes are not supported on the accelerator; "
        'devices of type "accelerator" heed that, devices of a type the file does not know take the CPU time for them'
    )
    mixed = sorted(({*graph.colors[supported].tolist()} & {*graph.colors[~supported].tolist()}) - {-1})
    if not mixed:
        return (message,)
    v = int(np.flatnonzero(~supported & (graph.colors == mixed[0]))[0])
    also = f" (and {len(mixed) - 1} more)" if len(mixed) > 1 else ""
    both = (
        f"{file.place}: color class {mixed[0]}{also} mixes nodes that the accelerator supports with node "
        f"{graph.names[v]!r}, which it does not: colocated, none of them can be on it"
    )
    return message, both


def _edges(file: JsonRecord, index: dict[str, int]) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the edges, and the transfer time of every node's tensor."""
    edges: list[tuple[int, int]] = []
    names = list(index)
    costs: list[list[tuple[float, str]]] = [[] for _ in index]
    for edge in file.records("edges", most=MAX_EDGES):
        for field in ("sourceId", "destId"):
            if edge.identifier(field) not in index:
                raise edge.error(field, f"there is no node {edge.identifier(field)!r}")
        u, v = index[edge.identifier("sourceId")], index[edge.identifier("destId")]
        edges.append((u, v))
        costs[u].append((edge.number("cost"), names[v]))
    for name, u in index.items():
        low, high = min(costs[u], default=(0.0, "")), max(costs[u], default=(0.0, ""))
        if high[0] - low[0] > UNEQUAL * high[0]:
            raise UsageError(
                f"{file.place}: edges: node {name!r} sends one tensor at two costs, {low[0]:g} to {low[1]!r} and "
                f"{high[0]:g} to {high[1]!r}; every node has one output"
            )
    return edges, [max(row, default=(0.0, ""))[0] for row in costs]


def _devices(file: JsonRecord) -> tuple[Device, ...]:
    accelerators, cpus = file.integer("maxFPGAs", 0), file.integer("maxCPUs", 0)
    for field, count in (("maxFPGAs", accelerators), ("maxCPUs", cpus)):
        if count > MAX_DEVICES:
            raise file.error(field, f"{count} devices; at most {MAX_DEVICES} are read")
    memory = file.number("maxSizePerFPGA") if accelerators else None
    return (
        *(Device(f"acc[{i}]", memory=memory) for i in range(accelerators)),
        *(Device(f"cpu[{i}]", type="cpu", pays_io=False) for i in range(cpus)),
    )
