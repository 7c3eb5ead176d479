"""List what is wrong with a text and with what it includes, each under the URI of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mtpp_dsl.core.text.codes.table import CODES
from mtpp_dsl.core.text.source import Diagnostic, Place, Source, Span, shortened
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.reading import TextReading

__all__ = ["EditorMessage", "problems"]

UNUSED = frozenset({"MTPP-W102"})
"""Warnings of what may be removed: editors show it faded."""

MAX_CHARACTERS = 2_000
"""Of a message with its notes."""


@dataclass(frozen=True)
class EditorMessage:
    """A message as an editor shows it.

    Attributes:
        source: that it is about.
        span: in it; its first characters where the message has no place.
        message: with its notes, safe to show.
        diagnostic: as it was found.
        places: further ones, with what is there: where a name was declared first, where a file is included.
        unused: whether it is about something that may be removed.
    """

    source: Source
    span: Span
    message: str
    diagnostic: Diagnostic
    places: tuple[Place, ...]
    unused: bool


def problems(reading: TextReading) -> Mapping[str, Sequence[EditorMessage]]:
    """Return what was found wrong by the URI of its file, in the order of the texts; the text itself is always there.

    What is wrong in a text that is in no file, such as a value from outside, is told at the beginning of the text.
    """
    found: dict[str, list[EditorMessage]] = {reading.uri: []}
    for diagnostic in reading.diagnostics:
        problem = _problem(reading, diagnostic)
        found.setdefault(reading.uri_of(problem.source) or reading.uri, []).append(problem)
    return found


def _problem(reading: TextReading, diagnostic: Diagnostic) -> EditorMessage:
    span = diagnostic.span
    if span is None or reading.uri_of(span.source) is None:
        span = Span(reading.source, 0, 0)
    places = [place for place in diagnostic.places if reading.uri_of(place.span.source) is not None]
    origin = span.source.included_from
    while origin is not None and reading.uri_of(origin.source) is not None:
        places.append(Place(origin, "included here"))
        origin = origin.source.included_from
    lines = [diagnostic.message, *diagnostic.notes]
    code = CODES.get(diagnostic.code)
    said = code is not None and code.remedy.rstrip(".").lower() in diagnostic.message.lower()
    if code is not None and diagnostic.fix is None and not diagnostic.notes and not said:
        lines.append(code.remedy)
    message = visible(shortened("\n".join(lines), MAX_CHARACTERS))
    return EditorMessage(span.source, span, message, diagnostic, tuple(places), diagnostic.code in UNUSED)
