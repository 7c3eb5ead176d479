"""Messages about words that begin no statement and no constraint; codes and fixes of messages about syntax."""

from __future__ import annotations

import re

from mtpp_dsl.core import registry
from mtpp_dsl.core.text.edits import is_slip, suggested
from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix, Source, Span
from mtpp_dsl.language.syntax.keywords import RULES, STATEMENTS, word_hint

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


def syntax_message(message: str, span: Span, notes: tuple[str, ...] = (), fix: Fix | None = None) -> Diagnostic:
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


def custom_rules() -> tuple[str, ...]:
    """Return the keywords of the constraints that plug-ins add, without importing any."""
    return tuple(registry.available(registry.CONSTRAINTS))


def unknown_rule(span: Span) -> Diagnostic:
    """Return the message for a word after ``constraint`` that is neither a rule nor followed by ':'."""
    custom = custom_rules()
    hint = word_hint(span.text, (*RULES, *custom), "constraint") or "; a labelled constraint has ':' after its label"
    added = f"; of plug-ins: {', '.join(custom)}" if custom else ""
    message = f"there is no constraint {span.text!r}{hint}"
    return Diagnostic(
        message,
        span,
        notes=(f"constraints are: {', '.join(RULES)}{added}; or a label and ':'",),
        code="MTPP-E012",
        fix=suggested(message, span),
    )


_ELSEWHERE = {
    "node": "'node' stands in a graph: graph { node a }",
    "edge": "'edge' stands in a graph: graph { edge a -> b }",
    "use": "'use' stands in a graph or a block: graph { use layer }",
    "input": "'input' stands in a block: block layer { input in = a }",
    "output": "'output' stands in a block: block layer { output out = a }",
    "for": "a loop stands behind a statement: constraint separate a[i], b[i] for i in 0..3",
    "if": "a condition stands behind a statement: constraint acyclic if strict",
    "forall": "'forall' stands behind a label: constraint c: forall d in devices: load(d) <= 3 ms",
}


def unknown_statement(span: Span) -> Diagnostic:
    """Return the message for what stands where a statement should begin."""
    if span.text in _ELSEWHERE:
        return syntax_message(_ELSEWHERE[span.text], span)
    if not span.text.isidentifier():
        return syntax_message("a statement begins with a keyword", span, (_LISTED,))
    meant = _joined(span.text)
    hint = f"; did you mean {meant!r}?" if meant else word_hint(span.text, STATEMENTS, "statement")
    fix = Fix.replace(span, meant) if meant else None
    return syntax_message(f"there is no statement {span.text!r}{hint}", span, (_LISTED,), fix)


def _joined(word: str) -> str:
    """Return a keyword and what follows it without a space, such as 'minimize bottleneck'; "" if none begins *word*."""
    keyword = max(
        (statement for statement in STATEMENTS if word.startswith(statement) and word != statement), key=len, default=""
    )
    rest = word[len(keyword) :]
    known = (*RULES, "bottleneck", "makespan", "latency", "throughput")
    return f"{keyword} {rest}" if keyword and (rest in known or rest.isdigit()) else ""


_LISTED = f"statements begin with: {', '.join(STATEMENTS)}"
