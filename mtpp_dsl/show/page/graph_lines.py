"""Which nodes and edges a line of a graph block makes, and what is said of them beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.syntax.places import Places, SpecLines
from mtpp_dsl.show.page.markup import Child, name, tag
from mtpp_dsl.show.page.nodes import devices_of, times_of
from mtpp_dsl.show.page.traffic import tensor_size
from mtpp_dsl.show.page.view import Mark, View
from mtpp_dsl.show.report.names import fold_names

__all__ = ["edge_notes", "graph_marks", "node_notes"]

MAX_NAMES = 3
"""Devices, or families of them, that are named."""
MAX_SIGNS = 60
MAX_ITEMS = 3000
"""A graph block of more lines has no notes beside them."""


def graph_marks(problem: Problem, places: Places) -> Iterator[tuple[SpecLines, Mark]]:
    """Yield a mark for each line of a graph block that makes nodes or edges, with the place of the line.

    Where several lines may have made a node or an edge, none of them has a mark.
    """
    if sum(1 for _ in places.node_items()) + sum(1 for _ in places.edge_items()) > MAX_ITEMS:
        return
    names = problem.graph.names
    nodes: dict[str, list[int]] = {}
    for v, node in enumerate(names):
        nodes.setdefault(_base(node), []).append(v)
    made: dict[str, list[SpecLines]] = {}
    for base, lines in places.node_items():
        made.setdefault(base, []).append(lines)
    for base, statements in made.items():
        if len(statements) == 1 and base in nodes:
            yield (
                statements[0],
                Mark(statements[0].first_line, statements[0].last_line, "node", tuple(nodes[base])),
            )
    for lines, edges in _edges(problem, places):
        yield lines, Mark(lines.first_line, lines.last_line, "edge", tuple(edges))


def _edges(problem: Problem, places: Places) -> Iterator[tuple[SpecLines, list[int]]]:
    """Yield the ``edge`` items with the edges that each has surely made; items of which that is not sure are left out.

    Edges within one instance of a block are of the block.
    """
    graph = problem.graph
    items = list(places.edge_items())
    known = set(graph.names)
    sure: dict[tuple[str, str], list[int]] = {}
    loose: list[int] = []
    for i, (ends, _) in enumerate(items):
        called = [end if end is None or end in known else _base(end) for end in ends]  # h[0] may be all of h[0, j]
        for a, b in pairwise(called):
            if a is None or b is None:
                loose.append(i)
            else:
                sure.setdefault((a, b), []).append(i)
    made: dict[int, list[int]] = {}
    unsure: set[int] = set()
    for e, (u, v) in enumerate(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)):
        tail, head = graph.names[u], graph.names[v]
        if "." in tail and tail.partition(".")[0] == head.partition(".")[0]:
            continue
        ways = [(a, b) for a in dict.fromkeys((tail, _base(tail))) for b in dict.fromkeys((head, _base(head)))]
        may = set(sure.get((tail, head), ())) or {i for way in ways for i in sure.get(way, ())} or set(loose)
        if len(may) == 1:
            made.setdefault(may.pop(), []).append(e)
        else:
            unsure |= may
    for i, (_, lines) in enumerate(items):
        if i in made and i not in unsure:
            yield lines, made[i]


def _base(node: str) -> str:
    return node.partition("[")[0].partition(".")[0]


def node_notes(view: View, mark: Mark, *, named: bool) -> Iterator[Child]:
    """Yield where the nodes of a line are, and what they take there; nothing without a plan.

    Args:
        view: of the page.
        mark: of nodes.
        named: whether their name has to be said, as other nodes are made in the same line.
    """
    if view.plan is None:
        return
    places, times = devices_of(view), times_of(view)
    devices = view.problem.devices
    homes = [places[v] for v in mark.indices]
    on = dict.fromkeys(d for home in homes for d in (home if isinstance(home, list) else [home]))
    where = name(fold_names([devices[d].name for d in sorted(on)], MAX_NAMES), MAX_SIGNS)
    took = sum(times[v] for v in mark.indices)
    takes = f", {view.time(took)}" if np.isfinite(took) else ""
    many = len(mark.indices) > 1
    first = view.problem.graph.names[mark.indices[0]]
    called: list[Child] = [name(_base(first) if many else first, MAX_SIGNS), ": "] if named else []
    amount = f"{takes} in sum" if many and takes else takes
    yield tag("a", called, f"{counted(len(mark.indices), 'node')} on " if many else "on ", where, amount, href="#nodes")


def edge_notes(view: View, mark: Mark, *, named: bool) -> Iterator[Child]:
    """Yield between which devices the edges of a line are, and what they send; nothing where there is no one answer.

    Args:
        view: of the page.
        mark: of edges.
        named: whether their ends have to be said, as something else is made in the same line.
    """
    problem, plan = view.problem, view.plan
    if plan is None or plan.batches is not None or plan.routes or problem.k < 2:
        return
    graph, edges = problem.graph, np.asarray(mark.indices)
    own = problem.interconnect.keyword in ("links", "tree")
    tails, heads = plan.assignment[graph.tails[edges]], plan.assignment[graph.heads[edges]]
    away = edges[tails != heads]
    ends = [name(graph.names[int(of[edges[0]])], MAX_SIGNS) for of in (graph.tails, graph.heads)]
    called: list[Child] = [ends[0], " → ", ends[1], ": "] if named else []
    if not len(away):
        where = name(problem.devices[int(tails[0])].name, MAX_SIGNS)
        yield [*called, "stays on ", where] if len(edges) == 1 else f"{len(edges):,} edges, each stays on one device"
        return
    if own:
        size = float(graph.sizes[away].sum())
    else:  # a tensor is sent once to each device that reads it
        readers = {(int(graph.tails[e]), int(plan.assignment[graph.heads[e]])) for e in away.tolist()}
        size = float(sum(graph.output[u] for u, _ in readers))
    sized = not isinstance(problem.interconnect, Links) or problem.interconnect.transfers is None
    sends = f", {tensor_size(problem, size)}" if sized else ""
    if len(edges) == 1:
        pair = [problem.devices[int(d)].name for d in (tails[0], heads[0])]
        sentence: list[Child] = [
            *called,
            name(pair[0], MAX_SIGNS),
            " → ",
            name(pair[1], MAX_SIGNS),
            sends,
            _takes(view, away),
        ]
    else:
        verb = "leads" if len(away) == 1 else "lead"
        sentence = [f"{len(away):,} of {len(edges):,} edges {verb} to another device{sends}", _takes(view, away)]
    yield tag("a", sentence, href="#network")


def _takes(view: View, away: Ints) -> str:
    """Return how long transfers of a schedule take, where each edge is sent by itself; "" elsewhere."""
    schedule = view.plan.schedule if view.plan is not None else None
    if schedule is None or not isinstance(view.problem.interconnect, Links):
        return ""
    took = float(np.nansum(schedule.arrived[away] - schedule.sent[away]))
    return f", {view.time(took)}{' in sum' if len(away) > 1 else ''}"
