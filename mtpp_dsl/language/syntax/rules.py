"""The words that begin constraints, those of plug-ins among them, and statements."""

from __future__ import annotations

from mtpp_dsl.core import registry
from mtpp_dsl.core.text.edits import suggested
from mtpp_dsl.core.text.source import Diagnostic, Fix, Span
from mtpp_dsl.language.syntax.near_words import word_hint
from mtpp_dsl.language.syntax.syntax_codes import told
from mtpp_dsl.language.syntax.syntax_errors import RULES, STATEMENTS

__all__ = ["custom_rules", "unknown_rule", "unknown_statement"]


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
        return told(_ELSEWHERE[span.text], span)
    if not span.text.isidentifier():
        return told("a statement begins with a keyword", span, (_LISTED,))
    meant = _joined(span.text)
    hint = f"; did you mean {meant!r}?" if meant else word_hint(span.text, STATEMENTS, "statement")
    fix = Fix.replace(span, meant) if meant else None
    return told(f"there is no statement {span.text!r}{hint}", span, (_LISTED,), fix)


def _joined(word: str) -> str:
    """Return a keyword and what follows it without a space, such as 'minimize bottleneck'; "" if none begins *word*."""
    keyword = max((each for each in STATEMENTS if word.startswith(each) and word != each), key=len, default="")
    rest = word[len(keyword) :]
    known = (*RULES, "bottleneck", "makespan", "latency", "throughput")
    return f"{keyword} {rest}" if keyword and (rest in known or rest.isdigit()) else ""


_LISTED = f"statements begin with: {', '.join(STATEMENTS)}"
