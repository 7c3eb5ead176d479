"""All places where the thing at a place is named: in the text, in what it includes, and in other open texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from mtpp_dsl.editor.server.features.definition import occurrence_at
from mtpp_dsl.editor.server.features.places import location_of, range_of
from mtpp_dsl.editor.server.index import Occurrence
from mtpp_dsl.editor.server.reading import TextReading

__all__ = ["everywhere", "highlights", "references"]


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
    found = occurrence_at(reading, reading.offset(line, column))
    if found is None:
        return []
    locations: dict[tuple[str, int, int], types.Location] = {}
    for of, each in everywhere(reading, found, others):
        location = location_of(of, each.span)
        if location is not None and (declaration or each.role == "reference"):
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
    yield from ((reading, each) for each in own)
    declaring = {_path(each) for each in own if each.role == "definition"} - {None}
    for other in others:
        paths = {Path(source.path).resolve() for source in other.sources if source.path is not None}
        if other is not reading and declaring & paths and not occurrence.home.startswith("loop"):
            yield from ((other, each) for each in other.index.same(occurrence))


def _path(occurrence: Occurrence) -> Path | None:
    path = occurrence.span.source.path
    return None if path is None else Path(path).resolve()


def highlights(reading: TextReading, line: int, column: int) -> list[types.DocumentHighlight]:
    """Return the places of the text that name the thing at a line and column."""
    found = occurrence_at(reading, reading.offset(line, column))
    if found is None or found.kind in ("", "file"):
        return []
    kinds = {"definition": types.DocumentHighlightKind.Write, "reference": types.DocumentHighlightKind.Read}
    return [
        types.DocumentHighlight(range_of(reading, each.span), kinds[each.role])
        for each in reading.index.same(found)
        if each.span.source is reading.source
    ]
