"""Graphs as rows of named values, one of each node and edge: what CSV, DOT and JSON files of graphs have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from numbers import Real
from typing import Any

import numpy as np

from mtpp_dsl.core.base.exact_numbers import exact_number
from mtpp_dsl.core.base.json_record import located
from mtpp_dsl.core.base.spec_limits import MAX_NAME
from mtpp_dsl.core.base.units import NONE, SIZE, TIME, UNITS, WORK, Dimension, unit_hint
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Graph

__all__ = [
    "EDGE_FIELDS",
    "MAX_EDGES",
    "MAX_NODES",
    "NODE_FIELDS",
    "TIME_ON",
    "GraphRows",
    "WeightsReader",
    "graph_of",
    "remedy",
    "rows_of",
    "unsaid",
]

_BASE = {TIME: "s", WORK: "FLOP", SIZE: "B"}
_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.]*)\s*")


class WeightsReader:
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

    def declare(self, what: str, unit: str) -> None:
        """Hold that all weights are in units as *unit* is.

        Raises:
            UsageError: it is no such unit, or others are not.
        """
        dimension = UNITS.get(unit, (1, NONE))[1]
        if dimension not in self.dimensions:
            units = [name for name, (_, of) in UNITS.items() if of in self.dimensions]
            raise UsageError(
                f"{what} cannot be in {unit[:20]!r}, but in {', '.join(units[:8])}{unit_hint(unit, self.dimensions)}"
            )
        self._agree(what, _BASE[dimension])

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
        if match is not None and _BASE.get(UNITS.get(match[2], (0, NONE))[1]) == match[2]:
            self._agree(what, match[2])
            return float(match[1].replace("_", ""))
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


MAX_NODES = 200_000
MAX_EDGES = 1_000_000
MAX_CELL = 100
"""Characters of a number with its unit."""

PHASES = "phases"
"""What a form without phases cannot say."""

SIZES = ("params", "output", "saved", "state", "reduce")
COSTS = ("flop", "read", "write")
WORDS = ("kind", "label", "part", "dtype", "weight_type")
MEMORIES = ("memory", "cache", "workspace")
NODE_FIELDS = ("work", *SIZES, *MEMORIES, "forward", "color", "deviation", "deviation_share", *COSTS, *WORDS)
"""What a row of a node may have beside its name, and times by type of device."""
EDGE_FIELDS = ("size",)
TIME_ON = "time on "
"""A column with this before the name of a type of devices has the times there."""

_UNIT = {"s": TIME, "FLOP": WORK, "B": SIZE}


@dataclass
class GraphRows:
    """The rows of a graph.

    Attributes:
        names: of the nodes.
        nodes: for each what it says: numbers, texts that are numbers with units, or words.
        edges: (tail, head) by their numbers.
        sizes: what each edge says that it carries; None where it says nothing.
        units: "work", "size" and "memory" to the units of all their numbers: "s", "FLOP", "B", or "" for none.
        declared: fields to units that a file says they have, whether there are numbers or not.
    """

    names: list[str] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    sizes: list[Any] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)

    def unit_of(self, what: str) -> str:
        """Return the unit in which a field is written."""
        if what in ("work", "deviation"):
            work = self.units["work"]
            return work if what == "work" else "s" if work == "FLOP" else work
        if what.startswith(TIME_ON):
            return "s" if self.units["work"] else ""
        known = {**dict.fromkeys(MEMORIES, self.units["memory"]), "flop": "FLOP", "read": "B", "write": "B"}
        return known.get(what, self.units["size"] if what in (*SIZES, "size") else "")


def unsaid(graph: Graph) -> str | None:
    """Return what of a graph its rows do not say, or None."""
    if graph.phases:
        return PHASES
    if graph.batch_times or graph.device_times:
        return "times of batches" if graph.batch_times else "times on single devices"
    if graph.costs is not None and len(np.unique(graph.costs.owner)) < len(graph.costs):
        v = int(graph.costs.owner[np.flatnonzero(np.diff(graph.costs.owner) == 0)[0]])
        return f"costs of several operators of one node, such as {graph.names[v]}"
    if graph.law:
        return "a law of times"
    if graph.costs is not None:
        for v, kind, name in zip(graph.costs.owner.tolist(), graph.costs.kinds, graph.costs.names, strict=True):
            if kind != graph.kinds[v] or name not in ("", graph.names[v]):
                return f"the operator of node {graph.names[v]}, which is of another kind or name"
    odd = next((name for name in graph.names if not name.isprintable()), None)
    return None if odd is None else f"names with control characters, such as {odd!r}"


def remedy(reason: str) -> str:
    """Return what else helps, beside JSON, where :func:`unsaid` gives this reason."""
    if reason == PHASES:
        return ", or one phase of a model (mtpp convert --phase)"
    return ", or add them up (mtpp convert --sum-costs)" if "costs" in reason else ""


def rows_of(graph: Graph) -> GraphRows:
    """Return the rows of a graph; what is as it is where nothing is said is left out.

    Numbers stay floats; those of a column are in its unit, :meth:`GraphRows.unit_of`.
    """
    units = {"work": graph.work_unit, "size": graph.size_unit, "memory": graph.memory_unit}
    usual = {
        **dict.fromkeys(("work", "params", "output", "reduce", "cache", "workspace"), np.zeros(graph.n)),
        "memory": graph.params + graph.output + graph.cache
        if graph.memory_unit == graph.size_unit
        else np.full(graph.n, np.nan),
        "saved": graph.output,
        "state": graph.params,
        "forward_share": np.where(graph.backward, 0.0, 1.0),
    }
    nodes: list[dict[str, Any]] = [{} for _ in range(graph.n)]
    for what, other in usual.items():
        column = getattr(graph, what)
        for v in np.flatnonzero(column != other).tolist():
            nodes[v]["forward" if what == "forward_share" else what] = float(column[v])
    for what in ("deviation", "deviation_share"):
        for v in np.flatnonzero(~np.isnan(getattr(graph, what))).tolist():
            nodes[v][what] = float(getattr(graph, what)[v])
    for v, row in enumerate(nodes):
        row |= {what: text for what, text in (("kind", graph.kinds[v]), ("label", graph.labels[v])) if text}
        row |= {"part": "backward"} if graph.backward[v] else {}
        row |= {"color": int(graph.colors[v])} if graph.colors[v] >= 0 else {}
        row |= {f"{TIME_ON}{kind}": float(times[v]) for kind, times in graph.times.items()}
    for v, costs in _costs_of(graph):
        nodes[v] |= costs
    sizes = [float(s) if s != graph.output[u] else None for s, u in zip(graph.sizes, graph.tails, strict=True)]
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    return GraphRows(list(graph.names), nodes, edges, sizes, units)


def _costs_of(graph: Graph) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield nodes with what one operator of theirs does; the kind is the node's."""
    if graph.costs is None or unsaid(graph) is not None:
        return
    costs = graph.costs
    for item, v in enumerate(costs.owner.tolist()):
        row: dict[str, Any] = {
            what: float(getattr(costs, what)[item]) for what in COSTS if not np.isnan(getattr(costs, what)[item])
        }
        words = {"dtype": costs.dtypes[item], "weight_type": costs.weight_types[item]}
        yield v, row | {what: text for what, text in words.items() if text}


def graph_of(place: str, rows: GraphRows, known: Sequence[str] = NODE_FIELDS) -> Graph:
    """Return the graph that rows say; *place* is the file, for messages.

    Raises:
        UsageError: an empty, repeated, too long or unprintable name; a field that is not *known*; a value that is none;
            units that do not go together; and as :meth:`Graph.create`.
    """
    if not rows.names:
        raise UsageError(f"{place}: there are no nodes; a graph has one or more")
    for name in rows.names:
        check_name(place, name)
    kinds = {what for row in rows.nodes for what in row}
    for what in sorted(kinds - set(known)):
        if not what.startswith(TIME_ON):
            raise UsageError(f"{place}: nodes have no field {what[:60]!r}{did_you_mean(what, known)}")
    with located(place):
        return _Reading(place, rows, kinds).graph()


def check_name(place: str, name: str) -> None:
    """Refuse a name of a node that is empty, too long, or has control characters."""
    if not name or len(name) > MAX_NAME or not name.isprintable():
        shown = name if len(name) <= 40 else f"{name[:40]}…"
        raise UsageError(
            f"{place}: the name of a node is {shown!r}; it must be 1 to {MAX_NAME:,} characters that can be printed"
        )


class _Reading:
    """Reads the columns of a graph's rows."""

    def __init__(self, place: str, rows: GraphRows, kinds: set[str]) -> None:
        self.place, self.rows, self.kinds = place, rows, kinds
        asked = rows.units
        self.work = WeightsReader((TIME, WORK), asked.get("work"), "times")
        self.sizes = WeightsReader((SIZE,), asked.get("size"), "sizes")
        self.memory = WeightsReader((SIZE,), asked.get("memory"), "memories")
        self.times = WeightsReader((TIME,), None, "times on devices")
        readers = dict.fromkeys((*SIZES, "size"), self.sizes) | dict.fromkeys(MEMORIES, self.memory)
        readers["work"] = self.work
        for what, unit in rows.declared.items():
            if what in readers:
                readers[what].declare(what, unit)

    def graph(self) -> Graph:
        """Return the graph."""
        rows, column = self.rows, self.column
        work = column("work", self.work, 0.0)
        sized = {what: column(what, self.sizes) for what in SIZES}
        edges = self.sizes.read(
            "size", [f"edge {rows.names[u]} -> {rows.names[v]}" for u, v in rows.edges], list(map(short, rows.sizes))
        )
        memory, cache, workspace = (column(what, self.memory) for what in MEMORIES)
        times = {
            what.removeprefix(TIME_ON): column(what, self.times, 0.0) for what in sorted(self.kinds) if TIME_ON in what
        }
        deviation = column("deviation", self.times)
        work_unit = self.work.unit or (self.times.unit if rows.units.get("work") is None else "")
        given = any(value is not None for value in (*memory, *cache, *workspace))
        return Graph.create(
            rows.names,
            rows.edges,
            work=work,
            params=_zeros(sized["params"]),
            output=_zeros(sized["output"]),
            memory=_nans(memory),
            cache=_zeros(cache),
            workspace=_zeros(workspace),
            sizes=edges,
            kinds=self.words("kind"),
            labels=self.words("label"),
            colors=[self.color(name, row) for name, row in zip(rows.names, rows.nodes, strict=True)],
            backward=[part == "backward" for part in self.words("part", ("", "forward", "backward"))],
            saved=_nans(sized["saved"]),
            state=_nans(sized["state"]),
            reduce=_zeros(sized["reduce"]),
            forward_share=_nans(column("forward", WeightsReader((), "", "shares"))),
            times=times,
            deviation=_nans(deviation),
            deviation_share=_nans(column("deviation_share", WeightsReader((), "", "shares"))),
            work_unit=work_unit,
            size_unit=self.sizes.unit,
            memory_unit=self.memory.unit if given or "memory" in rows.units else None,
            costs=self.costs(),
        )

    def column(self, what: str, reader: WeightsReader, absent: float | None = None) -> list[Any]:
        """Return [n] a field of all nodes; *absent* where one does not have it."""
        if what not in self.kinds:
            return [absent] * len(self.rows.names)
        values = [short(row.get(what)) for row in self.rows.nodes]
        ends = [np.inf if value in ("inf", np.inf) and TIME_ON in what else None for value in values]
        values = [value if end is None else None for value, end in zip(values, ends, strict=True)]
        numbers = reader.read(what, self.rows.names, values)
        return [
            end if end is not None else absent if value is None else value
            for value, end in zip(numbers, ends, strict=True)
        ]

    def words(self, what: str, known: Sequence[str] = ()) -> list[str]:
        """Return [n] a word of all nodes, one of those *known* where these are given."""
        words = [row.get(what, "") for row in self.rows.nodes]
        for name, word in zip(self.rows.names, words, strict=True):
            if not isinstance(word, str) or len(word) > MAX_NAME or (known and word not in known):
                one = f", one of {', '.join(known[1:])}" if known else f" of at most {MAX_NAME:,} characters"
                raise UsageError(f"{what} of {name} is {str(word)[:40]!r}; it must be a text{one}")
        return words

    def color(self, name: str, row: Mapping[str, Any]) -> int:
        """Return the colour class of a node; -1 for none."""
        given = row.get("color")
        if given is None:
            return -1
        if not str(given).isdecimal() or len(str(given)) > 9:
            raise UsageError(f"color of {name} is {str(given)[:40]!r}; it must be a whole number")
        return int(given)

    def costs(self) -> Costs | None:
        """Return what the nodes' operators do, one each; None where nothing is said of it."""
        owners = [v for v, row in enumerate(self.rows.nodes) if any(what in row for what in (*COSTS, "dtype"))]
        if not owners:
            return None
        readers = {"flop": WeightsReader((WORK,), None, "operations"), "read": self.bytes(), "write": self.bytes()}
        amounts = {what: _nans(self.column(what, reader)) for what, reader in readers.items()}
        words = {what: self.words(what) for what in ("kind", "dtype", "weight_type")}
        return Costs.create(
            owners,
            flop=amounts["flop"][owners],
            read=amounts["read"][owners],
            write=amounts["write"][owners],
            kinds=[words["kind"][v] for v in owners],
            dtypes=[words["dtype"][v] for v in owners],
            weight_types=[words["weight_type"][v] for v in owners],
        )

    def bytes(self) -> WeightsReader:
        """Return a reader of bytes that are read or written."""
        return WeightsReader((SIZE,), None, "traffic")


def short(value: Any) -> Any:
    """Return a value of a row; a text that is too long for a number is cut, so that no time goes into reading it."""
    return value[:MAX_CELL] + "…" if isinstance(value, str) and len(value) > MAX_CELL else value


def _zeros(column: Sequence[float | None]) -> list[float]:
    return [0.0 if value is None else value for value in column]


def _nans(column: Sequence[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in column], np.float64)
