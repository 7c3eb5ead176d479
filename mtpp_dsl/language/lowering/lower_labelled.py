"""Labelled constraints, which are inequalities of decisions, to linear rows."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as SequenceType
from typing import Literal, cast

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.text.source import Fix, Place, Span
from mtpp_dsl.language.lowering.lower_objective import StatedObjective, lower_penalty
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.arithmetic import Mismatch, subtract
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.evaluating import members_of, warn_of_no_step
from mtpp_dsl.language.values.expressions import Locals, evaluate, truth
from mtpp_dsl.language.values.linear import (
    condition_remedy,
    is_not_linear,
    mismatch_code,
    only_pushed_down,
    remedy,
    without_maxima,
)
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import (
    Affine,
    DataTable,
    DeviceRef,
    EdgeRef,
    NodeRef,
    Quantity,
    TableRow,
    Value,
    describe,
    shown,
)

_SENSES = ("<=", ">=", "==")


def lower_labelled(
    statement: tree.LabelledConstraint, scope: SpecScope, first: StatedObjective | None, *, timed: bool
) -> Iterator[c.Linear]:
    """Yield the rows of a labelled constraint; rows that hold whatever the plan are left out.

    Args:
        statement: to read.
        scope: its names.
        first: the first objective, to which penalties are added; None where it could not be read.
        timed: whether plans say when nodes run.

    Raises:
        Complaint: not an inequality, not linear, or a decision that the objective does not have.
    """
    label = statement.label.text
    repeated = False
    for suffix, local in _quantified(statement, scope):
        repeated = True
        for body in _inequalities(statement.body):
            row = _linear_row(body, statement, scope, local)
            if first is not None:
                _check_decisions(row, body.span, first.objective, timed=timed)
            penalty = lower_penalty(statement, row.dimension, scope, local, first)
            operator = cast('Literal["<=", "==", ">="]', body.operator)
            for part in [row] if penalty is not None else _without_maxima(row, body):
                linear = c.Linear(
                    label=f"{label}[{suffix}]" if suffix else label,
                    terms=tuple((decision, float(w)) for decision, w in part.terms.items() if w != 0),
                    sense=operator,
                    rhs=-float(part.constant),
                    penalty=penalty,
                    unit=row.dimension.unit,
                    origin=statement.span.place,
                )
                if not linear.terms and not linear.soft and not _holds(linear):
                    message = f"no plan satisfies {linear.label!r}: its two sides are numbers, and it is false"
                    scope.remarks.warn(message, body.span, "MTPP-W203")
                if linear.terms or not _holds(linear):
                    yield linear
    if not repeated:
        loops = (*statement.quantifiers, *(() if statement.clauses is None else (statement.clauses,)))
        warn_of_no_step([binder for loop in loops for binder in loop.binders], statement.label.span, scope)


def _without_maxima(row: Affine, body: tree.Compare) -> SequenceType[Affine]:
    """Return the rows that *row* stands for, each without ``max(…)``.

    Raises:
        Complaint: they are too many.
    """
    try:
        return list(without_maxima(row))
    except OverflowError as error:
        raise Complaint(str(error), body.span, code="MTPP-E901") from None


def _quantified(statement: tree.LabelledConstraint, scope: SpecScope) -> Iterator[tuple[str, Locals]]:
    """Yield the loop variables of every step of ``forall`` and ``for``, and what names its row."""
    steps: list[tuple[tree.Binder | None, tree.Expression | None]] = []
    for loop in (*statement.quantifiers, *(() if statement.clauses is None else (statement.clauses,))):
        steps += [(binder, None) for binder in loop.binders[:-1]]
        steps.append((loop.binders[-1] if loop.binders else None, loop.condition))
    yield from _bound(steps, scope, {}, "")


def _bound(
    steps: SequenceType[tuple[tree.Binder | None, tree.Expression | None]], scope: SpecScope, local: Locals, suffix: str
) -> Iterator[tuple[str, Locals]]:
    """Yield the loop variables of every step, and the names of what they stand for; each binder has its condition."""
    if not steps:
        yield suffix, local
        return
    (head, condition), *rest = steps
    if head is None:  # 'if' alone
        if condition is None or truth(condition, scope, local):
            yield from _bound(rest, scope, local, suffix)
        return
    for item in members_of(head, scope, local):
        scope.steps.spend(1 + len(local) // 4, head.span)
        step = {**local, head.name.text: item}
        if condition is None or truth(condition, scope, step):
            name = _shown(item, scope)
            yield from _bound(rest, scope, step, f"{suffix}, {name}" if suffix else name)


def _shown(value: Value, scope: SpecScope) -> str:
    match value:
        case NodeRef(index) if scope.graph is not None:
            return scope.graph.names[index]
        case DeviceRef(index) if scope.devices is not None:
            return scope.devices[index].name
        case Quantity():
            return shown(value)
        case EdgeRef(index) if scope.graph is not None:
            return f"{scope.graph.names[scope.graph.tails[index]]} -> {scope.graph.names[scope.graph.heads[index]]}"
        case TableRow(table, index):
            return _key(table, index)
        case _:
            return str(value)


def _key(table: DataTable, row: int) -> str:
    """Return what names a row of a table: the text of its first cell, where no other row has it, or its number."""
    return next((text for text, number in table.rows.items() if number == row), str(row))


def _inequalities(body: tree.Expression) -> Iterator[tree.Compare]:
    """Yield the inequalities of ``a <= b`` or ``a <= b <= c`` (or several joined by ``and``)."""
    if isinstance(body, tree.Logic) and body.operator == "and":
        for operand in body.operands:
            yield from _inequalities(operand)
        return
    if not isinstance(body, tree.Compare):
        instead = condition_remedy(body)
        notes = [instead] if instead else []
        raise Complaint(
            "a labelled constraint is an inequality: '<=', '>=' or '=='", body.span, notes, code="MTPP-E501"
        )
    if body.operator not in _SENSES:
        remedy = {"<": "; write '<='", ">": "; write '>='"}.get(body.operator, "")
        raise Complaint(
            f"a constraint over decisions uses '<=', '>=' or '==', not {body.operator!r}{remedy}",
            body.span,
            code="MTPP-E502",
            fix=_not_strict(body),
        )
    yield body


def _not_strict(body: tree.Compare) -> Fix | None:
    """Return the fix that allows equality where a strict inequality stands."""
    between = Span(body.span.source, body.left.span.stop, body.right.span.start)
    at = between.text.find(body.operator)
    if body.operator not in ("<", ">") or at < 0:
        return None
    return Fix.replace(Span(between.source, between.start + at, between.start + at + 1), f"{body.operator}=")


def _linear_row(body: tree.Compare, statement: tree.LabelledConstraint, scope: SpecScope, local: Locals) -> Affine:
    """Return a row, or complain with what may be written instead of one that is not linear."""
    try:
        return _row(body, scope, local)
    except Complaint as complaint:
        diagnostic = complaint.diagnostic
        if diagnostic.span is None or not is_not_linear(diagnostic.message):
            raise
        instead = remedy(body, statement.quantifiers, diagnostic.span)
        raise Complaint(
            diagnostic.message, diagnostic.span, [instead] if instead else diagnostic.notes, code=diagnostic.code
        ) from None


def _row(body: tree.Compare, scope: SpecScope, local: Locals) -> Affine:
    left, right = evaluate(body.left, scope, local), evaluate(body.right, scope, local)
    try:
        row = subtract(left, right)
    except Mismatch as error:
        message = str(error).replace("added", "compared").replace("add", "compare")
        places = [
            Place(side.span, f"this is {value.dimension if isinstance(value, Affine) else describe(value)}")
            for side, value in ((body.left, left), (body.right, right))
        ]
        raise Complaint(message, body.span, code=mismatch_code(message), places=places) from None
    if isinstance(row, Affine) and not only_pushed_down(row, body.operator):
        raise Complaint("max of a decision is not linear", _place_of_max(body), code="MTPP-E212")
    return row if isinstance(row, Affine) else Affine({}, row.value, row.dimension)


def _place_of_max(body: tree.Compare) -> Span:
    """Return the place of the ``max(…)`` that is a side of an inequality or stands in one; else of the inequality."""
    for side in (body.left, body.right):
        operands = side.operands if isinstance(side, tree.Chain) else (side,)
        for term in operands:
            if isinstance(term, tree.Call) and term.function.text == "max":
                return term.span
    return body.span


def _check_decisions(row: Affine, span: Span, objective: Objective, *, timed: bool) -> None:
    times = [d for d in row.terms if isinstance(d, (c.Start, c.Finish, c.Makespan))]
    if times and not timed:
        word = type(times[0]).__name__.lower()
        raise Complaint(
            f"{word} has no meaning where {objective.shown} is the objective: a plan has no schedule",
            span,
            code="MTPP-E503",
        )
    if objective.parts == "separate" and c.Bottleneck() in row.terms:
        raise Complaint(
            "with parts = separate there are two bottlenecks, and neither has a name; write load(d)",
            span,
            code="MTPP-E503",
        )


def _holds(row: c.Linear) -> bool:
    return {"<=": row.rhs >= 0, ">=": row.rhs <= 0, "==": row.rhs == 0}[row.sense]


# The rules
