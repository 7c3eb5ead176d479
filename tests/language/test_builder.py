"""The Python API: what is built is what the same text says; calls are checked; nothing heavy is imported."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.errors import PluginError, Refused, SpecError, UsageError
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.plugins.samples import small
from tests.tree import ROOT

QUICK = ROOT / "examples" / "quickstart.mtpp"
TEXT = """
graph {
  node inp (work = 2 ms, params = 3 MiB, output = 4 MiB, kind = "conv", label = "first", color = 1)
  node "enc/0.w" (work = 3 ms, memory = 7 MiB, part = "backward")
  node out (work = 1 ms)
  edge inp -> "enc/0.w" -> out (size = 1 MiB)
  edge inp -> out
}
device gpu[2] (memory = 1 GiB, reserve = 1 MiB, speed = 2, unsupported = ["lstm", "gru"])
device cpu (type = "cpu", io = "free")
interconnect host (bandwidth = 8 GiB/s, overflow = "none")
maximize throughput
constraint pin inp on gpu
constraint cap: load(cpu) <= 3 ms
constraint memory on gpu
"""


def built() -> mtpp_dsl.Builder:
    builder = mtpp_dsl.Builder()
    builder.node("inp", work="2 ms", params="3 MiB", output="4 MiB", kind="conv", label="first", color=1)
    builder.node("enc/0.w", work="3 ms", memory="7 MiB", part="backward").node("out", work="1 ms")
    builder.edge("inp", "enc/0.w", "out", size="1 MiB").edges([("inp", "out")])
    builder.device("gpu", count=2, memory="1 GiB", reserve="1 MiB", speed=2, unsupported=["lstm", "gru"])
    builder.device("cpu", type="cpu", io="free").interconnect("host", bandwidth="8 GiB/s", overflow="none")
    builder.maximize("throughput").constraint("pin inp on gpu").constraint("cap: load(cpu) <= 3 ms")
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


@pytest.mark.parametrize("name", ["a.b/c-d", "two words", 'say "x"', "back\\slash", "tab\tend", "graph", "1", "ä µ"])
def test_names_of_any_kind(name: str) -> None:
    """A node may have any name of one line, and keeps it through text, plan and JSON."""
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
    for wrong in ("d (memory = 1) device e", "", "1) device e (memory = 1", "1\nmaximize throughput"):
        with pytest.raises(UsageError, match="is no expression of the language"):
            mtpp_dsl.Builder().minimize(wrong)
        with pytest.raises(UsageError, match="is no expression of the language"):
            mtpp_dsl.Builder().node("a", work=wrong)


def test_wrong_statements_are_placed() -> None:
    """Errors of a builder are those of a spec, with their places in its text."""
    builder = built().constraint("pin innp on gpu")
    with pytest.raises(SpecError, match="did you mean 'inp'"):
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


def test_read_once(tmp_path: Path) -> None:
    """A spec that was read once gives the problems that reading it with the same params gives, origin and all."""
    (tmp_path / "base.mtpp").write_text(QUICK.read_text())
    path = tmp_path / "more.mtpp"
    path.write_text('include "base.mtpp"\nparam graph: float = 1\nconstraint cap: load(stage[0]) <= graph * 20 ms\n')
    spec = mtpp_dsl.read(path)
    assert spec.params == ("k", "graph")
    assert repr(spec).endswith("params k, graph)")
    for k in (2, np.int64(5), "1 + 2"):
        same(spec.problem(k=k), mtpp_dsl.load(path, k=k))
        assert spec.problem(k=k).origin == mtpp_dsl.load(path, k=k).origin
    assert spec.problem({"graph": 2}, k=2).constraints[-1].rhs == pytest.approx(0.04)  # type: ignore[attr-defined]
    path.unlink()
    (tmp_path / "base.mtpp").unlink()
    assert pickle.loads(pickle.dumps(spec)).problem(k=4).k == 4
    with pytest.raises(SpecError, match="there is no param 'kk'"):
        spec.problem(kk=3)
    with pytest.raises(SpecError, match="expected"):
        mtpp_dsl.read("graph {\n")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "exct"}, PluginError, "did you mean 'exact'"),
        ({"method": "exact", "solver": "hihgs"}, PluginError, "did you mean 'highs'"),
        ({"gap": 1.0}, UsageError, "the gap is 1"),
        ({"gap": -0.1}, UsageError, "the gap is -0.1"),
        ({"gap": "some"}, UsageError, "'some' is not a share: write 1%"),
        ({"gap": [1]}, UsageError, r"gap is \[1\]; it must be a number, or a text such as \"1%\""),
        ({"time_limit": "3 secs"}, UsageError, "'3 secs' is not a duration: write 60s"),
        ({"time_limit": [3]}, UsageError, r"time_limit is \[3\]; it must be a number of seconds, or a text such as"),
        ({"threads": "two"}, UsageError, "threads is 'two'; it must be a whole number"),
        ({"seed": 1.5}, UsageError, "seed is 1.5; it must be a whole number"),
        ({"time_limit": -1.0}, UsageError, "must not be negative"),
        ({"time_limit": float("nan")}, UsageError, "must not be negative"),
        ({"seed": True}, UsageError, "seed is True; it must be a whole number"),
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
    problem = mtpp_dsl.load(QUICK.read_text() + "\nconstraint pin embed on stage[0]\n")
    with pytest.raises(Refused, match=r"branching.*pin"):
        mtpp_dsl.solve(problem, method="branching")


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


def test_text_has_the_graph() -> None:
    """The text of a builder with a whole graph says that graph, to the last digit; what it cannot say is refused."""
    graph = Graph.create(
        ["a", "b/c", 'say "x"', "attn[0]"],
        [(0, 1), (1, 2), (0, 3)],
        work=[1 / 3, 0.0, 1e-7, 5e12],
        params=[0.1, 2**40, 0.0, 3.0],
        output=[1.0, 1e-3, 0.7, 0.0],
        memory=[float("nan"), 5.0, 0.0, float("nan")],
        sizes=[None, 3.3, 0.0],
        kinds=["conv", "", "", "x"],
        labels=["", "l", "", ""],
        colors=[-1, 0, 3, -1],
        backward=[False, False, True, True],
    )
    for units in ({}, {"work_unit": "s", "size_unit": "B"}, {"work_unit": "FLOP", "size_unit": "B"}):
        given = replace(graph, **units, memory_unit=units.get("size_unit", ""))
        sized, flops = bool(units), units.get("work_unit") == "FLOP"
        builder = mtpp_dsl.Builder().graph(given).device("d", count=2, **({"speed": "1 TFLOP/s"} if flops else {}))
        builder.interconnect("links", bandwidth="1 GiB/s" if sized else 1).minimize("makespan")
        same(mtpp_dsl.load(builder.text()), builder.build())
    with pytest.raises(UsageError, match=r"tables of times by device: give the whole problem to Builder\.of"):
        mtpp_dsl.Builder().graph(replace(graph, times={"cpu": graph.work})).text()


def chain(attribute: str, *values: object) -> nx.DiGraph:
    graph = nx.DiGraph()
    for v, value in enumerate(values):
        graph.add_node(v, **{attribute: value})
    nx.add_path(graph, range(len(values)))
    return graph


def test_networkx_weights_with_units() -> None:
    """Strings with units are weights, in base units; all carry one unit, or none does."""
    graph = chain("work", "2 ms", 0, "1_000us")
    nx.set_node_attributes(graph, {0: "1 MiB", 1: "2MB"}, "output")
    nx.set_edge_attributes(graph, {(0, 1): "3 kB"}, "size")
    found = mtpp_dsl.graph_from_networkx(graph)
    assert (found.work_unit, found.size_unit) == ("s", "B")
    assert found.work.tolist() == pytest.approx([2e-3, 0, 1e-3])
    assert found.output.tolist() == [2**20, 2e6, 0]
    assert found.sizes.tolist() == [3000, 2e6]
    assert mtpp_dsl.graph_from_networkx(chain("work", "2 GFLOP")).work_unit == "FLOP"
    assert mtpp_dsl.graph_from_networkx(chain("work", "2", 1)).work.tolist() == [2, 1]
    assert mtpp_dsl.graph_from_networkx(chain("work", 2, "1 ms"), work_unit="s").work.tolist() == [2, 1e-3]
    for wrong, message in [
        (("2 ms", 3), "work of 1 is without a unit, but work of 0 is in s"),
        (("2 ms", "3 FLOP"), "in FLOP, but work of 0 is in s"),
        (("2 GB",), "is '2 GB', which is no number with a unit"),
        (("2 mss",), "did you mean 'ms'"),
        (("much",), "no number with a unit"),
        (([1],), r"work of 0 is \[1\], not a number"),
        ((True,), "not a number"),
    ]:
        with pytest.raises(UsageError, match=message):
            mtpp_dsl.graph_from_networkx(chain("work", *wrong))
    with pytest.raises(UsageError, match="the unit of times is to be none"):
        mtpp_dsl.graph_from_networkx(chain("work", "2 ms"), work_unit="")


def test_networkx_attributes_are_found() -> None:
    """A graph whose weights have other names is refused with the remedy, not solved as one without work."""
    with pytest.raises(UsageError, match=r"nodes have weight: .* graph_from_networkx\(graph, work='weight'\)"):
        mtpp_dsl.graph_from_networkx(chain("weight", 1, 2))
    assert mtpp_dsl.graph_from_networkx(chain("weight", 1, 2), work="weight").work.tolist() == [1, 2]
    with pytest.raises(UsageError, match=r"no node has the attribute 'wieght'.*did you mean 'weight'"):
        mtpp_dsl.graph_from_networkx(chain("weight", 1, 2), work="wieght")
    with pytest.raises(UsageError, match="no node has the attribute 'bytes', which is to be its params"):
        mtpp_dsl.graph_from_networkx(chain("work", 1, 2), params="bytes")
    graph = chain("work", 1, 2)
    nx.set_edge_attributes(graph, 4, "weight")
    with pytest.raises(UsageError, match=r"edges have weight: .* size='weight'"):
        mtpp_dsl.graph_from_networkx(graph)
    assert mtpp_dsl.graph_from_networkx(graph, size="weight").sizes.tolist() == [4]
    with pytest.raises(UsageError, match="no edge has the attribute 'bytes'"):
        mtpp_dsl.graph_from_networkx(chain("work", 1, 2), size="bytes")
    assert mtpp_dsl.graph_from_networkx(nx.path_graph(2, create_using=nx.DiGraph)).work.tolist() == [0, 0]


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_problems_and_answers_are_copied(how: Callable[[Any], Any]) -> None:
    """Graphs, problems, plans and results survive pickling and copying, and cannot be changed afterwards either."""
    for name, method in (
        ("replicas", "ideals"),
        ("makespan", "heft"),
        ("latency", "published-greedy"),
        ("measured batches", "heft"),
    ):
        problem = small()[name]
        result = mtpp_dsl.solve(problem, method, time_limit=10)
        again, answer, graph = how(problem), how(result), how(problem.graph)
        same(again, problem)
        same_graph(graph, problem.graph)
        assert verify(again, answer.plan) == []
        assert how(result.plan).to_json(again) == result.plan.to_json(problem)  # type: ignore[union-attr]
        assert json.dumps(result_to_json(again, answer)) == json.dumps(result_to_json(problem, result))
        for array in (graph.work, again.time, answer.plan.assignment):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(TypeError):
            graph.index["new"] = 1
        if method == "ideals":
            with pytest.raises(TypeError):
                answer.plan.replicas[0] = (0, 1)


def test_plans_as_mappings() -> None:
    """Where a plan is taken, an answer's JSON or {node: device} is; what is neither is an error, no traceback."""
    problem = mtpp_dsl.load(
        TEXT.replace("constraint memory on gpu", "").replace("constraint cap: load(cpu) <= 3 ms", "")
    )
    bare = dict.fromkeys(problem.graph.names, "gpu[0]")
    assert mtpp_dsl.verify(problem, bare) == []
    assert mtpp_dsl.evaluate(problem, bare).cost == pytest.approx(problem.time[:, 0].sum())
    result = mtpp_dsl.solve(problem, "local-search", start=bare)
    assert mtpp_dsl.verify(problem, result_to_json(problem, result)) == []
    with pytest.raises(UsageError, match="does not place node"):
        mtpp_dsl.verify(problem, {"inp": "gpu[0]"})
    for wrong in (None, 3, "plan.json"):
        with pytest.raises(UsageError, match=r"a plan is (a JSON answer of mtpp|no path: read the answer first)"):
            mtpp_dsl.verify(problem, wrong)  # type: ignore[arg-type]


def test_names_are_listed() -> None:
    """What can be imported is shown before it is imported."""
    shown = subprocess.run(
        [sys.executable, "-c", "import mtpp_dsl; print(*dir(mtpp_dsl))"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(mtpp_dsl.__all__) <= set(shown)
