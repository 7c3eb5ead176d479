"""The layers of a graph, and what comes before and after them: what runtimes that split by layers speak of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Graph

STACKS = ("layer", "layers", "h", "blk", "block", "blocks", "decoder_layer")
"""What layers are called where a graph has several families of nodes; the last word before the number counts."""
_NUMBERED = re.compile(r"([^\[\]]*)\[(\d{1,9})[],]")


@dataclass(frozen=True)
class Layout:
    """A graph as a stack of layers.

    Attributes:
        before: the nodes that layers depend on, in an order in which they can run: embeddings, rotary tables, masks.
        layers: the nodes of layer 0, 1, …; each has one at least.
        after: the nodes that depend on layers, in such an order: the last norm, the head.
    """

    before: tuple[int, ...]
    layers: tuple[tuple[int, ...], ...]
    after: tuple[int, ...]


def layout_of(graph: Graph, *, chain: bool = True, followers: Collection[int] = ()) -> Layout:
    """Return the layers of *graph*: of the model that it comes from, or as its nodes are called.

    Nodes such as ``layer[3]``, ``model.layers[3].mlp`` or ``h[3]`` are of layer 3. Without such names, families of
    nodes that are numbered alike are: ``attn[0..3]`` and ``mlp[0..3]``.

    Args:
        graph: the graph.
        chain: whether the layers must be one chain, as pipelines need it; else what lies between two of them, such as
            the last norm of an encoder, comes after them.
        followers: nodes that are of the layer of the nodes that they read, the last of several, where their names do
            not say it.

    Raises:
        UsageError: there are no layers, one is missing, a node is part of two, or lies between layers, or an edge leads
            from a layer to an earlier one.
    """
    number = _of_origin(graph) or _named(graph, followers)
    count = max(number.values()) + 1
    present = set(number.values())
    if len(present) < count:
        missing = next(i for i in range(count) if i not in present)
        raise UsageError(f"the layers are numbered from 0 to {count - 1}, and there is no layer {missing}")
    edges = [(u, v) if not graph.backward[u] else (v, u) for u, v in _within_parts(graph)]
    for u, v in edges if chain else ():
        if u in number and v in number and number[u] > number[v]:
            raise UsageError(
                f"layers are not in order: {graph.names[u]} of layer {number[u]} comes before {graph.names[v]} of "
                f"layer {number[v]}"
            )
    reaches = _closure(number, ((v, u) for u, v in edges), graph.n)
    follows = _closure(number, edges, graph.n)
    between = [v for v in range(graph.n) if v not in number and reaches[v] and follows[v]]
    if between and chain:
        raise UsageError(f"node {graph.names[between[0]]!r} lies between layers, and is part of none")
    outside = [v for v in _in_order(graph) if v not in number]
    after = {v for v in outside if follows[v]}
    feeds = _closure(after, ((v, u) for u, v in edges), graph.n)
    after |= {v for v in outside if feeds[v] and not reaches[v]}
    layers: list[list[int]] = [[] for _ in range(count)]
    for v, i in number.items():
        layers[i].append(v)
    return Layout(
        tuple(v for v in outside if v not in after),
        tuple(tuple(sorted(nodes)) for nodes in layers),
        tuple(v for v in outside if v in after),
    )


def _in_order(graph: Graph) -> list[int]:
    """Return the nodes in an order in which they can run; those of the backward part come last, and in reverse."""
    order = graph.topological_order.tolist()
    return [v for v in order if not graph.backward[v]] + [v for v in reversed(order) if graph.backward[v]]


def _within_parts(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield the edges that do not lead from the forward to the backward part."""
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if graph.backward[u] == graph.backward[v]:
            yield u, v


def _closure(start: Iterable[int], edges: Iterable[tuple[int, int]], n: int) -> list[bool]:
    """Return [n] which nodes can be reached from *start*, itself counted."""
    after: dict[int, list[int]] = {}
    for u, v in edges:
        after.setdefault(u, []).append(v)
    reached = [False] * n
    waiting = list(start)
    for v in waiting:
        reached[v] = True
    while waiting:
        for v in after.get(waiting.pop(), ()):
            if not reached[v]:
                reached[v] = True
                waiting.append(v)
    return reached


def _of_origin(graph: Graph) -> Mapping[int, int]:
    """Return the layer of each node that is part of one, as the model says; empty where there is no model."""
    origin = getattr(graph, "origin", None)
    if origin is None:
        return {}
    operators = origin.model.operators
    number: dict[int, int] = {}
    for v, members in enumerate(origin.members):
        own = [operators[i] for i in members if not operators[i].recomputable] or [operators[i] for i in members]
        layers = {one.layer for one in own if one.layer is not None}
        if len(layers) > 1:
            raise UsageError(f"node {graph.names[v]!r} is part of several layers: {_listed(layers)}")
        if layers:
            number[v] = layers.pop()
    return number


def _named(graph: Graph, followers: Collection[int]) -> Mapping[int, int]:
    """Return the layer of each node that is part of one, by its name, or for *followers* by what they read.

    Nodes of the kind "tower" are numbered for themselves.
    """
    tower = {v for v, kind in enumerate(graph.kinds) if kind == "tower"}
    try:
        number = dict(_of_names(graph, tower))
    except UsageError:
        if not followers:
            raise
        number = dict(_of_names(graph, tower.union(followers)))
    place = {v: i for i, v in enumerate(graph.topological_order.tolist())}
    for v in sorted((v for v in followers if v not in number), key=place.__getitem__):
        layers = [number[u] for u in graph.predecessors(v).tolist() if u in number]
        if not layers:
            raise UsageError(f"node {graph.names[v]!r} reads from no layer, so it is part of none")
        number[v] = max(layers)
    return number


def _of_names(graph: Graph, ignored: Collection[int] = ()) -> Mapping[int, int]:
    """Return the layer of each node that is part of one, by its name; *ignored* nodes are left out."""
    families: dict[str, dict[int, int]] = {}
    for v, name in enumerate(graph.names):
        match = _NUMBERED.match(name)
        if match is not None and v not in ignored:
            families.setdefault(match[1], {})[v] = int(match[2])
    stacks = {prefix: nodes for prefix, nodes in families.items() if re.split(r"\W+", prefix)[-1] in STACKS}
    if len(stacks) > 1:
        raise UsageError(f"the graph has several stacks of layers: {', '.join(sorted(stacks))}")
    chosen = stacks or families
    ranges = {prefix: (min(nodes.values()), max(nodes.values())) for prefix, nodes in chosen.items()}
    if not ranges:
        raise UsageError(
            f"the graph has no layers: call its nodes such as {STACKS[0]}[0], {STACKS[0]}[1].attn, or take it from a "
            "model"
        )
    if len(set(ranges.values())) > 1:
        listed = ", ".join(f"{prefix}[{low}..{high}]" for prefix, (low, high) in sorted(ranges.items()))
        raise UsageError(
            f"the names of nodes do not say which ones form a layer: {listed} differ in their numbers; name the nodes "
            "of layer 3 layer[3] or layer[3].…"
        )
    return {v: i for nodes in chosen.values() for v, i in nodes.items()}


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
