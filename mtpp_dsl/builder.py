"""Problems made in Python: piece by piece, or from a networkx graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mtpp_dsl.base.units import NONE, SIZE, TIME, WORK, format_exact
from mtpp_dsl.errors import UsageError
from mtpp_dsl.formats.networkx_graphs import graph_from_networkx
from mtpp_dsl.problem import Problem
from mtpp_dsl.problem.graph import Graph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Builder", "graph_from_networkx"]


class Builder:
    """Builds a problem statement by statement, as a spec does, with values from Python.

    Quantities are numbers, or strings in the language's notation ("3 ms", "16 GiB"); statements
    that have no method here are added as text with :meth:`say`.

    >>> builder = Builder()
    >>> builder.node("a", work="2 ms", output="1 MiB").node("b", work="3 ms").edge("a", "b")
    Builder(4 statements)
    >>> builder.device("gpu", count=2, memory="16 GiB").interconnect("shared", bandwidth="8 GiB/s")
    Builder(6 statements)
    >>> builder.minimize("bottleneck").constraint("acyclic").constraint("memory").build()
    Problem(minimize bottleneck: 2 nodes, 1 edges, 2 devices, shared, 2 constraints)
    """

    def __init__(self) -> None:
        self._items: list[str] = []
        self._statements: list[str] = ["mtpp 1"]
        self._graph: Graph | None = None

    def __repr__(self) -> str:
        return f"Builder({len(self._items) + len(self._statements)} statements)"

    def graph(self, graph: Graph | nx.DiGraph) -> Builder:
        """Use a whole graph; it replaces nodes and edges added one by one."""
        self._graph = graph if isinstance(graph, Graph) else graph_from_networkx(graph)
        return self

    def node(self, name: str, **options: float | str) -> Builder:
        """Add a node: ``work``, ``params``, ``output``, ``memory``, ``kind``, ``label``, ``color``, ``part``."""
        self._items.append(f"node {_quoted(name)} {_options(options, texts=('kind', 'label', 'part'))}")
        return self

    def edge(self, *ends: str, **options: float | str) -> Builder:
        """Add an edge, or a path through several nodes; option ``size``."""
        self._items.append(f"edge {' -> '.join(_quoted(end) for end in ends)} {_options(options)}")
        return self

    def edges(self, pairs: Iterable[tuple[str, str]]) -> Builder:
        """Add many edges."""
        for u, v in pairs:
            self.edge(u, v)
        return self

    def device(self, name: str, *, count: int | None = None, **options: float | str | Collection[str]) -> Builder:
        """Add a device, or *count* of them called ``name[0]``, ``name[1]`` and so on."""
        family = "" if count is None else f"[{count}]"
        self._statements.append(
            f"device {_name(name)}{family} {_options(options, texts=('type', 'io', 'unsupported', 'group'))}"
        )
        return self

    def interconnect(self, kind: str, **options: float | str) -> Builder:
        """Say what joins the devices: ``shared``, ``host`` or ``links``."""
        self._statements.append(f"interconnect {_name(kind)} {_options(options, texts=('overflow', 'routing'))}")
        return self

    def link(self, one: str, other: str, *, both_ways: bool = True, **options: float | str) -> Builder:
        """Join two devices (``"gpu[0]"``) or families of them: ``bandwidth``, ``latency`` or both."""
        arrow = "<->" if both_ways else "->"
        self._statements.append(f"link {_quoted(one)} {arrow} {_quoted(other)} {_options(options)}")
        return self

    def time(
        self, nodes: str | Collection[str], devices: str | Collection[str], batches: Mapping[int, float | str]
    ) -> Builder:
        """Say what batches take: the time by the number of inputs; ``float("inf")`` where a device cannot run it.

        >>> Builder().node("a").device("gpu", count=2).time("a", "gpu[0]", {1: "3 ms", 2: "5 ms"})
        Builder(5 statements)
        """
        ends = [", ".join(map(_quoted, [x] if isinstance(x, str) else x)) for x in (nodes, devices)]
        for size, value in batches.items():
            self._statements.append(f"time {ends[0]} on {ends[1]} at batch {size} = {value}")
        return self

    def minimize(self, objective: str, **options: str) -> Builder:
        """Minimise ``bottleneck``, with both ``parts`` together or separate, or ``makespan``."""
        self._statements.append(f"minimize {_name(objective)} {_options(options, texts=('parts',))}".rstrip())
        return self

    def maximize(self, objective: str, **options: float | str) -> Builder:
        """Maximise ``throughput``, of a pipeline (``parts``) or of a ``batch`` (``chunk``, ``transfer``)."""
        self._statements.append(f"maximize {_name(objective)} {_options(options, texts=('parts', 'transfer'))}")
        return self

    def constraint(self, text: str) -> Builder:
        """Add a constraint in the language's words: ``"pin a on gpu[0]"``, ``"cap: load(gpu[0]) <= 3 ms"``."""
        self._statements.append(f"constraint {text}")
        return self

    def say(self, statement: str) -> Builder:
        """Add any statement of the language."""
        self._statements.append(statement)
        return self

    def text(self) -> str:
        """Return the spec built so far, formatted, with the whole graph if one was given.

        Raises:
            UsageError: the graph has what a spec cannot say: tables of times, or sizes and memory in different units.
        """
        from mtpp_dsl.language.layout import format_spec
        from mtpp_dsl.text.source import Source

        items = self._items if self._graph is None else _items_of(self._graph)
        return format_spec(Source("<builder>", self._joined(["graph {", *items, "}"])))

    def build(self) -> Problem:
        """Return the problem.

        Raises:
            SpecError: as for a spec of the same text; places refer to :meth:`text`.
        """
        from mtpp_dsl.language.lower import load

        return load(self._spec() + "\n", graph=self._graph)

    def _spec(self) -> str:
        block = [] if self._graph is not None else ["graph {", *self._items, "}"]
        return self._joined(block)

    def _joined(self, block: list[str]) -> str:
        return "\n".join([self._statements[0], *block, *self._statements[1:]])


def _items_of(graph: Graph) -> list[str]:
    """Return the ``node`` and ``edge`` items that say what a graph is, to the last digit."""
    if graph.times or graph.batch_times:
        raise UsageError("the graph has tables of times by device, which the text of a spec's graph cannot say")
    if graph.memory_unit != graph.size_unit:
        raise UsageError("the graph has sizes and memories in different units, which the text of a spec cannot say")
    work = {"s": TIME, "FLOP": WORK}.get(graph.work_unit, NONE)
    size = {"B": SIZE}.get(graph.size_unit, NONE)
    items = []
    for v, name in enumerate(graph.names):
        given = {"params": graph.params[v], "output": graph.output[v]}
        if graph.memory[v] != graph.params[v] + graph.output[v]:
            given["memory"] = graph.memory[v]
        options: dict[str, Any] = {"work": format_exact(float(graph.work[v]), work)} if graph.work[v] else {}
        options |= {what: format_exact(float(x), size) for what, x in given.items() if x or what == "memory"}
        options |= {what: text for what, text in (("kind", graph.kinds[v]), ("label", graph.labels[v])) if text}
        options |= {"color": int(graph.colors[v])} if graph.colors[v] >= 0 else {}
        options |= {"part": "backward"} if graph.backward[v] else {}
        items.append(f"node {_quoted(name)} {_options(options, texts=('kind', 'label', 'part'))}".rstrip())
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        own = graph.sizes[e] != graph.output[u]
        options = {"size": format_exact(float(graph.sizes[e]), size)} if own else {}
        items.append(f"edge {_quoted(graph.names[u])} -> {_quoted(graph.names[v])} {_options(options)}".rstrip())
    return items


def _name(name: str) -> str:
    """Return a declared name; what is none would be read as something else, and is refused."""
    if not name.isidentifier():
        raise UsageError(f"{name!r} is no name: letters, digits and '_', not starting with a digit")
    return name


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def _options(options: dict[str, Any], texts: tuple[str, ...] = ()) -> str:
    if not options:
        return ""
    parts = [f"{name} = {_value(value, name in texts)}" for name, value in options.items()]
    return f"({', '.join(parts)})"


def _value(value: Any, is_text: bool) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(_value(item, is_text) for item in sorted(value))}]"
    if is_text and not isinstance(value, str):
        raise UsageError(f"{value!r} is no string")
    return _quoted(value) if is_text else str(value)
