"""Spans as ranges and locations of the protocol."""

from __future__ import annotations

from lsprotocol import types

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.editor.server.reading import TextReading


def range_of(reading: TextReading, span: Span) -> types.Range:
    """Return where a span is, as the editor counts."""
    (line, column), (last, end) = reading.position(span)
    return types.Range(types.Position(line, column), types.Position(last, end))


def location_of(reading: TextReading, span: Span) -> types.Location | None:
    """Return where a span is, with the URI of its text; None for a text that is in no file."""
    uri = reading.uri_of(span.source)
    return None if uri is None else types.Location(uri, range_of(reading, span))
