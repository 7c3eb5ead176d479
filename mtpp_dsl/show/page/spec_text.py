"""The texts of a spec with what their statements are about, from the places that the language knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax.places import Places, SpecLines
from mtpp_dsl.show.page.view import Mark, SpecText

MAX_FAMILIES = 2000
"""Families of nodes that are looked up one by one."""
MAX_ITEMS = 3000
"""A graph block of more lines has no notes beside them."""


def spec_text(problem: Problem, places: Places, name: str, text: str, lost: Sequence[str] | None = None) -> SpecText:
    """Return the text of the spec *name* and of what it includes, with a mark for each statement.

    Args:
        problem: that the spec says.
        places: of its statements.
        name: of the spec, as messages call it.
        text: of the spec.
        lost: included files that have changed or are gone; None where all are as they were.
    """
    marks: dict[str, list[Mark]] = {}
    for lines, mark in _marks(problem, places):
        marks.setdefault(lines.file, []).append(mark)
    nodes = _of_nodes(problem, places)
    for number, source in enumerate(places.included):
        assert source.included_from is not None
        at = SpecLines.of(source.included_from)
        marks.setdefault(at.file, []).append(Mark(at.first_line, at.last_line, "include", (number,)))
    included = [
        _included(source, number, tuple(marks.get(source.name, ())), _in_file(nodes, source.name))
        for number, source in enumerate(places.included, 1)
    ]
    return SpecText(
        name,
        text,
        tuple(marks.get(name, ())),
        _in_file(nodes, name),
        included=tuple(included),
        library=places.library,
        lost=None if lost is None else tuple(lost),
    )


def _included(source: Source, number: int, marks: tuple[Mark, ...], nodes: tuple[int, ...]) -> SpecText:
    """Return an included file, under the path by which the file that includes it calls it."""
    assert source.included_from is not None
    lines = SpecLines.of(source.included_from)
    written = lines.text.removeprefix('"').removesuffix('"')
    where = (lines.file, lines.first_line)
    called = PurePath(written).name if PurePath(written).is_absolute() else written
    return SpecText(
        source.name, source.text, marks, nodes, called=called, includer=where, anchor=f"file-{number}-line-"
    )


def _of_nodes(problem: Problem, places: Places) -> list[SpecLines | None]:
    """Return [n] the lines that make each node; None where that is not known."""
    families = [family_of(node) for node in problem.graph.names]
    distinct = dict.fromkeys(families)
    if len(distinct) > MAX_FAMILIES:  # such a graph comes from elsewhere
        return [next(iter(places.graph), None)] * problem.graph.n
    first: Mapping[str, SpecLines | None] = {family: next(iter(places.of_node(family)), None) for family in distinct}
    return [first[family] for family in families]


def _in_file(nodes: Sequence[SpecLines | None], name: str) -> tuple[int, ...]:
    return tuple(lines.first_line if lines is not None and lines.file == name else 0 for lines in nodes)


def _marks(problem: Problem, places: Places) -> Iterator[tuple[SpecLines, Mark]]:
    """Yield what statements are about, of all files, with the place of each."""
    for lines in places.graph:
        yield lines, Mark(lines.first_line, lines.last_line, "graph")
    yield from graph_marks(problem, places)
    counting = [lines for lines in places.interconnect if lines.text.startswith("interconnect")][
        -1:
    ]  # a later overrides
    joined = {lines.file: lines for lines in reversed(places.interconnect)}  # links and switches are said together
    for lines in counting or joined.values():
        yield lines, Mark(lines.first_line, lines.last_line, "interconnect")
    for number in range(len(problem.objectives)):
        for lines in places.of_objective(number):
            yield lines, Mark(lines.first_line, lines.last_line, "objective", (number,))
    families: dict[str, list[int]] = {}
    for d, device in enumerate(problem.devices):
        families.setdefault(device.name.partition("[")[0], []).append(d)
    by_lines: dict[SpecLines, list[int]] = {}
    for members in families.values():
        for lines in places.of_device(problem.devices[members[0]].name):
            by_lines.setdefault(lines, []).extend(members)
    for lines, members in by_lines.items():
        yield lines, Mark(lines.first_line, lines.last_line, "device", tuple(members))
    stated: dict[SpecLines, list[int]] = {}
    graph = set(places.graph)
    for number, constraint in enumerate(problem.constraints):
        for lines in places.of_constraint(constraint):
            if lines not in graph:  # nodes that share weights are kept together by the graph itself
                stated.setdefault(lines, []).append(number)
    for lines, numbers in stated.items():
        yield lines, Mark(lines.first_line, lines.last_line, "constraint", tuple(numbers))


def graph_marks(problem: Problem, places: Places) -> Iterator[tuple[SpecLines, Mark]]:
    """Yield a mark for each line of a graph block that makes nodes or edges, with the place of the line.

    Where several lines may have made a node or an edge, none of them has a mark.
    """
    if sum(1 for _ in places.node_items()) + sum(1 for _ in places.edge_items()) > MAX_ITEMS:
        return
    names = problem.graph.names
    nodes: dict[str, list[int]] = {}
    for v, node in enumerate(names):
        nodes.setdefault(family_of(node), []).append(v)
    made: dict[str, list[SpecLines]] = {}
    for base, lines in places.node_items():
        made.setdefault(base, []).append(lines)
    for base, statements in made.items():
        if len(statements) == 1 and base in nodes:
            lines = statements[0]
            yield lines, Mark(lines.first_line, lines.last_line, "node", tuple(nodes[base]))
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
        called = [end if end is None or end in known else family_of(end) for end in ends]  # h[0] may be all of h[0, j]
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
        ways = [(a, b) for a in dict.fromkeys((tail, family_of(tail))) for b in dict.fromkeys((head, family_of(head)))]
        may = set(sure.get((tail, head), ())) or {i for way in ways for i in sure.get(way, ())} or set(loose)
        if len(may) == 1:
            made.setdefault(may.pop(), []).append(e)
        else:
            unsure |= may
    for i, (_, lines) in enumerate(items):
        if i in made and i not in unsure:
            yield lines, made[i]


def family_of(node: str) -> str:
    """Return the name of a node without subscripts, and without what a block adds."""
    return node.partition("[")[0].partition(".")[0]
