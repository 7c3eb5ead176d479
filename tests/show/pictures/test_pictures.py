"""Pictures for papers: what they hold, that nothing overlaps in them, and that their files are the same every time."""

from __future__ import annotations

import re
import warnings
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.front import Front
from mtpp_dsl.core.plans.result import LogEntry, Result
from mtpp_dsl.show.pictures.canvas import COLUMN, PAGE, Picture, short
from mtpp_dsl.show.pictures.plotting import KINDS, parse_plot, why_not
from mtpp_dsl.show.report.palette import paler, stage_tint
from mtpp_dsl.show.report.terminal import summary
from tests.amount import stride
from tests.hostile_names import HOSTILE, hostile_problem
from tests.show.page.answers import ANSWERS
from tests.show.pictures.answers import answer


def texts(figure: Picture) -> list[str]:
    """Return what is written in a picture."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that of a character that the font lacks
        figure.draw_without_rendering()
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    for axes in figure.axes:
        found += [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
        found += [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")]
    found += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return [*found, figure.get_suptitle()]


def assert_apart(figure: Picture) -> None:
    """The names of rows, and what is written beside lines, do not touch each other, and all of it is on the paper."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        low, high = sorted(axes.get_ylim())
        labels = [label for label in axes.get_yticklabels() if low <= label.get_position()[1] <= high]
        boxes = [label.get_window_extent(renderer) for label in labels if label.get_text()]
        for one, other in pairwise(sorted(boxes, key=lambda box: box.y0)):
            assert other.y0 >= one.y1 - 1.0
        notes = [text.get_window_extent(renderer) for text in axes.texts]
        for one, other in combinations(notes, 2):
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            assert across <= 1 or min(one.y1, other.y1) - max(one.y0, other.y0) <= 2
        for box in (*boxes, *notes):
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.x1
            assert box.y1 <= figure.bbox.y1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["one", "two", "many"])
def test_loads(name: str) -> None:
    """A row for each stage, with the bottleneck and the bound; memory is beside where it is limited."""
    result = answer(name)
    figure = result.plot()
    found = texts(figure)
    assert "time per input (ms)" in found
    assert any(text.startswith("bottleneck ") for text in found)
    assert any(text.startswith("bound ") for text in found)
    assert result.problem is not None
    limited = result.problem.devices[0].memory is not None
    assert len(figure.axes) == 1 + limited
    assert figure.get_figwidth() == pytest.approx(PAGE if limited else COLUMN)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == len(set(names)) == sum(result.evaluation.used)  # type: ignore[union-attr]
    assert all(len(text) <= 22 for text in names)
    assert_apart(figure)


def test_bars_are_the_loads() -> None:
    """The bars of a row end where the load of its stage ends, in the unit of the axis."""
    result = answer("two")
    assert result.evaluation is not None
    axes = result.plot().axes[0]
    ends: dict[float, float] = {}
    for patch in axes.patches:
        middle = round(patch.get_y() + patch.get_height() / 2, 3)
        ends[middle] = max(ends.get(middle, 0.0), patch.get_x() + patch.get_width())
    order = result.plan.order  # type: ignore[union-attr]
    assert order is not None
    assert [ends[y] for y in sorted(ends)] == pytest.approx([1e3 * result.evaluation.load[d] for d in order])


def test_parallel_transfers_are_beside_work() -> None:
    """Where transfers overlap with work they are bars of their own, and channels are rows below."""
    figure = answer("links").plot()
    assert any(" -> " in text for text in texts(figure))
    longest = max(patch.get_x() + patch.get_width() for patch in figure.axes[0].patches)
    result = answer("links")
    assert result.evaluation is not None
    assert longest == pytest.approx(1e3 * result.evaluation.bottleneck)


def test_gantt_has_sensible_units() -> None:
    """Times of milliseconds are in milliseconds, not in hundred thousandths of seconds; nodes have their names."""
    figure = answer("makespan").plot()
    found = texts(figure)
    assert "time (ms)" in found
    assert "v[0]" in found
    assert "critical path" in found
    assert_apart(figure)


def test_objectives_have_the_units_of_the_spec() -> None:
    """Of an objective in bytes, what is printed, explained and drawn is in GB where the spec is, else in GiB."""
    spec = """graph { node v[i in 0..1] (work = 1 ms, params = 2 GB) }
        device d[2] (memory = 3 GB)
        interconnect shared (bandwidth = 1 GB/s)
        minimize held: sum(params(v) * on(v, d[1]) for v in nodes)
        constraint memory"""
    for text, unit in ((spec, "GB"), (spec.replace("GB", "GiB"), "GiB")):
        problem = mtpp_dsl.load(text)
        result = mtpp_dsl.solve(problem, "exact")
        shown = [line.plain for line in summary(problem, result)]
        assert [line.split()[1:3] for line in shown if line.startswith(("held", "bound"))] == [["2", unit]] * 2
        assert {f"held 2 {unit}, optimal", f"plan\n2 {unit}"} <= set(texts(result.plot(kind="gap")))
        assert f"held 2 {unit}" in repr(result)
        words = mtpp_dsl.explain(problem, result, only=["bottleneck"]).words()
        assert all(f" 2 {unit}" in line for line in words), words


def test_pipelines_and_iterations_have_charts_too() -> None:
    """A split is drawn over several microbatches, an iteration pass by pass; stages have the colours of the page."""
    found = texts(answer("two").plot(kind="gantt", microbatches=3))
    assert any("3 microbatches, one every" in text for text in found)
    assert {"1", "2", "3"} <= set(found)
    from matplotlib.colors import to_hex

    figure = answer("iteration").plot(kind="gantt")
    assert {"forward pass, in the colour of its stage", "backward pass, in a paler one"} <= set(texts(figure))
    drawn = {to_hex(colour) for bars in figure.axes[0].collections for colour in bars.get_facecolor()}
    stages = [stage_tint(i) for i in range(len(figure.axes[0].get_yticks()))]
    assert {fill for tint in stages for fill in (tint.fill(), paler(tint).fill())} <= drawn


def test_graph() -> None:
    """Every node of a small graph is in the picture, every stage has its column; of a large one modules are folded."""
    found = texts(answer("two").plot(kind="graph"))
    assert {f"v[{i}]" for i in range(4)} <= set(found)
    assert any("of_a_cluster" in text or "…" in text for text in found)
    assert any("nodes, runs" in text for text in found)


def test_gap() -> None:
    """Plan and bound over time end at their values, which stand beside their lines, apart from each other."""
    problem = answer("two").problem
    assert problem is not None
    log = (LogEntry(0.01, None, 0.002), LogEntry(0.02, 0.005, 0.002), LogEntry(3.0, 0.004, 0.0039))
    figure = mtpp_dsl.Result("time_limit", log=log, time={"total": 4.0}).of(problem).plot()
    found = texts(figure)
    assert "plan\n4 ms" in found
    assert "bound\n3.9 ms" in found
    assert not any("mathdefault" in text for text in found)
    assert_apart(figure)
    for early, late in ((0.001, 0.004), (0.009, 0.004)):  # both end at the top of the picture, or at its bottom
        met = (
            LogEntry(0.01, None, min(early, late)),
            LogEntry(0.02, max(early, late), early),
            LogEntry(3.0, late, late),
        )
        assert_apart(mtpp_dsl.Result("complete", log=met, time={"total": 4.0}).of(problem).plot(kind="gap"))


def test_hostile_names() -> None:
    """No name breaks a picture, or its XML, or is taken for mathematics; long ones are shortened."""
    problem = hostile_problem()
    result = mtpp_dsl.solve(problem, "ideals", time_limit=2)
    for kind in ("loads", "graph"):
        figure = result.plot(kind=kind)  # type: ignore[arg-type]
        assert not any("\u202e" in text or "\n\n" in text or len(text) > 200 for text in texts(figure))
        assert ElementTree.fromstring(figure._repr_svg_()).tag.endswith("svg")
    assert all(len(short(name, 20)) <= 20 for name in HOSTILE)


def test_files_are_the_same_every_time(tmp_path: Path) -> None:
    """Files have no date, fonts are embedded as outlines, and colours do not depend on the user's settings."""
    import matplotlib as mpl

    result = answer("two")
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        one, other = tmp_path / f"one{suffix}", tmp_path / f"other{suffix}"
        result.plot(one)
        with mpl.rc_context({"font.size": 30, "text.usetex": True, "pdf.fonttype": 3}):
            result.plot(other)
        assert one.read_bytes().startswith(start)
        assert one.read_bytes() == other.read_bytes()
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert b"CIDFontType2" in pdf
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf
    assert not re.search(rb"<dc:date>", (tmp_path / "one.svg").read_bytes())


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("infeasible", None, "no plan exists: "),
        ("infeasible", "loads", "no plan exists"),
        ("one", "memory", "no device has a memory"),
        ("makespan", "loads", "ask for gantt"),
        ("one", "lods", "did you mean 'loads'"),
        ("one", "zzz", "there are loads, gantt, graph, gap, memory, front"),
        ("one", "front", "one answer is no front"),
    ],
)
def test_answers_without_a_picture_are_refused(name: str, kind: str | None, reason: str) -> None:
    """What cannot be drawn is refused, with the reason."""
    with pytest.raises(UsageError, match=reason):
        answer(name).plot(kind=kind)  # type: ignore[arg-type]


def test_an_answer_without_plan_bound_and_proof_has_no_picture() -> None:
    """Nothing was found: that is said."""
    problem = answer("one").problem
    assert problem is not None
    with pytest.raises(UsageError, match="nothing was found over time"):
        Result("time_limit").of(problem).plot()


def test_microbatches_are_for_charts() -> None:
    """A number of microbatches is not ignored."""
    with pytest.raises(UsageError, match="gantt"):
        answer("two").plot(kind="loads", microbatches=3)


def test_every_kind_of_an_answer() -> None:
    """What is not refused is drawn."""
    result = answer("iteration")
    assert result.problem is not None
    for kind in KINDS:
        if why_not(result.problem, result, kind) is None:
            assert texts(result.plot(kind=kind))  # type: ignore[arg-type]


def drawn(result: Result, kind: str) -> Picture | str:
    """Return a picture, or why there is none."""
    try:
        return result.plot(kind=kind)  # type: ignore[arg-type, no-any-return]
    except UsageError as error:
        return str(error)


def test_every_kind_of_every_answer() -> None:
    """Of answers of every kind, each picture is made, or refused with a reason; nothing else is raised."""
    made: set[str] = set()
    for number, name in enumerate(list(ANSWERS)[:: stride(6)]):
        problem, result = ANSWERS[name]()
        for kind in KINDS:
            found = drawn(result, kind)
            if isinstance(found, str):
                assert found.startswith(f"no picture of kind {kind}: "), name
                continue
            assert why_not(problem, result, kind) is None, (name, kind)
            assert number % stride(8) or texts(found), (name, kind)
            made.add(kind)
    assert made == {*KINDS} - {"front"}


def test_empty_fronts_are_refused() -> None:
    """A front without points has no picture."""
    problem = answer("two").problem
    assert problem is not None
    with pytest.raises(UsageError, match="no points"):
        Front(problem).plot()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("grpah:x.svg", "did you mean 'graph'"), ("x.gif", "a picture ends in"), ("graph:", "a picture ends in")],
)
def test_forms_that_are_refused(text: str, reason: str) -> None:
    """A kind that there is not, and a file that cannot be drawn, are refused."""
    with pytest.raises(UsageError, match=reason):
        parse_plot(text)


def test_forms_of_files() -> None:
    """A path with a colon is a path."""
    assert parse_plot("./a:b.svg") == (None, Path("./a:b.svg"))
    assert parse_plot("C:/x.svg")[0] is None
    assert parse_plot("gap:a:b.svg") == ("gap", Path("a:b.svg"))


def test_bounds_alone_are_drawn_over_time() -> None:
    """An answer with a bound and no plan shows how the bound rose."""
    problem = answer("two").problem
    assert problem is not None
    result = Result("time_limit", log=(LogEntry(0.1, None, 0.002), LogEntry(1.0, None, 0.003)), time={"total": 2.0})
    assert "bound\n3 ms" in texts(result.of(problem).plot())
