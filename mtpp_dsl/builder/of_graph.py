"""Graphs that there are already as items of a spec's graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mtpp_dsl.errors import UsageError
from mtpp_dsl.language.written import option_list, quantity, quoted
from mtpp_dsl.problem.graph import Graph

__all__ = ["items_of"]


def items_of(graph: Graph) -> Iterator[str]:
    """Yield the ``node`` and ``edge`` items that say what a graph is, to the last digit.

    Tables of times by device are no part of it.

    Raises:
        UsageError: sizes and memories have different units.
    """
    if graph.memory_unit != graph.size_unit:
        raise UsageError("the graph has sizes and memories in different units, which the text of a spec cannot say")
    for v, name in enumerate(graph.names):
        given = {"params": graph.params[v], "output": graph.output[v]}
        if graph.memory[v] != graph.params[v] + graph.output[v]:
            given["memory"] = graph.memory[v]
        options: dict[str, Any] = {"work": quantity(float(graph.work[v]), graph.work_unit)} if graph.work[v] else {}
        options |= {what: quantity(float(x), graph.size_unit) for what, x in given.items() if x or what == "memory"}
        options |= {what: text for what, text in (("kind", graph.kinds[v]), ("label", graph.labels[v])) if text}
        options |= {"color": int(graph.colors[v])} if graph.colors[v] >= 0 else {}
        options |= {"part": "backward"} if graph.backward[v] else {}
        yield f"node {quoted(name)}{option_list(options, texts=('kind', 'label', 'part'))}"
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        own = graph.sizes[e] != graph.output[u]
        options = {"size": quantity(float(graph.sizes[e]), graph.size_unit)} if own else {}
        yield f"edge {quoted(graph.names[u])} -> {quoted(graph.names[v])}{option_list(options)}"
