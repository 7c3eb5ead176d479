"""Graphs of networkx as graphs of mtpp: which attributes hold the weights, in which units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

from mtpp_dsl.base.exact import exact_number
from mtpp_dsl.base.near_units import unit_hint
from mtpp_dsl.base.units import NONE, SIZE, TIME, UNITS, WORK, Dimension
from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.problem.graph import Graph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["graph_from_networkx"]

_BASE = {TIME: "s", WORK: "FLOP", SIZE: "B"}
_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.]*)\s*")


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
    times = _Weights((TIME, WORK), work_unit, "times")
    sizes = _Weights((SIZE,), size_unit, "sizes")
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


class _Weights:
    """Reads weights of one sort, all with one unit or all with none."""

    def __init__(self, dimensions: tuple[Dimension, ...], unit: str | None, what: str) -> None:
        self.dimensions, self.what, self.asked = dimensions, what, unit
        self.first: tuple[str, str] | None = None  # whose weight was the first that is not 0, and its unit

    @property
    def unit(self) -> str:
        """Of the numbers read."""
        return self.asked if self.asked is not None else self.first[1] if self.first else ""

    def read(self, name: str, owners: Sequence[str], values: Sequence[Any]) -> list[Any]:
        """Return numbers; None stays None."""
        pairs = zip(owners, values, strict=True)
        return [None if value is None else self._number(f"{name} of {owner}", value) for owner, value in pairs]

    def _number(self, what: str, value: Any) -> float:
        if isinstance(value, str):
            return self._quantity(what, value)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise UsageError(f"{what} is {value!r:.60}, not a number")
        number = float(value)
        if number and not isnan(number):
            self._agree(what, "" if self.asked is None else self.asked)
        return number

    def _quantity(self, what: str, text: str) -> float:
        match = _QUANTITY.fullmatch(text)
        if match is not None and not match[2]:
            return self._number(what, float(match[1].replace("_", "")))
        factor, dimension = UNITS.get(match[2], (1, NONE)) if match else (1, NONE)
        if match is None or dimension not in self.dimensions:
            units = [unit for unit, (_, of) in UNITS.items() if of in self.dimensions]
            hint = unit_hint(match[2], self.dimensions) if match else ""
            raise UsageError(f"{what} is {text!r:.60}, which is no number with a unit such as {units[0]}{hint}")
        self._agree(what, _BASE[dimension])
        return float(exact_number(match[1]) * factor)

    def _agree(self, what: str, unit: str) -> None:
        """Hold that all weights have one unit, or none has."""
        if self.asked is not None and unit != self.asked:
            raise UsageError(f"{what} is in {unit}, and the unit of {self.what} is to be {self.asked or 'none'}")
        self.first = self.first or (what, unit)
        if self.first[1] != unit:
            words = [f"{owner} is {f'in {of}' if of else 'without a unit'}" for owner, of in ((what, unit), self.first)]
            raise UsageError(f"{', but '.join(words)}: all {self.what} of a problem carry one unit, or none do")
