"""Changes that mend what is wrong: those of single messages, and all safe ones together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mtpp_dsl.core.text.edits import apart
from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER

__all__ = ["OfferedFix", "all_safe", "fixes"]


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
    found = []
    for diagnostic, fix in _fixable(reading):
        span = diagnostic.span
        if span is not None and span.source is reading.source and span.start <= stop and start <= span.stop:
            found.append(OfferedFix(fix.title, fix.edits, (diagnostic,), fix.safe))
    return found


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
