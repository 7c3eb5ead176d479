"""Write texts of earlier versions of the language as the present version wants them: ``mtpp fmt --upgrade``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax.lexing import words

LANGUAGE_VERSION = 1
"""The present version of the language."""

FIRST_VERSION = 1
"""The version of a text that says none, now and later: what it means stays."""

REWRITES: dict[int, Callable[[Source], str]] = {}
"""By version, what writes a text of it as the next version wants it. Version 1 is the first, so there is none yet."""


def version_of(source: Source) -> int:
    """Return the version that a text says it is written in; the first one where it says none."""
    first = list(islice(words(source.text, 0, len(source.text)), 2))
    if len(first) == 2 and first[0].text == "mtpp" and first[1].text.isdecimal():
        return int(first[1].text)
    return FIRST_VERSION


def is_present(source: Source) -> bool:
    """Return whether a text is written in the present version."""
    return version_of(source) == LANGUAGE_VERSION


def another_version(span: Span) -> Diagnostic:
    """Return the message for a text that is written in the version that stands at *span*."""
    message = f"this is language version {LANGUAGE_VERSION}; the spec is written in {span.text}"
    return Diagnostic(message, span, code="MTPP-E022")


def upgraded(source: Source) -> str:
    """Return a text as the present version writes it; one of the present version stays as it is.

    A text of an earlier version need not parse as one of the present.

    Raises:
        SpecError: it is of a version that this one does not know.
    """
    text, version = source.text, version_of(source)
    if version != LANGUAGE_VERSION and version not in REWRITES:
        written = list(islice(words(text, 0, len(text)), 2))[1]
        raise SpecError([another_version(Span(source, written.offset, written.stop))])
    for number in range(version, LANGUAGE_VERSION):
        text = REWRITES[number](Source(source.name, text))
    return text
