"""Texts of before version 1 was settled, written as it wants them: ``mtpp fmt --upgrade``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise

from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.parser import parse
from mtpp_dsl.language.syntax.reserved_words import RESERVED

__all__ = ["upgraded"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<comment>\#[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*+")
    |(?P<number>[0-9][0-9_]*(?:\.(?!\.)[0-9_]*)?(?:[eE][+-]?[0-9]+)?)
    |(?P<word>[A-Za-z_µ][A-Za-z0-9_]*(?:/s(?![A-Za-z0-9_]))?)|(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_HYPHENATED = re.compile(r'(\btransfer(?:\s|#[^\n]*\n)*=(?:\s|#[^\n]*\n)*"?)per-(batch|input)(?![A-Za-z0-9_])')
_ATTACHED = ("for", "if", "in", "on", "and", "or", "not", "at", "up", "to", "by")
"""Words that were keywords even where they touched the number before them."""


def upgraded(source: Source) -> str:
    """Return a text with every form of before as version 1 writes it; a text of version 1 stays as it is.

    ``per-batch`` and ``per-input`` become ``per_batch`` and ``per_input``; a unit moves to the line of its number, and
    a keyword away from it; a divisor with a unit stands in brackets where nothing before it has one, as in
    ``1/(2 ms)``; params, lets and loop variables named by a word of the language get an underscore behind them.

    Raises:
        SpecError: it does not parse as version 1 either.
    """
    text = "".join(_with_units_in_place(source.text))
    text = _HYPHENATED.sub(r"\1per_\2", text)
    found = Source(source.name, text)
    statements = parse(found)
    edits = {**_divisors(statements, text), **_renamed(statements)}
    for start, (stop, new) in sorted(edits.items(), reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def _with_units_in_place(text: str) -> Iterator[str]:
    """Yield the pieces of a text, with units behind their numbers and keywords not at them."""
    pieces = [(match.lastgroup, match[0]) for match in _TOKEN.finditer(text)]
    code = [i for i, (kind, _) in enumerate(pieces) if kind not in ("space", "comment")]
    moved: dict[int, int] = {}  # the unit of a number, by their places
    for first, second in pairwise(code):
        between = "".join(piece for _, piece in pieces[first + 1 : second])
        if pieces[first][0] == "number" and "\n" in between and pieces[second][1] in UNITS:
            moved[first] = second
    alone = {unit - 1 for number, unit in moved.items() if unit == number + 2}  # nothing but a space between
    gone = {*moved.values(), *alone}
    for i, (kind, piece) in enumerate(pieces):
        if i in gone:
            continue
        yield piece
        if i in moved:
            yield f" {pieces[moved[i]][1]}"
        elif kind == "number" and i + 1 < len(pieces) and pieces[i + 1][1] in _ATTACHED:
            yield " "


def _divisors(parts: object, text: str) -> dict[int, tuple[int, str]]:
    """Return the edits that put brackets around a divisor with a unit, where nothing before it has one."""
    edits: dict[int, tuple[int, str]] = {}
    for node in _nodes(parts):
        if not isinstance(node, tree.Chain) or "/" not in node.operators:
            continue
        for sign, operand in zip(("", *node.operators), node.operands, strict=True):
            span = operand.span
            if not isinstance(operand, tree.Number) or operand.unit is None or operand.unit.text == "%":
                continue
            if sign == "/" and not text[: span.start].rstrip().endswith("("):
                edits[span.start] = span.stop, f"({span.text})"
            break
    return edits


def _renamed(statements: tuple[tree.Statement, ...]) -> dict[int, tuple[int, str]]:
    """Return the edits that give params, lets and loop variables names that are no words of the language."""
    declared = {
        node.name.text
        for node in _nodes(statements)
        if isinstance(node, (tree.ParamStatement, tree.LetStatement, tree.Binder))
    }
    wrong = declared & RESERVED
    if not wrong:
        return {}
    used = {node.text for node in _nodes(statements) if isinstance(node, tree.Word)}
    used |= {node.name for node in _nodes(statements) if isinstance(node, tree.Name)}
    fresh = {name: next(new for i in range(1, 100) if (new := name + "_" * i) not in used) for name in wrong}
    edits: dict[int, tuple[int, str]] = {}
    for node in _nodes(statements):
        if isinstance(node, (tree.ParamStatement, tree.LetStatement, tree.Binder)) and node.name.text in wrong:
            edits[node.name.span.start] = node.name.span.stop, fresh[node.name.text]
        elif isinstance(node, tree.Name) and node.name in wrong and not node.subscripts:
            edits[node.span.start] = node.span.start + len(node.name), fresh[node.name]
        elif isinstance(node, tree.Path) and node.is_name and node.value in wrong:
            edits[node.span.start] = node.span.stop, fresh[node.value]
    return edits


def _nodes(part: object) -> Iterator[tree.Tree]:
    """Yield a tree and all that is in it."""
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        elif isinstance(part, tree.Tree) and is_dataclass(part):
            yield part
            waiting += [getattr(part, field.name) for field in fields(part) if field.name != "span"]
