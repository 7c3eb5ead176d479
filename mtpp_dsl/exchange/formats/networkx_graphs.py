"""Graphs of networkx as graphs of mtpp: which attributes hold the weights, in which units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core.base.units import SIZE, TIME, WORK
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.formats.graph_rows import WeightsReader

if TYPE_CHECKING:
    import networkx as nx


def graph_from_networkx(
    graph: nx.DiGraph,
    *,
    work: str = "work",
    params: str = "params",
    output: str = "output",
    memory: str = "memory",
    kind: str = "kind",
    label: str = "label",
    color: str = "color",
    backward: str = "backward",
    size: str = "size",
    work_unit: str | None = None,
    size_unit: str | None = None,
) -> Graph:
    """Return a graph from a networkx DiGraph, whose nodes are named by ``str``.

    The first nine arguments name the attributes of nodes (and, ``size``, of edges) that hold the
    weights; an attribute that is missing is 0, "", or as :meth:`Graph.create` says. Weights are numbers, or strings
    with units: "2 ms", "3 GFLOP", "1 MiB".

    Args:
        graph: the DAG.
        work: name of the attribute with the running time, in *work_unit*.
        params: … with the size of the parameters, in *size_unit*.
        output: … with the size of the output tensor, in *size_unit*.
        memory: … with what ``constraint memory`` adds up.
        kind: … with the kind of operator.
        label: … with a name for people.
        color: … with the colour class.
        backward: … with True for nodes of the backward part.
        size: … of an edge, with what it carries on ``links``.
        work_unit: of the numbers, "s", "FLOP" or "" for none; None: of the strings, where there are any.
        size_unit: likewise "B" or "".

    Raises:
        UsageError: as :meth:`Graph.create`: a cycle, a negative weight, two nodes of one name; an attribute is named
            that nothing has; nothing has ``work``, and there are other attributes; a weight that is none; units that
            do not go together.
    """
    nodes = list(graph.nodes)
    index = {node: v for v, node in enumerate(nodes)}
    rows = [graph.nodes[node] for node in nodes]
    edges = list(graph.edges(data=True))
    _check_attributes(
        {"work": work, "params": params, "output": output, "memory": memory}
        | {"kind": kind, "label": label, "color": color, "backward": backward},
        rows,
    )
    _check_sizes(size, [row for _, _, row in edges], any(output in row for row in rows))

    def column(name: str, default: Any) -> list[Any]:
        return [row.get(name, default) for row in rows]

    names = [str(node) for node in nodes]
    times = WeightsReader((TIME, WORK), work_unit, "times")
    sizes = WeightsReader((SIZE,), size_unit, "sizes")
    return Graph.create(
        names,
        [(index[u], index[v]) for u, v, _ in edges],
        work=times.read(work, names, column(work, 0.0)),
        params=sizes.read(params, names, column(params, 0.0)),
        output=sizes.read(output, names, column(output, 0.0)),
        memory=sizes.read(memory, names, column(memory, float("nan"))),
        sizes=sizes.read(size, [f"{u} -> {v}" for u, v, _ in edges], [row.get(size) for _, _, row in edges]),
        kinds=column(kind, ""),
        labels=column(label, ""),
        colors=column(color, -1),
        backward=column(backward, False),
        work_unit=times.unit,
        size_unit=sizes.unit,
    )


def _check_attributes(asked: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse attributes that are named and on no node, and a graph without work that has other attributes."""
    there = dict.fromkeys(chain.from_iterable(rows))
    for what, name in asked.items():
        if name != what and name not in there:
            raise UsageError(f"no node has the attribute {name!r}, which is to be its {what}{_hint(name, there)}")
    unread = [str(name) for name in there if name not in asked.values()]
    if asked["work"] not in there and unread:
        raise UsageError(
            f"no node has the attribute {asked['work']!r}, its running time, and nodes have {', '.join(unread[:5])}: "
            f"say which it is, graph_from_networkx(graph, work={unread[0]!r}), or set 'work' to 0"
        )


def _check_sizes(size: str, rows: Sequence[Mapping[str, Any]], outputs: bool) -> None:
    """Refuse a size of edges that no edge has, and edges with other attributes where nothing has a size."""
    there = dict.fromkeys(chain.from_iterable(rows))
    if size != "size" and size not in there:
        raise UsageError(f"no edge has the attribute {size!r}, which is to be what it carries{_hint(size, there)}")
    if size not in there and there and not outputs:
        first = str(next(iter(there)))
        raise UsageError(
            f"no edge has the attribute {size!r}, and no node an output, and edges have "
            f"{', '.join(map(str, [*there][:5]))}: say what they carry, graph_from_networkx(graph, size={first!r}), or "
            "set 'size' to 0"
        )


def _hint(name: str, there: Iterable[object]) -> str:
    return did_you_mean(name, [other for other in there if isinstance(other, str)])
