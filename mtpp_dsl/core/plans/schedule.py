"""When everything happens: the second half of a plan for a makespan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, frozen

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Short, Picklable):
    """Start and end of every node and of every transfer, in the problem's unit of time.

    Attributes:
        start, end: [n] of every node.
        sent, arrived: [m] start and end of the transfer of every edge; nan where nothing is sent: both ends are on
            one device, or (interconnects ``host`` and ``shared``) tensors go by way of the memory.
        piece: [n] the number of the subgraph of its device that each node is in, from 0 in the order in which they run
            (tarnawski2020's latency, interconnects ``host`` and ``shared``); None on ``links``.
    """

    start: Floats
    end: Floats
    sent: Floats
    arrived: Floats
    piece: Ints | None = None

    @classmethod
    def create(
        cls,
        graph: Graph,
        start: Sequence[float] | Floats,
        end: Sequence[float] | Floats,
        sent: Sequence[float] | Floats | None = None,
        arrived: Sequence[float] | Floats | None = None,
        piece: Sequence[int] | Ints | None = None,
    ) -> Schedule:
        """Check the shapes.

        Raises:
            UsageError: a wrong length, or a node without a start or an end.
        """
        nothing = np.full(graph.m, np.nan)
        nodes = [frozen(x, np.float64) for x in (start, end)]
        edges = [frozen(nothing if x is None else x, np.float64) for x in (sent, arrived)]
        if any(x.shape != (graph.n,) for x in nodes) or any(x.shape != (graph.m,) for x in edges):
            raise UsageError(f"a schedule of {graph.n} nodes and {graph.m} edges has as many starts and ends")
        if not all(np.isfinite(x).all() for x in nodes):
            raise UsageError("every node of a schedule has a start and an end")
        pieces = None if piece is None else frozen(piece, np.int64)
        if pieces is not None and (pieces.shape != (graph.n,) or (graph.n and pieces.min() < 0)):
            raise UsageError("every node of a schedule by subgraphs is in one, and they are numbered from 0")
        return cls(nodes[0], nodes[1], edges[0], edges[1], pieces)

    @property
    def makespan(self) -> float:
        """When the last node ends."""
        return float(self.end.max(initial=0.0))

    def to_json(self, problem: Problem, assignment: Ints) -> list[dict[str, Any]]:
        """Return the rows of the JSON answer, by start."""
        names, devices = problem.graph.names, problem.devices
        rows = []
        for v in np.lexsort((self.end, self.start)).tolist():
            row: dict[str, Any] = {
                "node": names[v],
                "device": devices[assignment[v]].name,
                "start": float(self.start[v]),
                "end": float(self.end[v]),
            }
            rows.append(row if self.piece is None else {**row, "subgraph": int(self.piece[v])})
        return rows

    def transfers_to_json(self, problem: Problem, assignment: Ints) -> list[dict[str, Any]]:
        """Return the rows of the transfers, by start."""
        graph, devices = problem.graph, problem.devices
        edges = np.flatnonzero(~np.isnan(self.sent))
        edges = edges[np.lexsort((self.arrived[edges], self.sent[edges]))]
        return [
            {
                "source": graph.names[graph.tails[e]],
                "target": graph.names[graph.heads[e]],
                "from": devices[assignment[graph.tails[e]]].name,
                "to": devices[assignment[graph.heads[e]]].name,
                "start": float(self.sent[e]),
                "end": float(self.arrived[e]),
            }
            for e in edges.tolist()
        ]

    @classmethod
    def from_json(cls, problem: Problem, rows: object, transfers: object) -> Schedule:
        """Read the ``schedule`` and ``transfers`` of a JSON answer.

        Raises:
            UsageError: not lists of such rows; a node missing, unknown or there twice; a transfer along no edge.
        """
        graph = problem.graph
        times: dict[int, tuple[float, float]] = {}
        pieces: dict[int, int] = {}
        for row in _rows(rows, "schedule"):
            v = _node(graph, row, "node")
            if v in times:
                raise UsageError(f"the schedule has node {graph.names[v]!r} twice")
            times[v] = _time(row, "start"), _time(row, "end")
            if isinstance(row.get("subgraph"), int):
                pieces[v] = row["subgraph"]
        missing = [name for v, name in enumerate(graph.names) if v not in times]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(f"the schedule leaves out node {missing[0]!r}{more}")
        edges = {edge: e for e, edge in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))}
        sent, arrived = np.full(graph.m, np.nan), np.full(graph.m, np.nan)
        for row in _rows([] if transfers is None else transfers, "transfers"):
            ends = _node(graph, row, "source"), _node(graph, row, "target")
            if ends not in edges:
                raise UsageError(f"a transfer goes from {row['source']!r} to {row['target']!r}, which no edge joins")
            sent[edges[ends]], arrived[edges[ends]] = _time(row, "start"), _time(row, "end")
        start, end = ([times[v][i] for v in range(graph.n)] for i in (0, 1))
        piece = [pieces[v] for v in range(graph.n)] if len(pieces) == graph.n and graph.n else None
        return cls.create(graph, start, end, sent, arrived, piece)


def _rows(rows: object, what: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"the {what} of a plan is a list of objects")
    yield from rows


def _node(graph: Graph, row: Mapping[str, Any], key: str) -> int:
    name = row.get(key)
    if not isinstance(name, str) or name not in graph.index:
        raise UsageError(f"the schedule has {name!r}, which is not a node{did_you_mean(str(name), graph.names)}")
    return graph.index[name]


def _time(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise UsageError(f"the {key} of {row.get('node', row.get('source'))!r} in the schedule is {value!r}, no time")
    return float(value)
