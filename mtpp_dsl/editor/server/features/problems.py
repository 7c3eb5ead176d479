"""List what is wrong with a text and with what it includes, each under the URI of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mtpp_dsl.core.text.codes.table import CODES
from mtpp_dsl.core.text.edits import apart
from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix, Place, Source, Span, shortened
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER

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

    What is wrong in a text that is in no file, such as a value from outside, is reported at the beginning of the text.
    """
    messages: dict[str, list[EditorMessage]] = {reading.uri: []}
    for diagnostic in reading.diagnostics:
        problem = _problem(reading, diagnostic)
        messages.setdefault(reading.uri_of(problem.source) or reading.uri, []).append(problem)
    return messages


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
    repeated = code is not None and code.remedy.rstrip(".").lower() in diagnostic.message.lower()
    if code is not None and diagnostic.fix is None and not diagnostic.notes and not repeated:
        lines.append(code.remedy)
    message = visible(shortened("\n".join(lines), MAX_CHARACTERS))
    return EditorMessage(span.source, span, message, diagnostic, tuple(places), diagnostic.code in UNUSED)


# Changes that mend what is wrong.


@dataclass(frozen=True)
class OfferedFix:
    """A change that an editor may offer.

    Attributes:
        title: what it does.
        edits: which do not overlap; they may be in several texts.
        diagnostics: that it answers.
        preferred: whether it can only be what was meant.
    """

    title: str
    edits: tuple[Edit, ...]
    diagnostics: tuple[Diagnostic, ...]
    preferred: bool


def fixes(reading: TextReading, start: int, stop: int) -> list[OfferedFix]:
    """Return the changes that mend a message about a part of the text from *start* to *stop*."""
    offers = []
    for diagnostic, fix in _fixable(reading):
        span = diagnostic.span
        if span is not None and span.source is reading.source and span.start <= stop and start <= span.stop:
            offers.append(OfferedFix(fix.title, fix.edits, (diagnostic,), fix.safe))
    return offers


def all_safe(reading: TextReading) -> OfferedFix | None:
    """Return all changes of the text together that can only be what was meant; None where there is none.

    Of two that touch each other the first is made.
    """
    safe = {fix: diagnostic for diagnostic, fix in _fixable(reading) if fix.safe and _is_own(reading, fix)}
    chosen = apart(safe)
    if not chosen:
        return None
    edits = tuple(edit for fix in chosen for edit in fix.edits)
    return OfferedFix("Fix all that is safe to fix", edits, tuple(safe[fix] for fix in chosen), True)


def _fixable(reading: TextReading) -> Iterator[tuple[Diagnostic, Fix]]:
    """Yield the messages that have a change which touches files of the user's only."""
    for diagnostic in reading.diagnostics:
        if diagnostic.fix is not None and all(_may_change(reading, edit) for edit in diagnostic.fix.edits):
            yield diagnostic, diagnostic.fix


def _may_change(reading: TextReading, edit: Edit) -> bool:
    source = edit.span.source
    if source is reading.source:
        return True
    return source.path is not None and not source.path.resolve().is_relative_to(FOLDER)


def _is_own(reading: TextReading, fix: Fix) -> bool:
    return all(edit.span.source is reading.source for edit in fix.edits)
