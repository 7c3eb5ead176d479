"""The spec, its statements beside what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from mtpp_dsl.core.base.units import counted, format_share
from mtpp_dsl.core.constraints import Linear, Memory
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.language.words.pygments_lexer import MtppLexer
from mtpp_dsl.show.page.markup import Child, Markup, escape, name, tag
from mtpp_dsl.show.page.nodes import devices_of, times_of
from mtpp_dsl.show.page.spec_blocks import FOLDED, MAX_LINES, SpecBlock, addresses, blocks
from mtpp_dsl.show.page.spec_text import family_of
from mtpp_dsl.show.page.tables import fold
from mtpp_dsl.show.page.traffic import tensor_size
from mtpp_dsl.show.page.view import Mark, Section, SpecText, View
from mtpp_dsl.show.report.names import fold_names

__all__ = ["coloured_lines", "section"]

TEXT = "<text>"
WRITTEN = "The problem was made in Python, or read from a text. Written as a spec, it is this:"
NEWLINE = "\n"
MAX_NAMED = 4
"""Limits that are reached of one statement, and files that are gone, named one by one."""


def section(view: View) -> Section | None:
    """Return the text of the spec, and of what it includes, with notes at its statements; None where there is none."""
    spec = view.spec
    if spec is None:
        return None
    if spec.text is None:
        body = tag("p", name(spec.name), " has changed since this answer was found, or is gone: it is not shown.")
        return Section("spec", "The spec", body, nav="Spec", folded=True)
    room = MAX_LINES
    shown: list[Child] = []
    for number, file in enumerate(spec.files):
        text, used = _text(view, file, room)
        room -= used
        shown.append(text if file is spec else fold(_of_file(file), _includer(spec, file), text, id=f"file-{number}"))
    named = [[", " if i else "", name(file_name)] for i, file_name in enumerate(spec.library)]
    body = tag(
        "",
        tag("p", WRITTEN if spec.name == TEXT else name(spec.name)),
        _lost(spec),
        shown,
        tag("p", "Included from the library of mtpp: ", named, ".") if named else None,
    )
    return Section("spec", "The spec, and what its lines cost", body, nav="Spec", folded=True)


def _text(view: View, file: SpecText, room: int) -> tuple[Markup, int]:
    """Return the lines of a file, *room* at most, with their notes, and how many of them are shown."""
    every = coloured_lines((file.text or "").removesuffix("\n"))
    lines = every[:room]
    shown = [_block(view, file, lines, block) for block in blocks(file.marks, 1, len(lines))]
    left = len(every) - len(lines)
    more = tag("p", f"{counted(left, 'line')} {'more are' if lines else 'are'} not shown.") if left else None
    return tag("", tag("div", shown, class_="spec") if shown else None, more), len(lines)


def _of_file(file: SpecText) -> Markup:
    """Return what the fold of an included file is called: its path as it is written, with how long it is."""
    assert file.text is not None
    return tag(
        "", name(file.called), f", included, {counted(file.text.removesuffix(NEWLINE).count(NEWLINE) + 1, 'line')}"
    )


def _includer(spec: SpecText, file: SpecText) -> Markup | None:
    """Return where an included file is included, as a link to the line."""
    assert file.includer is not None
    path, line = file.includer
    outer = next((candidate for candidate in spec.files if candidate.name == path), None)
    if outer is None:
        return None
    where = [f"line {line} of ", name(outer.called or outer.name)]
    href = addresses(outer)(line)
    return tag("p", "Included in ", where if href is None else tag("a", where, href=href), ".")


def _lost(spec: SpecText) -> Markup | None:
    """Return why included files are not shown, where they are not what they were."""
    if spec.lost is None:
        return None
    if not spec.lost:
        why: Child = "What the spec includes or reads was not found again"
    else:
        names = [[", " if i else "", name(file_name)] for i, file_name in enumerate(spec.lost[:MAX_NAMED])]
        more = f" and {len(spec.lost) - MAX_NAMED} more" if len(spec.lost) > MAX_NAMED else ""
        why = [
            names,
            more,
            " changed since this answer was found, or ",
            "is" if len(spec.lost) == 1 else "are",
            " gone",
        ]
    return tag("p", why, ": included files are not shown, and not every result is beside a line of the spec.")


def _block(view: View, file: SpecText, lines: Sequence[Markup], block: SpecBlock) -> Markup:
    """Return some lines of a file with their numbers and their notes."""
    first, last = block.first, block.last
    if block.parts:
        both = tag("div", [_block(view, file, lines, part) for part in block.parts], class_="parts")
    else:
        numbers = tag("pre", "\n".join(map(str, range(first, last + 1))), class_="numbers", aria_hidden="true")
        text = tag("pre", tag("code", Markup("\n".join(lines[first - 1 : last]))), tabindex=0)
        both = tag("div", numbers, text, class_="lines")
    inner = both if last - first < FOLDED else fold(f"Lines {first:,} to {last:,}", both)
    named = sum(mark.kind in ("node", "edge") for mark in block.marks) > 1
    notes = [note for mark in block.marks for note in _notes(view, mark, named=named)]
    notes += [] if block.parts else _costs(view, file, first, last)
    list_of_notes = tag("ul", [tag("li", note) for note in notes], class_="costs") if notes else None
    kind = "statement marked" if notes else "statement"
    if block.parts:
        return tag("div", inner, list_of_notes, class_=f"{kind} whole")
    return tag("div", inner, list_of_notes, class_=kind, id=f"{file.anchor}{first}")


def _notes(view: View, mark: Mark, *, named: bool) -> Iterator[Child]:
    """Yield what came of a statement: links to the sections that show more."""
    answer, problem = view.answer, view.problem
    if mark.kind == "objective":
        for one in (answer["objectives"][i] for i in mark.indices):
            if one["value"] is not None:
                yield tag("a", f"{view.amount(one['value'], one['unit'])} in this plan", href="#answer")
    elif mark.kind == "device" and answer["devices"]:
        loads = [device["load"] for device in (answer["devices"][d] for d in mark.indices)]
        text = "load" if len(loads) == 1 else f"{len(loads)} devices, loads up to"
        yield tag("a", f"{text} {view.time(max(loads))}", href="#loads")
    elif mark.kind == "interconnect" and answer["devices"]:
        moved = sum(device["input"] + device["output"] for device in answer["devices"])
        yield tag(
            "a", f"devices read and write for {view.time(moved)} in sum", href="#network" if problem.k > 1 else "#loads"
        )
    elif mark.kind == "graph":
        yield tag("a", f"{counted(problem.graph.n, 'node')}, {counted(problem.graph.m, 'edge')}", href="#nodes")
    elif mark.kind == "node":
        yield from node_notes(view, mark, named=named)
    elif mark.kind == "edge":
        yield from edge_notes(view, mark, named=named)
    elif mark.kind == "include" and view.spec is not None:
        for i in mark.indices:
            yield tag("a", "shown below", href=f"#file-{i + 1}")
    elif mark.kind == "constraint":
        yield from _of_constraints(view, mark)


def _costs(view: View, file: SpecText, first: int, last: int) -> list[Child]:
    """Return what the constraints of some lines cost, and which of their limits are reached, where somebody asked."""
    notes: list[Child] = []
    for price in (view.explanation or {}).get("constraints") or ():
        place = next(iter(price["lines"]), None)
        if place is None or place["file"] != file.name or not first <= place["first_line"] <= last:
            continue
        notes.append(tag("a", price["said"], href="#explained-constraints"))
        binding = [slack["name"] for slack in price["slack"] if slack["binding"]]
        if binding:
            more = f" and {len(binding) - MAX_NAMED} more" if len(binding) > MAX_NAMED else ""
            notes.append(["binding: ", name(", ".join(binding[:MAX_NAMED])), more])
    return notes


def _of_constraints(view: View, mark: Mark) -> Iterator[Child]:
    """Yield what the constraints of a statement hold back, and what they cost where somebody asked."""
    rules = [view.problem.constraints[i] for i in mark.indices]
    if any(isinstance(rule, Memory) for rule in rules) and view.evaluation is not None:
        limit = view.problem.room_limit
        full = [
            float(used / room)
            for used, room in zip(view.evaluation.memory, limit, strict=True)
            if 0 < room < float("inf")
        ]
        if full:
            yield tag("a", f"the fullest device is at {format_share(max(full))} of its room", href="#memory")
    labels = {rule.label.partition("[")[0] for rule in rules if isinstance(rule, Linear) and rule.soft}
    for penalty in view.answer["penalties"]:
        if penalty["constraint"] in labels:
            yield tag("a", f"{view.value(penalty['paid'])} are paid", href="#objectives")


# What is said beside a line of a graph block of the nodes and edges that it makes.

MAX_NAMES = 3
"""Devices, or families of them, that are named."""
MAX_NAME = 60


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
    where = name(fold_names([devices[d].name for d in sorted(on)], MAX_NAMES), MAX_NAME)
    took = sum(times[v] for v in mark.indices)
    takes = f", {view.time(took)}" if np.isfinite(took) else ""
    many = len(mark.indices) > 1
    first = view.problem.graph.names[mark.indices[0]]
    called: list[Child] = [name(family_of(first) if many else first, MAX_NAME), ": "] if named else []
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
    ends = [name(graph.names[int(of[edges[0]])], MAX_NAME) for of in (graph.tails, graph.heads)]
    called: list[Child] = [ends[0], " → ", ends[1], ": "] if named else []
    if not len(away):
        where = name(problem.devices[int(tails[0])].name, MAX_NAME)
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
            name(pair[0], MAX_NAME),
            " → ",
            name(pair[1], MAX_NAME),
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


# The lines of a spec, with their words in the colours that editors give them.

CLASSES = ((Comment, "c"), (Keyword.Type, "u"), (Keyword, "k"), (String, "t"), (Number, "n"), (Name.Builtin, "k"))
"""The classes of the style by kinds of words; others have the colour of text."""
MAX_CHARS = 400_000
"""A longer text has no colours."""
MAX_SIGNS = 2_000
"""Signs of a line that are shown."""


def coloured_lines(text: str) -> list[Markup]:
    """Return each line of a text as markup; lines end at line feeds, as they do in messages."""
    text = text.replace("\r\n", "\n")
    if len(text) > MAX_CHARS:
        return [escape(_cut(line)) for line in text.split("\n")]
    lines: list[list[Markup]] = [[]]
    signs = 0
    for _, kind, words in MtppLexer().get_tokens_unprocessed(text):
        for i, part in enumerate(words.split("\n")):
            if i:
                lines.append([])
                signs = 0
            room = MAX_SIGNS - signs
            signs += len(part)
            if part and room > 0:
                lines[-1].append(_word(kind, part if len(part) <= room else f"{part[:room]}…"))
    return [tag("", line) for line in lines]


def _cut(line: str) -> str:
    return line if len(line) <= MAX_SIGNS else f"{line[:MAX_SIGNS]}…"


def _word(kind: _TokenType, text: str) -> Markup:
    class_name = next((name for of, name in CLASSES if kind in of), None)
    return escape(text) if class_name is None or text.isspace() else tag("span", text, class_=class_name)
