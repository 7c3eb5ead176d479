"""``minimize`` and ``maximize`` statements to objectives, and what ``(penalty = ...)`` adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from mtpp_dsl.core.base.units import NONE, Dimension
from mtpp_dsl.core.problem.objective import OBJECTIVES, Objective
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.lowering.lower_pipelines import PIPELINED, microbatches
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import word_hint
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.decisions import DIMENSIONS
from mtpp_dsl.language.values.expressions import Locals, evaluate, iterate, number
from mtpp_dsl.language.values.linear import is_not_linear, only_pushed_down
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Affine, Quantity, describe

_PARTS = ("together", "separate")
_TRANSFERS = ("per_batch", "per_input")


@dataclass(frozen=True)
class StatedObjective:
    """An objective as a spec says it.

    Attributes:
        objective: the objective.
        dimension: of its value.
        span: of the expression.
    """

    objective: Objective
    dimension: Dimension
    span: Span


def counting(statements: Sequence[tree.ObjectiveStatement]) -> list[tree.ObjectiveStatement]:
    """Return the objectives that count: those of the file of the last one, which replace those of other files."""
    return [s for s in statements if s.span.source is statements[-1].span.source]


def lower_objective(statement: tree.ObjectiveStatement, scope: SpecScope) -> Iterator[StatedObjective]:
    """Yield the objectives that a statement means: one, unless it is repeated, or left out by a condition.

    Raises:
        Complaint: there is none of that name; it is not linear, or the same for every plan; an option that makes no
            sense.
    """
    label = "" if statement.label is None else statement.label.text
    if label in OBJECTIVES:
        assert statement.label is not None
        raise Complaint(
            f"{label!r} is an objective itself, and cannot be a label; choose another word",
            statement.label.span,
            code="MTPP-E601",
        )
    for local in iterate(statement.clauses, scope):
        asked = _named(statement, scope, local) or _linear(statement, scope, local)
        yield replace(asked, objective=replace(asked.objective, label=label, origin=statement.span.place))


def _named(statement: tree.ObjectiveStatement, scope: SpecScope, local: Locals) -> StatedObjective | None:
    """Return an objective that has a name of its own, or None for an expression."""
    value = statement.value
    if not isinstance(value, tree.Name) or value.subscripts or value.parts or value.name not in OBJECTIVES:
        return None
    name = value.name
    objective = Objective(cast("Any", name))
    if statement.sense != objective.sense:
        raise Complaint(
            f"a plan should {objective.sense} {name}, not {statement.sense} it", statement.span, code="MTPP-E622"
        )
    options = Options(statement.options, (*OBJECTIVES[name], "within"), name, scope, local)
    parts = cast("Literal['together', 'separate']", options.word("parts", _PARTS) or "together")
    objective = _throughput(options, parts) if name == "throughput" else replace(objective, parts=parts)
    if "microbatches" in OBJECTIVES[name]:
        objective = _iteration(objective, options)
    scope.remarks.need("time unit")
    dimension = DIMENSIONS[scope.units.time]
    return StatedObjective(_within(objective, options, dimension), dimension, value.span)


def _largest(statement: tree.ObjectiveStatement) -> list[str]:
    """Return how the largest value of a param is asked for, where something without a decision is to be large."""
    how = "the largest value of a param for which there is a plan: mtpp solve SPEC --largest seq=4096..262144"
    return [how] if statement.sense == "maximize" else []


def _linear(statement: tree.ObjectiveStatement, scope: SpecScope, local: Locals) -> StatedObjective:
    """Return the objective that an expression over decisions is."""
    value = _evaluated(statement.value, scope, local)
    what = "an objective that is an expression"
    options = Options(statement.options, ("within",), what, scope, local)
    if isinstance(value, Quantity):
        raise Complaint(
            "the objective is the same number for every plan: there is no decision in it",
            statement.value.span,
            [
                "decisions are: on(v, d), load(d), used(d), start(v), finish(v), bottleneck, makespan, latency",
                *_largest(statement),
            ],
            code="MTPP-E602",
        )
    if not isinstance(value, Affine):
        listed = f"objectives are: {', '.join(OBJECTIVES)}, and sums of decisions"
        raise Complaint(
            f"an objective is a number; this is {describe(value)}",
            statement.value.span,
            [listed, *_largest(statement)],
            code="MTPP-E210",
        )
    if not only_pushed_down(value, "<=" if statement.sense == "minimize" else ">="):
        raise Complaint(
            "max of a decision is not linear where it is to be large",
            statement.value.span,
            ["max(…) may be minimised, or limited from above by a constraint"],
            code="MTPP-E212",
        )
    objective = Objective.linear(
        ((decision, float(a)) for decision, a in value.terms.items()),
        cast("Literal['minimize', 'maximize']", statement.sense),
        constant=float(value.constant),
        unit=value.dimension.unit,
    )
    return StatedObjective(_within(objective, options, value.dimension), value.dimension, statement.value.span)


def _evaluated(value: tree.Expression, scope: SpecScope, local: Locals) -> Any:
    """Return the value of an objective, or complain with what may be meant by a word, or by what is not linear."""
    try:
        return evaluate(value, scope, local)
    except Complaint as complaint:
        diagnostic = complaint.diagnostic
        if isinstance(value, tree.Name) and not (value.subscripts or value.parts) and diagnostic.span == value.span:
            hint = word_hint(value.name, OBJECTIVES, "objective")
            listed = f"objectives are: {', '.join(OBJECTIVES)}, and sums of decisions"
            if hint or diagnostic.code in ("", "MTPP-E101"):
                raise Complaint(
                    f"there is no objective {value.name!r}{hint}", value.span, [listed], code="MTPP-E621"
                ) from None
        if is_not_linear(diagnostic.message):
            notes = ["an objective is a sum of decisions, each multiplied by a number"]
            if diagnostic.message.startswith("max"):
                notes = ["the largest load is 'bottleneck', and the end of the last node 'makespan'"]
            raise Complaint(diagnostic.message, diagnostic.span, notes, code=diagnostic.code) from None
        raise


def _within(objective: Objective, options: Options, dimension: Dimension) -> Objective:
    """Return *objective* with what later ones may worsen it by: a share, or a number in its unit."""
    rate = objective.name == "throughput"  # its unit is no unit of the language, so that only shares can be said
    value = options.quantity("within", [NONE] if rate else [NONE, dimension])
    if value is None:
        return objective
    number = float(value.value)
    if rate and number >= 1:
        raise Complaint(
            "later objectives leave nothing of a throughput that is within 100%",
            options.span("within"),
            code="MTPP-E214",
        )
    share = value.dimension == NONE and (rate or dimension != NONE or "%" in options.span("within").text)
    if dimension == NONE and not share and 0 < number < 1:
        text = options.span("within").text
        raise Complaint(
            f"the objective has no unit, so that {text} may be a share or a number: write a share as a percentage, "
            f"{100 * number:g}%",
            options.span("within"),
            code="MTPP-E603",
        )
    return replace(objective, within=number, within_is="share" if share else "value")


def _iteration(objective: Objective, options: Options) -> Objective:
    """Return *objective* with the microbatches and the schedule of its iteration, where they are given."""
    many, schedule = microbatches(options), options.word("schedule", PIPELINED)
    if objective.name == "throughput":
        others = [word for word in ("batch", "chunk", "parts", "transfer") if word in options]
        if many is None and schedule is not None:
            raise Complaint(
                "schedule needs the number of microbatches: give it (microbatches = …)",
                options.span("schedule"),
                code="MTPP-E623",
            )
        if many is not None and others:
            raise Complaint(
                f"the throughput of iterations has microbatches, and no {others[0]}",
                options.span(others[0]),
                code="MTPP-E623",
            )
    return replace(objective, microbatches=many, schedule=cast("Any", schedule))


def _throughput(options: Options, parts: Literal["together", "separate"]) -> Objective:
    batch, chunk = options.whole("batch"), options.whole("chunk")
    written = options.word("transfer", _TRANSFERS)
    transfer = cast("Literal['per_batch', 'per_input']", written or "per_batch")
    if batch is None:
        for word in ("chunk", "transfer"):
            if word in options:
                raise Complaint(
                    f"{word} needs a batch: give its size, too (batch = …)", options.span(word), code="MTPP-E623"
                )
        return Objective("throughput", parts=parts)
    if batch < 1:
        raise Complaint(f"a batch has one input or more; this has {batch}", options.span("batch"), code="MTPP-E214")
    if parts == "separate":
        raise Complaint(
            "parts = separate adds up two bottlenecks, and a batch has a makespan instead",
            options.span("parts"),
            code="MTPP-E623",
        )
    if chunk is not None and chunk < 1:
        raise Complaint(f"a chunk has one input or more; this has {chunk}", options.span("chunk"), code="MTPP-E214")
    if chunk is not None and batch % chunk:
        raise Complaint(
            f"chunks of {chunk} inputs do not make a batch of {batch}", options.span("chunk"), code="MTPP-E623"
        )
    return Objective("throughput", batch, chunk=chunk, transfer=transfer)


def lower_penalty(
    statement: tree.LabelledConstraint,
    dimension: Dimension,
    scope: SpecScope,
    local: Locals,
    first: StatedObjective | None,
) -> float | None:
    """Return the penalty of a labelled constraint, or None where the row must hold.

    Args:
        statement: to read.
        dimension: of the row.
        scope: its names.
        local: loop variables of the row, which the penalty may depend on.
        first: the first objective, to which it is added; None where that could not be read.

    Raises:
        Complaint: its unit is not that of the objective by that of the row; it is negative; the objective is a
            throughput.
    """
    options = Options(statement.options, ("penalty",), f"constraint {statement.label.text}", scope, local)
    if "penalty" not in options:
        return None
    span = options.span("penalty")
    value = number(options.options["penalty"].value, scope, local, "penalty")
    if value.value < 0:
        raise Complaint(
            "a penalty must not be negative: breaking the constraint would pay",
            span,
            ["to reward something, add it to the objective"],
            code="MTPP-E606",
        )
    if first is None:
        return float(value.value)
    if first.objective.name == "throughput":
        raise Complaint(
            "a penalty cannot be added to a throughput, which is 1 / bottleneck, and so not linear",
            span,
            ["minimize bottleneck, and give the penalty in its unit"],
            code="MTPP-E607",
            second=(first.span, "the objective"),
        )
    wanted = first.dimension / dimension
    if value.dimension != wanted and not value.bare_zero:
        raise Complaint(
            f"the penalty must be {_by(first.dimension, dimension)}; this is {value.dimension}",
            span,
            ["it is added to the objective for each unit by which the constraint is missed"],
            code="MTPP-E605",
            second=(first.span, f"the objective is {first.dimension}"),
        )
    return float(value.value)


def _by(objective: Dimension, row: Dimension) -> str:
    """Return in words what a penalty is: the unit of the objective by that of the row."""
    wanted = objective / row
    return str(wanted) if NONE in (row, wanted) else f"{objective.unit or '1'} per {row.unit}"
