"""What the grammar knows and lowering does not yet: refused, never ignored. Who lowers a form takes it out of here."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.language import tree
from mtpp_dsl.text.source import Diagnostic, Span

__all__ = ["not_lowered"]

_STATEMENTS: dict[type[tree.Tree], str] = {
    tree.ImportPlan: "'import plan'",
}


def not_lowered(statement: tree.Statement) -> Iterator[Diagnostic]:
    """Yield an error for each form in a statement that means nothing yet."""
    items = statement.items if isinstance(statement, tree.GraphBlock) else ()
    for part in (statement, *items):
        if part.__class__ in _STATEMENTS:
            yield _refusal(_STATEMENTS[part.__class__], part.span)


def _refusal(what: str, span: Span) -> Diagnostic:
    return Diagnostic(f"{what} is not supported yet", span, code="MTPP-E023")
