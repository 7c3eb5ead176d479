"""The routes of a plan that has several, as lines of a report."""

from __future__ import annotations

from rich.text import Text

from mtpp_dsl.core.base.units import format_share
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.columns import wrapped
from mtpp_dsl.show.report.names import fold_names

__all__ = ["routes"]

MAX_NAMES = 2
"""A terminal shows so many nodes of a stage, or families of them."""


def routes(problem: Problem, plan: Plan, width: int | None) -> list[Text]:
    """Return a line for each route: its share of the inputs, and its devices in the order in which it comes to them.

    Args:
        problem: what was asked.
        plan: with several routes.
        width: of the terminal; None shows every node, each route in one line.
    """
    lines: list[Text] = []
    most = None if width is None else MAX_NAMES
    for route in plan.routes:
        exact = f" ({route.share})" if route.share.denominator < 1000 else ""
        share = f"{format_share(float(route.share), 1)}{exact}"
        stages: list[tuple[int, list[str]]] = []
        for v in problem.graph.topological_order:
            d = int(route.assignment[v])
            held = next((names for e, names in stages if e == d), None)
            if held is None:
                stages.append((d, held := []))
            held.append(problem.graph.names[v])
        path = " -> ".join(f"{problem.devices[d].name} {fold_names(names, most)}" for d, names in stages)
        lines += wrapped(Text.assemble((f"{share}  ", "bold"), (path, "dim")), width, hanging=2)
    return lines
