"""Formats that go both ways: what was written is read back as it was."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.exchange.formats.reading import read
from mtpp_dsl.exchange.formats.workload import Workload
from tests.small_models import gpt

NUMBER = st.one_of(st.just(0.0), st.floats(0, 1e12), st.integers(0, 10**15).map(float))
TEXT = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=8).filter(str.isprintable)
COLUMNS = ("tails", "heads", "work", "params", "output", "memory", "sizes", "colors", "backward", "saved", "state")
MORE = ("reduce", "forward_share", "deviation", "deviation_share")


@st.composite
def graphs(draw: st.DrawFn, *, operators: bool = False) -> Graph:
    """Return a graph with anything that a file can say."""
    n = draw(st.integers(1, 5))
    names = draw(st.lists(TEXT.filter(bool), min_size=n, max_size=n, unique=True))
    edges = sorted(draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1]))))
    work_unit, size_unit = draw(st.sampled_from([("s", "B"), ("", ""), ("FLOP", "B"), ("", "B")]))
    column = st.lists(NUMBER, min_size=n, max_size=n)
    perhaps = st.one_of(st.none(), column)
    kinds = draw(st.lists(TEXT, min_size=n, max_size=n))
    options = {what: draw(perhaps) for what in ("memory", "saved", "state")}
    options |= {what: draw(column) for what in ("work", "params", "output", "reduce")}
    if draw(st.booleans()):
        options["times"] = {draw(TEXT.filter(bool)): [draw(st.one_of(NUMBER, st.just(np.inf))) for _ in range(n)]}
    if draw(st.booleans()):
        options["deviation_share"] = draw(st.lists(st.one_of(st.just(np.nan), NUMBER), min_size=n, max_size=n))
        options["deviation"] = np.where(np.isnan(options["deviation_share"]), 0.5, np.nan)
    owners = sorted(draw(st.lists(st.integers(0, n - 1), max_size=6, unique=not operators)))
    if owners:
        numbers = [
            draw(st.lists(st.one_of(st.just(np.nan), NUMBER), min_size=len(owners), max_size=len(owners)))
            for _ in range(3)
        ]
        words = draw(st.lists(TEXT.filter(bool), min_size=len(owners), max_size=len(owners)))
        options["costs"] = Costs.create(
            owners,
            flop=numbers[0],
            read=numbers[1],
            write=numbers[2],
            kinds=words if operators else [kinds[v] for v in owners],
            dtypes=words,
            weight_types=words,
            names=words if operators else None,
        )
    return Graph.create(
        names,
        edges,
        sizes=[draw(st.one_of(st.none(), NUMBER)) for _ in edges],
        kinds=kinds,
        labels=draw(st.lists(TEXT, min_size=n, max_size=n)),
        colors=draw(st.lists(st.integers(-1, 9), min_size=n, max_size=n)),
        backward=draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        work_unit=work_unit,
        size_unit=size_unit,
        memory_unit=draw(st.sampled_from([size_unit, "B", ""])),
        **options,  # type: ignore[arg-type]
    )


def same(one: Graph, other: Graph) -> None:
    """Hold that two graphs are equal in all that a file can say."""
    assert (one.names, one.kinds, one.labels) == (other.names, other.kinds, other.labels)
    for column in (*COLUMNS, *MORE):
        assert np.array_equal(getattr(one, column), getattr(other, column), equal_nan=True), column
    assert (one.work_unit, one.size_unit, one.memory_unit) == (other.work_unit, other.size_unit, other.memory_unit)
    assert one.times.keys() == other.times.keys()
    assert all(np.array_equal(one.times[kind], other.times[kind]) for kind in one.times)
    assert one.costs == other.costs


def back(graph: Graph, format_name: str, name: str) -> Graph:
    """Return a graph written and read back."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        registry.load(registry.FORMATS, format_name)().write(Workload(graph), path)
        return read(path).graph


@pytest.mark.parametrize(("format_name", "name"), [("csv", "a.nodes.csv"), ("dot", "a.dot"), ("graph", "a.json")])
@settings(max_examples=30)
@given(graph=graphs())
def test_graphs(format_name: str, name: str, graph: Graph) -> None:
    same(back(graph, format_name, name), graph)


@settings(max_examples=30)
@given(graphs(operators=True), st.floats(0.5, 9))
def test_operators_and_phases_in_json(graph: Graph, weight: float) -> None:
    same(back(graph, "graph", "a.json"), graph)
    phased = phased_graph({"a": graph, "b": graph}, {"b": weight})
    again = back(phased, "graph", "a.json")
    same(again, phased)
    for one, other in zip(again.phases, phased.phases, strict=True):
        assert (one.name, one.weight) == (other.name, other.weight)
        same(one.graph, other.graph)


def test_what_a_form_cannot_say_is_refused(tmp_path: Path) -> None:
    layers = Workload(gpt(2).graph(group_by="layer"))
    for format_name, name in (("csv", "nodes.csv"), ("dot", "a.dot")):
        with pytest.raises(UsageError, match=r"cannot say costs of several operators of one node, such as transformer"):
            registry.load(registry.FORMATS, format_name)().write(layers, tmp_path / name)
    with pytest.raises(UsageError, match="a graph in CSV is a pair"):
        registry.load(registry.FORMATS, "csv")().write(Workload(Graph.create(["a"], [])), tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())
