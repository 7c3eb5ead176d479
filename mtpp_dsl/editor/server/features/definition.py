"""Where the name at a place is declared, and where a file that it names is."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.editor.server.features.places import location_of
from mtpp_dsl.editor.server.index import Occurrence
from mtpp_dsl.editor.server.positions import uri_of
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER
from mtpp_dsl.language.lowering.choosing import all_of
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.lexing import lexemes


def definition(reading: TextReading, line: int, column: int) -> list[types.Location]:
    """Return where the name at a line and column is declared, all places of one that is declared several times.

    A file is where it is, also one of the library; a node of a graph from a file or a generator is where the graph is
    said.
    """
    offset = reading.offset(line, column)
    occurrence = occurrence_at(reading, offset)
    if occurrence is None:
        return []
    if occurrence.kind == "file":
        path = file_named(reading, occurrence)
        top = types.Range(types.Position(0, 0), types.Position(0, 0))
        return [] if path is None else [types.Location(reading.uris.get(path.resolve()) or uri_of(path), top)]
    spans = [other.span for other in reading.index.same(occurrence) if other.role == "definition"]
    spans = spans or _of_data(reading, occurrence.name)
    return [location for span in spans if (location := location_of(reading, span)) is not None]


def occurrence_at(reading: TextReading, offset: int) -> Occurrence | None:
    """Return the name at an offset of the text; in a statement that does not parse, what the spec calls so."""
    occurrence = reading.index.at(reading.source, offset)
    if occurrence is not None:
        return occurrence
    span = word_at(reading, offset)
    if span is None:
        return None
    known = reading.index.definitions.get(span.text, ())
    known = tuple(candidate for candidate in known if not candidate.home.startswith(("loop", "def ")))
    if not known:
        return None
    return Occurrence(span.text, known[0].kind, "reference", span, known[0].within, known[0].home)


def word_at(reading: TextReading, offset: int) -> Span | None:
    """Return the word at an offset of the text, or just before it; None in a comment or where there is none."""
    text = reading.text
    start = text.rfind("\n", 0, offset) + 1
    start = max(start, offset - 2_000)
    for word in lexemes(text, start, min(len(text), offset + 2_000)):
        if word.offset <= offset <= word.stop and word.kind in ("NAME", "UNIT") and word.text.isidentifier():
            return Span(reading.source, word.offset, word.stop)
        if word.offset > offset or word.text == '"':
            return None
    return None


def file_named(reading: TextReading, occurrence: Occurrence) -> Path | None:
    """Return the file that a string names, where it is there: of an include, or of data."""
    name, source = occurrence.name, occurrence.span.source
    for candidate in reading.sources:
        origin = candidate.included_from
        if origin is not None and origin.source is source and origin.start <= occurrence.span.start < origin.stop:
            return None if candidate.path is None else Path(candidate.path)
    folder = Path() if source.path is None else Path(source.path).parent
    places = [folder, FOLDER] if isinstance(occurrence.within, tree.IncludeStatement) else [folder]
    try:
        return next((place / name for place in places if (place / name).is_file()), None)
    except (OSError, ValueError):
        return None


def _of_data(reading: TextReading, name: str) -> list[Span]:
    """Return the statement that a node or a device of a data file or a generator comes from."""
    scope = reading.scope
    called = scope.kind_called(name)
    if not called:
        return []
    kinds: tuple[type[tree.Statement], ...] = (tree.ImportStatement,)
    if "node" in called:
        kinds = (tree.GraphFile, tree.GraphGenerator, tree.ImportStatement)
    spans = [statement.span for statement in all_of(reading.read.statements) if isinstance(statement, kinds)]
    return spans[-1:]
