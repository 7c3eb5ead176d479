"""``assert`` statements: what must hold of the values of a spec, and what is said where it does not."""

from __future__ import annotations

from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.expressions import Locals, evaluate, truth
from mtpp_dsl.language.values.scope import Complaint, SpecScope
from mtpp_dsl.language.values.values import describe

__all__ = ["check_assert"]


def check_assert(statement: tree.AssertStatement, scope: SpecScope, local: Locals | None = None) -> None:
    """Hold that the condition of an ``assert`` is true.

    Raises:
        Complaint: it is not, with the message of the statement if it has one.
    """
    if truth(statement.condition, scope, local or {}):
        return
    said = f"this does not hold: {' '.join(statement.condition.span.text.split())}"
    if statement.message is None:
        raise Complaint(said, statement.condition.span, code="MTPP-E711")
    message = evaluate(statement.message, scope, local)
    if not isinstance(message, str):
        raise Complaint(
            f"the message of an assert is a string, not {describe(message)}", statement.message.span, code="MTPP-E210"
        )
    raise Complaint(message or said, statement.condition.span, code="MTPP-E711")
