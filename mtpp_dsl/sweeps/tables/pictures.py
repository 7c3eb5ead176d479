"""Pictures of many runs, by matplotlib: profiles, gaps over time, times against sizes, lines and bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.base.units import display_unit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.pictures.plotting import check_picture
from mtpp_dsl.sweeps.tables.curves import Curve, along, gaps, profiles, sizes
from mtpp_dsl.sweeps.tables.figures import FigureRule, figure_of
from mtpp_dsl.sweeps.tables.measures import MEASURES, contradictions, measured
from mtpp_dsl.sweeps.tables.notes import lost, sets
from mtpp_dsl.sweeps.tables.runs import Runs, hint, plain, sorted_values

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#888888")
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008), with grey for yellow, which white swallows."""
STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX<>*"
MAX_PANELS = 12


MAX_GROUPS = 40
MAX_TICKS = 12
_AXES = {"value": "value", "seconds": "time", "cpu": "CPU time", "total": "time of the whole run"}


def draw_runs(runs: Runs, asked: PanelRequest, path: Path) -> list[str]:
    """Draw a picture of *runs* into *path*, a .png, .svg or .pdf.

    Returns:
        What must be said of it: methods that lack problems, answers that contradict each other.

    Raises:
        UsageError: the picture cannot be drawn, there is no such kind, or the runs have nothing to show in it.
    """
    check_picture(path)
    if asked.kind not in KINDS:
        raise UsageError(f"no picture is called {asked.kind!r}{hint(asked.kind, KINDS)}")
    if not len(runs):
        raise UsageError("there are no runs to draw")
    need("matplotlib", "plots")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    values = sorted_values(runs.field(asked.panels)) if asked.panels else [None]
    if len(values) > MAX_PANELS:
        raise UsageError(f"{asked.panels} has {len(values)} values: at most {MAX_PANELS} panels are drawn")
    columns = min(3, len(values))
    lines = -(-len(values) // columns)
    with rc_context({"svg.hashsalt": "mtpp", "font.size": 10, "savefig.dpi": 150}):
        figure = Figure(figsize=(7.2 if columns == 1 else 3.6 * columns, 4.4 * lines), layout="constrained")
        FigureCanvasAgg(figure)
        shared = asked.kind != "profile"  # panels of ratios have ranges of their own
        panels = list(figure.subplots(lines, columns, sharex=shared, sharey=True, squeeze=False).ravel())
        looks = _looks(sorted_values(runs.field("label")))
        for axes, value in zip(panels, values, strict=False):
            chosen = runs if value is None else runs.take(runs.places({asked.panels: value}))
            KINDS[asked.kind](axes, chosen, asked, looks)
            _finish(axes)
            if value is not None:
                axes.set_title(f"{asked.panels.rpartition('.')[2]} = {shown(plain(value))}", loc="left", fontsize=10)
        for axes in panels[len(values) :]:
            axes.set_visible(False)
        for axes in panels[: len(values)]:
            if shared:
                axes.label_outer()
        _legend(figure, panels[: len(values)])
        if asked.title:
            figure.suptitle(shown(asked.title), x=0.01, ha="left", fontsize=12)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, metadata=metadata)
    return [*lost(runs), *sets(runs, range(len(runs))), *contradictions(runs)]


def _looks(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, line and mark of each method: never the colour alone tells two apart."""
    return {
        label: {
            "color": COLOURS[n % len(COLOURS)],
            "linestyle": STYLES[n % len(STYLES)],
            "marker": MARKERS[n % len(MARKERS)],
        }
        for n, label in enumerate(labels)
    }


def _finish(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def _legend(figure: Any, panels: Sequence[Any]) -> None:
    """Draw one legend for all panels, below them."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    longest = max(map(len, handles), default=0)
    columns = max(1, min(6, len(handles), int(11 * figure.get_figwidth()) // (8 + longest)))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)


@dataclass(frozen=True)
class PanelRequest:
    """What a picture shows.

    Attributes:
        kind: one of :data:`KINDS`.
        show: the measure; "" for the one that suits the kind.
        x: the field along the horizontal axis; "" for the one that suits.
        panels: a field; there is a panel for each of its values. "" for one panel.
        to: of gaps: to the run's own ``bound`` or to the ``best`` plan.
        solved: of profiles of times: ``plan`` or ``proved``.
        best: what ratios are relative to.
        rule: how runs become one figure, for lines and bars.
        title: above the picture.
    """

    kind: str
    show: str = ""
    x: str = ""
    panels: str = ""
    to: str = "bound"
    solved: str = "plan"
    best: str = "all"
    rule: FigureRule = field(default_factory=FigureRule)
    title: str = ""


def shown(text: str) -> str:
    """Return text in which dollar signs do not begin mathematics."""
    return visible(text).replace("$", r"\$").replace("\n", " ")


def _band_in_legend(axes: Any) -> None:
    """Say in the legend what a band or a bar across a line is; once in all panels."""
    axes.fill_between([], [], color="#666666", alpha=0.3, linewidth=0, label="least to largest over seeds")


def _plain_log(axis: Any) -> None:
    """Make an axis logarithmic, with plain numbers at its marks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    narrow = low > 0 and high / low < 100
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _thicker(curves: dict[str, Curve]) -> dict[str, float]:
    """Return how much thicker each line is: of lines that are equal, those below are, so that all are seen."""
    points = {label: (curve.x.tobytes(), curve.y.tobytes()) for label, curve in curves.items()}
    left, thicker = Counter(points.values()), {}
    for label, curve in points.items():
        left[curve] -= 1
        thicker[label] = min(2.4 * left[curve], 9.6)
    return thicker


def _line_of(look: dict[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "linestyle": look["linestyle"]}


def _profile(axes: Any, runs: Runs, asked: PanelRequest, looks: dict[str, dict[str, Any]]) -> None:
    show = asked.show or "value"
    curves = profiles(runs, show, asked.solved)
    largest = max((curve.x.max() for curve in curves.values() if len(curve.x)), default=1.0)
    end = max(1.02, 1 + (largest - 1) * 1.05)
    thicker = _thicker(curves)
    for label, curve in curves.items():
        last = curve.y[-1:] if len(curve.y) else np.zeros(1)
        x, y = np.concatenate(([1.0], curve.x, [end])), np.concatenate(([0.0], curve.y, last))
        look = looks[label]
        axes.step(x, y, where="post", label=shown(label), linewidth=1.8 + thicker[label], **_line_of(look))
        if not np.isnan(curve.low).any() and len(curve.x):
            low, high = (np.concatenate(([0.0], edge, edge[-1:])) for edge in (curve.low, curve.high))
            axes.fill_between(x, low, high, step="post", color=look["color"], alpha=0.15, linewidth=0)
    if any(len(curve.x) and not np.isnan(curve.low).any() for curve in curves.values()):
        _band_in_legend(axes)
    axes.set_xlim(1 - 0.03 * (end - 1) if largest <= 4 else end**-0.03, end)
    if largest > 4:
        _plain_log(axes.xaxis)
    axes.set_ylim(-0.03, 1.06)
    what = {"value": "value / best value", "seconds": "time / shortest time", "cpu": "CPU time / least CPU time"}[show]
    axes.set_xlabel(f"τ: {what}")
    axes.set_ylabel("share of problems within τ")


def _gap(axes: Any, runs: Runs, asked: PanelRequest, looks: dict[str, dict[str, Any]]) -> None:
    curves = gaps(runs, asked.to)
    thicker = _thicker(curves)
    for label, curve in curves.items():
        look = looks[label]
        axes.step(
            curve.x,
            100 * curve.y,
            where="post",
            label=shown(label),
            linewidth=1.8 + thicker[label],
            **_line_of(look),
        )
        if not np.isnan(curve.low).any():
            axes.fill_between(
                curve.x, 100 * curve.low, 100 * curve.high, step="post", color=look["color"], alpha=0.15, linewidth=0
            )
    if not all(np.isnan(curve.low).any() for curve in curves.values()):
        _band_in_legend(axes)
    _plain_log(axes.xaxis)
    axes.set_ylim(-3, 103)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("mean gap to the bound (%)" if asked.to == "bound" else "mean distance from the best plan (%)")


def _size(axes: Any, runs: Runs, asked: PanelRequest, looks: dict[str, dict[str, Any]]) -> None:
    show, x = asked.show or "seconds", asked.x or "nodes"
    unit, per = _unit(runs, show)
    lost, points_of = False, sizes(runs, x, show)
    thicker = _thicker({label: points.medians for label, points in points_of.items()})
    for label, points in points_of.items():
        look = looks[label]
        axes.plot(
            points.x, points.y / per, linestyle="", marker=look["marker"], markersize=4, color=look["color"], alpha=0.35
        )
        medians = points.medians
        axes.plot(
            medians.x,
            medians.y / per,
            label=shown(label),
            color=look["color"],
            linestyle=look["linestyle"],
            marker=look["marker"],
            markersize=5 + thicker[label],
            linewidth=1.6 + thicker[label],
        )
        axes.vlines(medians.x, medians.low / per, medians.high / per, color=look["color"], linewidth=1, alpha=0.6)
        if show in ("seconds", "cpu", "total") and len(points.failed_x):
            axes.plot(points.failed_x, points.failed_y, linestyle="", marker="x", markersize=8, color=look["color"])
            lost = True
    if lost:
        axes.plot([], [], linestyle="", marker="x", color="#666666", label="failed, at its limit")
    _plain_log(axes.xaxis)
    _plain_log(axes.yaxis)
    axes.set_xlabel(x.rpartition(".")[2])
    axes.set_ylabel(_axis(show, unit))


def _line(axes: Any, runs: Runs, asked: PanelRequest, looks: dict[str, dict[str, Any]]) -> None:
    show = asked.show or "ratio"
    if not asked.x:
        raise UsageError("a line needs the field along its axis: --x params.k, or --x nodes")
    unit, per = _unit(runs, show)
    curves = along(runs, asked.x, show, asked.rule, asked.best)
    widest = max((curve.x.max() - curve.x.min() for curve in curves.values() if len(curve.x)), default=0.0)
    thicker = _thicker(curves)
    for n, (label, curve) in enumerate(curves.items()):
        look, spread = looks[label], ~np.isnan(curve.low)
        axes.plot(
            curve.x,
            curve.y / per,
            label=shown(label),
            markersize=5 + thicker[label],
            linewidth=1.6 + thicker[label],
            **look,
        )
        beside = curve.x[spread] + (n - (len(curves) - 1) / 2) * 0.006 * widest
        axes.vlines(beside, curve.low[spread] / per, curve.high[spread] / per, color=look["color"], linewidth=1.4)
    if not all(np.isnan(curve.low).all() for curve in curves.values()):
        axes.plot([], [], color="#666666", marker="|", markersize=9, linestyle="", label="least to largest over seeds")
    steps = sorted({float(x) for curve in curves.values() for x in curve.x})
    if len(steps) > 2 and steps[0] > 0 and steps[-1] / steps[0] >= 8:
        axes.set_xscale("log")
    if len(steps) <= MAX_TICKS:
        axes.set_xticks(steps, [f"{step:g}" for step in steps], minor=False)
        axes.set_xticks([], minor=True)
    if MEASURES[show].kind == "time":
        _plain_log(axes.yaxis)
    axes.set_xlabel(asked.x.rpartition(".")[2])
    axes.set_ylabel(_axis(show, unit))


def _bars(axes: Any, runs: Runs, asked: PanelRequest, looks: dict[str, dict[str, Any]]) -> None:
    show, by = asked.show or "ratio", asked.x or "problem"
    unit, per = _unit(runs, show)
    groups, labels = sorted_values(runs.field(by)), sorted_values(runs.field("label"))
    if len(groups) > MAX_GROUPS:
        raise UsageError(
            f"{by} has {len(groups)} values: at most {MAX_GROUPS} groups of bars are drawn; choose by --only"
        )
    measure, width, spread = measured(runs, show, asked.best), 0.8 / len(labels), False
    at: dict[tuple[Any, str], list[int]] = {}
    for i, (group, label) in enumerate(zip(runs.field(by), runs.field("label"), strict=True)):
        at.setdefault((group, label), []).append(i)
    for n, label in enumerate(labels):
        figures = [figure_of(runs, measure, at.get((group, label), []), asked.rule) for group in groups]
        x = np.arange(len(groups)) + (n - (len(labels) - 1) / 2) * width
        y, low, high = (np.array([getattr(f, name) for f in figures]) / per for name in ("value", "low", "high"))
        errors = np.nan_to_num(np.array([y - low, high - y]))
        spread = spread or bool(errors.any())
        axes.bar(
            x,
            y,
            width,
            yerr=errors if errors.any() else None,
            color=looks[label]["color"],
            label=shown(label),
            edgecolor="white",
            linewidth=0.5,
            hatch=("", "//", "..", "xx", "\\\\")[n % 5],
            error_kw={"linewidth": 1},
        )
        for place, figure in zip(x, figures, strict=True):
            if np.isnan(figure.value) and figure.runs:
                reason = figure.reasons[0][0] if figure.reasons else "nothing"
                axes.text(
                    place,
                    0,
                    f" {reason}",
                    rotation=90,
                    ha="center",
                    va="bottom",
                    fontsize=7,
                    transform=axes.get_xaxis_transform(),
                )
    if spread:  # errorbar, as legends have lines before bars
        axes.errorbar([], [], yerr=[], color="#666666", linestyle="", label="least to largest over seeds")
    axes.set_xlabel(by.rpartition(".")[2])
    axes.set_xticks(range(len(groups)), [shown(plain(group)) for group in groups])
    if len(groups) > 4:
        axes.tick_params(axis="x", rotation=30)
        for tick in axes.get_xticklabels():
            tick.set_horizontalalignment("right")
    axes.set_ylabel(_axis(show, unit))


def _unit(runs: Runs, show: str) -> tuple[str, float]:
    """Return the unit that fits a measure of these runs, and how many base units it is."""
    if show not in MEASURES:
        raise UsageError(f"no figure is called {show!r}{hint(show, MEASURES)}")
    kind = MEASURES[show].kind
    if kind == "share":
        return "%", 0.01
    if kind == "time":
        return "s", 1.0
    units = runs.units(range(len(runs)))
    base = {"bytes": "B", "value": units[0] if len(units) == 1 else ""}.get(kind, "")
    values = [value for value in measured(runs, show).values if np.isfinite(value)] if base else []
    return display_unit(values, base)


def _axis(show: str, unit: str) -> str:
    name = _AXES.get(show, MEASURES[show].head)
    return f"{name} ({unit})" if unit else name


KINDS: dict[str, Callable[[Any, Runs, PanelRequest, dict[str, dict[str, Any]]], None]] = {
    "profile": _profile,
    "gap": _gap,
    "size": _size,
    "line": _line,
    "bars": _bars,
}
"""What pictures there are."""
