"""The words of constraints: those of the language, and those of plug-ins."""

from __future__ import annotations

from mtpp_dsl import registry
from mtpp_dsl.language.near_words import word_hint
from mtpp_dsl.language.syntax_errors import RULES
from mtpp_dsl.text.fixes import suggested
from mtpp_dsl.text.source import Diagnostic, Span

__all__ = ["custom_rules", "unknown_rule"]


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
