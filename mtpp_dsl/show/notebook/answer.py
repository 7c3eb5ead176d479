"""An answer as a fragment of HTML for a notebook: its verdict, a picture of its loads or its schedule, what runs where.

The fragment has no script and needs no network. Text has the colour of the notebook, so that it fits its theme.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.core.base.units import format_gap, format_quantity
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Reached, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.answer import proof_of, verdict
from mtpp_dsl.show.page.layout.stages import stage_numbers
from mtpp_dsl.show.page.markup import Child, Markup, name, short, svg, tag
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.show.report.bars import ChartBar, ChartRow, chart_rows
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import LINES, PARTS

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
        parts += [tag("p", how), tag("ul", [tag("li", name(rule)) for rule in result.infeasibility.clash])]
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
    plan, evaluation = result.plan, result.evaluation
    assert plan is not None
    assert evaluation is not None
    names, nodes_on = problem.graph.names, plan.nodes_on(problem.k)
    with_memory = any(device.memory is not None for device in problem.devices)
    order = [d for d in (plan.order or range(problem.k)) if nodes_on[d]]
    rows = []
    for d in order[:MAX_DEVICES]:
        device = problem.devices[d]
        cells: list[Child] = [
            name(device.name, MAX_LETTERS),
            format_quantity(float(evaluation.load[d]), problem.time_unit),
        ]
        if with_memory:
            limit = "" if device.memory is None else f" of {problem.size(device.memory)}"
            cells.append(f"{problem.size(float(evaluation.memory[d]))}{limit}")
        members = [short(names[v], MAX_LETTERS) for v in sorted(nodes_on[d])]
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
        sentence = f"No plan exists: {front.infeasibility.reason}"
    else:
        whole = ": every plan is no better in both than one of them" if front.complete else ""
        sentence = f"{len(front.points)} points of {first.shown} and {second.shown}{whole}."
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
    return tag("div", tag("style", STYLE), tag("p", tag("strong", short(sentence, 300))), table, class_="mtpp")


# Pictures of an answer below its cell.

WIDTH, LABEL, FIGURE, ROW = 720, 150, 90, 22
"""Of a picture, of the names on its left and of the figures on its right, and the height of a row."""
MOST_ROWS, MOST_BARS = 48, 1500
LETTERS = 20
STACKED = ("work", "input", "output", "overflow", "deviation")


def loads_figure(problem: Problem, result: Result) -> Markup:
    """Return a bar for the load of each device that works, the busiest where there are many, and the bound."""
    plan, evaluation = result.plan, result.evaluation
    assert plan is not None
    assert evaluation is not None
    used = [d for d in (plan.order or range(problem.k)) if evaluation.load[d] > 0]
    busiest = set(sorted(used, key=lambda d: -evaluation.load[d])[:MOST_ROWS])
    rows = [d for d in used if d in busiest]
    most = max(float(evaluation.bottleneck), 1e-300)
    room = WIDTH - LABEL - FIGURE
    parts: list[Child] = []
    seen: list[str] = []
    for row, d in enumerate(rows):
        y = row * ROW
        parts.append(_label(problem.devices[d].name, y))
        left = 0.0
        for part, value in _stacked(problem, evaluation, d):
            seen += [] if part in seen else [part]
            parts.append(
                _rect(LABEL + left / most * room, y + 3, value / most * room, ROW - 7, PARTS[part].light, part)
            )
            left += value
        amount = format_quantity(float(evaluation.load[d]), problem.time_unit)
        parts.append(tag("text", amount, x=WIDTH - FIGURE + 8, y=y + 15))
    height = max(len(rows), 1) * ROW
    bound = result.bound
    if bound is not None and problem.objective.quantity == "bottleneck" and 0 < bound.cost <= most:
        x = LABEL + bound.cost / most * room
        line = tag(
            "line", x1=x, x2=x, y1=0, y2=height, stroke=LINES["bound"][0], stroke_width=2, stroke_dasharray="5 3"
        )
        parts.append(line)
        seen.append("bound")
    parts += _legend(seen, height)
    left_out = f", the busiest {MOST_ROWS} of {len(used)}" if len(used) > len(rows) else ""
    return svg(WIDTH, height + 24, parts, title=f"Loads of the devices{left_out}")


def _stacked(problem: Problem, evaluation: Evaluation, d: int) -> list[tuple[str, float]]:
    """Return the parts of a load; where they overlap, the largest; where weights take longer, these."""
    parts = [(part, float(getattr(evaluation, part)[d])) for part in STACKED if getattr(evaluation, part).size]
    if problem.networked and problem.network.overlap == "full":
        parts = [max(parts, key=lambda part: part[1])]
    rest = float(evaluation.load[d]) - sum(value for _, value in parts)
    parts.append(("sync", rest if rest > 1e-9 * float(evaluation.load[d]) else 0.0))
    return [(part, value) for part, value in parts if value > 0]


def chart(problem: Problem, plan: Plan) -> Markup:
    """Return when devices, in the colours of their stages, and the busiest links are busy; with the critical path."""
    timeline = Timeline(problem, plan)
    rows = chart_rows(timeline, stage_numbers(problem, plan))
    devices = [row for row in rows if row.of_device and row.bars]
    links = [row for row in rows if not row.of_device]
    rows = [*devices, *links[: max(0, MOST_ROWS - len(devices))]][:MOST_ROWS]
    span = timeline.makespan or 1.0
    room = WIDTH - LABEL - 10
    parts: list[Child] = []
    for number, row in enumerate(rows):
        parts.append(_label(row.name, number * ROW))
        thick = (ROW - 6) / row.lanes
        for bar in _longest(row, max(MOST_BARS // (len(rows) * row.lanes), 8)):
            activity, label = bar.activity, bar.label
            x, width = LABEL + activity.start / span * room, (activity.end - activity.start) / span * room
            y = number * ROW + 3 + bar.lane * thick
            frame = LINES["critical"][0] if bar.critical else None
            parts.append(_rect(x, y, width, thick, bar.tint.light, f"{activity.name}, {activity.track}", frame))
            if row.lanes == 1 and width > 7.5 * min(len(label), 40):
                middle = {"x": x + width / 2, "y": number * ROW + 15, "text_anchor": "middle", "class_": "mtpp-ink"}
                parts.append(tag("text", short(label, 40), **middle))
    height = len(rows) * ROW
    parts.append(tag("line", x1=LABEL, x2=WIDTH - 10, y1=height, y2=height, class_="mtpp-axis"))
    end = format_quantity(timeline.makespan, problem.time_unit)
    parts += [
        tag("text", "0", x=LABEL, y=height + 16),
        tag("text", end, x=WIDTH - 10, y=height + 16, text_anchor="end"),
    ]
    return svg(WIDTH, height + 24, parts, title=f"Schedule, from 0 to {end}")


def _longest(row: ChartRow, most: int) -> list[ChartBar]:
    """Return the longest bars of every lane: of thousands the shorter ones cannot be seen."""
    lanes: list[list[ChartBar]] = [[] for _ in range(row.lanes)]
    for bar in sorted(row.bars, key=lambda bar: bar.activity.start - bar.activity.end):
        lanes[bar.lane].append(bar)
    return [bar for lane in lanes for bar in lane[:most]]


def _label(text: str, y: float) -> Markup:
    return tag("text", short(text, LETTERS), tag("title", short(text, 300)), x=LABEL - 8, y=y + 15, text_anchor="end")


def _rect(x: float, y: float, width: float, height: float, fill: str, title: str, frame: str | None = None) -> Markup:
    look = {"fill": fill, "stroke": frame or "#ffffff", "stroke_width": 2 if frame else 0.5}
    at = {"x": float(x), "y": float(y), "width": max(float(width), 0.5), "height": float(height)}
    return tag("rect", tag("title", short(title, 200)), **at, **look)


def _legend(parts: Sequence[str], y: float) -> list[Child]:
    """Return a square and a word for each part."""
    entries: list[Child] = []
    x = float(LABEL)
    for part in parts:
        fill = LINES["bound"][0] if part == "bound" else PARTS[part].light
        word = {"overflow": "streamed parameters", "sync": "exchange of weights"}.get(part, part)
        entries += [tag("rect", x=x, y=y + 8, width=10, height=10, fill=fill), tag("text", word, x=x + 14, y=y + 17)]
        x += 34 + 7.0 * len(word)
    return entries
