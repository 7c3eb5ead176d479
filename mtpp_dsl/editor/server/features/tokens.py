"""The words of a text and what they are, for colours that know more than patterns do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mtpp_dsl.editor.server.index import walk
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import ITEMS, RULES, STATEMENTS
from mtpp_dsl.language.syntax.lexing import lexemes
from mtpp_dsl.language.words.meanings import INTERCONNECTS, OBJECTIVES, WORDS
from mtpp_dsl.language.words.vocabulary import functions

TYPES = (
    "keyword",
    "comment",
    "string",
    "number",
    "operator",
    "variable",
    "parameter",
    "function",
    "property",
    "class",
    "type",
    "namespace",
    "struct",
    "enumMember",
)
"""Kinds of words: nodes are variables, devices classes, blocks structs, options properties, scenarios namespaces."""
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
_DECLARATION, _READONLY, _LIBRARY = 1, 2, 4

_OPERATORS = frozenset(["<->", "->", "<=", ">=", "==", "!=", "..<", "..", *"-+*/<>=%"])
_BETWEEN = {
    "as",
    "at",
    "by",
    "from",
    "in",
    "most",
    "on",
    "or",
    "and",
    "not",
    "if",
    "then",
    "else",
    "for",
    "forall",
    "to",
}
_KEYWORDS = frozenset({*STATEMENTS, *ITEMS, *_BETWEEN, "up", "links", "symmetry", "plan", "generator"})
_KINDS = {
    "param": ("parameter", _READONLY),
    "let": ("variable", _READONLY),
    "def": ("function", 0),
    "block": ("struct", 0),
    "node": ("variable", 0),
    "device": ("class", 0),
    "type": ("type", 0),
    "switch": ("class", 0),
    "phase": ("enumMember", 0),
    "scenario": ("namespace", 0),
    "constraint": ("property", 0),
    "port": ("variable", 0),
    "instance": ("variable", 0),
    "variable": ("parameter", 0),
}


class ColouredWord(NamedTuple):
    """A word of the text: its offsets, its type among :data:`TYPES`, and a sum of 1, 2 and 4 for its modifiers."""

    start: int
    stop: int
    type: str
    modifiers: int = 0


def tokens(reading: TextReading, start: int = 0, stop: int | None = None) -> list[ColouredWord]:
    """Return the words between two offsets that have a colour, also where the text does not parse."""
    known = _known(reading)
    declared = {name: _KINDS.get(places[0].kind, ("variable", 0)) for name, places in reading.index.definitions.items()}
    coloured: list[ColouredWord] = []
    opened = -1  # up to where a string goes that is not closed on its line
    for word in lexemes(reading.text, start, stop):
        first, last = word.offset, word.stop
        if first < opened:
            continue
        if word.kind in ("COMMENT", "STRING", "NUMBER"):
            coloured.append(ColouredWord(first, last, word.kind.lower()))
        elif word.text == '"':
            line = reading.text.find("\n", first, stop)
            opened = line if line >= 0 else len(reading.text) if stop is None else stop
            coloured.append(ColouredWord(first, opened, "string"))
        elif word.text in _OPERATORS:
            coloured.append(ColouredWord(first, last, "operator"))
        elif word.kind != "MARK":
            token = known.get(first) or _guessed(word.text, declared)
            if token is not None:
                coloured.append(ColouredWord(first, last, *token))
    return coloured


def encoded(reading: TextReading, words: list[ColouredWord]) -> list[int]:
    """Return words as the protocol writes them: five numbers each, places relative to the word before."""
    lines = reading.lines()
    data: list[int] = []
    line = column = 0
    for token in words:
        row, first = lines.position(token.start)
        end = lines.position(token.stop)
        length = end[1] - first if end[0] == row else max(0, lines.position(lines.end(row))[1] - first)
        data += (row - line, first - column if row == line else first, length, TYPES.index(token.type), token.modifiers)
        line, column = row, first
    return data


def _guessed(word: str, declared: Mapping[str, tuple[str, int]]) -> tuple[str, int] | None:
    """Return what a word is that stands in no statement that parses."""
    if word in _KEYWORDS:
        return "keyword", 0
    if word in declared:
        return declared[word]
    return ("keyword", 0) if word in RULES or word in INTERCONNECTS else None


def _known(reading: TextReading) -> dict[int, tuple[str, int]]:
    """Return what the words of the statements that parse are, by their offsets."""
    known: dict[int, tuple[str, int]] = {}
    library = functions()
    for part in walk(reading.statements):
        match part:
            case tree.Option():
                known[part.name.span.start] = ("property", 0)
            case tree.Number(unit=tree.Word() as unit):
                known[unit.span.start] = ("number", 0)
            case tree.Call():
                own = part.function.text not in library or reading.index.declared.has("def", part.function.text)
                known[part.function.span.start] = ("function", 0 if own else _LIBRARY)
            case tree.ConstraintStatement():
                known[part.rule.span.start] = ("keyword", 0)
            case tree.InterconnectStatement():
                known[part.name.span.start] = ("keyword", 0)
            case tree.ParamStatement(type=tree.Word() as kind):
                known[kind.span.start] = ("type", _LIBRARY)
            case tree.TargetStatement():
                known[part.name.span.start] = ("namespace", 0)
            case tree.Name() if part.name in OBJECTIVES or part.name in WORDS:
                known[part.span.start] = ("variable", _LIBRARY)
    for occurrence in reading.index.occurrences:
        if occurrence.span.source is not reading.source:
            continue
        names = occurrence.kind or next((one.kind for one in reading.index.definitions.get(occurrence.name, ())), "")
        if names in _KINDS and (occurrence.span.start not in known or occurrence.role == "definition"):
            token, modifiers = _KINDS[names]
            known[occurrence.span.start] = (token, modifiers | (_DECLARATION if occurrence.role == "definition" else 0))
    return known
