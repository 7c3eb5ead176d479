"""The spec, its statements beside what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.base.units import counted, format_quantity, format_share
from mtpp_dsl.constraints import Linear, Memory
from mtpp_dsl.page.coloured import coloured_lines
from mtpp_dsl.page.graph_lines import edges_said, nodes_said
from mtpp_dsl.page.markup import Child, Markup, name, tag
from mtpp_dsl.page.section import Section
from mtpp_dsl.page.tables import fold
from mtpp_dsl.page.view import Mark, View

__all__ = ["Block", "blocks", "section"]

TEXT = "<text>"
WRITTEN = "The problem was made in Python, or read from a text. Written as a spec, it is this:"
FOLDED = 24
"""A statement, or what stands between two, of more lines is folded."""
MAX_LINES = 20_000
MAX_NAMED = 4
"""Limits that are reached of one statement, named one by one."""


def section(view: View) -> Section | None:
    """Return the text of the spec with notes at its statements; None where there is no spec."""
    if view.spec is None:
        return None
    every = coloured_lines(view.spec.text.removesuffix("\n"))
    lines = every[:MAX_LINES]
    shown = [_block(view, lines, block) for block in blocks(view.spec.marks, 1, len(lines))]
    left = len(every) - len(lines)
    body = tag(
        "",
        tag("p", WRITTEN if view.spec.name == TEXT else name(view.spec.name)),
        tag("div", shown, class_="spec"),
        tag("p", f"{counted(left, 'line')} more are not shown.") if left else None,
    )
    return Section("spec", "The spec, and what its lines cost", body, nav="Spec")


@dataclass(frozen=True)
class Block:
    """Lines of the spec.

    Attributes:
        first, last: numbers of the lines.
        marks: what they are about.
        parts: the blocks that they consist of, where some of them are about something by themselves.
    """

    first: int
    last: int
    marks: tuple[Mark, ...] = ()
    parts: tuple[Block, ...] = ()


def blocks(marks: Sequence[Mark], first: int, last: int) -> Iterator[Block]:
    """Yield the blocks of which the lines from *first* to *last* consist, with what is said of each."""
    at = first
    left = sorted(marks, key=lambda mark: (mark.first, -mark.last))
    while left:
        begin, end = max(left[0].first, at), min(left[0].last, last)
        own = [mark for mark in left if (mark.first, mark.last) == (left[0].first, left[0].last)]
        inner = [mark for mark in left[len(own) :] if mark.last <= left[0].last]
        left = left[len(own) + len(inner) :]
        if end < begin:
            continue
        if begin > at:
            yield Block(at, begin - 1)
        yield _whole(begin, end, tuple(own), tuple(blocks(inner, begin, end)) if inner else ())
        at = end + 1
    if at <= last:
        yield Block(at, last)


def _whole(first: int, last: int, marks: tuple[Mark, ...], parts: tuple[Block, ...]) -> Block:
    """Return a block of some parts; what is said of all of it stands beside its first line, unless it is folded."""
    if parts and not parts[0].marks and last - first < FOLDED:
        return Block(first, last, parts=(replace(parts[0], marks=marks), *parts[1:]))
    return Block(first, last, marks, parts)


def _block(view: View, lines: Sequence[Markup], block: Block) -> Markup:
    """Return some lines with their numbers and their notes."""
    first, last = block.first, block.last
    if block.parts:
        both = tag("div", [_block(view, lines, part) for part in block.parts], class_="parts")
    else:
        numbers = tag("pre", "\n".join(map(str, range(first, last + 1))), class_="numbers", aria_hidden="true")
        text = tag("pre", tag("code", Markup("\n".join(lines[first - 1 : last]))), tabindex=0)
        both = tag("div", numbers, text, class_="lines")
    inner = both if last - first < FOLDED else fold(f"Lines {first:,} to {last:,}", both)
    named = sum(mark.kind in ("node", "edge") for mark in block.marks) > 1
    notes = [note for mark in block.marks for note in _notes(view, mark, named=named)]
    notes += [] if block.parts else _costs(view, first, last)
    told = tag("ul", [tag("li", note) for note in notes], class_="costs") if notes else None
    kind = "statement marked" if notes else "statement"
    if block.parts:
        return tag("div", inner, told, class_=f"{kind} whole")
    return tag("div", inner, told, class_=kind, id=f"line-{first}")


def _notes(view: View, mark: Mark, *, named: bool) -> Iterator[Child]:
    """Yield what came of a statement: links to the sections that show more."""
    answer, problem = view.answer, view.problem
    if mark.kind == "objective":
        for one in (answer["objectives"][i] for i in mark.indices):
            if one["value"] is not None:
                yield tag("a", f"{format_quantity(one['value'], one['unit'])} in this plan", href="#answer")
    elif mark.kind == "device" and answer["devices"]:
        loads = [each["load"] for each in (answer["devices"][d] for d in mark.indices)]
        text = "load" if len(loads) == 1 else f"{len(loads)} devices, loads up to"
        yield tag("a", f"{text} {view.time(max(loads))}", href="#loads")
    elif mark.kind == "interconnect" and answer["devices"]:
        moved = sum(each["input"] + each["output"] for each in answer["devices"])
        yield tag(
            "a", f"devices read and write for {view.time(moved)} in sum", href="#network" if problem.k > 1 else "#loads"
        )
    elif mark.kind == "graph":
        yield tag("a", f"{counted(problem.graph.n, 'node')}, {counted(problem.graph.m, 'edge')}", href="#nodes")
    elif mark.kind == "node":
        yield from nodes_said(view, mark, named=named)
    elif mark.kind == "edge":
        yield from edges_said(view, mark, named=named)
    elif mark.kind == "constraint":
        yield from _of_constraints(view, mark)


def _costs(view: View, first: int, last: int) -> list[Child]:
    """Return what the constraints of some lines cost, and which of their limits are reached, where somebody asked."""
    assert view.spec is not None
    found: list[Child] = []
    for price in (view.explanation or {}).get("constraints") or ():
        place = next(iter(price["lines"]), None)
        if place is None or place["file"] != view.spec.name or not first <= place["first_line"] <= last:
            continue
        found.append(tag("a", price["said"], href="#explained-constraints"))
        binding = [each["name"] for each in price["slack"] if each["binding"]]
        if binding:
            more = f" and {len(binding) - MAX_NAMED} more" if len(binding) > MAX_NAMED else ""
            found.append(["binding: ", name(", ".join(binding[:MAX_NAMED])), more])
    return found


def _of_constraints(view: View, mark: Mark) -> Iterator[Child]:
    """Yield what the constraints of a statement hold back, and what they cost where somebody asked."""
    rules = [view.problem.constraints[i] for i in mark.indices]
    if any(isinstance(rule, Memory) for rule in rules) and view.evaluation is not None:
        limit = view.problem.memory_limit
        full = [
            float(used / room)
            for used, room in zip(view.evaluation.memory, limit, strict=True)
            if 0 < room < float("inf")
        ]
        if full:
            yield tag("a", f"the fullest device is at {format_share(max(full))} of its room", href="#memory")
    labels = {rule.label.partition("[")[0] for rule in rules if isinstance(rule, Linear) and rule.soft}
    for each in view.answer["penalties"]:
        if each["constraint"] in labels:
            yield tag("a", f"{view.value(each['paid'])} are paid", href="#objectives")
