"""Graphs that there are already as items of a spec's graph."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.language.builder.of_costs import cost_options
from mtpp_dsl.language.words.written import option_list, percent, quantity, quoted


def items_of(graph: Graph) -> Iterator[str]:
    """Yield the ``node`` and ``edge`` items that say what a graph is, to the last digit.

    Tables of times by device are no part of it.

    Raises:
        UsageError: sizes and memories have different units, and nodes have parameters.
    """
    if graph.memory_unit != graph.size_unit and graph.params.any():
        raise UsageError("the graph has parameters and memories in different units, which no spec can say")
    mixed = graph.memory_unit != graph.size_unit
    always = _without_weights(graph)
    for v, name in enumerate(graph.names):
        given = {
            "work": (float(graph.work[v]), graph.work_unit),
            "params": (float(graph.params[v]), graph.size_unit),
            "output": (float(graph.output[v]), graph.size_unit),
            "memory": (float(graph.memory[v]), graph.memory_unit),
        }
        if graph.memory[v] == graph.params[v] + graph.output[v] + graph.cache[v] and not mixed:
            del given["memory"]
        options: dict[str, Any] = {
            what: quantity(*pair) for what, pair in given.items() if pair[0] or what in ("memory", *always)
        }
        options |= _in_phases(graph, v)
        options |= {what: quantity(amount, unit) for what, amount, unit, usual in _staged(graph, v) if amount != usual}
        always = ()
        options |= {what: text for what, text in (("kind", graph.kinds[v]), ("label", graph.labels[v])) if text}
        options |= {"color": int(graph.colors[v])} if graph.colors[v] >= 0 else {}
        options |= _deviation(graph, v)
        options |= {"part": "backward"} if graph.backward[v] else {}
        options |= cost_options(graph, v)
        yield f"node {quoted(name)}{option_list(options, texts=('kind', 'label', 'part', 'dtype', 'weight_type'))}"
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        own = graph.sizes[e] != graph.output[u]
        options = {"size": quantity(float(graph.sizes[e]), graph.size_unit)} if own else {}
        if any(phase.graph.sizes[e] != phase.graph.output[u] for phase in graph.phases):
            options = {"size": _by_phase(graph, "sizes", e, graph.size_unit)}
        yield f"edge {quoted(graph.names[u])} -> {quoted(graph.names[v])}{option_list(options)}"


def node_text(graph: Graph, v: int) -> str:
    """Return what names a node in a statement, and nothing besides: other names may begin with its own."""
    text = quoted(graph.names[v])
    return text if graph.prefixes.below(graph.names[v]) == (v,) else f"node({text})"


def _in_phases(graph: Graph, v: int) -> dict[str, str]:
    """Return what a node takes, makes and keeps, phase by phase; nothing where there are no phases."""
    if not graph.phases:
        return {}
    own = {"work": graph.work_unit, "output": graph.size_unit}
    own |= {what: graph.memory_unit for what in ("cache", "workspace") if getattr(graph, what).any()}
    memory = {"memory": quantity(float(graph.memory[v]), graph.memory_unit)}
    return {what: _by_phase(graph, what, v, unit) for what, unit in own.items()} | memory


def _by_phase(graph: Graph, what: str, at: int, unit: str) -> str:
    """Return an attribute of a node or an edge in every phase, as a map; as a number where it is the same in all."""
    values = [quantity(float(getattr(phase.graph, what)[at]), unit) for phase in graph.phases]
    if len(set(values)) == 1:
        return values[0]
    return "{" + ", ".join(f"{phase.name}: {value}" for phase, value in zip(graph.phases, values, strict=True)) + "}"


def _deviation(graph: Graph, v: int) -> dict[str, Any]:
    """Return by how much a node may take longer, where it says so: a share in per cent, a time in its unit."""
    own, share = float(graph.deviation[v]), float(graph.deviation_share[v])
    if not isnan(own):
        return {"deviation": quantity(own, "s" if graph.work_unit == "FLOP" else graph.work_unit)}
    return {} if isnan(share) else {"deviation": percent(share)}


def _staged(graph: Graph, v: int) -> Iterator[tuple[str, float, str, float]]:
    """Yield (name, value, unit, default) of what a node says of stages."""
    unit = graph.size_unit
    yield "saved", float(graph.saved[v]), unit, float(graph.output[v])
    yield "state", float(graph.state[v]), unit, float(graph.params[v])
    yield "reduce", float(graph.reduce[v]), unit, 0.0
    if not graph.phases:
        yield "cache", float(graph.cache[v]), graph.memory_unit, 0.0
        yield "workspace", float(graph.workspace[v]), graph.memory_unit, 0.0
    yield "forward", float(graph.forward_share[v]), "", 0.0 if graph.backward[v] else 1.0


def _without_weights(graph: Graph) -> tuple[str, ...]:
    """Return which weights the first node gives although they are zero: nothing else would say their units."""
    sized = graph.output.any() or graph.sizes.any() or graph.params.any() or graph.memory.any()
    sized = sized or graph.saved.any() or graph.state.any() or graph.reduce.any()
    return ("work",) * bool(graph.work_unit and not graph.work.any()) + ("output",) * bool(
        graph.size_unit and not sized
    )
