"""Several objectives, penalties, passes and phases, and what the limits of a runtime cost."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.base.answered import value_of
from mtpp_dsl.core.base.units import counted, format_gap
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.tables import facts, table
from mtpp_dsl.show.page.view import Section, View

MAX_ROWS = 200
"""Rows with penalties that are listed one by one."""


def section(view: View) -> Section | None:
    """Return what an answer says beside its first objective; None where that is all there is."""
    answer = view.answer
    parts: list[Markup] = []
    if view.problem.later:
        parts += [tag("h3", "Objectives, one after the other"), _reached(view)]
    if answer["penalties"]:
        parts += [tag("h3", "Penalties"), *_penalties(view)]
    pairs = list(_facts(view))
    if pairs:
        parts += [tag("h3", "Parts of the objective"), facts(pairs)]
    if view.evaluation is not None and view.evaluation.phases:
        parts += [tag("h3", "Phases"), _phases(view)]
    if answer.get("target") is not None:
        parts += [tag("h3", "What the runtime's limits cost"), _target(view)]
    return Section("objectives", "What the value consists of", tag("", parts), nav="Value") if parts else None


def _reached(view: View) -> Markup:
    """Return a row for each objective, with its best value, what later ones may worsen it by, and its bound."""
    rows: list[list[Child]] = []
    for one in view.answer["objectives"]:
        unit = one["unit"]
        bound = one["bound"]
        within = "".join(
            f"{share:.4g} of its value" if kind == "share" else view.amount(share, unit)
            for kind, share in (one["within"] or {}).items()
        )
        rows.append(
            [
                name(one["name"]),
                _value(view, value_of(one), unit),
                _value(view, one["best"], unit),
                "none" if bound is None else _value(view, value_of(bound), unit),
                "" if one["gap"] is None else format_gap(one["gap"]),
                within,
                name(one["under"]) if one["under"] else "",
            ]
        )
    head = ["objective", "of this plan", "best found", "bound", "gap", "may be worsened by", "held by"]
    return table("Objectives in their order", head, rows)


def _value(view: View, value: float | None, unit: str) -> str:
    return "none" if value is None else view.amount(value, unit)


def _penalties(view: View) -> Iterator[Markup]:
    """Yield what each constraint with a penalty costs, and which of its rows are broken."""
    unit = view.answer["objective"]["unit"]
    rows: list[list[Child]] = []
    left = 0
    for penalty in view.answer["penalties"]:
        rows.append(
            [name(penalty["constraint"]), view.amount(penalty["paid"], unit), f"{len(penalty['rows']):,} broken"]
        )
        broken = [(row, paid) for row, paid in penalty["rows"].items() if row != penalty["constraint"]]
        room = max(0, MAX_ROWS - len(rows))
        rows += [[name(row), view.amount(paid, unit), ""] for row, paid in broken[:room]]
        left += len(broken[room:])
    yield table("What is paid", ["constraint", "paid", "rows"], rows)
    if left:
        yield tag("p", f"{counted(left, 'broken row')} more are in the answer's JSON.")


def _facts(view: View) -> Iterator[tuple[Child, Child]]:
    """Yield the parts of a sum, the passes of an iteration, and the batches of a throughput."""
    evaluation, objective, problem = view.evaluation, view.problem.objective, view.problem
    if evaluation is None:
        return
    if evaluation.separate:
        yield "largest forward load", view.time(float(evaluation.forward.max()))
        yield "largest backward load", view.time(float(evaluation.backward.max()))
    iteration = view.answer.get("iteration")
    if iteration:
        yield "microbatches", f"{objective.microbatches}, scheduled as {objective.schedule}"
        if iteration["simulated"] is None:
            yield "pass by pass", "not simulated, as there are too many passes"
        else:
            yield "pass by pass", view.time(iteration["simulated"])
        yield "no order of these passes is faster than", view.time(iteration["bound"])
    if objective.batch is not None:
        yield "inputs", f"{objective.batch:,}"
        yield "all inputs take", view.time(evaluation.cost)
        if 1 < problem.batching.count < problem.batching.inputs:
            yield "chunks", f"{problem.batching.count:,} of {counted(problem.batching.chunk, 'input')}"
        yield "transfers", "per input" if problem.batching.per_input else "per batch"
    if evaluation.paid:
        yield "paid for soft constraints", view.time(evaluation.paid)
    if problem.robust is not None:
        yield "robust", "loads have room for nodes that take longer; see “deviation” among the loads"


def _phases(view: View) -> Markup:
    assert view.evaluation is not None
    rows = [
        [name(phase), view.time(evaluation.bottleneck), view.time(evaluation.latency)]
        for phase, evaluation in view.evaluation.phases.items()
    ]
    return table("Each phase alone", ["phase", "bottleneck", "latency"], rows)


def _target(view: View) -> Markup:
    """Return what is known of what the target's limits cost."""
    target, unit = view.answer["target"], view.answer["objective"]["unit"]
    pairs: list[tuple[Child, Child]] = [("runtime", name(target["name"]))]
    free = target["free"]
    pairs.append(("best found without its limits", _value(view, free["value"], unit)))
    pairs.append(("bound without its limits", _value(view, free["bound"], unit)))
    if target["cost"] is not None:
        pairs.append(("its limits cost", format_gap(target["cost"])))
    else:
        pairs.append(
            ("they cost at least", "not known" if target["at_least"] is None else format_gap(target["at_least"]))
        )
        pairs.append(("they cost at most", "not known" if target["at_most"] is None else format_gap(target["at_most"])))
    return facts(pairs)
