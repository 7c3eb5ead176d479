"""DOT, the language of GraphViz: graphs with their weights as attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.formats.csv_pair import number_text
from mtpp_dsl.exchange.formats.graph_rows import (
    MAX_EDGES,
    MAX_NODES,
    NODE_FIELDS,
    TIME_ON,
    GraphRows,
    graph_of,
    remedy,
    rows_of,
    unsaid,
)
from mtpp_dsl.exchange.formats.workload import Workload

__all__ = ["DotFile", "read_dot"]

COLOR = "color_class"
"""The attribute of a colour class; ``color`` is what GraphViz draws."""

_SHOWN = 5


class DotFile:
    """DOT files: ``digraph { a [work="2 ms", output="1 MiB"]; a -> b [size="3 kB"] }``.

    Nodes have the fields of CSV files as attributes, and edges ``size``; numbers carry units, or none do. A colour
    class is ``color_class``. Other attributes are for drawing, and are left out; those that GraphViz does not know
    either are named in a warning. Clusters group nodes in pictures only, and ports are left out.
    """

    name = "dot"
    suffixes = (".dot", ".gv")

    def read(self, path: Path) -> Workload:
        """Return the graph in *path*.

        Raises:
            UsageError: it is missing or broken, or says what no graph has; names the file and the line.
        """
        dot = read_dot(read_text(path), f"{path}")
        rows = GraphRows(names=list(dot.nodes))
        index = {name: v for v, name in enumerate(rows.names)}
        unknown: dict[str, None] = {}
        for given in dot.nodes.values():
            rows.nodes.append(_known(given, unknown))
        for tail, head, given in dot.edges:
            rows.edges.append((index[tail], index[head]))
            rows.sizes.append(given.get("size"))
            unknown |= {what: None for what in given if what != "size" and what not in DRAWING}
        warnings: tuple[str, ...] = ()
        if unknown:
            more = ", …" if len(unknown) > _SHOWN else ""
            warnings = (f"{path}: attributes that mean nothing to mtpp: {', '.join([*unknown][:_SHOWN])}{more}",)
        return Workload(graph_of(f"{path}", rows), warnings=warnings)

    def write(self, workload: Workload, path: Path) -> tuple[Path, ...]:
        """Write the graph, and return the path.

        Raises:
            UsageError: the graph has what DOT cannot say.
        """
        reason = unsaid(workload.graph)
        if reason is not None:
            raise UsageError(f"DOT cannot say {reason}; write JSON{remedy(reason)}")
        rows = rows_of(workload.graph)
        rows.nodes[0] |= _zeros(rows)
        lines = [f"  {_quoted(name)}{_listed(row, rows)};" for name, row in zip(rows.names, rows.nodes, strict=True)]
        for (u, v), size in zip(rows.edges, rows.sizes, strict=True):
            given = {} if size is None else {"size": size}
            lines.append(f"  {_quoted(rows.names[u])} -> {_quoted(rows.names[v])}{_listed(given, rows)};")
        write_text(path, "digraph {\n" + "\n".join(lines) + "\n}\n")
        return (path,)


def _zeros(rows: GraphRows) -> dict[str, float]:
    """Return zeros that say the units of columns in which no other number does."""
    columns = ["work", "output"] + ["memory"] * (rows.units["memory"] != rows.units["size"])
    return {what: 0.0 for what in columns if rows.unit_of(what) and not any(what in row for row in rows.nodes)}


def _known(given: dict[str, str], unknown: dict[str, None]) -> dict[str, Any]:
    """Return the attributes of a node that weigh something; put others that are not drawn into *unknown*."""
    row: dict[str, Any] = {}
    for what, value in given.items():
        if what == COLOR:
            row["color"] = value
        elif (what in NODE_FIELDS and what != "color") or what.startswith(TIME_ON):
            row[what] = value
        elif what not in DRAWING:
            unknown[what] = None
    return row


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _listed(row: dict[str, Any], rows: GraphRows) -> str:
    """Return attributes in brackets; "" for none."""
    parts = []
    for what, value in row.items():
        unit = rows.unit_of(what) if isinstance(value, float) and value != float("inf") else ""
        text = number_text(value) + (f" {unit}" if unit else "")
        parts.append(f"{_quoted(what) if ' ' in what else COLOR if what == 'color' else what}={_quoted(text)}")
    return f" [{', '.join(parts)}]" if parts else ""


_DRAWN = """
_background area arrowhead arrowsize arrowtail bb bgcolor center charset class cluster clusterrank color colorscheme
comment compound concentrate constraint damping decorate defaultdist dim dimen dir diredgeconstraints distortion dpi
edgehref edgetarget edgetooltip edgeurl epsilon esep fillcolor fixedsize fontcolor fontname fontnames fontpath
fontsize forcelabels gradientangle group head_lp headclip headhref headlabel headport headtarget headtooltip headurl
height href id image imagepath imagepos imagescale inputscale k label labelangle labeldistance labelfloat
labelfontcolor labelfontname labelfontsize labelhref labeljust labelloc labeltarget labeltooltip labelurl landscape
layer layerlistsep layers layerselect layersep layout len levels levelsgap lhead lheight linelength lp ltail lwidth
margin maxiter mclimit mindist minlen mode model newrank nodesep nojustify normalize notranslate nslimit nslimit1
oneblock ordering orientation outputorder overlap overlap_scaling overlap_shrink pack packmode pad page pagedir
pencolor penwidth peripheries pin pos quadtree quantum radius rank rankdir ranksep ratio rects regular remincross
repulsiveforce resolution root rotate rotation samehead sametail samplepoints scale searchsize sep shape shapefile
showboxes sides skew smoothing sortv splines start style stylesheet tail_lp tailclip tailhref taillabel tailport
tailtarget tailtooltip tailurl target tbbalance tooltip truecolor url vertices viewport voro_margin weight width
xdotversion xlabel xlp z URL headURL tailURL edgeURL labelURL K Damping
"""
DRAWING = frozenset(re.findall(r"\w+", _DRAWN))
"""The attributes of GraphViz, which are for drawing."""


MAX_DEPTH = 50
"""Clusters within clusters."""
MAX_ATTRIBUTES = 100
"""Of one node or edge."""

_TOKEN = re.compile(
    r'(?P<quoted>"(?:[^"\\]+|\\.)*+")|(?P<arrow>->|--)|(?P<word>[A-Za-z_\x80-\uffff][A-Za-z_0-9\x80-\uffff]*)'
    r"|(?P<number>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))|(?P<sign>[{}\[\]=;,:+])",
    re.DOTALL,
)
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\\n])')


@dataclass
class DotGraph:
    """What a DOT file says.

    Attributes:
        nodes: by name, in the order in which they are first mentioned, with their attributes.
        edges: tail, head and attributes.
    """

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


def read_dot(text: str, place: str) -> DotGraph:
    """Return what DOT text says; *place* is the file, for messages.

    Ports and attributes of graphs and clusters are left out. Both ends of an edge may be sets ``{a b}``.

    Raises:
        UsageError: the text is not DOT, or more than is read: an undirected graph, HTML labels, deep clusters, more
            nodes than :data:`mtpp_dsl.exchange.formats.graph_rows.MAX_NODES`, or more edges than ``MAX_EDGES``.
    """
    return _Reader(text, place).graph()


class _Reader:
    """Reads one file, by recursive descent over clusters."""

    def __init__(self, text: str, place: str) -> None:
        self.text, self.place, self.dot = text, place, DotGraph()
        self.tokens = self._all_tokens()
        self.kind, self.token, self.at = "", "", 0
        self.depth = 0
        self._next()

    def _all_tokens(self) -> Iterator[tuple[str, str, int]]:
        at, text = 0, self.text
        while True:
            space = _SPACE.match(text, at)
            at = space.end() if space else at
            if at >= len(text):
                yield "end", "", at
                return
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._wrong(at, _expected(text, at))
            yield str(match.lastgroup), match[0], at
            at = match.end()

    def _wrong(self, at: int, what: str) -> UsageError:
        line, start = self.text.count("\n", 0, at) + 1, self.text.rfind("\n", 0, at)
        return UsageError(f"{self.place}:{line}:{at - start}: {what}")

    def _next(self) -> None:
        self.kind, self.token, self.at = next(self.tokens)

    def _take(self, token: str) -> bool:
        if self.kind in ("sign", "arrow") and self.token == token:
            self._next()
            return True
        return False

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise self._wrong(self.at, f"not DOT: expected {token!r}, found {self._shown()}")

    def _shown(self) -> str:
        return "the end" if self.kind == "end" else repr(self.token[:30])

    def _keyword(self, word: str) -> bool:
        if self.kind == "word" and self.token.lower() == word:
            self._next()
            return True
        return False

    def _id(self) -> str:
        """Return a name or a value, and go on."""
        if self.kind not in ("word", "number", "quoted"):
            raise self._wrong(self.at, f"not DOT: expected a name, found {self._shown()}")
        kind, text = self.kind, self.token
        self._next()
        if kind != "quoted":
            return text
        parts = [text[1:-1]]
        while self._take("+"):
            if self.kind != "quoted":
                raise self._wrong(self.at, "not DOT: expected a text in quotation marks after '+'")
            parts.append(self.token[1:-1])
            self._next()
        return _ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], "".join(parts))

    def graph(self) -> DotGraph:
        """Return what the whole file says."""
        self._keyword("strict")
        if self._keyword("graph"):
            raise self._wrong(
                self.at, "the graph is undirected; mtpp reads 'digraph', as edges say who reads from whom"
            )
        if not self._keyword("digraph"):
            raise self._wrong(self.at, f"not DOT: expected 'digraph', found {self._shown()}")
        if not (self.kind == "sign" and self.token == "{"):
            self._id()
        self._need("{")
        self._statements({}, {})
        if self.kind != "end":
            raise self._wrong(self.at, f"not DOT: expected the end after the graph, found {self._shown()}")
        return self.dot

    def _statements(self, nodes: dict[str, str], edges: dict[str, str]) -> dict[str, None]:
        """Read statements up to the closing brace; return the nodes that they mention, in their order.

        Args:
            nodes: the attributes that nodes have here unless they say otherwise.
            edges: those that edges have.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._wrong(self.at, f"clusters are nested more deeply than {MAX_DEPTH}")
        inside: dict[str, None] = {}
        nodes, edges = dict(nodes), dict(edges)
        while not self._take("}"):
            if self._take(";"):
                continue
            if self.kind == "end":
                raise self._wrong(self.at, "not DOT: the closing '}' is missing")
            self._statement(nodes, edges, inside)
        self.depth -= 1
        return inside

    def _statement(self, nodes: dict[str, str], edges: dict[str, str], inside: dict[str, None]) -> None:
        """Read one statement."""
        for word, usual in (("node", nodes), ("edge", edges), ("graph", {})):
            if self._keyword(word):
                usual |= self._attributes()
                return
        ends = [self._end(nodes, edges)]
        if isinstance(ends[0], str) and self._take("="):
            self._id()  # an attribute of the graph
            return
        while self.kind == "arrow":
            if self.token == "--":
                raise self._wrong(
                    self.at, "'--' joins nodes both ways; mtpp reads '->', as edges say who reads from whom"
                )
            self._next()
            ends.append(self._end(nodes, edges))
        given = self._attributes() if self.kind == "sign" and self.token == "[" else {}
        if len(ends) == 1:
            if isinstance(ends[0], str):
                self.dot.nodes[self._mention(ends[0], nodes)] |= given
                inside[ends[0]] = None
            else:
                inside |= ends[0]
            return
        sets = [{self._mention(end, nodes): None} if isinstance(end, str) else end for end in ends]
        for tails, heads in pairwise(sets):
            if len(self.dot.edges) + len(tails) * len(heads) > MAX_EDGES:
                raise self._wrong(self.at, f"there are more than {MAX_EDGES:,} edges, the most that are read")
            self.dot.edges += [(tail, head, edges | given) for tail in tails for head in heads]
        for end in sets:
            inside |= end

    def _end(self, nodes: dict[str, str], edges: dict[str, str]) -> str | dict[str, None]:
        """Read a node, or a cluster: its nodes."""
        cluster = self._keyword("subgraph")
        if cluster and not (self.kind == "sign" and self.token == "{"):
            self._id()
        if self._take("{"):
            return self._statements(nodes, edges)
        if cluster:
            raise self._wrong(self.at, f"not DOT: expected '{{', found {self._shown()}")
        name = self._id()
        while self._take(":"):  # a port
            self._id()
        return name

    def _mention(self, name: str, usual: dict[str, str]) -> str:
        """Make a node known, with the attributes that nodes have here; return its name."""
        if name not in self.dot.nodes:
            if len(self.dot.nodes) >= MAX_NODES:
                raise self._wrong(self.at, f"there are more than {MAX_NODES:,} nodes, the most that are read")
            self.dot.nodes[name] = dict(usual)
        return name

    def _attributes(self) -> dict[str, str]:
        """Read lists of attributes."""
        attributes: dict[str, str] = {}
        while self._take("["):
            while not self._take("]"):
                name = self._id()
                attributes[name] = self._id() if self._take("=") else "true"
                if len(attributes) > MAX_ATTRIBUTES:
                    raise self._wrong(
                        self.at, f"there are more than {MAX_ATTRIBUTES} attributes, the most that are read"
                    )
                if not self._take(","):
                    self._take(";")
        return attributes


def _expected(text: str, at: int) -> str:
    """Return what is wrong at a place where no token begins."""
    if text[at] == "<":
        return "labels in HTML are not read; write them in quotation marks"
    if text[at] == '"':
        return "not DOT: the closing quotation mark is missing"
    if text.startswith("/*", at):
        return "not DOT: the end of the comment, '*/', is missing"
    return f"not DOT: {text[at]!r} cannot stand here"
