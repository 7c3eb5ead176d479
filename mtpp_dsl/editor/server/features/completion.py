"""List what may be written at a place, whatever is wrong with the text around it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

from lsprotocol import types

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.problem.objective import OBJECTIVES
from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.editor.server.features import known, snippets
from mtpp_dsl.editor.server.features.candidate import KINDS, Candidate, Kind
from mtpp_dsl.editor.server.features.context import Context, context_at, rule_of
from mtpp_dsl.editor.server.features.expected import expressions, in_brackets, strings, units
from mtpp_dsl.editor.server.features.markdown import meaning_as_markdown
from mtpp_dsl.editor.server.features.places import range_of
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER
from mtpp_dsl.language.syntax import keywords
from mtpp_dsl.language.syntax.keywords import RULES, STATEMENTS, Meaning
from mtpp_dsl.language.syntax.rules import custom_rules
from mtpp_dsl.language.syntax.syntax_errors import TERMINALS
from mtpp_dsl.language.words import meanings
from mtpp_dsl.language.words.vocabulary import BY, PARAM_TYPES

__all__ = ["TRIGGERS", "candidates", "complete", "files", "folder_of", "named", "wanted"]

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
    for candidate in candidates(reading, context) if begun is None else arrows(begun):
        if candidate.label in seen or (typed == " " and candidate.rank > 0):
            continue
        seen.add(candidate.label)
        snippet = with_snippets and bool(candidate.snippet)
        items.append(
            types.CompletionItem(
                label=candidate.label,
                kind=candidate.kind,
                detail=candidate.detail or None,
                documentation=_documentation(candidate.meaning, docs),
                sort_text=f"{candidate.rank}{candidate.label}",
                filter_text=candidate.label,
                insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
                text_edit=types.TextEdit(where, candidate.snippet if snippet else candidate.text or candidate.label),
                additional_text_edits=[
                    types.TextEdit(range_of(reading, edit.span), edit.text) for edit in candidate.edits
                ]
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
    return types.MarkupContent(types.MarkupKind.Markdown, meaning_as_markdown(meaning, docs))


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
        for known_name in known.parts(reading, context):
            yield Candidate(known_name.name, KINDS[known_name.kind], 0, known_name.detail)
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
                yield Candidate(word, Kind.Keyword, 1, "item", keywords.ITEMS[word], snippets.ITEMS[word])
        if not (context.fresh and context.column == 0):
            return
    begins = not context.marks or context.fresh
    if begins and (context.column == 0 or (not inside and (expected is None or "DEVICE" in expected))):
        for word in STATEMENTS:
            yield Candidate(
                word, Kind.Keyword, 1, "statement", keywords.STATEMENTS[word], snippets.STATEMENTS.get(word, "")
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


# Files that a string may name: specs and the library behind include, elsewhere data files that can be read.

_SPEC = ".mtpp"
_ANY = ("",)

MAX_FILES = 200
"""Files of a folder that are offered."""

MAX_LOOKED = 20_000
"""Files of a folder that are looked at."""


def folder_of(reading: TextReading) -> Path:
    """Return the folder that paths of a text start from."""
    return Path() if reading.source.path is None else Path(reading.source.path).parent


def files(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the files and folders that the string at a place may name; nothing where it names no file."""
    words = [mark.text for mark in context.marks]
    suffixes = _suffixes(words)
    if not suffixes:
        return
    typed = context.string or ""
    own = None if reading.source.path is None else Path(reading.source.path).resolve()
    places = [folder_of(reading), *([FOLDER] if suffixes == (_SPEC,) else ())]
    for place in places:
        folder = place / typed.rpartition("/")[0]
        for name, is_folder in _listed(folder, suffixes):
            if own is not None and name == own.name and (folder / name).resolve() == own:
                continue
            kind = types.CompletionItemKind.Folder if is_folder else types.CompletionItemKind.File
            detail = "of the library" if place is FOLDER else ""
            yield Candidate(f"{name}/" if is_folder else name, kind, int(is_folder), detail)


def _suffixes(words: Sequence[str]) -> tuple[str, ...]:
    """Return how the files end that a statement of these words may name; () where it names none."""
    match words:
        case ["include"]:
            return (_SPEC,)
        case ["import"] | ["graph", "from"]:
            return _of_graphs()
        case ["import", "plan"]:
            return (".json",)
        case ["times", "from"] | ["param", _, ":", "table", "from"]:
            return (".csv", ".json")
        case ["param", _, ":", "path", "="]:
            return _ANY
    return ()


@cache
def _of_graphs() -> tuple[str, ...]:
    """Return how the files end that graphs are read from."""
    suffixes: set[str] = set()
    for name in registry.available(registry.FORMATS):
        with suppress(PluginError):
            suffixes |= set(registry.load(registry.FORMATS, name).suffixes)
    return tuple(sorted(suffixes))


def _listed(folder: Path, suffixes: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the folders in a folder and the files that end so; nothing of one that cannot be read."""
    listed: list[tuple[str, bool]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_LOOKED):
                if len(listed) >= MAX_FILES:
                    break
                name = entry.name
                if name.startswith((".", "__")) or '"' in name or not name.isprintable():
                    continue
                is_folder = entry.is_dir()
                other = suffixes == _ANY and name.endswith((_SPEC, ".py"))
                if is_folder or (name.lower().endswith(suffixes) and not other):
                    listed.append((name, is_folder))
    except (OSError, ValueError):
        return []
    return sorted(listed)


# Names of certain sorts, where a statement asks for one: rules, generators, types, nodes, devices.


def named(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the names where the statement asks for one of a certain sort."""
    declared = reading.index.declared
    words = [mark.text for mark in context.marks]
    match words:
        case ["param", _, ":"]:
            for word in PARAM_TYPES:
                yield Candidate(word, Kind.TypeParameter, 0, "type", meanings.PARAM_TYPES[word])
        case ["interconnect"]:
            for word, meaning in meanings.INTERCONNECTS.items():
                yield Candidate(word, Kind.EnumMember, 0, "interconnect", meaning)
        case ["graph", "from", "generator"]:
            for word in registry.available(registry.GENERATORS):
                yield Candidate(word, Kind.Function, 0, "generator", None, f"{word} ($1)")
        case ["graph", "from"] | ["import"] | ["times", "from"]:
            for name in sorted(declared.kinds.get("param", ())):
                if isinstance(reading.scope.params.get(name), (Path, str)):
                    yield Candidate(name, Kind.Variable, 1, "param")
            yield Candidate('"…"', Kind.File, 0, "a file", None, '"$1"', '"')
        case ["target"]:
            for word in registry.available(registry.TARGETS):
                runtime = word.replace("-", "_")
                yield Candidate(runtime, Kind.EnumMember, 0, "runtime", keywords.STATEMENTS["target"])
        case ["use"]:
            for word in sorted(declared.blocks):
                yield Candidate(word, Kind.Module, 0, "block")
        case ["constraint", "colocate" | "break" as rule, *_, "by"]:
            yield from (Candidate(word, Kind.EnumMember, 0) for word in BY[rule])
        case ["constraint"]:
            for word in (*RULES, *custom_rules()):
                snippet = snippets.RULES.get(word, "")
                yield Candidate(word, Kind.Keyword, 0, "constraint", keywords.RULES.get(word), snippet)
        case ["minimize" | "maximize", *rest] if not rest or rest[-1] == ":":
            for word in OBJECTIVES:
                rank = 0 if (word == "throughput") == (words[0] == "maximize") else 3
                yield Candidate(word, Kind.EnumMember, rank, "objective", meanings.OBJECTIVES[word])
            yield from (replace(candidate, rank=max(candidate.rank, 2)) for candidate in expressions(reading, context))
        case _:
            yield from _members(reading, context)


def _members(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield nodes or devices where a statement names some, with the sets and variables that may stand for them."""
    kind = wanted(context)
    if not kind:
        return
    for known_name in (*known.members(reading, context, kind), *known.variables(reading, context)):
        yield Candidate(known_name.name, KINDS[known_name.kind], 0, known_name.detail)
    for name in sorted(reading.index.declared.kinds.get("let", ())):
        yield Candidate(name, Kind.Constant, 2, "let")
    if context.keyword in ("constraint", "time"):
        yield Candidate(f"{kind}s", Kind.Keyword, 2, "", meanings.WORDS[f"{kind}s"])


def wanted(context: Context) -> str:
    """Return "node" or "device" where one is to be named, outside of brackets other than those of lists; else ""."""
    sign = context.frame.sign
    if context.frame.kind in ("options", "call", "subscript") or sign == "(":
        return ""
    words = [mark.text for mark in context.marks]
    before = context.before
    if not words or any(word in ("for", "if", "=") for word in words):
        return "node" if words[:1] in (["input"], ["output"]) and "=" in words else ""
    names = before in (",", "->", "<->", "[", "{", words[0], "on", rule_of(context.marks) or "on")
    if not names:
        return ""
    match words[0]:
        case "edge":
            return "node"
        case "link":
            return "device"
        case "time":
            return "device" if "on" in words else "node"
        case "constraint":
            rule = rule_of(context.marks)
            if "on" in words or rule in ("replicate", "shard"):
                return "device"
            return "node" if rule in ("colocate", "separate", "pin", "forbid") else ""
    return ""
