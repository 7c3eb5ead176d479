"""Nodes of a graph as modules of its model, by the paths that frameworks call them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.model.layer_stack import layout_of


@dataclass(frozen=True)
class Module:
    """A module of a model, whole.

    Attributes:
        path: as frameworks spell it: "model.layers.3".
        nodes: of the graph.
        weighs: whether it has weights, as far as the graph says; one without may be left out of lists of modules.
        layer: its number; None outside the stack.
    """

    path: str
    nodes: tuple[int, ...]
    weighs: bool = True
    layer: int | None = None


def modules_of(graph: Graph, *, chain: bool = True) -> tuple[Module, ...]:
    """Return the modules of a graph in their order: what comes before the layers, each layer, what comes after.

    Of a graph that comes from a model, paths are those of its operators that read weights; nodes before and after the
    layers that are parts of one module are one. A node of a graph written by hand is called as itself, with numbers as
    components: ``layer[3]`` is "layer.3". Unless the layers must be a *chain*, what lies between them comes after them.
    """
    layout = layout_of(graph, chain=chain)
    paths = [_path(graph, v) for v in range(graph.n)]
    outside = [_together(graph, part, paths) for part in (layout.before, layout.after)]
    inside = []
    for number, nodes in enumerate(layout.layers):
        top = _top(_common(paths[v] for v in nodes), number)
        if top:
            inside.append(Module(top, nodes, layer=number))
        else:
            inside += [Module(paths[v], (v,), layer=number) for v in nodes]
    return (*outside[0], *inside, *outside[1])


def _together(graph: Graph, nodes: Iterable[int], paths: list[str]) -> list[Module]:
    """Return nodes as modules, those of one path as one."""
    by_path: dict[str, list[int]] = {}
    for v in nodes:
        by_path.setdefault(paths[v], []).append(v)
    return [Module(path, tuple(own), any(_weighs(graph, v) for v in own)) for path, own in by_path.items()]


def _weighs(graph: Graph, v: int) -> bool:
    origin = graph.origin
    return origin is None or any(origin.model.operators[i].weights for i in origin.members[v])


def _path(graph: Graph, v: int) -> str:
    """Return the path of the module that a node is, or is in."""
    origin = graph.origin
    if origin is None:
        return re.sub(r"\[([^\]]*)\]", lambda match: "." + re.sub(r"\W+", ".", match[1]), graph.names[v])
    operators = [origin.model.operators[i] for i in origin.members[v]]
    own = [one for one in operators if one.weights] or [one for one in operators if not one.recomputable] or operators
    return _common(one.path for one in own) or graph.names[v]


def _common(paths: Iterable[str]) -> str:
    """Return the longest path that all of *paths* are or are in."""
    parts = [path.split(".") for path in paths]
    common = []
    for components in zip(*parts, strict=False):
        if len(set(components)) > 1:
            break
        common.append(components[0])
    return ".".join(common)


def _top(path: str, number: int) -> str:
    """Return the part of the path of a layer up to its number, "" where there is none.

    Of a second list of layers, such as a decoder's behind its encoder, paths have other numbers: the last one is meant.
    """
    components = path.split(".")
    places = [i for i, part in enumerate(components) if part.isdigit()]
    own = [i for i in places if components[i] == str(number)] or places[-1:]
    return ".".join(components[: own[0] + 1]) if own else ""
