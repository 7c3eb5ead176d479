"""The Python API: what is built is what the same text says; calls are checked; nothing heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.errors import PluginError, Refused, SpecError, UsageError
from mtpp_dsl.graph import Graph
from mtpp_dsl.problem import Host, Problem, Shared

QUICK = Path(__file__).resolve().parent.parent / "examples" / "quickstart.mtpp"
TEXT = """
graph {
  node in (work = 2 ms, params = 3 MiB, output = 4 MiB, kind = "conv", label = "first", color = 1)
  node "enc/0.w" (work = 3 ms, memory = 7 MiB, part = "backward")
  node out (work = 1 ms)
  edge in -> "enc/0.w" -> out (size = 1 MiB)
  edge in -> out
}
device gpu[2] (memory = 1 GiB, reserve = 1 MiB, speed = 2, unsupported = ["lstm", "gru"])
device cpu (type = "cpu", io = "free")
interconnect host (bandwidth = 8 GiB/s, overflow = "none")
maximize throughput
constraint pin in on gpu
constraint cap: load(cpu) <= 3 ms
constraint memory on gpu
"""


def built() -> mtpp_dsl.Builder:
    builder = mtpp_dsl.Builder()
    builder.node("in", work="2 ms", params="3 MiB", output="4 MiB", kind="conv", label="first", color=1)
    builder.node("enc/0.w", work="3 ms", memory="7 MiB", part="backward").node("out", work="1 ms")
    builder.edge("in", "enc/0.w", "out", size="1 MiB").edges([("in", "out")])
    builder.device("gpu", count=2, memory="1 GiB", reserve="1 MiB", speed=2, unsupported=["lstm", "gru"])
    builder.device("cpu", type="cpu", io="free").interconnect("host", bandwidth="8 GiB/s", overflow="none")
    builder.maximize("throughput").constraint("pin in on gpu").constraint("cap: load(cpu) <= 3 ms")
    return builder.say("constraint memory on gpu")


def same(one: Problem, other: Problem) -> None:
    """Assert that two problems are equal in all but where they came from."""
    assert one.devices == other.devices
    assert one.objective == other.objective
    assert one.constraints == other.constraints
    assert type(one.interconnect) is type(other.interconnect)
    same_graph(one.graph, other.graph)
    assert one.time_unit == other.time_unit
    np.testing.assert_array_equal(one.time, other.time)


def same_graph(one: Graph, other: Graph) -> None:
    assert (one.names, one.kinds, one.labels) == (other.names, other.kinds, other.labels)
    assert (one.work_unit, one.size_unit, one.memory_unit) == (other.work_unit, other.size_unit, other.memory_unit)
    for column in ("tails", "heads", "work", "params", "output", "memory", "sizes", "colors", "backward"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), err_msg=column)


def test_built_is_loaded() -> None:
    """A problem built is the problem of the same text, and of the builder's own text."""
    same(built().build(), mtpp_dsl.load(TEXT))
    same(mtpp_dsl.load(built().text()), built().build())
    interconnect = built().build().interconnect
    assert isinstance(interconnect, Host)
    assert interconnect.bandwidth == 8 * 2**30


@pytest.mark.parametrize(
    "name", ["a.b/c-d", "two words", 'say "x"', "back\\slash", "tab\tline\nend", "graph", "1", "ä µ"]
)
def test_names_of_any_kind(name: str) -> None:
    """A node may have any name, and keeps it through text, plan and JSON."""
    builder = mtpp_dsl.Builder().node(name, work=2, output=1, label=name).node("b", work=1).edge(name, "b")
    builder.device("d", count=2).interconnect("shared", bandwidth=1).minimize("bottleneck").constraint("acyclic")
    problem = builder.build()
    assert problem.graph.names == (name, "b")
    assert problem.graph.labels == (name, "")
    result = mtpp_dsl.solve(problem, method="slicegraph")
    assert result.plan is not None
    answer = result.plan.to_json(problem)
    assert mtpp_dsl.Plan.from_json(problem, answer).assignment.tolist() == result.plan.assignment.tolist()


def test_a_statement_cannot_be_smuggled_in() -> None:
    """What is no name is refused where it would be read as more than a name."""
    for wrong in ("d (memory = 1) device e", "d[2]", "", "0d"):
        with pytest.raises(UsageError, match="is no name"):
            mtpp_dsl.Builder().device(wrong)
        with pytest.raises(UsageError, match="is no name"):
            mtpp_dsl.Builder().minimize(wrong)


def test_wrong_statements_are_placed() -> None:
    """Errors of a builder are those of a spec, with their places in its text."""
    builder = built().constraint("pin inn on gpu")
    with pytest.raises(SpecError, match="did you mean 'in'"):
        builder.build()
    with pytest.raises(SpecError, match="has no option 'wrk'; did you mean 'work'"):
        built().node("x", wrk=3).build()
    with pytest.raises(SpecError, match="the spec has no objective"):
        mtpp_dsl.Builder().node("a").device("d").interconnect("shared", bandwidth=1).build()


def networkx_graph() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node(("layer", 0), ms=2.0, bytes=4.0, kind="conv")
    graph.add_node(7, ms=3.0, bytes=1.0, params=5.0)
    graph.add_node("c", ms=1.0, memory=9.0)
    graph.add_edge(("layer", 0), 7, size=2.5)
    graph.add_edge(7, "c")
    return graph


def test_networkx() -> None:
    """A networkx graph is read by the names of its attributes, and nodes are named by str."""
    graph = mtpp_dsl.graph_from_networkx(networkx_graph(), work="ms", output="bytes", work_unit="s", size_unit="B")
    assert graph.names == ("('layer', 0)", "7", "c")
    assert graph.work.tolist() == [2, 3, 1]
    assert graph.output.tolist() == [4, 1, 0]
    assert graph.memory.tolist() == [4, 6, 9]
    assert graph.sizes.tolist() == [2.5, 1]
    assert (graph.kinds[0], graph.work_unit, graph.size_unit) == ("conv", "s", "B")


def test_networkx_and_back() -> None:
    """The view of a graph gives the graph."""
    graph = mtpp_dsl.load(TEXT).graph
    again = mtpp_dsl.graph_from_networkx(graph.to_networkx(), work_unit="s", size_unit="B")
    same_graph(again, graph)


def test_networkx_refused() -> None:
    """Cycles and nodes of one name are errors."""
    with pytest.raises(UsageError, match="cycle: "):
        mtpp_dsl.graph_from_networkx(nx.DiGraph([("a", "b"), ("b", "a")]))
    twice = nx.DiGraph()
    twice.add_nodes_from([1, "1"])
    with pytest.raises(UsageError, match="two nodes are called '1'"):
        mtpp_dsl.graph_from_networkx(twice)


def test_builder_with_graph() -> None:
    """A whole graph takes the place of nodes and edges, and statements speak of its nodes."""
    builder = mtpp_dsl.Builder().graph(nx.DiGraph([("a", "b"), ("b", "c")]))
    builder.device("d", count=2).interconnect("shared", bandwidth=1.0).minimize("bottleneck")
    problem = builder.constraint("pin a, b on d[0]").constraint("separate b, c").build()
    assert problem.graph.names == ("a", "b", "c")
    assert isinstance(problem.interconnect, Shared)
    result = mtpp_dsl.solve(problem)
    assert result.plan is not None
    assert result.plan.assignment.tolist() == [0, 0, 1]


def test_load_with_params() -> None:
    """Params are given as numbers, as text in the language's notation, and as paths."""
    assert mtpp_dsl.load(QUICK, k=5).k == 5
    assert mtpp_dsl.load(str(QUICK), k="2 + 2").k == 4
    text = "param b: bandwidth\n" + TEXT.replace("8 GiB/s", "b")
    same(mtpp_dsl.load(text, b="8 GiB/s"), mtpp_dsl.load(TEXT))
    with pytest.raises(SpecError, match="there is no param 'kk'"):
        mtpp_dsl.load(QUICK, kk=5)
    with pytest.raises(UsageError, match=r"there is no file nowhere\.mtpp"):
        mtpp_dsl.load("nowhere.mtpp")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "exct"}, PluginError, "did you mean 'exact'"),
        ({"method": "exact", "solver": "hihgs"}, PluginError, "did you mean 'highs'"),
        ({"gap": 1.0}, UsageError, "the gap is 1"),
        ({"gap": -0.1}, UsageError, "the gap is -0.1"),
        ({"time_limit": -1.0}, UsageError, "must not be negative"),
        ({"time_limit": float("nan")}, UsageError, "must not be negative"),
        ({"threads": 0}, UsageError, "must be one or more"),
        ({"method": "exact", "solver_options": {"no_such": 1}}, UsageError, "no_such"),
        ({"method": "exact", "write_model": "model.txt"}, UsageError, "lp"),
    ],
)
def test_wrong_calls(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    """A wrong argument is an error that says what is wrong with it."""
    with pytest.raises(error, match=message):
        mtpp_dsl.solve(mtpp_dsl.load(QUICK), **arguments)  # type: ignore[arg-type]


def test_refused() -> None:
    """What a method cannot honour is refused before any work."""
    problem = mtpp_dsl.load(QUICK.read_text() + "\nconstraint separate embed, head\n")
    with pytest.raises(Refused, match=r"slicegraph.*separate"):
        mtpp_dsl.solve(problem, method="slicegraph")


def test_watched() -> None:
    """A progress hears of plans and bounds as they improve."""
    heard: list[tuple[float | None, float | None]] = []

    def listen(progress: mtpp_dsl.Progress, _: str) -> None:
        heard.append((progress.incumbent, None if progress.bound is None else progress.bound.cost))

    result = mtpp_dsl.solve(mtpp_dsl.load(QUICK), progress=mtpp_dsl.Progress(listen))
    assert result.status == "optimal"
    assert heard[-1][0] == pytest.approx(result.cost)
    bounds = [bound for _, bound in heard if bound is not None]
    assert bounds == sorted(bounds)


def test_stopped() -> None:
    """A progress that is stopped with the first plan ends the search, which returns that plan, verified."""

    def listen(progress: mtpp_dsl.Progress, _: str) -> None:
        if progress.plan is not None:
            progress.stop()

    problem = mtpp_dsl.load(
        "graph from generator regal (nodes = 120, seed = 1)\ndevice d[8]\ninterconnect shared (bandwidth = 1)\n"
        "minimize bottleneck\nconstraint acyclic\n"
    )
    result = mtpp_dsl.solve(problem, progress=mtpp_dsl.Progress(listen), time_limit=None)
    assert (result.termination, result.status, result.verified) == ("interrupted", "feasible", True)


def test_start() -> None:
    """A start is kept if nothing better is found; one that is no plan is dropped, and said to be."""
    problem = mtpp_dsl.load(QUICK)
    best = mtpp_dsl.solve(problem).plan
    assert best is not None
    again = mtpp_dsl.solve(problem, start=best)
    assert again.cost == mtpp_dsl.evaluate(problem, best).cost
    everything_on_one = mtpp_dsl.Plan.create(problem, [0] * problem.graph.n)
    assert mtpp_dsl.verify(problem, everything_on_one)
    dropped = mtpp_dsl.solve(problem, start=everything_on_one)
    assert dropped.status == "optimal"
    assert any("the start was dropped" in note for note in dropped.notes)


def test_import_is_light() -> None:
    """Importing the package imports neither Pyomo nor numpy nor a solver."""
    heavy = "[m for m in ('pyomo', 'numpy', 'highspy', 'networkx', 'lark', 'rich') if m in sys.modules]"
    code = f"import sys, mtpp_dsl; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_public_names() -> None:
    """Every public name is there, documented, and no module even after the modules have been imported."""
    mtpp_dsl.solve(mtpp_dsl.load(QUICK), method="simple")
    for name in mtpp_dsl.__all__:
        value = getattr(mtpp_dsl, name)
        assert callable(value), name
        assert value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        _ = mtpp_dsl.slove
