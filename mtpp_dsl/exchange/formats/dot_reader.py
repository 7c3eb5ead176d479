"""A reader of DOT, bounded in time and memory: directed graphs, attributes, clusters; no HTML labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.formats.rows import MAX_EDGES, MAX_NODES

__all__ = ["DotGraph", "read_dot"]

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
            nodes than :data:`mtpp_dsl.exchange.formats.rows.MAX_NODES`, or more edges than ``MAX_EDGES``.
    """
    return _Reader(text, place).graph()


class _Reader:
    """Reads one file, by recursive descent over clusters."""

    def __init__(self, text: str, place: str) -> None:
        self.text, self.place, self.found = text, place, DotGraph()
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
        return self.found

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
                self.found.nodes[self._mention(ends[0], nodes)] |= given
                inside[ends[0]] = None
            else:
                inside |= ends[0]
            return
        sets = [{self._mention(end, nodes): None} if isinstance(end, str) else end for end in ends]
        for tails, heads in pairwise(sets):
            if len(self.found.edges) + len(tails) * len(heads) > MAX_EDGES:
                raise self._wrong(self.at, f"there are more than {MAX_EDGES:,} edges, the most that are read")
            self.found.edges += [(tail, head, edges | given) for tail in tails for head in heads]
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
        if name not in self.found.nodes:
            if len(self.found.nodes) >= MAX_NODES:
                raise self._wrong(self.at, f"there are more than {MAX_NODES:,} nodes, the most that are read")
            self.found.nodes[name] = dict(usual)
        return name

    def _attributes(self) -> dict[str, str]:
        """Read lists of attributes."""
        found: dict[str, str] = {}
        while self._take("["):
            while not self._take("]"):
                name = self._id()
                found[name] = self._id() if self._take("=") else "true"
                if len(found) > MAX_ATTRIBUTES:
                    raise self._wrong(
                        self.at, f"there are more than {MAX_ATTRIBUTES} attributes, the most that are read"
                    )
                if not self._take(","):
                    self._take(";")
        return found


def _expected(text: str, at: int) -> str:
    """Return what is wrong at a place where no token begins."""
    if text[at] == "<":
        return "labels in HTML are not read; write them in quotation marks"
    if text[at] == '"':
        return "not DOT: the closing quotation mark is missing"
    if text.startswith("/*", at):
        return "not DOT: the end of the comment, '*/', is missing"
    return f"not DOT: {text[at]!r} cannot stand here"
