"""All places where the thing at a place is named: in the text, in what it includes, and in other open texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.features.definition import occurrence_at
from mtpp_dsl.editor.server.features.places import location_of, range_of
from mtpp_dsl.editor.server.index import Occurrence
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER


def references(
    reading: TextReading, line: int, column: int, *, declaration: bool = True, others: Iterable[TextReading] = ()
) -> list[types.Location]:
    """Return where the thing at a line and column is named.

    Args:
        reading: of the text.
        line: as the editor counts.
        column: as the editor counts.
        declaration: whether the places that declare it are among them.
        others: readings of other open texts, which may include the file that declares it.
    """
    occurrence = occurrence_at(reading, reading.offset(line, column))
    if occurrence is None:
        return []
    locations: dict[tuple[str, int, int], types.Location] = {}
    for of, place in everywhere(reading, occurrence, others):
        location = location_of(of, place.span)
        if location is not None and (declaration or place.role == "reference"):
            start = location.range.start
            locations.setdefault((location.uri, start.line, start.character), location)
    return list(locations.values())


def everywhere(
    reading: TextReading, occurrence: Occurrence, others: Iterable[TextReading] = ()
) -> Iterator[tuple[TextReading, Occurrence]]:
    """Yield all places that name what *occurrence* does, with the reading they are of; a file may come several times.

    Of *others* those count that have a file in which it is declared.
    """
    own = reading.index.same(occurrence)
    yield from ((reading, place) for place in own)
    declaring = {_path(place) for place in own if place.role == "definition"} - {None}
    for other in others:
        paths = {Path(source.path).resolve() for source in other.sources if source.path is not None}
        if other is not reading and declaring & paths and not occurrence.home.startswith("loop"):
            yield from ((other, place) for place in other.index.same(occurrence))


def _path(occurrence: Occurrence) -> Path | None:
    path = occurrence.span.source.path
    return None if path is None else Path(path).resolve()


def highlights(reading: TextReading, line: int, column: int) -> list[types.DocumentHighlight]:
    """Return the places of the text that name the thing at a line and column."""
    occurrence = occurrence_at(reading, reading.offset(line, column))
    if occurrence is None or occurrence.kind in ("", "file"):
        return []
    kinds = {"definition": types.DocumentHighlightKind.Write, "reference": types.DocumentHighlightKind.Read}
    return [
        types.DocumentHighlight(range_of(reading, place.span), kinds[place.role])
        for place in reading.index.same(occurrence)
        if place.span.source is reading.source
    ]


# What open specs declare, found by a part of its name.

MAX_FOUND = 500
"""Names that one search gives."""

_KINDS = {
    "param": types.SymbolKind.Variable,
    "let": types.SymbolKind.Constant,
    "def": types.SymbolKind.Function,
    "block": types.SymbolKind.Class,
    "node": types.SymbolKind.Object,
    "instance": types.SymbolKind.Object,
    "device": types.SymbolKind.Struct,
    "type": types.SymbolKind.Struct,
    "switch": types.SymbolKind.Struct,
    "phase": types.SymbolKind.EnumMember,
    "scenario": types.SymbolKind.Namespace,
    "constraint": types.SymbolKind.Property,
    "objective": types.SymbolKind.Operator,
    "port": types.SymbolKind.Interface,
}


def found_symbols(readings: Iterable[TextReading], query: str) -> list[types.WorkspaceSymbol]:
    """Return what open specs and the files that they include declare, where *query* is in its name.

    Upper and lower case are the same; an empty query gives all. Variables of loops and the library are left out.
    """
    wanted = query.lower()
    symbols: dict[tuple[str, int, int], types.WorkspaceSymbol] = {}
    for reading in readings:
        for name, places in reading.index.definitions.items():
            if wanted not in name.lower():
                continue
            for place in places:
                path = place.span.source.path
                if place.kind not in _KINDS or (path is not None and path.is_relative_to(FOLDER)):
                    continue
                where = location_of(reading, place.span)
                if where is None:
                    continue
                key = where.uri, where.range.start.line, where.range.start.character
                symbols.setdefault(
                    key,
                    types.WorkspaceSymbol(where, visible(name), _KINDS[place.kind], container_name=place.home or None),
                )
                if len(symbols) >= MAX_FOUND:
                    return list(symbols.values())
    return list(symbols.values())
