"""The text of a spec with what its statements are about, from the places that the language knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mtpp_dsl.language.places import Places, SpecLines
from mtpp_dsl.page.graph_lines import graph_marks
from mtpp_dsl.page.view import Mark, SpecText
from mtpp_dsl.problem import Problem

__all__ = ["spec_text"]

MAX_FAMILIES = 2000
"""Families of nodes that are looked up one by one."""


def spec_text(problem: Problem, places: Places, name: str, text: str) -> SpecText:
    """Return the text of the spec *name* with a mark for each statement; those of included files have none."""
    return SpecText(name, text, tuple(_marks(problem, places, name)), _of_nodes(problem, places, name))


def _of_nodes(problem: Problem, places: Places, name: str) -> tuple[int, ...]:
    """Return [n] the line of the spec *name* that makes each node; 0 where it is in another file."""
    families = [node.partition("[")[0].partition(".")[0] for node in problem.graph.names]
    distinct = dict.fromkeys(families)
    if len(distinct) > MAX_FAMILIES:  # such a graph comes from elsewhere
        whole = next(iter(_here(places.graph, name)), None)
        return (whole.first_line if whole is not None else 0,) * problem.graph.n
    first = {family: next(iter(_here(places.of_node(family), name)), None) for family in distinct}
    lines = {family: found.first_line if found is not None else 0 for family, found in first.items()}
    return tuple(lines[family] for family in families)


def _marks(problem: Problem, places: Places, name: str) -> Iterator[Mark]:
    for lines in _here(places.graph, name):
        yield Mark(lines.first_line, lines.last_line, "graph")
    for lines, mark in graph_marks(problem, places):
        if lines.file == name:
            yield mark
    for lines in list(_here(places.interconnect, name))[:1]:  # links and switches are said together
        yield Mark(lines.first_line, lines.last_line, "interconnect")
    for number in range(len(problem.objectives)):
        for lines in _here(places.of_objective(number), name):
            yield Mark(lines.first_line, lines.last_line, "objective", (number,))
    families: dict[str, list[int]] = {}
    for d, device in enumerate(problem.devices):
        families.setdefault(device.name.partition("[")[0], []).append(d)
    held: dict[SpecLines, list[int]] = {}
    for members in families.values():
        for lines in _here(places.of_device(problem.devices[members[0]].name), name):
            held.setdefault(lines, []).extend(members)
    for lines, members in held.items():
        yield Mark(lines.first_line, lines.last_line, "device", tuple(members))
    stated: dict[SpecLines, list[int]] = {}
    graph = set(places.graph)
    for number, constraint in enumerate(problem.constraints):
        for lines in _here(places.of_constraint(constraint), name):
            if lines not in graph:  # nodes that share weights are kept together by the graph itself
                stated.setdefault(lines, []).append(number)
    for lines, numbers in stated.items():
        yield Mark(lines.first_line, lines.last_line, "constraint", tuple(numbers))


def _here(found: Iterable[SpecLines], name: str) -> Iterator[SpecLines]:
    return (lines for lines in found if lines.file == name)
