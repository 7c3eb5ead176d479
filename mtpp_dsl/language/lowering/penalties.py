"""``(penalty = ...)`` of labelled constraints: what a unit of violation costs."""

from __future__ import annotations

from mtpp_dsl.core.base.units import NONE, Dimension
from mtpp_dsl.language.lowering.lower_objective import StatedObjective
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.expressions import Locals, number
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import Complaint, SpecScope

__all__ = ["lower_penalty"]


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
