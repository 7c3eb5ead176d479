"""Where boxes and lines of the graph are: nothing overlaps, lines end at boxes, and the same comes out every time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.forest import Forest, forest
from mtpp_dsl.show.page.layout.lines import bundled, labelled
from mtpp_dsl.show.page.layout.paths import caption, paths_of
from mtpp_dsl.show.page.layout.places import Box, PlacedBoxes, arranged, opened


def problem_of(names: list[str], edges: list[tuple[int, int]], k: int = 3, labels: list[str] | None = None) -> Problem:
    """Return a problem with these nodes, each of which takes as long as its number says."""
    graph = Graph.create(names, edges, work=np.arange(len(names)) + 1.0, output=8.0, labels=labels)
    return Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), Objective("bottleneck"))


@st.composite
def placed_problems(draw: st.DrawFn) -> tuple[Problem, Plan | None]:
    """Draw a graph of up to 60 nodes with nested names, and a plan or none."""
    n = draw(st.integers(1, 60))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    form = draw(st.sampled_from(["n{v}", "block.{b}.part{v}", "f[{v}]", "layer[{b}].g{c}.x{v}"]))
    names = [form.format(v=v, b=v // 7, c=v % 3) for v in range(n)]
    edges = sorted({tuple(sorted(random.choice(n, 2, replace=False).tolist())) for _ in range(2 * n)}) if n > 1 else []
    problem = problem_of(names, [(int(u), int(v)) for u, v in edges])
    if draw(st.booleans()):
        return problem, None
    return problem, Plan.create(problem, np.sort(random.integers(0, problem.k, n)))


def inside(outer: Box, inner: Box) -> bool:
    across = outer.x <= inner.x and inner.x + inner.width <= outer.x + outer.width
    return across and outer.y <= inner.y and inner.y + inner.height <= outer.y + outer.height


def apart(a: Box, b: Box) -> bool:
    aside = a.x + a.width <= b.x or b.x + b.width <= a.x
    return aside or a.y + a.height <= b.y or b.y + b.height <= a.y


def check(found: Forest, picture: PlacedBoxes) -> None:
    """Complain about boxes that overlap, or are not in that of their module."""
    for box in picture.boxes.values():
        parent = found.parent[box.item]
        if parent >= 0:
            assert inside(picture.boxes[parent], box)
        seen = [picture.boxes[child] for child in found.children[box.item] if child in picture.boxes]
        assert bool(seen) == box.open
        assert all(apart(a, b) for a, b in combinations(seen, 2))
    columns = [picture.boxes[column] for column in range(found.columns)]
    assert all(apart(a, b) for a, b in combinations(columns, 2))


@given(placed_problems(), st.data())
@settings(max_examples=80, deadline=None)
def test_boxes_and_lines(case: tuple[Problem, Plan | None], data: st.DataObject) -> None:
    """Whatever is open: boxes lie in each other or apart, every node is in one that is seen, and lines join boxes."""
    problem, plan = case
    found = forest(problem, plan)
    assert sorted(node for node in found.node if node >= 0) == list(range(problem.graph.n))
    modules = [item for item in range(found.columns, found.n) if found.node[item] < 0]
    chosen = data.draw(st.sets(st.sampled_from(modules))) if modules else set()
    for open_items in (opened(found), set(range(found.columns)) | chosen):
        picture = arranged(found, open_items)
        check(found, picture)
        lines = bundled(found, picture, [1.0] * len(found.source))
        for line in lines:
            (x, y), (to, end) = line.points[0], line.points[-1]
            a, b = picture.boxes[line.source], picture.boxes[line.target]
            assert line.source != line.target
            for box, p, q in ((a, x, y), (b, to, end)):
                assert p in (box.x, box.x + box.width / 2, box.x + box.width)
                assert q in (box.y, box.y + box.height / 2, box.y + box.height)
        every = {(line.source, line.target) for line in lines}
        for s, t in zip(found.source, found.target, strict=True):
            ends = shown(found, picture, s), shown(found, picture, t)
            assert ends[0] == ends[1] or ends in every
        assert len(labelled(lines, found, picture)) <= len(lines)


def shown(found: Forest, picture: PlacedBoxes, item: int) -> int:
    """Return the box that is seen for an item: of those above it that are seen, the innermost."""
    while item not in picture.boxes:
        item = found.parent[item]
    return item


@given(placed_problems())
@settings(max_examples=20, deadline=None)
def test_the_same_every_time(case: tuple[Problem, Plan | None]) -> None:
    """Two layouts of a problem are equal."""
    one, other = (forest(*case) for _ in range(2))
    assert (one.parent, one.row, one.node, one.name) == (other.parent, other.row, other.node, other.name)
    assert arranged(one, opened(one)).boxes == arranged(other, opened(other)).boxes


def test_rows_go_down() -> None:
    """Within a module an edge of the graph leads to a lower box, and parallel branches stand side by side."""
    problem = problem_of(["a", "b", "c", "d"], [(0, 1), (0, 2), (1, 3), (2, 3)], 1)
    found = forest(problem, Plan.create(problem, [0] * 4))
    boxes = arranged(found, opened(found)).boxes
    place = {found.node[item]: box for item, box in boxes.items() if found.node[item] >= 0}
    assert place[0].y < place[1].y == place[2].y < place[3].y
    assert place[1].x < place[2].x


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["model.layers.3.attn.q"], [("model", "layers", "layers.3", "attn")]),
        (["text[0]", "text[1]"], [("text[]",), ("text[]",)]),
        (["attn[0]", "mlp[0]", "attn[1]", "mlp[1]"], [("[]", "[0]"), ("[]", "[0]"), ("[]", "[1]"), ("[]", "[1]")]),
        (["1", "2"], [("layer 0",), ("layer 0", "head 1")]),
    ],
)
def test_modules_by_name(names: list[str], expected: list[tuple[str, ...]]) -> None:
    """Modules come from dots, brackets, interleaved families, or labels where the names say nothing."""
    labels = ["layer 0 norm", "layer 0 head 1 query"] if names[0] == "1" else None
    chain = [(v, v + 1) for v in range(len(names) - 1)]
    assert paths_of(problem_of(names, chain, labels=labels).graph) == expected


def test_labels_of_a_few_nodes_are_no_modules() -> None:
    """Where the labels of few nodes have dots, as those of weights, modules do not come from labels."""
    graph = problem_of(["1", "2", "3"], [(0, 1), (1, 2)], labels=["bert.pooler.bias", "Add1", "MatMul2"]).graph
    assert paths_of(graph) == [(), (), ()]


def test_a_tensor_counts_once() -> None:
    """Two readers of one tensor in a folded module make a line of one tensor, in another column one each."""
    names = ["a", *(f"block.x{i}" for i in range(12))]
    problem = problem_of(names, [(0, i) for i in range(1, 13)], 2)
    found = forest(problem, Plan.create(problem, [0] + [1] * 12))
    picture = arranged(found, [0])
    (line,) = bundled(found, picture, [8.0] * len(found.source))
    assert (line.tensors, line.size) == (1, 8.0)


def test_many_nodes_are_folded_at_first() -> None:
    """Of 20,000 nodes without modules few boxes are shown, every module has few members, and it is quick."""
    n = 20_000
    problem = problem_of([f"{v}" for v in range(n)], [(v, v + 1) for v in range(n - 1)], 4)
    found = forest(problem, Plan.create(problem, np.arange(n) * 4 // n))
    assert len(arranged(found, opened(found)).boxes) < 100
    assert max(len(children) for children in found.children) <= 14


def test_captions() -> None:
    """Names that say nothing have their labels beside them, and blank ones a number."""
    labels = ["relu", "relu", "relu", "relu", ""]
    graph = problem_of(["7", "v[3]", "conv1.a", " ", "x"], [(0, 1)], labels=labels).graph
    assert [caption(graph, v) for v in range(5)] == ["7 relu", "v[3] relu", "conv1.a", "(node 4)", "x"]


def test_lines_near_each_other_are_all_labelled() -> None:
    """Lines beside each other below the stages that they pass, and lines that cross, have labels at other places."""
    beside = problem_of([f"{stage}{row}" for stage in "abcde" for row in range(4)], [(v, 16 + v) for v in range(4)], 5)
    across = problem_of(["a0", "a1", "a2", "b0", "b1", "b2"], [(0, 1), (1, 2), (3, 4), (4, 5), (0, 5), (2, 3)], 2)
    for problem, stages, count in ((beside, np.arange(20) // 4, 4), (across, np.arange(6) // 3, 2)):
        found = forest(problem, Plan.create(problem, stages))
        picture = arranged(found, range(found.n))
        lines = bundled(found, picture, [8.0] * len(found.source))
        assert len(labelled(lines, found, picture)) == count
