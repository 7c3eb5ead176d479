"""Pictures of runs: every kind in every format, the same each time, with what must be said."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.pictures import COLOURS, KINDS, MARKERS, STYLES, PanelRequest, draw_runs
from mtpp_dsl.sweeps.tables.runs import Runs
from tests.sweeps.made_runs import columns

RUNS = Runs(
    columns(
        *(
            {
                "problem": f"p{k}$_{{x}}$",
                "params": {"k": k},
                "nodes": 10 * k,
                "label": label,
                "seed": seed,
                "value": 1.0 + k + 0.1 * seed,
                "log": [[0.1 * k, 2.0 + k, None], [0.2 * k, 1.0 + k + 0.1 * seed, 1.0]],
                "seconds": 0.3 * k,
            }
            for k in (2, 4)
            for label in ("heft", "sa")
            for seed in range(3 if label == "sa" else 1)
        ),
        {"problem": "p9", "params": {"k": 9}, "nodes": 90, "status": "memory", "value": None},
    )
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_the_same_each_time(kind, tmp_path):
    texts = []
    for name in ("a.svg", "b.svg"):
        said = draw_runs(RUNS, PanelRequest(kind, x={"line": "k", "bars": "problem"}.get(kind, "")), tmp_path / name)
        assert said == ["heft: of 3 runs, 1 out of memory.", "sa has no runs of 1 of 3 problems: p9."]
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    assert "<!-- heft -->" in texts[0]
    assert "<!-- sa -->" in texts[0]


def test_axes_say_what_they_show_and_in_which_unit(tmp_path):
    for asked, words in (
        (PanelRequest("profile"), ["value / best value", "share of problems within", "least to largest over seeds"]),
        (PanelRequest("gap"), ["time (s)", "mean gap to the bound (%)"]),
        (PanelRequest("size", panels="k"), ["nodes", "time (s)", "k = 2", "k = 4", "failed, at its limit"]),
        (PanelRequest("bars", "value"), ["value (s)", "problem", "out of memory", "least to largest over seeds"]),
        (PanelRequest("line", "value", x="k"), ["value (s)"]),
    ):
        draw_runs(RUNS, asked, tmp_path / "a.svg")
        text = (tmp_path / "a.svg").read_text()
        for word in words:
            assert f"<!-- {word}" in text or f"{word} -->" in text, (asked.kind, word)


def test_a_png_and_refusals(tmp_path):
    draw_runs(RUNS, PanelRequest("profile"), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    for asked, name, said in (
        (PanelRequest("profil"), "a.png", "did you mean 'profile'"),
        (PanelRequest("line"), "a.png", "--x params.k"),
        (PanelRequest("size", "valu"), "a.png", "did you mean 'value'"),
        (PanelRequest("profile"), "a.gif", "a picture ends in"),
    ):
        with pytest.raises(UsageError, match=said):
            draw_runs(RUNS, asked, tmp_path / name)


def test_two_methods_differ_in_more_than_their_colour():
    looks = [(COLOURS[n % len(COLOURS)], STYLES[n % len(STYLES)], MARKERS[n % len(MARKERS)]) for n in range(40)]
    assert len({(style, mark) for _, style, mark in looks[:10]}) == 10
    assert len(set(looks)) == 40


@pytest.mark.parametrize("kind", ["profile", "gap", "size", "line"])
def test_equal_methods_are_all_seen(kind):
    """Where methods are equal, none of their lines lies on an edge or wholly below another one."""
    from matplotlib.figure import Figure

    asked = {"nodes": 10, "value": 1.0, "log": [[0.1, 1.0, 1.0]], "seconds": 0.1}
    runs = Runs(columns(*({"problem": "p", "label": label, **asked} for label in ("heft", "sa", "ideals"))))
    axes = Figure().subplots()
    looks = {
        label: {"color": COLOURS[i], "linestyle": STYLES[i], "marker": MARKERS[i]}
        for i, label in enumerate(("heft", "sa", "ideals"))
    }
    KINDS[kind](axes, runs, PanelRequest(kind, x="nodes"), looks)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for line in axes.lines:
        assert low < line.get_ydata().min() <= line.get_ydata().max() < high
        assert left <= line.get_xdata().min() <= line.get_xdata().max() <= right
    widths = [line.get_linewidth() for line in axes.lines if line.get_linestyle() != "None"]
    assert len(widths) == 3
    assert widths == sorted(set(widths), reverse=True)
