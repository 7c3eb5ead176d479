"""``constraint`` statements to constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceType
from typing import Literal, cast, get_args

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.base.units import NONE
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.text.source import Fix, Place, Span
from mtpp_dsl.language.lowering.custom import lower_custom
from mtpp_dsl.language.lowering.lower_objective import StatedObjective, lower_penalty
from mtpp_dsl.language.lowering.lower_pipelines import MEMORY_OPTIONS, blocks, shard, stage_memory
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.arithmetic import Mismatch, subtract
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.evaluating import members_of, warn_of_no_step
from mtpp_dsl.language.values.expressions import Locals, evaluate, iterate, truth, whole
from mtpp_dsl.language.values.linear import (
    condition_remedy,
    is_not_linear,
    mismatch_code,
    only_pushed_down,
    remedy,
    without_maxima,
)
from mtpp_dsl.language.values.members import Empty, in_their_order, members
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import (
    Affine,
    DataTable,
    DeviceRef,
    EdgeRef,
    NodeRef,
    Quantity,
    Sequence,
    TableRow,
    Value,
    describe,
    shown,
)

MAX_AMOUNT = 1_000_000_000
MAX_SIZES = 10_000
RULE_OPTIONS: dict[str, tuple[str, ...]] = {
    "acyclic": ("parts", "groups"),
    "contiguous": ("parts",),
    "break": ("scope",),
    "replicate": ("sync",),
    "memory": MEMORY_OPTIONS,
    "cache": ("tokens", "block"),
    "shard": ("speedup",),
    "copies": ("share",),
    "robust": ("deviation",),
    "stages": ("empty",),
}
"""The options of each rule; one that is not listed has none."""

_SENSES = {"<=": "<=", ">=": ">=", "==": "=="}


def lower_constraint(statement: tree.ConstraintStatement, scope: SpecScope) -> Iterator[c.Constraint]:
    """Yield the constraints that a statement means, one per step of its comprehension.

    Raises:
        Complaint: members that are no nodes or devices, an option or amount that makes no sense.
    """
    if statement.rule.text not in _RULES:
        yield from lower_custom(statement, scope)
        return
    allowed = RULE_OPTIONS.get(statement.rule.text, ())
    for local in iterate(statement.clauses, scope):
        options = Options(statement.options, allowed, f"constraint {statement.rule.text}", scope, local)
        try:
            yield from list(_RULES[statement.rule.text](statement, scope, local, options))
        except Empty as empty:
            if statement.rule.text == "pin" and empty.what == "device":
                raise  # no plan could keep it
            empty.warn(scope)


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
            operator = cast('Literal["<=", "==", ">="]', _SENSES[body.operator])
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


def _acyclic(s: tree.ConstraintStatement, _: SpecScope, __: Locals, options: Options) -> Iterator[c.Constraint]:
    groups = cast('Literal["ordered", "free"]', options.word("groups", ("ordered", "free")) or "ordered")
    yield c.Acyclic(parts=_parts(options), groups=groups, origin=s.span.place)


def _contiguous(
    s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options
) -> Iterator[c.Constraint]:
    yield c.Contiguous(devices=_on(s, scope, local), parts=_parts(options), origin=s.span.place)


def _parts(options: Options) -> c.Parts:
    return cast("c.Parts", options.word("parts", ("both", "forward")) or "both")


def _memory(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    devices = _on(s, scope, local)
    _check_limits(s, scope, devices)
    if any(name in options for name in MEMORY_OPTIONS):
        yield from stage_memory(s, options, devices)
    else:
        yield c.Memory(devices=devices, origin=s.span.place)


def _cache(s: tree.ConstraintStatement, scope: SpecScope, _: Locals, options: Options) -> Iterator[c.Constraint]:
    _check_limits(s, scope, None)
    yield c.Memory(pool=blocks(options), origin=s.span.place)


def _check_limits(s: tree.ConstraintStatement, scope: SpecScope, devices: tuple[int, ...] | None) -> None:
    """Hold that each of *devices*, or one of all, has a memory."""
    scope.remarks.need("devices", "options")
    assert scope.devices is not None
    chosen = [scope.devices[d] for d in (range(len(scope.devices)) if devices is None else devices)]
    without = [device.name for device in chosen if device.memory is None]
    if len(without) == len(chosen) or (devices is not None and without):
        raise Complaint(f"device {without[0]!r} has no memory limit; give it (memory = …)", s.span, code="MTPP-E404")


def _colocate(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    if s.by is None:
        yield c.Colocate(nodes=_nodes(s, scope, local, least=2), origin=s.span.place)
        return
    scope.remarks.need("nodes", "weights")
    assert scope.graph is not None
    columns: dict[str, list[object]] = {
        "color": [color if color >= 0 else None for color in scope.graph.colors.tolist()],
        "kind": [kind or None for kind in scope.graph.kinds],
        "label": [label or None for label in scope.graph.labels],
    }
    if s.by.text not in columns:
        hint = did_you_mean(s.by.text, columns)
        raise Complaint(
            f"nodes are colocated by {', '.join(columns)}, not {s.by.text!r}{hint}", s.by.span, code="MTPP-E110"
        )
    groups: dict[object, list[int]] = {}
    for v, value in enumerate(columns[s.by.text]):
        if value is not None:
            groups.setdefault(value, []).append(v)
    if not groups:
        raise Complaint(f"no node has a {s.by.text}", s.by.span, code="MTPP-E505")
    for group in groups.values():
        if len(group) > 1:
            yield c.Colocate(nodes=tuple(group), origin=s.span.place)


def _separate(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    yield c.Separate(nodes=_nodes(s, scope, local, least=2), origin=s.span.place)


def _pin(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    make = c.Pin if s.rule.text == "pin" else c.Forbid
    devices = _on(s, scope, local)
    assert devices is not None
    yield make(nodes=_nodes(s, scope, local), devices=devices, origin=s.span.place)


def _subgraphs(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    yield c.Subgraphs(most=_amount(s, scope, local), devices=_on(s, scope, local), origin=s.span.place)


def _exclusive(s: tree.ConstraintStatement, _: SpecScope, __: Locals, ___: Options) -> Iterator[c.Constraint]:
    yield c.ExclusiveLinks(origin=s.span.place)


def _batch(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    assert s.amount is not None
    values = evaluate(s.amount, scope, local)
    if not isinstance(values, Sequence):
        raise Complaint(
            f"batch sizes are a list of whole numbers; this is {describe(values)}", s.amount.span, code="MTPP-E211"
        )
    if len(values) > MAX_SIZES:
        raise Complaint(
            f"at most {MAX_SIZES:,} batch sizes are read; these are {len(values):,}", s.amount.span, code="MTPP-E901"
        )
    sizes = set()
    for value in values:
        number = value.whole if isinstance(value, Quantity) else None
        if number is None or number < 1:
            given = shown(value) if isinstance(value, Quantity) else describe(value)
            raise Complaint(
                f"a batch size is a whole number, one or more; this is {given}", s.amount.span, code="MTPP-E211"
            )
        sizes.add(number)
    yield c.BatchSizes(sizes=tuple(sorted(sizes)), devices=_on(s, scope, local), origin=s.span.place)


def _shard(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    yield from shard(s, scope, local, options, members(s.members, scope, local, DeviceRef))


def _repeat(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    yield c.Repeat(most=_amount(s, scope, local), devices=_on(s, scope, local), origin=s.span.place)


def _replicate(
    s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options
) -> Iterator[c.Constraint]:
    devices = members(s.members, scope, local, DeviceRef)
    sync = cast('Literal["weights", "none"] | None', options.word("sync", ("weights", "none")))
    yield c.Replicate(most=_amount(s, scope, local), devices=devices, sync=sync, origin=s.span.place)


def _robust(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    share = options.quantity("deviation", (NONE,))
    most = _amount(s, scope, local)
    if share is not None and share.value > 1:
        percent = f"{float(share.value):.6g}"
        scope.remarks.warn(
            f"a deviation of {percent} lets a node take {percent} times its time more; {percent} per cent is "
            f"written {percent}%",
            options.span("deviation"),
            "MTPP-W502",
        )
    yield c.Robust(most=most, share=0.0 if share is None else float(share.value), origin=s.span.place)


def _copies(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    share = cast("c.Sharing", options.word("share", get_args(c.Sharing)) or "any")
    yield c.Copies(most=_amount(s, scope, local), share=share, origin=s.span.place)


def _stages(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    devices = None if s.devices is None else tuple(in_their_order(s.devices, scope, local, DeviceRef))
    empty = cast('Literal["allowed", "never"]', options.word("empty", ("allowed", "never")) or "allowed")
    yield c.InOrder(devices=devices, empty=empty, origin=s.span.place)


def _break(s: tree.ConstraintStatement, _: SpecScope, __: Locals, options: Options) -> Iterator[c.Constraint]:
    assert s.by is not None
    choices = ("tasks", "batches", "time")
    if s.by.text not in choices:
        hint = did_you_mean(s.by.text, choices)
        raise Complaint(
            f"symmetry is broken by {', '.join(choices)}, not {s.by.text!r}{hint}", s.by.span, code="MTPP-E110"
        )
    by = cast('Literal["tasks", "batches", "time"]', s.by.text)
    within = cast(
        'Literal["within", "between", "both"]', options.word("scope", ("within", "between", "both")) or "both"
    )
    yield c.BreakSymmetry(by=by, scope=within, origin=s.span.place)


_RULES: dict[str, Callable[[tree.ConstraintStatement, SpecScope, Locals, Options], Iterator[c.Constraint]]] = {
    "acyclic": _acyclic,
    "contiguous": _contiguous,
    "memory": _memory,
    "cache": _cache,
    "colocate": _colocate,
    "separate": _separate,
    "pin": _pin,
    "forbid": _pin,
    "subgraphs": _subgraphs,
    "exclusive": _exclusive,
    "batch": _batch,
    "repeat": _repeat,
    "replicate": _replicate,
    "shard": _shard,
    "copies": _copies,
    "robust": _robust,
    "stages": _stages,
    "break": _break,
}


def _amount(s: tree.ConstraintStatement, scope: SpecScope, local: Locals) -> int:
    assert s.amount is not None
    amount = whole(s.amount, scope, local, "the amount")
    if amount < 1:
        raise Complaint(f"the amount must be one or more; this is {amount}", s.amount.span, code="MTPP-E214")
    if amount > MAX_AMOUNT:
        raise Complaint(
            f"the amount must be at most {MAX_AMOUNT:,}; this is {shown(amount)}", s.amount.span, code="MTPP-E901"
        )
    return amount


def _on(s: tree.ConstraintStatement, scope: SpecScope, local: Locals) -> tuple[int, ...] | None:
    return None if s.devices is None else members(s.devices, scope, local, DeviceRef)


def _nodes(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, least: int = 1) -> tuple[int, ...]:
    nodes = members(s.members, scope, local, NodeRef)
    if len(nodes) < least and any(isinstance(evaluate(one, scope, local), Sequence) for one in s.members):
        raise Empty("second node", s.span)
    if len(nodes) < least:
        raise Complaint(f"{s.rule.text!r} needs at least {least} nodes", s.span, code="MTPP-E504")
    return nodes
