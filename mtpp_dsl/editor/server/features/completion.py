"""List what may be written at a place, whatever is wrong with the text around it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.editor.server.features import known, snippets
from mtpp_dsl.editor.server.features.candidate import KINDS, Candidate, Kind
from mtpp_dsl.editor.server.features.context import Context, context_at
from mtpp_dsl.editor.server.features.expected import in_brackets, strings, units
from mtpp_dsl.editor.server.features.files import files
from mtpp_dsl.editor.server.features.markdown import told
from mtpp_dsl.editor.server.features.naming import named, wanted
from mtpp_dsl.editor.server.features.places import range_of
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax.syntax_errors import RULES, STATEMENTS, TERMINALS
from mtpp_dsl.language.words import meanings
from mtpp_dsl.language.words.meanings import Meaning

__all__ = ["TRIGGERS", "candidates", "complete"]

TRIGGERS = ("(", ",", "=", ".", '"', "/", " ", "{", "-")
"""Characters behind which an editor asks."""

_DECLARING = (
    "device",
    "node",
    "let",
    "def",
    "type",
    "switch",
    "scenario",
    "phase",
    "block",
    "param",
    "as",
    "for",
    "forall",
)


def complete(
    reading: TextReading, line: int, column: int, *, with_snippets: bool = True, docs: str = "", typed: str = ""
) -> types.CompletionList:
    """Return what may be written at a place, whether or not the text parses.

    Args:
        reading: of the text.
        line: as the editor counts.
        column: as the editor counts.
        with_snippets: whether the editor has places to fill in.
        docs: where the pages of the documentation are, as an address; "" for those beside the package, if any.
        typed: the character of :data:`TRIGGERS` for which the editor asks; "" where the user does. Where that is a
            space, what fits the place best is offered, or nothing.
    """
    offset = reading.offset(line, column)
    begun = arrow_begun(reading.source, offset)
    context = begun or context_at(reading.source, offset)
    if begun is None and (typed == "-" or _stray(context, typed)):
        return types.CompletionList(is_incomplete=False, items=[])
    start = context.start if context.string is None else offset - len(context.string.rpartition("/")[2])
    where = range_of(reading, Span(reading.source, start, offset))
    items = []
    seen: set[str] = set()
    for each in candidates(reading, context) if begun is None else arrows(begun):
        if each.label in seen or (typed == " " and each.rank > 0):
            continue
        seen.add(each.label)
        snippet = with_snippets and bool(each.snippet)
        items.append(
            types.CompletionItem(
                label=each.label,
                kind=each.kind,
                detail=each.detail or None,
                documentation=_documentation(each.meaning, docs),
                sort_text=f"{each.rank}{each.label}",
                filter_text=each.label,
                insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
                text_edit=types.TextEdit(where, each.snippet if snippet else each.text or each.label),
                additional_text_edits=[types.TextEdit(range_of(reading, edit.span), edit.text) for edit in each.edits]
                or None,
            )
        )
    return types.CompletionList(is_incomplete=len(items) >= known.MAX_NAMES, items=items)


def _stray(context: Context, typed: str) -> bool:
    """Return whether a character that was typed begins nothing: a string that ends, a point in a number, a division."""
    outside = context.string is None
    return outside and (typed == '"' or (typed == "." and context.number) or (typed == "/" and not context.number))


def _documentation(meaning: Meaning | None, docs: str) -> types.MarkupContent | None:
    if meaning is None:
        return None
    return types.MarkupContent(types.MarkupKind.Markdown, told(meaning, docs))


def candidates(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield what may be written at a place, some of it perhaps twice."""
    if context.comment:
        return
    if context.string is not None:
        yield from files(reading, context)
        yield from strings(reading, context, wanted(context))
        return
    if context.number:
        yield from units(context)
        yield from _keywords(context)
        return
    if context.before == ".":
        for each in known.parts(reading, context):
            yield Candidate(each.name, KINDS[each.kind], 0, each.detail)
        return
    yield from _beginnings(context)
    if context.marks and context.before in _DECLARING and not _is_value(context):
        return
    yield from arrows(context)
    of_a_sort = list(named(reading, context))
    yield from of_a_sort
    if not of_a_sort or context.keyword in ("graph", "minimize", "maximize", "import"):
        yield from _keywords(context)
    if not of_a_sort:
        yield from in_brackets(reading, context)


def _is_value(context: Context) -> bool:
    """Return whether a word that also declares stands as another name, such as the option ``type``."""
    return context.before not in ("for", "forall", "as") and len(context.marks) > 1


# statements and items


def _beginnings(context: Context) -> Iterator[Candidate]:
    """Yield the words that begin statements or items, where one may begin."""
    kind, expected = context.container.kind, context.expected
    inside = context.frame is not context.container
    if kind in ("graph", "block"):
        ends = context.fresh if expected is None else "$END" in expected
        if not inside and (not context.marks or ends):
            ports = ("input", "output") if kind == "block" else ()
            for word in ("node", "edge", "use", *ports, "assert"):
                yield Candidate(word, Kind.Keyword, 1, "item", meanings.ITEMS[word], snippets.ITEMS[word])
        if not (context.fresh and context.column == 0):
            return
    begins = not context.marks or context.fresh
    if begins and (context.column == 0 or (not inside and (expected is None or "DEVICE" in expected))):
        for word in STATEMENTS:
            yield Candidate(
                word, Kind.Keyword, 1, "statement", meanings.STATEMENTS[word], snippets.STATEMENTS.get(word, "")
            )


def _keywords(context: Context) -> Iterator[Candidate]:
    """Yield the words that the grammar allows, other than beginnings of statements."""
    for terminal in sorted(context.expected or ()):
        word = terminal.lower()
        if terminal in TERMINALS or not word.isidentifier() or (word in STATEMENTS and not context.marks):
            continue
        if context.marks and word in STATEMENTS and not (word == "links" or context.keyword == "import"):
            continue
        if word in RULES and context.before == "constraint":
            continue
        if word == "for" and context.before in ("(", ","):
            continue  # the grammar would take it, but no value stands before it
        if word in ("on", "not", "if") and "NUMBER" in (context.expected or ()):
            continue  # an expression may begin: its words are listed with the names
        yield Candidate(word, Kind.Keyword, 4, "keyword", meanings.WORDS.get(word))


# The arrow between two nodes or devices, also where its first sign is written already.

_BEGUN = re.compile(r"(?:<-?|-)\Z")
_ARROWS = {"ARROW": ("->", "to"), "BOTHWAYS": ("<->", "both ways")}
"""Arrows, with what they say, by their terminals."""


def arrow_begun(source: Source, offset: int) -> Context | None:
    """Return what stands around the first sign of an arrow that ends at a place; None where it is no arrow."""
    match = _BEGUN.search(source.text, max(0, offset - 2), offset)
    if match is None:
        return None
    context = context_at(source, match.start())
    return context if next(arrows(context), None) is not None else None


def arrows(context: Context) -> Iterator[Candidate]:
    """Yield the arrows that may stand at a place."""
    if context.comment or context.string is not None or context.prefix:
        return
    for terminal, (sign, says) in _ARROWS.items():
        if terminal in (context.expected or ()):
            rank = 0 if context.keyword in ("edge", "link") else 3
            yield Candidate(sign, Kind.Operator, rank, says)
