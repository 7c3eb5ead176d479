"""Plans as tables and pictures: the device of every node, for any problem whose nodes are each on one device."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import shortened
from mtpp_dsl.core.text.visible import coded, printable, visible
from mtpp_dsl.runtimes.targets.layer_counts import comment
from mtpp_dsl.runtimes.targets.stages import plain_plan

_LINE = re.compile(r"\r\n|\r|\n")


class _OfNodes:
    """A form that says the device of every node; it stands for no constraint."""

    name = ""

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem as it is: the form takes every plan that has each node on one device."""
        return problem


class Csv(_OfNodes):
    """A table of two columns, ``node`` and ``device``, below lines of comments that begin with ``#``."""

    name = "csv"
    summary = "a table of nodes and their devices"

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the table."""
        plain_plan(plan, "A table of nodes")
        rows = [(name, problem.devices[d].name) for name, d in _pairs(problem, plan)]
        for what, names in zip(("node", "device"), zip(*rows, strict=True), strict=False):
            _check_seen(what, names)
        out = io.StringIO()
        comments = any(name.startswith("#") for name, _ in rows)
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL if comments else csv.QUOTE_MINIMAL)
        writer.writerow(["node", "device"])
        writer.writerows(rows)
        return {"plan.csv": comment(stamp) + out.getvalue()}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a table with the columns ``node`` and ``device``, in any order, others beside them."""
        lines = [line for line in _LINE.split(text_of(source)) if line.strip() and not line.startswith("#")]
        try:
            rows = list(csv.reader(lines, strict=True))
        except csv.Error as error:
            raise UsageError(f"this is no CSV: {error}") from None
        head = [cell.strip() for cell in rows[0]] if rows else []
        if "node" not in head or "device" not in head:
            raise UsageError("the first row of the table has to name the columns node and device")
        node, device = head.index("node"), head.index("device")
        short = next((number for number, row in enumerate(rows) if len(row) <= max(node, device)), None)
        if short is not None:
            raise UsageError(f"row {short + 1} of the table is too short")
        return _split(problem, ((row[node], row[device]) for row in rows[1:]))


class DotTarget(_OfNodes):
    r"""A graph of Graphviz with the nodes of each device in a cluster, and ``device`` as an attribute of every node.

    Characters of names that hide or turn text are written by their codes, as ``\u202e``, and are read back from them;
    such names have a label beside them, with a sign in place of each, which is what Graphviz draws.
    """

    name = "dot"
    summary = "a picture of the plan for Graphviz"

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the graph."""
        plain_plan(plan, "A picture of nodes")
        lines = ["digraph plan {", *(f"  // {line}" for line in stamp.lines())]
        on: dict[int, list[str]] = {}
        for name, d in _pairs(problem, plan):
            on.setdefault(d, []).append(name)
        for d, names in sorted(on.items()):
            device = _quoted(problem.devices[d].name)
            lines += [f"  subgraph cluster_{d} {{", f"    label={_label(problem.devices[d].name)};"]
            lines += [*(f"    {_quoted(name)} [device={device}{_drawn(name)}];" for name in names), "  }"]
        every = problem.graph.names
        for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
            lines.append(f"  {_quoted(every[u])} -> {_quoted(every[v])};")
        return {"plan.dot": "\n".join([*lines, "}"]) + "\n"}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split that the attribute ``device`` of the nodes says."""
        return _split(problem, _placed_nodes(_words(text_of(source))))


def _check_seen(what: str, names: Iterable[str]) -> None:
    """Refuse names that a table cannot show as they are.

    Raises:
        UsageError: one has a character that hides or turns text, or that a terminal obeys.
    """
    odd = next((name for name in names if visible(name) != name), None)
    if odd is not None:
        raise UsageError(
            f"a table cannot show the name of {what} {shortened(ascii(odd))}: it has characters that are not seen; "
            "write dot, which has their codes, or give it another name"
        )


def _pairs(problem: Problem, plan: Plan) -> Iterator[tuple[str, int]]:
    return zip(problem.graph.names, plan.assignment.tolist(), strict=True)


def _split(problem: Problem, rows: Iterable[tuple[str, str]]) -> Split:
    """Return the split of pairs of a node and a device by name.

    Raises:
        UnsoundSplit: a name is not there, or a node is doubled or lost.
    """
    number = {name: v for v, name in enumerate(problem.graph.names)}
    device_of: dict[int, int] = {}
    for node, device in rows:
        if node not in number:
            raise UnsoundSplit(f"there is no node {node!r}{did_you_mean(node, number)}")
        if device not in problem.device_index:
            raise UnsoundSplit(f"there is no device {device!r}{did_you_mean(device, problem.device_index)}")
        if number[node] in device_of:
            raise UnsoundSplit(f"node {node!r} is doubled: it is placed twice")
        device_of[number[node]] = problem.device_index[device]
    lost = [v for v in range(problem.graph.n) if v not in device_of]
    if lost:
        raise UnsoundSplit(f"node {problem.graph.names[lost[0]]!r} is lost: it has no device")
    return Split(tuple(device_of[v] for v in range(problem.graph.n)))


MAX_LABEL = 60
"""Characters of a name that are drawn; the middle of a longer one is left out."""


def _quoted(text: str) -> str:
    """Return a text in quotes from which :func:`_unquoted` makes it again."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + coded(escaped) + '"'


_ESCAPE = re.compile(r'\\(?:(["\\])|u([0-9a-f]{4})|U(00(?:0[0-9a-f]|10)[0-9a-f]{4}))')


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(lambda match: match[1] or chr(int(match[2] or match[3], 16)), text[1:-1])


def _label(name: str) -> str:
    """Return the label that draws a name: Graphviz reads escapes and entities in labels, and not in names."""
    short = name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL // 2]}…{name[1 - MAX_LABEL // 2 :]}"
    shown = printable(short.replace("\t", " "))
    return '"' + shown.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') + '"'


def _drawn(name: str) -> str:
    """Return the label of a node as an attribute; "" where its name is drawn as it is."""
    label = _label(name)
    return "" if label == f'"{name}"' else f", label={label}"


_WORD = re.compile(
    r"""(?P<air>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>->|--|[\[\]{}=;,:])"""
    r"""|(?P<name>-?[\w.]+)""",
    re.DOTALL,
)
_Word = tuple[str, str]


def _words(text: str) -> list[_Word]:
    """Return the words of DOT, and of each whether it is "text" in quotes, a bare "name" or a "sign".

    Raises:
        UsageError: a sign that DOT does not have there.
    """
    words, place = [], 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None or match.end() == place:
            raise UsageError(
                f"this is no DOT: {text[place : place + 20]!r} in line {text.count(chr(10), 0, place) + 1}"
            )
        place = match.end()
        kind = match.lastgroup or "air"
        if kind != "air":
            words.append((_unquoted(match[0]) if kind == "text" else match[0], kind))
    return words


def _placed_nodes(words: list[_Word]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that have a device among their attributes, with it."""
    place = 0
    while place < len(words) - 1:
        word, kind = words[place]
        place += 1
        if kind == "sign" or words[place] != ("[", "sign"):
            continue
        edge = place > 1 and words[place - 2] in (("->", "sign"), ("--", "sign"))
        attributes = {}
        place += 1
        while place < len(words) and words[place] != ("]", "sign"):
            if place + 2 < len(words) and words[place + 1] == ("=", "sign"):
                attributes[words[place][0]] = words[place + 2][0]
                place += 2
            place += 1
        defaults = kind == "name" and word in ("node", "edge", "graph")
        if "device" in attributes and not edge and not defaults:
            yield word, attributes["device"]
