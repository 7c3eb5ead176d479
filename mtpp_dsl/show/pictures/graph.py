"""The graph of a plan: a column for each stage in its colour, nodes and folded modules as boxes, tensors as lines."""

from __future__ import annotations

from typing import Any

from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path as Curve

from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.forest import Forest, forest
from mtpp_dsl.show.page.layout.lines import EdgeBundle, bundled, labelled
from mtpp_dsl.show.page.layout.places import HEAD, Box, arranged, opened
from mtpp_dsl.show.pictures.canvas import PAGE, Picture, ink, new_picture, short
from mtpp_dsl.show.pictures.loads import title_of
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.palette import stage_tint

WHOLE = 200
"""No module of a graph with no more nodes is folded."""
LETTER, TITLE, SMALL = 6.6, 13.0, 11.0
"""The width of a letter of a box, and the sizes of text, in the units of the layout."""
LEAST_POINT = 4.5
"""Text is no smaller, in points: the picture of many stages is wider than a page."""
ROUND, ARROW = 5, 7


def draw_graph(problem: Problem, result: Result, width: float | None = None) -> Picture:
    """Draw the graph: stages side by side in the order of the pipeline, as the page has them.

    Args:
        problem: what was asked.
        result: with a plan.
        width: in inches; None for that of a page, or more where text would be too small.
    """
    assert result.plan is not None
    assert result.evaluation is not None
    grove = forest(problem, result.plan)
    picture = arranged(grove, range(grove.n) if problem.graph.n <= WHOLE else opened(grove))
    lines = bundled(grove, picture, problem.graph.sizes[grove.placed.edges].tolist())
    right = max([picture.width, *(x for line in lines for x, _ in line.points)]) + 2
    low = max([picture.height, *(y for line in lines for _, y in line.points)]) + 8
    inches = width or max(PAGE, right * LEAST_POINT / 72 / SMALL)
    inches = min(inches, right * 8.0 / 72 / SMALL)  # a small graph is not blown up
    drawing = _Drawing(problem, grove, new_picture(inches, inches * low / right + 0.25), inches / right)
    drawing.axes.set_xlim(-2, right)
    drawing.axes.set_ylim(low, -2)
    for box in picture.boxes.values():
        drawing.box(box)
    largest = max((line.size for line in lines), default=0.0)
    for line in lines:
        drawing.line(line, largest)
    for line, x, y in labelled(lines, grove, picture):
        drawing.text(x, y, short(problem.size(line.size), 16), SMALL - 1.5, centred=True)
    title = f"{title_of(problem, result)}; {counted(problem.graph.n, 'node')}"
    drawing.figure.suptitle(title, x=0.01, ha="left", fontsize=min(7.5, max(5.0, 2.1 * inches)))
    return drawing.figure


class _Drawing:
    """A picture to which boxes and lines are added."""

    def __init__(self, problem: Problem, grove: Forest, figure: Picture, scale: float) -> None:
        self.problem, self.found, self.figure, self.scale = problem, grove, figure, scale
        self.axes: Any = figure.add_subplot()
        self.axes.set_axis_off()
        self.point = scale * 72
        self.slowest = max((float(stage.times.sum()) for stage in grove.placed.stages), default=0.0)

    def text(self, x: float, y: float, text: str, size: float, *, centred: bool = False, colour: str = "") -> None:
        """Write text at a place of the layout, in sizes of the layout."""
        paper = {"boxstyle": "square,pad=0.05", "facecolor": ink("paper"), "edgecolor": "none", "alpha": 0.8}
        self.axes.text(
            x,
            y,
            text,
            fontsize=size * self.point,
            ha="center" if centred else "left",
            va="center",
            color=colour or ink("text"),
            zorder=5,
            bbox=paper if centred else None,
        )

    def box(self, box: Box) -> None:
        """Draw a column, a module or a node."""
        column = self.found.column[box.item]
        if self.found.parent[box.item] < 0:
            self._column(box, column)
            return
        tint = stage_tint(column)
        module = self.found.node[box.item] < 0
        look = {"edgecolor": ink("text"), "linewidth": 0.5 * min(1.0, self.point * 1.5)}
        if box.open:
            self._rounded(box, {**look, "facecolor": "none", "linestyle": (0, (4, 2))})
        else:
            self._rounded(box, {**look, "facecolor": tint.fill()})
            if module:  # a second edge below tells a folded module from a node
                self.axes.plot(
                    [box.x + 3, box.x + box.width - 3], [box.y + box.height - 3.5] * 2, color=ink("text"), linewidth=0.4
                )
        count = f" ({self.found.size[box.item]})" if module else ""
        name = short(self.found.name[box.item], max(4, int((box.width - 12) / LETTER) - len(count)))
        self.text(box.x + 6, box.y + (HEAD if box.open else box.height) / 2, name + count, SMALL)

    def _column(self, box: Box, column: int) -> None:
        """Draw the frame of a stage, with its devices, and what it runs, above."""
        stage, tint = self.found.placed.stages[column], stage_tint(column)
        self._rounded(box, {"edgecolor": ink("muted"), "facecolor": "none", "linewidth": 0.6})
        self.axes.bar(
            box.x + box.width / 2,
            8,
            box.width - 8,
            box.y + 3,
            facecolor=tint.fill(),
            hatch=tint.hatch,
            edgecolor=ink("text"),
            linewidth=0.3,
        )
        names = fold_names([self.problem.devices[d].name for d in stage.devices], 2) if stage.devices else "no device"
        letters = int((box.width - 12) / LETTER)
        runs = f"runs {format_quantity(float(stage.times.sum()), self.problem.time_unit)}"
        for text, y, size in (
            (short(names, int(letters * SMALL / TITLE)), 26, TITLE),
            (f"{counted(len(stage.nodes), 'node')}, {runs}", 46, SMALL),
        ):
            self.text(box.x + 8, box.y + y, short(text, letters), size)
        if self.slowest > 0:  # how much of the slowest stage's work this one has
            share = float(stage.times.sum()) / self.slowest
            self.axes.plot([box.x + 8, box.x + 8 + (box.width - 16) * share], [box.y + 60] * 2, color=ink("text"), lw=1)

    def _rounded(self, box: Box, look: dict[str, Any]) -> None:
        inside = (box.x + ROUND, box.y + ROUND)
        size = (max(box.width - 2 * ROUND, 1), max(box.height - 2 * ROUND, 1))
        self.axes.add_patch(FancyBboxPatch(inside, *size, boxstyle=f"round,pad={ROUND},rounding_size={ROUND}", **look))

    def line(self, line: EdgeBundle, largest: float) -> None:
        """Draw a bundle of tensors: the more it carries the thicker; dashed where it goes back to an earlier stage."""
        one, other = self.found.column[line.source], self.found.column[line.target]
        between = one != other
        colour = ink("bound") if between else ink("muted")
        thick = (0.5 + 0.9 * (line.size / largest if largest > 0 else 0.0)) * min(1.0, self.point * 1.6)
        curve = Curve(list(line.points), [Curve.MOVETO] + [Curve.CURVE4] * (len(line.points) - 1))
        style = (0, (3, 2)) if other < one else "-"
        self.axes.add_patch(
            PathPatch(curve, facecolor="none", edgecolor=colour, linewidth=thick, linestyle=style, zorder=0.5)
        )
        (a, b), (x, y) = line.points[-2], line.points[-1]
        length = ((x - a) ** 2 + (y - b) ** 2) ** 0.5 or 1.0
        u, v = (x - a) / length * ARROW, (y - b) / length * ARROW
        tip = [(x, y), (x - u - v / 2.5, y - v + u / 2.5), (x - u + v / 2.5, y - v - u / 2.5)]
        self.axes.add_patch(Polygon(tip, closed=True, facecolor=colour, edgecolor="none", zorder=0.5))
