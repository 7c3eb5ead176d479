"""Plans as tables and pictures: the device of every node, for any problem whose nodes are each on one device."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mtpp_dsl.contracts import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.targets.layers import comment
from mtpp_dsl.targets.stages import plain_plan

__all__ = ["Csv", "Dot"]


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
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["node", "device"])
        writer.writerows((name, problem.devices[d].name) for name, d in _pairs(problem, plan))
        return {"plan.csv": comment(stamp) + out.getvalue()}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a table with the columns ``node`` and ``device``, in any order, others beside them."""
        lines = [line for line in text_of(source).splitlines() if line.strip() and not line.startswith("#")]
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


class Dot(_OfNodes):
    """A graph of Graphviz with the nodes of each device in a cluster, and ``device`` as an attribute of every node."""

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
            lines += [f"  subgraph cluster_{d} {{", f"    label={device};"]
            lines += [*(f"    {_quoted(name)} [device={device}];" for name in names), "  }"]
        every = problem.graph.names
        for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True):
            lines.append(f"  {_quoted(every[u])} -> {_quoted(every[v])};")
        return {"plan.dot": "\n".join([*lines, "}"]) + "\n"}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split that the attribute ``device`` of the nodes says."""
        return _split(problem, _placed_nodes(_words(text_of(source))))


def _pairs(problem: Problem, plan: Plan) -> Iterator[tuple[str, int]]:
    return zip(problem.graph.names, plan.assignment.tolist(), strict=True)


def _split(problem: Problem, rows: Iterable[tuple[str, str]]) -> Split:
    """Return the split of pairs of a node and a device by name.

    Raises:
        UnsoundSplit: a name is not there, or a node is doubled or lost.
    """
    number = {name: v for v, name in enumerate(problem.graph.names)}
    found: dict[int, int] = {}
    for node, device in rows:
        if node not in number:
            raise UnsoundSplit(f"there is no node {node!r}{did_you_mean(node, number)}")
        if device not in problem.device_index:
            raise UnsoundSplit(f"there is no device {device!r}{did_you_mean(device, problem.device_index)}")
        if number[node] in found:
            raise UnsoundSplit(f"node {node!r} is doubled: it is placed twice")
        found[number[node]] = problem.device_index[device]
    lost = [v for v in range(problem.graph.n) if v not in found]
    if lost:
        raise UnsoundSplit(f"node {problem.graph.names[lost[0]]!r} is lost: it has no device")
    return Split(tuple(found[v] for v in range(problem.graph.n)))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_WORD = re.compile(
    r"""(?P<air>\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>->|--|[\[\]{}=;,:])"""
    r"""|(?P<name>-?[\w.]+)""",
    re.DOTALL,
)


def _words(text: str) -> list[tuple[str, bool]]:
    """Return the words of DOT, and whether each is a name or a text.

    Raises:
        UsageError: a sign that DOT does not have there.
    """
    found, place = [], 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None or match.end() == place:
            raise UsageError(
                f"this is no DOT: {text[place : place + 20]!r} in line {text.count(chr(10), 0, place) + 1}"
            )
        place = match.end()
        if match["text"] is not None:
            found.append((re.sub(r'\\(["\\])', r"\1", match["text"][1:-1]), True))
        elif match["name"] is not None or match["sign"] is not None:
            found.append((match[0], match["sign"] is None))
    return found


def _placed_nodes(words: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that have a device among their attributes, with it."""
    place = 0
    while place < len(words) - 1:
        (word, named), (sign, is_name) = words[place], words[place + 1]
        place += 1
        if not named or is_name or sign != "[":
            continue
        edge = place > 1 and words[place - 2] in (("->", False), ("--", False))
        attributes = {}
        place += 1
        while place < len(words) and words[place] != ("]", False):
            if place + 2 < len(words) and words[place + 1] == ("=", False):
                attributes[words[place][0]] = words[place + 2][0]
                place += 2
            place += 1
        if "device" in attributes and not edge and word not in ("node", "edge", "graph"):
            yield word, attributes["device"]
