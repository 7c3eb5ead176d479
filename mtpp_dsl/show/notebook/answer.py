"""An answer as a fragment of HTML for a notebook: its verdict, a picture of its loads or its schedule, what runs where.

The fragment has no script and needs no network. Text has the colour of the notebook, so that it fits its theme.
"""

from __future__ import annotations

from mtpp_dsl.core.base.units import format_gap, format_quantity
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.result import Reached, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.notebook.figures import chart, loads_figure
from mtpp_dsl.show.page.answer import proof_of, verdict
from mtpp_dsl.show.page.markup import Child, Markup, name, short, tag
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.names import fold_names

__all__ = ["front_html", "html"]

MAX_DEVICES = 64
"""The table names the nodes of so many devices."""
MAX_NAMES, MAX_LETTERS = 8, 60
"""A cell names so many nodes, or families of them, each in so many letters at most."""
STYLE = Markup(
    ".mtpp{max-width:50em;line-height:1.35}"
    ".mtpp p{margin:.3em 0}"
    ".mtpp svg{display:block;max-width:100%;height:auto}"
    ".mtpp svg text{fill:currentColor;font:12px sans-serif}"
    ".mtpp svg text.mtpp-ink{fill:#111}"
    ".mtpp svg .mtpp-axis{stroke:currentColor;opacity:.3}"
    ".mtpp table{border-collapse:collapse;margin:.4em 0}"
    ".mtpp th,.mtpp td{text-align:left;padding:.15em .8em .15em 0;vertical-align:top}"
    ".mtpp td.mtpp-figure,.mtpp th.mtpp-figure{text-align:right;white-space:nowrap}"
    ".mtpp bdi{overflow-wrap:anywhere}"
    ".mtpp .mtpp-dim{opacity:.75}"
)


def html(problem: Problem, result: Result) -> str:
    """Return what a notebook shows of an answer."""
    view = View(problem=problem, plan=result.plan, evaluation=result.evaluation, answer=result.to_dict())
    parts: list[Child] = [tag("p", tag("strong", verdict(view)))]
    proof = proof_of(view)
    if result.bound is not None and proof is not None:
        parts.append(tag("p", proof, class_="mtpp-dim"))
    if result.infeasibility is not None and result.infeasibility.clash:
        how = "Drop any one of these and there is a plan:" if result.infeasibility.minimal else "These clash:"
        parts += [tag("p", how), tag("ul", [tag("li", name(each)) for each in result.infeasibility.clash])]
    if len(result.objectives) > 1:
        parts.append(_objectives(problem, result.objectives))
    if result.plan is not None and result.evaluation is not None:
        parts.append(chart(problem, result.plan) if result.plan.timed else loads_figure(problem, result))
        parts.append(_placed(problem, result))
    parts.append(tag("p", _found(result), class_="mtpp-dim"))
    parts += [tag("p", "Note: ", name(note, 400), class_="mtpp-dim") for note in result.notes]
    return tag("div", tag("style", STYLE), parts, class_="mtpp")


def _found(result: Result) -> Markup:
    """Return how the answer was found."""
    solver = f" with {result.solver}" if result.solver else ""
    verified = "; verified independently" if result.verified and result.plan is not None else ""
    how = f"by {result.method}{solver} in {result.time.get('total', 0.0):.1f} s"
    ended = {"time_limit": "; the time limit was reached", "interrupted": "; the search was interrupted"}
    return tag("", "Found ", short(how, 120), ended.get(result.termination, ""), verified, ".")


def _objectives(problem: Problem, reached: tuple[Reached, ...]) -> Markup:
    """Return the values of several objectives, in their order."""
    rows: list[list[Child]] = []
    for one in reached:
        value = "" if one.cost is None else problem.valued(one.cost, one.objective)
        bound = "none" if one.bound is None else problem.valued(one.bound.cost, one.objective)
        gap = "" if one.gap is None else "optimal" if one.proved else format_gap(one.gap)
        rows.append([name(one.objective.shown, MAX_LETTERS), value, bound, gap])
    return _table(["objective", "value", "bound", "gap"], rows)


def _placed(problem: Problem, result: Result) -> Markup:
    """Return a folded table of what every device holds."""
    plan, found = result.plan, result.evaluation
    assert plan is not None
    assert found is not None
    names, held = problem.graph.names, plan.nodes_on(problem.k)
    with_memory = any(device.memory is not None for device in problem.devices)
    order = [d for d in (plan.order or range(problem.k)) if held[d]]
    rows = []
    for d in order[:MAX_DEVICES]:
        device = problem.devices[d]
        cells: list[Child] = [name(device.name, MAX_LETTERS), format_quantity(float(found.load[d]), problem.time_unit)]
        if with_memory:
            limit = "" if device.memory is None else f" of {problem.size(device.memory)}"
            cells.append(f"{problem.size(float(found.memory[d]))}{limit}")
        members = [short(names[v], MAX_LETTERS) for v in sorted(held[d])]
        rows.append([*cells, f"{len(members):,}", name(fold_names(members, MAX_NAMES), 1000)])
    load = "work" if plan.timed else "load"
    head = ["device", load, *(["memory"] if with_memory else []), "nodes", ""]
    left = len(order) - len(rows)
    more = tag("p", f"{left:,} further devices are not listed.") if left else None
    return tag("details", tag("summary", "Nodes of each device"), _table(head, rows), more)


def _table(head: list[str], rows: list[list[Child]]) -> Markup:
    """Return a table; all columns but the first and the last hold figures."""

    def looks(column: int) -> str | None:
        return "mtpp-figure" if 0 < column < len(head) - 1 else None

    first = tag("tr", [tag("th", text, class_=looks(i), scope="col") for i, text in enumerate(head)])
    body = [tag("tr", [tag("td", cell, class_=looks(i)) for i, cell in enumerate(row)]) for row in rows]
    return tag("table", tag("thead", first), tag("tbody", body))


def front_html(front: Front) -> str:
    """Return what a notebook shows of a front: value and gap of both objectives at each point."""
    first, second = front.problem.objectives
    if front.infeasibility is not None:
        said = f"No plan exists: {front.infeasibility.reason}"
    else:
        whole = ": every plan is no better in both than one of them" if front.complete else ""
        said = f"{len(front.points)} points of {first.shown} and {second.shown}{whole}."
    rows: list[list[Child]] = []
    for number, point in enumerate(front.points, 1):
        cells: list[Child] = [str(number)]
        for one in point.objectives:
            unit = one.objective.unit(front.problem.time_unit)
            assert one.cost is not None
            cells.append(format_quantity(one.objective.value(one.cost), unit))
            cells.append("no bound" if one.gap is None else format_gap(one.gap))
        rows.append(cells)
    head = ["", short(first.shown, 30), "gap", short(second.shown, 30), "gap"]
    table = _table(head, rows) if rows else None
    return tag("div", tag("style", STYLE), tag("p", tag("strong", short(said, 300))), table, class_="mtpp")
