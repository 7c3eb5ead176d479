"""Messages about a text that does not parse, with their codes and fixes."""

from __future__ import annotations

import re

from mtpp_dsl.core.text.edits import is_slip
from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix, Source, Span

__all__ = ["comma", "syntax_code", "told"]

_CODES = (
    (r"^there is no statement|^a statement begins|stands? behind a (statement|label)", "MTPP-E001"),
    (r"stands? in a (graph|block)", "MTPP-E009"),
    (r"line of its number|^a space is missing between", "MTPP-E006"),
    (r"needs? a value|missing after|is missing after", "MTPP-E010"),
    (r"'=', not '=='|compare with '=='|has one '='", "MTPP-E011"),
    (r"^(an option|options stand)", "MTPP-E007"),
    (r"not closed|closes nothing|is closed by", "MTPP-E003"),
    (r"is missing before", "MTPP-E004"),
    (r"needs a name|declares one name", "MTPP-E008"),
)
"""What a message is about, by its words; the others have the code of any statement that is not written as it should."""


def syntax_code(message: str) -> str:
    """Return the code of a message about a text that does not parse."""
    return next((code for pattern, code in _CODES if re.search(pattern, message)), "MTPP-E002")


def told(message: str, span: Span, notes: tuple[str, ...] = (), fix: Fix | None = None) -> Diagnostic:
    """Return a message with its code, and with the fix that it says: a word that is meant, or a sign."""
    fix = fix or _keyword(message, span) or _sign(span, message)
    return Diagnostic(message, span, notes=notes, code=syntax_code(message), fix=fix)


def _keyword(message: str, span: Span) -> Fix | None:
    """Return the fix that writes the keyword that a message suggests in place of the word that is wrong."""
    match = re.search(r"; did you mean '([^']+)'\?$", message)
    word = span.text
    if match is None or not word.isidentifier():
        return None
    one_letter = len(word) == len(match[1]) > 5 and sum(a != b for a, b in zip(word, match[1], strict=True)) == 1
    return Fix.replace(span, match[1], safe=one_letter or is_slip(word, match[1]))


def _sign(span: Span, message: str) -> Fix | None:
    """Return the fix of '=' for '==', and of '==' for '='; and of the word that a message says."""
    other = re.search(r"write '(\w+)' in place of '(\w+)'$", message)
    if other is not None and span.text == other[2]:
        return Fix.replace(span, other[1])
    if syntax_code(message) != "MTPP-E011" or span.text not in ("=", "=="):
        return None
    return Fix.replace(span, "==" if span.text == "=" else "=")


def comma(source: Source, span: Span, message: str, opened: Span | None) -> Fix | None:
    """Return the fix that puts a comma where *message* says that one is missing, within brackets."""
    match = re.fullmatch(r"a comma is missing before '(.+)'", message)
    at = source.text.rfind(match[1], 0, span.stop) if match and opened is not None else -1
    if at < 0:
        return None
    end = len(source.text[:at].rstrip())
    return Fix("put a comma here", (Edit(Span(source, end, end), ","),))
