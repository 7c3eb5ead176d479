"""Pictures of many runs, by matplotlib: profiles, gaps over time, times against sizes, lines and bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.show.pictures.plotting import check_picture
from mtpp_dsl.sweeps.tables.measures import contradictions
from mtpp_dsl.sweeps.tables.notes import lost, sets
from mtpp_dsl.sweeps.tables.panels import KINDS, PanelRequest, shown
from mtpp_dsl.sweeps.tables.runs import Runs, hint, plain, sorted_values

__all__ = ["PanelRequest", "draw_runs"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#888888")
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008), with grey for yellow, which white swallows."""
STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "osD^vPX<>*"
MAX_PANELS = 12


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
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    longest = max(map(len, found), default=0)
    columns = max(1, min(6, len(found), int(11 * figure.get_figwidth()) // (8 + longest)))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False)
