"""The integer programmes of tarnawski2020: convex, acyclic and free splits of inference and training graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.checks.verification import check_result, verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.backends.mip.bridge import Bridge
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solvers.methods.partition import Ideals

DEVICES = [Device("a0"), Device("a1"), Device("c", type="cpu", pays_io=False)]


def published(folder: Path, name: str, rule: Constraint | None, parts: str = "together") -> Problem:
    """Return a published problem, its colour classes held together."""
    file = Msr().read(next((folder / "dnn-partitioning" / "throughput").rglob(f"{name}.json")))
    assert file.interconnect is not None
    colors = file.graph.colors
    groups = [np.flatnonzero(colors == c).tolist() for c in sorted(set(colors.tolist()) - {-1})]
    held = [Colocate(nodes=tuple(group)) for group in groups if len(group) > 1]
    objective = Objective("bottleneck", parts="separate" if parts == "separate" else "together")
    return Problem.create(
        file.graph, file.devices, file.interconnect, objective, [Memory(), *held, *([rule] if rule else [])]
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "rule", "parts", "value"),
    [
        ("bert24_training", Acyclic(), "together", 41.7458125),
        ("bert24_training", Acyclic(), "separate", 41.8708125),
        ("bert_l-3_training", None, "together", 54.20740),
        ("bert_l-3_inference", None, "together", 21.90838),
    ],
)
def test_published_values(data: Path, name: str, rule: Constraint | None, parts: str, value: float) -> None:
    """The values of tarnawski2020, Table 1, proved from the best acyclic split; with separate parts ours."""
    problem = published(data, name, rule, parts)
    start = Ideals().solve(published(data, name, Acyclic()), Limits(), Progress()).plan
    result = MipMethod(Exact(), "highs").solve(problem, Limits(time=120, threads=1, start=start), Progress())
    check_result(problem, result)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("rule", "rows"), [(Acyclic(), 4100), (Contiguous(), 7600), (None, 1300)], ids=["acyclic", "contiguous", "free"]
)
def test_colocation_shrinks_the_model(data: Path, rule: Constraint | None, rows: int) -> None:
    """One binary per class and device, one cut variable per set of pins: a third of the rows or less."""
    problem = published(data, "bert_l-3_training", rule)
    highs = Bridge(Exact().build(problem)).highs
    assert highs.getNumRow() <= rows
    assert hypergraph(problem).n < problem.graph.n / 2


def training() -> Graph:
    """Return a forward chain a, b, c and a backward chain z, y, x with tensors between the parts."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4)]
    return Graph.create(
        "abczyx",
        edges,
        work=[1, 2, 3, 4, 5, 6],
        output=[1, 2, 1, 1, 2, 1],
        times={"cpu": [10, 10, 10, 20, 20, 20]},
        backward=[False] * 3 + [True] * 3,
    )


@pytest.mark.parametrize("parts", ["together", "separate"])
@pytest.mark.parametrize("rule", [Acyclic(), Acyclic(parts="forward"), Contiguous(), None], ids=str)
def test_a_start_is_kept_whatever_is_asked(rule: Constraint | None, parts: str) -> None:
    """A plan given as the start is a solution of every model: the answer is no worse, and it was not dropped."""
    objective = Objective("bottleneck", parts="separate" if parts == "separate" else "together")
    held = [Colocate(nodes=(0, 5)), Colocate(nodes=(1, 4)), Colocate(nodes=(2, 3))]
    problem = Problem.create(training(), DEVICES, Host(1.0), objective, [*held, *([rule] if rule else [])])
    start = Plan.create(problem, [0, 0, 1, 1, 0, 0])
    assert not verify(problem, start)
    progress = Progress()
    result = MipMethod(Exact(), "highs").solve(problem, Limits(time=60, threads=1, start=start), progress)
    check_result(problem, result)
    assert result.status == "optimal"
    assert result.notes == ()
    assert progress.log[0].incumbent is not None


def test_nodes_on_a_cycle_of_colocation_are_one() -> None:
    """Where the quotient must be acyclic a cycle of classes is one class of the model, and only there."""
    graph = Graph.create(["a1", "a2", "b1", "b2"], [(0, 2), (3, 1)], work=1.0, output=0.01)
    pairs = [Colocate(nodes=(0, 1)), Colocate(nodes=(2, 3))]
    free = Problem.create(graph, [Device("x"), Device("y")], Host(1.0), constraints=pairs)
    assert hypergraph(free).n == 2
    assert hypergraph(free.with_constraints([*pairs, Contiguous()])).n == 2
    assert hypergraph(free.with_constraints([*pairs, Acyclic()])).n == 1


def test_tensors_of_equal_pins_are_one_net() -> None:
    """Two tensors of a class with the same readers cost their sum, of one variable; with parts apart they are two."""
    graph = Graph.create("abcd", [(0, 2), (1, 2), (2, 3)], output=[5, 6, 7, 0], backward=[False, True, False, True])
    held = [Colocate(nodes=(0, 1))]
    together = Problem.create(graph, DEVICES[:2], Host(1.0), constraints=held)
    separate = Problem.create(graph, DEVICES[:2], Host(1.0), Objective("bottleneck", parts="separate"), held)
    nets = hypergraph(together).nets(together.tensor_time)
    assert [(net.pins, net.cost) for net in nets] == [((0, 1), 11.0), ((1, 2), 7.0)]
    assert [net.cost for net in hypergraph(separate).nets(separate.tensor_time)] == [5.0, 6.0, 7.0]
