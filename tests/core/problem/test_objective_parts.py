"""The objective whose parts are separate: the largest forward load plus the largest backward load."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import cost_of, costs_of, loads
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    Linear,
    Load,
    Memory,
    Pin,
    Replicate,
    Used,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused, SpecError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.methods.bounds import Simple
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.api import load, solve
from tests.oracle import optimum

SEPARATE = Objective("bottleneck", parts="separate")
TIMES = st.sampled_from([0.0, 1.0, 2.0, 5.0, 0.37])
PARTS = st.sampled_from(["both", "forward"])


@st.composite
def training_problems(draw: st.DrawFn) -> Problem:
    """Draw training graphs on accelerators and CPUs, with memory, overflow, colocation and rows over loads."""
    n = draw(st.integers(2, 6))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    column = st.lists(TIMES, min_size=n, max_size=n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        draw(st.lists(st.sampled_from(pairs), unique=True)),
        work=draw(column),
        output=draw(column),
        params=draw(column),
        times={"cpu": draw(column)},
        backward=draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any)),
    )
    accelerators, cpus = draw(st.sampled_from([(1, 1), (2, 0), (2, 1), (3, 0)]))
    memory = draw(st.sampled_from([None, 5.0, 9.0]))
    devices = [Device(f"a{i}", memory=memory) for i in range(accelerators)]
    devices += [Device(f"c{i}", type="cpu", pays_io=False) for i in range(cpus)]
    rules: list[st.SearchStrategy[Constraint]] = [
        st.builds(lambda parts: Contiguous(parts=parts), PARTS),
        st.builds(lambda parts: Acyclic(parts=parts), PARTS),
        st.builds(lambda v: Colocate(nodes=(0, v)), st.integers(1, n - 1)),
        st.builds(lambda v, d: Forbid(nodes=(v,), devices=(d,)), st.integers(0, n - 1), st.integers(0, 1)),
        st.builds(
            lambda d, sense, rhs: Linear(label="l", terms=((Load(d), 1.0),), sense=sense, rhs=rhs),
            st.integers(0, 1),
            st.sampled_from(["<=", ">="]),
            st.integers(0, 8).map(float),
        ),
    ]
    constraints = draw(st.lists(st.one_of(rules), max_size=3))
    limit = [Memory()] if memory is not None and draw(st.booleans()) else []
    joined = draw(st.sampled_from([Host(1.0), Host(0.5, overflow=True)] + [Shared(1.0)] * (cpus == 0)))
    return Problem.create(graph, devices, joined, SEPARATE, [*constraints, *limit])


@settings(max_examples=60)
@given(training_problems())
def test_exact_is_exact(problem: Problem) -> None:
    """The model's optimum is that of trying everything, and it calls infeasible what is."""
    best = optimum(problem)
    result = solve(problem, "exact")
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.status in ("optimal", "feasible")
    assert result.cost == pytest.approx(best, rel=2e-6, abs=1e-9)
    assert result.bound is not None
    assert best * (1 - 4e-6) - 1e-9 <= result.bound.cost <= best * (1 + 1e-9)


@settings(max_examples=60)
@given(training_problems())
def test_simple_is_a_bound(problem: Problem) -> None:
    """A bound on the largest load is one on the sum: the sum of largest parts is no less than the largest sum."""
    best = optimum(problem)
    result = Simple().solve(problem, Limits(), Progress())
    if best is not None:
        assert result.bound is not None
        assert result.bound.cost <= best * (1 + 1e-9) + 1e-12


@given(training_problems(), st.data())
def test_evaluation_and_check_agree(problem: Problem, data: st.DataObject) -> None:
    """Both count the parts alike, the parts add up to the loads, and the cost is not below the bottleneck."""
    plan = Plan.create(problem, [data.draw(st.integers(0, problem.k - 1)) for _ in range(problem.graph.n)])
    found, where = evaluate(problem, plan), plan.assignment.tolist()
    assert found.forward.tolist() == pytest.approx(loads(problem, where, backward=False))
    assert found.backward.tolist() == pytest.approx(loads(problem, where, backward=True))
    assert (found.forward + found.backward).tolist() == pytest.approx(found.load.tolist())
    assert found.cost == pytest.approx(cost_of(problem, plan))
    assert found.cost >= found.bottleneck * (1 - 1e-12)


def two_stages(objective: Objective | None = None, *constraints: Constraint) -> Problem:
    """Return a problem in which the two objectives want different plans."""
    graph = Graph.create("abcd", [(0, 1), (2, 3)], work=[6, 2, 2, 6], output=0.0, backward=[False, False, True, True])
    return Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), objective, constraints)


def test_the_two_objectives_differ() -> None:
    """A forward-heavy device beside a backward-heavy one is balanced together, and far from it apart."""
    together = Plan.create(two_stages(), [0, 1, 0, 1])
    assert evaluate(two_stages(), together).cost == 8
    assert evaluate(two_stages(SEPARATE), together).cost == 12
    pinned = [Colocate(nodes=(0, 2)), Colocate(nodes=(1, 3))]
    assert solve(two_stages(None, *pinned), "exact").cost == 8
    assert solve(two_stages(SEPARATE, *pinned), "exact").cost == 12


def test_a_tensor_belongs_to_the_part_of_its_producer() -> None:
    """What a backward node reads from a forward node is paid in the forward part, by both devices."""
    graph = Graph.create("fb", [(0, 1)], work=[1, 10], output=[3, 7], params=[4, 4], backward=[False, True])
    problem = Problem.create(graph, [Device("x", memory=1.0), Device("y")], Shared(1.0, overflow=True), SEPARATE)
    found = evaluate(problem, Plan.create(problem, [0, 1]))
    assert found.forward.tolist() == [1 + 3 + 3, 3]
    assert found.backward.tolist() == [0, 10]
    assert found.cost == 17


@pytest.mark.parametrize("constraints", [list(c) for c in product([Acyclic(), Contiguous()], repeat=1)] + [[]])
def test_auto_solves_it(constraints: list[Constraint]) -> None:
    """auto starts from plans for the usual objective, counts them rightly, and ends with a proof."""
    problem = two_stages(SEPARATE, *constraints, Pin(nodes=(0,), devices=(0,)))
    result = solve(problem, "auto")
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum(problem))


@pytest.mark.long
def test_auto_solves_a_published_training_graph(data: Path) -> None:
    """On a published layer graph the plan is proved, and no cheaper than the usual bottleneck."""
    from mtpp_dsl.exchange.formats.msr import Msr

    file = Msr().read(data / "dnn-partitioning" / "throughput" / "LayerGraphs" / "bert24_training.json")
    assert file.interconnect is not None
    colors = file.graph.colors
    classes = [Colocate(nodes=tuple(np.flatnonzero(colors == c).tolist())) for c in set(colors.tolist()) - {-1}]
    rules = [Acyclic(), Memory(), *classes]
    problem = Problem.create(file.graph, file.devices, file.interconnect, SEPARATE, rules)
    result = solve(problem, "auto", time_limit=30)
    assert result.status == "optimal"
    assert result.cost is not None
    assert result.cost == pytest.approx(41.8708125)


@pytest.mark.parametrize("method", ["ideals", "slicegraph", "superblock"])
def test_methods_that_minimise_something_else_refuse(method: str) -> None:
    """Who would minimise the largest load says so, and names who does not."""
    with pytest.raises(Refused, match=r"not a sum of bottlenecks.*exact"):
        solve(two_stages(SEPARATE, Acyclic()), method)


def test_rows_over_the_bottleneck_are_refused() -> None:
    """With two bottlenecks the word has no meaning: in Python, in the language, and in the check."""
    row = Linear(label="cap", terms=((Bottleneck(), 1.0),), sense="<=", rhs=9.0)
    with pytest.raises(UsageError, match=r"cap.*load\(d\)"):
        two_stages(SEPARATE, row)
    with pytest.raises(UsageError, match="replicas"):
        two_stages(SEPARATE, Replicate(most=2))
    with pytest.raises(UsageError, match="makespan"):
        two_stages(Objective("throughput", 4, "separate"))


def test_without_a_backward_part_it_is_the_usual_objective() -> None:
    """The reader is told, and every method may solve it."""
    graph = Graph.create("ab", [(0, 1)], work=[1, 2])
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), SEPARATE)
    assert problem.objective == Objective("bottleneck")
    assert "parts = separate" in problem.warnings[0]


SPEC = """
graph {
  node f1 (work = 3, output = 1)
  node f2 (work = 1, output = 1)
  node b2 (work = 4, output = 1, part = backward)
  node b1 (work = 2, output = 1, part = backward)
  edge f1 -> f2 -> b2 -> b1
}
device d[2]
interconnect shared (bandwidth = 2)
OBJECTIVE
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("objective", ["minimize bottleneck", "maximize throughput"])
def test_the_command_line_answers(objective: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The spec says it, the answer has both parts of every load, and mtpp verify agrees."""
    spec, answer = tmp_path / "parts.mtpp", tmp_path / "answer.json"
    spec.write_text(SPEC.replace("OBJECTIVE", f"{objective} (parts = separate)"))
    assert run(["solve", str(spec), "--json", str(answer)]) == 0
    assert "forward" in capsys.readouterr().out
    found = json.loads(answer.read_text())
    assert found["objective"]["parts"] == "separate"
    best = max(d["forward"] for d in found["devices"]) + max(d["backward"] for d in found["devices"])
    assert best == pytest.approx(optimum(load(spec)))
    assert found["objective"]["value"] == pytest.approx(best if objective.startswith("min") else 1 / best)
    assert run(["verify", str(spec), str(answer)]) == 0


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("minimize bottleneck (parts = apart)", "parts is one of together, separate"),
        ("minimize makespan (parts = separate)", "makespan has no option .parts."),
        ("maximize throughput (batch = 4, parts = separate)", "batch"),
        ("minimize bottleneck (parts = separate)\nconstraint cap: bottleneck <= 9", "two bottlenecks"),
    ],
)
def test_mistakes_are_located(objective: str, message: str) -> None:
    """What has no meaning is an error in its place."""
    with pytest.raises(SpecError, match=message):
        load(SPEC.replace("OBJECTIVE", objective))


def test_usual_loads_have_parts_too() -> None:
    """The JSON answer tells the parts of training graphs whatever the objective, and null without a backward part."""
    problem = two_stages(None, Acyclic())
    found = result_to_json(problem, solve(problem))
    assert all(d["forward"] + d["backward"] == pytest.approx(d["load"]) for d in found["devices"])
    plain = Problem.create(Graph.create("a", [], work=1.0), [Device("x")], Shared(1.0))
    assert result_to_json(plain, solve(plain))["devices"][0]["forward"] is None


def test_a_start_is_a_solution_of_the_model() -> None:
    """The model takes a plan with its parts' loads, and proves or betters it."""
    problem = two_stages(SEPARATE, Acyclic())
    start = Plan.create(problem, [0, 1, 0, 1])
    result = MipMethod(Exact(), "highs").solve(problem, Limits(time=30, start=start), Progress())
    assert result.cost == pytest.approx(optimum(problem))


def test_solutions_that_a_solver_leaves_out_are_not_bounded_away() -> None:
    """The bound is not above the optimum by what a solver need not improve its incumbent by."""
    params = [3.813697610444714, 3.5203593673509124, 7.9344106363844435, 4.72182113968917, 3.7052739820774985]
    sizes = [9.606645190071445, 7.2155608591843325, 2.489956846922129, 2.4971493422124382, 1.5526419392852642]
    graph = Graph.create(
        [f"v{v}" for v in range(7)],
        [(1, 0), (1, 2), (2, 0), (5, 0), (5, 2), (5, 4), (5, 6), (6, 4)],
        work=[1.0000001, 1.0000001, 1.0, 1.0000001, 1.0, 1.0000001, 1.000001],
        output=[*sizes, 3.6744884544738508, 2.7039299145608044],
        params=[*params, 1.4655227658722714, 5.1089909921996215],
        backward=[False, True, False, False, True, True, False],
    )
    separate = Objective("bottleneck", parts="separate")
    devices = [Device(name, memory=60.0104490407289, reserve=20.0034830135763) for name in "ab"]
    problem = Problem.create(graph, devices, Host(0.5), separate, [Memory()])
    best, bound = optimum(problem), solve(problem).bound
    assert best is not None
    assert bound is not None
    assert bound.cost <= best * (1 + 1e-12)


def test_the_largest_loads_of_both_parts_are_added() -> None:
    """Devices whose forward loads are 3 and 1, and whose backward loads are 4 and 2, cost 3 + 4."""
    graph = Graph.create("abcd", [], work=[3, 1, 4, 2], backward=[False, False, True, True])
    for objectives in ([SEPARATE], [Objective.linear([(Used(0), 2.0)]), SEPARATE]):
        problem = Problem.create(graph, [Device("p"), Device("q")], Shared(1.0), objectives)
        plan = Plan.create(problem, [0, 1, 0, 1])
        evaluation = evaluate(problem, plan)
        assert (evaluation.cost, *evaluation.later)[-1] == costs_of(problem, plan)[-1] == 7.0
