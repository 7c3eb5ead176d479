"""Objectives and penalties for people: a line for each of several objectives, and what soft rows cost."""

from __future__ import annotations

from rich.text import Text

from mtpp_dsl.core.base.units import counted, format_gap, format_quantity
from mtpp_dsl.core.plans.result import Reached, Result
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.json import families

MAX_ROWS = 4
"""Rows that are named one by one."""


def headed(problem: Problem) -> str:
    """Return the objectives of a problem in a clause: "minimize cost, then minimize bottleneck"."""
    return ", then ".join(map(str, problem.objectives))


def still_better(objective: Objective, value: float, bound: float) -> str:
    """Return by how much the best plan is better at most, as a share of what is known: "5 % lower".

    The gap is a share of the cost, which of a throughput is its inverse; what is said is a share of the value itself.

    Args:
        objective: whose value it is.
        value: of the best plan known.
        bound: no plan has a better value.

    Returns:
        "" where the value is not positive, or the bound is below 0, of which nothing is a share.

    >>> still_better(Objective("bottleneck"), 20.0, 19.0), still_better(Objective("throughput"), 2.0, 2.5)
    ('5 % lower', '25 % higher')
    """
    if value <= 0 or bound < 0:
        return ""
    return f"{format_gap(abs(bound - value) / value)} {'lower' if objective.sense == 'minimize' else 'higher'}"


def reached(problem: Problem, result: Result) -> list[tuple[str, Text]]:
    """Return, of several objectives, what the plan has of each, the best that was found, the bound and the gap."""
    return [(one.objective.shown, _line(problem, one)) for one in result.objectives]


def _line(problem: Problem, one: Reached) -> Text:
    value = None if one.cost is None else problem.valued(one.cost, one.objective)
    shown = Text(value or "no plan", "bold")
    if one.best is None:
        return Text.assemble(shown, "  not optimised")
    best = problem.valued(one.best, one.objective)
    if value is not None and value != best:
        shown = Text.assemble(shown, f"  within its tolerance of {best}")
    if one.bound is None:
        return Text.assemble(shown, "  without a bound")
    bound = problem.valued(one.bound.cost, one.objective)
    gap = "" if one.gap is None else ", optimal" if one.proved else f", gap {format_gap(one.gap)}"
    return Text.assemble(shown, f"  bound {bound}{gap}: {one.bound.method} by {one.bound.by}, {one.bound.proof}")


def paid(problem: Problem, result: Result) -> list[tuple[str, Text]]:
    """Return a line for each constraint with a penalty: what it costs, and the rows that are broken."""
    if result.evaluation is None or not problem.soft_rows:
        return []
    unit = problem.objective.unit(problem.time_unit)
    lines = []
    for label, rows in families(problem, result.evaluation.penalties).items():
        broken = [row for row, cost in rows.items() if cost > 0]
        text = Text(format_quantity(sum(rows.values()), unit, decimal=problem.origin.decimal), "bold" if broken else "")
        if not broken:
            text.append("  nothing to pay")
        elif broken != [label]:
            more = f" and {len(broken) - MAX_ROWS} more" if len(broken) > MAX_ROWS else ""
            text.append(f"  {', '.join(broken[:MAX_ROWS])}{more}, of {counted(len(rows), 'row')}")
        lines.append((f"paid: {label}", text))
    return lines
