"""Scotch: its files, and what is made of its answer; what needs the program is skipped where it is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import Acyclic, Memory, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.backends.mip.programs import Finished
from mtpp_dsl.solvers.methods.classical import Scotch
from mtpp_dsl.solvers.partition.classical import scotch, scotch_program
from mtpp_dsl.solvers.partition.classical.linear import movable
from mtpp_dsl.solvers.partition.classical.scotch import MAX_WEIGHTS, graph_file, read_mapping
from tests.solvers.partition.test_classical import solve, workload

needs_scotch = pytest.mark.skipif(
    not Scotch().available().ok, reason=f"no Scotch here ({Scotch().available().install})"
)


def stages(k: int, memory: float | None = None) -> list[Device]:
    return [Device(f"d{i}", memory=memory) for i in range(k)]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_graph_file(scale: float) -> None:
    """Every edge is written from both ends with one weight; the sums of weights stay below the limit."""
    base = layered(50, 5, seed=1)
    edges = list(zip(base.tails.tolist(), base.heads.tolist(), strict=True))
    graph = Graph.create(base.names, edges, work=base.work * scale, output=base.output * scale)
    problem = Problem.create(graph, stages(64), Shared(1.0))
    units = movable(problem, device_types(problem))
    version, size, flags, *rows = graph_file(problem, units, units.time[:, 0], 64).splitlines()
    assert (version, flags) == ("0", "0 011")
    arcs: dict[tuple[int, int], int] = {}
    loads = 0
    for v, row in enumerate(rows):
        load, degree, *rest = map(int, row.split())
        loads += load
        assert len(rest) == 2 * degree
        arcs.update({(v, other): weight for weight, other in zip(rest[::2], rest[1::2], strict=True)})
    assert size == f"50 {len(arcs)}"
    assert all(arcs[b, a] == weight > 0 for (a, b), weight in arcs.items())
    assert {frozenset(arc) for arc in arcs} == {frozenset(edge) for edge in edges}
    for total in (loads, sum(arcs.values())):
        assert 0.99 * MAX_WEIGHTS / 64 < total <= MAX_WEIGHTS / 64


def test_nothing_to_balance() -> None:
    """A graph without work, and one without tensors, can be written."""
    problem = Problem.create(Graph.create("ab", [(0, 1)]), stages(2), Shared(1.0))
    units = movable(problem, device_types(problem))
    assert graph_file(problem, units, units.time[:, 0], 2) == "0\n2 0\n0 011\n0 0\n0 0\n"


@pytest.mark.parametrize("text", [None, "", "2\n0 1\n", "2\n0 1\n0 0\n"])
def test_no_mapping(text: str | None, tmp_path: Path) -> None:
    """A file that is missing, or does not give every vertex a part, is no mapping."""
    path = tmp_path / "parts.map"
    if text is not None:
        path.write_text(text)
    assert read_mapping(path, 2) is None


def test_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is not installed, it says how to: exit code 5; the list of methods says so too."""
    monkeypatch.setattr(scotch_program, "which", lambda _: None)
    spec = tmp_path / "a.mtpp"
    spec.write_text(
        "graph { node a (work = 1) }\ndevice d[2]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
    )
    assert run(["solve", str(spec), "--method", "scotch"]) == 5
    assert "apt-get install scotch" in capsys.readouterr().err
    assert run(["methods"]) == 0
    assert "not installed: apt-get install scotch" in capsys.readouterr().out


def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that fails is an error with its last words, not an answer."""

    def fail(*_: object, **__: object) -> Finished:
        finished = Finished()
        finished.lines, finished.returned = ["gpart: ERROR: out of luck"], 1
        return finished

    monkeypatch.setattr(scotch_program, "which", lambda program: program)
    monkeypatch.setattr(scotch, "run", fail)
    problem = Problem.create(layered(10, 2, seed=1), stages(2), Shared(1.0))
    with pytest.raises(SolverError, match="out of luck"):
        Scotch().solve(problem, Limits(), Progress())


def test_refusals() -> None:
    """It wants equal accelerators, each of which may take every node."""
    graph = layered(6, 2, seed=1)
    unequal = Problem.create(graph, [Device("a", speed=2.0), Device("b")], Shared(1.0))
    cpus = Problem.create(graph, [Device("c", pays_io=False)], Host(1.0))
    kinds = Graph.create("ab", [], work=1.0, kinds=["conv", "gather"])
    picky = Device("a", unsupported=frozenset({"gather"}))
    pinned = Problem.create(kinds, [picky, Device("c", pays_io=False)], Host(1.0))
    for problem, what in ((unequal, "2 kinds"), (cpus, "no kinds"), (pinned, "b may not be on a")):
        reason = Scotch().accepts(problem)
        assert reason is not None
        assert what in reason


@needs_scotch
def test_plans() -> None:
    """Its partition is balanced, leaves CPUs empty, and is the same every time."""
    devices = [*stages(4), Device("cpu", pays_io=False)]
    problem = Problem.create(layered(200, 8, seed=4), devices, Host(100.0))
    results = [mtpp_dsl.solve(problem, "scotch") for _ in range(2)]
    plans = [result.plan for result in results]
    assert plans[0] is not None
    assert plans[1] is not None
    assert (plans[0].assignment == plans[1].assignment).all()
    assert set(plans[0].assignment.tolist()) == {0, 1, 2, 3}
    assert results[0].solver == "scotch"
    work = np.bincount(plans[0].assignment, weights=problem.graph.work)
    assert work.max() < 1.25 * work.mean()


@needs_scotch
@pytest.mark.parametrize("rule", ["acyclic", "memory", "separate", "pin"])
def test_what_it_does_not_know_is_checked(rule: str) -> None:
    """A partition that breaks a constraint is no plan: it says which one, and claims nothing."""
    graph = layered(60, 6, seed=2)
    memory = float(graph.memory.sum()) / 4
    constraint = {
        "acyclic": Acyclic(),
        "memory": Memory(),
        "separate": Separate(nodes=(0, *graph.successors(0)[:1].tolist())),
        "pin": Pin(nodes=(0, 59), devices=(0, 1, 2, 3)),
    }[rule]
    problem = Problem.create(graph, stages(4, memory=memory * 1.0001), Shared(10.0), constraints=[constraint])
    result = solve("scotch", problem)
    assert result.infeasibility is None
    assert result.termination == "complete"
    assert (result.plan is None) == bool(result.notes)
    if result.plan is None:
        assert rule in result.notes[0]
    assert rule != "acyclic" or result.plan is None


@needs_scotch
def test_stops_at_once() -> None:
    """Stopped before it begins, or without time, it does not run."""
    problem = Problem.create(layered(60, 6, seed=2), stages(4), Shared(10.0))
    progress = Progress()
    progress.stop()
    assert Scotch().solve(problem, Limits(), progress).termination == "interrupted"
    assert Scotch().solve(problem, Limits(time=0.0), Progress()).termination == "time_limit"


@needs_scotch
def test_published_values(data: Path) -> None:
    """Without an order asked, layer graphs get values near those of Table 1."""
    folder = data / "dnn-partitioning" / "throughput"
    for name, published in (("bert24_training", 42.01), ("resnet50_training", 80.10), ("gnmt_inference", 34.92)):
        path = folder / "LayerGraphs" / f"{name}.json"
        if not path.is_file():
            pytest.skip(f"no {path.name}")
        assert (solve("scotch", workload(path, Memory())).cost or 0.0) == pytest.approx(published, rel=0.06)
