"""Values of expressions of a text, within a few steps, and never with an error."""

from __future__ import annotations

from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.scope import Complaint, ReadingStopped
from mtpp_dsl.language.values.values import Value

__all__ = ["MAX_EVALUATED", "value_of"]

MAX_EVALUATED = 20_000
"""Steps that the value of one expression may take."""


def value_of(reading: TextReading, expression: tree.Expression) -> Value | None:
    """Return the value of an expression without free variables; None where it has none, or takes many steps."""
    if reading.analysis is None or not reading.current:
        return None
    scope = reading.scope
    steps, most, compared, warnings = scope.steps, scope.most, scope.compared, list(scope.warnings)
    pending, calls, unsettled = list(scope.pending), list(scope.calls), set(scope.unsettled)
    scope.steps, scope.most, scope.compared = 0, MAX_EVALUATED, 0
    try:
        return evaluate(expression, scope)
    except (Complaint, MtppError, ReadingStopped, RecursionError, ArithmeticError):
        return None
    finally:
        scope.steps, scope.most, scope.compared, scope.warnings = steps, most, compared, warnings
        scope.pending[:], scope.calls[:] = pending, calls
        scope.unsettled.clear()
        scope.unsettled.update(unsettled)
