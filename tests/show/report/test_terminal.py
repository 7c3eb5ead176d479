"""What a terminal shows: whole names and figures at every width, and the snapshots of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

import mtpp_dsl
from mtpp_dsl.core.plans.result import Bound, Infeasibility
from mtpp_dsl.show.report.columns import ColumnsRow, facts, table, wrapped
from mtpp_dsl.show.report.terminal import summary
from tests.screens import CASES, SNAPSHOTS, screens
from tests.tools.snapshots import snapshot
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"
SAID = ("more", "with", "that", "do", "nothing", "less", "nodes")
WORDS = st.text("ab[].", min_size=1, max_size=70)


@pytest.mark.parametrize("case", CASES)
def test_snapshot(case: str) -> None:
    """Every case looks as it is kept (python -m tests.tools.snapshots draws them again; look at what changes)."""
    assert snapshot(case) == (SNAPSHOTS / f"{case}.txt").read_text(encoding="utf-8")


def test_what_is_streamed_is_shown_with_what_explains_it() -> None:
    """Caches and outputs do not count for streaming, so the parameters alone stand beside the memory."""
    problem = mtpp_dsl.load("""graph {
      node a (work = 1 ms, params = 9 GB, cache = 2 GB, output = 1 GB)
      node b (work = 1 ms, params = 3 GB, cache = 2 GB)
      edge a -> b
    }
    device d[2] (memory = 6 GB, reserve = 1 GB)
    interconnect shared (bandwidth = 1 GB/s, overflow = stream)
    minimize bottleneck
    constraint pin a on d[0]
    constraint pin b on d[1]
    """)
    text = "\n".join(line.plain for line in summary(problem, mtpp_dsl.solve(problem, time_limit=10)))
    assert "params 9 GB + 1 GB of 6 GB" in text
    assert "params 3 GB + 1 GB of 6 GB" in text
    assert "streamed: d[0] 4 GB\n" in text


def test_every_snapshot_is_a_case() -> None:
    """No file is left over from a case that is gone."""
    assert {path.stem for path in SNAPSHOTS.iterdir()} == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_cut(case: str) -> None:
    """No name and no figure of a pipe is cut at any width, and no line is wider than the terminal but for one word."""
    shown = dict(screens(case))
    whole = "\n".join(line.plain for line in summary(*CASES[case](), whole=True))
    words = set(re.sub(r"[^\w\[\].%/]", " ", whole).split())
    for width, text in shown.items():
        if width is None:
            continue
        for line in text.splitlines():
            assert len(line) <= width or len(line.split()) == 1, line
        for word in re.sub(r"[^\w\[\].%/]", " ", text).split():
            if numbered := re.fullmatch(r"(.*?\d+)\.\.\d+", word):  # modules that are whole take one place
                assert any(name.startswith(f"{numbered[1]}.") for name in words), word
                continue
            assert word in words or word.isdigit() or word in SAID, word


@pytest.mark.parametrize(("name", "n"), [("v", 140), ("a_module_with_a_long_name", 9)])
def test_long_critical_paths_are_shortened(name: str, n: int) -> None:
    """The beginning, how many are left out, and the end fill three lines; the whole path is there where asked for."""
    problem = mtpp_dsl.load(
        f"graph {{ node {name}[{n}] (work = 1 ms) edge {name}[i] -> {name}[i + 1] for i in 0..<{n - 1} }} "
        "device d interconnect links (bandwidth = 1) minimize makespan"
    )
    result = mtpp_dsl.solve(problem, method="heft")
    for width in (None, 80, 200):
        lines = [line.plain for line in summary(problem, result, width)]
        first = next(i for i, line in enumerate(lines) if line.startswith("critical path")) + 1
        last = next(i for i, line in enumerate(lines) if line.startswith(("bound", "ended")))
        path = " ".join(" ".join(lines[first:last]).split())
        assert last - first <= 3
        assert sum(map(len, lines[first:last])) <= 3 * (width or 135)
        named = [word for word in path.split(" -> ") if "more" not in word]
        left_out = re.search(r"… (\d+) more …", path)
        assert len(named) + (int(left_out[1]) if left_out else 0) == n
        assert named[0].startswith(problem.graph.names[0])
        assert named[-1] == problem.graph.names[-1]
    whole = "\n".join(line.plain for line in summary(problem, result, whole=True))
    assert all(node in whole for node in problem.graph.names)


def test_all_devices_and_names_are_in_a_pipe() -> None:
    """Where no terminal limits it, nothing is left out: every device has a line, with every one of its nodes."""
    problem, _ = CASES["many_devices"]()
    text = dict(screens("many_devices"))[None]
    assert all(name in text for name in problem.graph.names)
    assert all(f"\n{device.name} " in text for device in problem.devices)


@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS, st.lists(WORDS, max_size=9)), min_size=1, max_size=4), st.integers(20, 220)
)
def test_rows_keep_their_words(cells: list[tuple[str, str, str, list[str]]], width: int) -> None:
    """Whatever the words and the width, every word stays whole, and only a word alone is wider than the terminal."""
    rows = [
        ColumnsRow(Text(name), lambda cells: Text("#" * cells), (Text(one), Text(two)), Text(" ".join(more)))
        for name, one, two, more in cells
    ]
    for columns in (width, None):
        lines = [line.plain for line in table(rows, columns, 28, 10)]
        words = " ".join(lines).split()
        wanted = [word for name, one, two, more in cells for word in (name, one, two, *more)]
        assert [word for word in words if word != "·" and word.strip("#")] == wanted
        if columns is None:
            assert len(lines) == len(rows)
        else:
            longest = 2 + max(len(one) for _, one, _, _ in cells)  # the first figure always stands beside the bar
            assert all(len(line) <= max(columns, longest) or len(line.split()) == 1 for line in lines)


@given(st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1)), min_size=1, max_size=4), st.integers(20, 220))
def test_facts_keep_their_words(pairs: list[tuple[str, list[str]]], width: int) -> None:
    """Labels and the words beside them, or below them, stay whole."""
    lines = [line.plain for line in facts(((label, Text(" ".join(words))) for label, words in pairs), width)]
    assert " ".join(lines).split() == [word for label, words in pairs for word in (label, *words)]


def test_figures_keep_their_units() -> None:
    """A line never ends between a figure and its unit, and a long word is indented less where that helps."""
    lines = [line.plain for line in wrapped(Text("no more than 14.465 ms in all"), 15)]
    assert lines == ["no more than", "14.465 ms in", "all"]
    assert [line.plain for line in wrapped(Text("x" * 19), 20, indent=4)] == [" " + "x" * 19]


def test_an_ending_without_a_plan_is_no_gap() -> None:
    """A bound whose own search has ended within its gap has no gap to a plan."""
    problem = mtpp_dsl.load(QUICK)
    result = mtpp_dsl.Result("gap", bound=Bound(0.01, "guess", "trusted", "highs"), time={"total": 0.1})
    shown = "\n".join(line.plain for line in summary(problem, result))
    assert "ran to its end, without a plan" in shown
    assert "within the gap" not in shown


def test_equal_constraints_that_clash_are_counted() -> None:
    """Those of a target, one for each layer, are told once."""
    why = Infeasibility("no plan", ("memory", *["colocate (target llama-cpp)"] * 30))
    result = mtpp_dsl.Result("infeasible", infeasibility=why, time={"total": 0.1})
    shown = [line.plain.strip() for line in summary(mtpp_dsl.load(QUICK), result)]
    assert shown[3:6] == ["these cannot all hold:", "memory", "colocate (target llama-cpp), 30 times"]
