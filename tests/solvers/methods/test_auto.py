"""``auto``: everything built in, together, is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Contiguous,
    Linear,
    Load,
    Memory,
    On,
    Pin,
    Replicate,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.exchange.generators.generate import generate
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto import bottleneck as bottleneck_file
from mtpp_dsl.solvers.methods.auto.bottleneck import BottleneckRun
from mtpp_dsl.solvers.methods.auto.steps import AutoSteps
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.partition.ideals.flat_run import FlatRun
from mtpp_dsl.solvers.runtime.incumbent import SearchEnded
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, run_lane
from mtpp_dsl.solving.api import find_method, solve
from tests.oracle import optimum
from tests.strategies import graphs, memory_problems, plain_problems

ORDER = (Acyclic(),)
FEW = settings(max_examples=30, deadline=None)


def check_exact(problem: Problem) -> None:
    """Hold an answer of auto against trying everything."""
    best = optimum(problem)
    result = solve(problem)
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert result.verified
    assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)


@FEW
@given(plain_problems())
def test_plain(problem: Problem) -> None:
    """On plain MTPP auto is optimal, and its bound is not above the optimum."""
    check_exact(problem)


@FEW
@given(memory_problems())
def test_memory(problem: Problem) -> None:
    """With unequal memories and speeds, hard limits and overflow too; also when nothing fits."""
    check_exact(problem)


@st.composite
def constrained(draw: st.DrawFn) -> Problem:
    graph = draw(graphs(most=5))
    k = draw(st.integers(1, 3))
    nodes = st.integers(0, graph.n - 1)
    pairs = st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: tuple(sorted(pair)))
    devices = st.integers(0, k - 1)
    rules = [
        st.builds(lambda v, d: Pin(nodes=(v,), devices=(d,)), nodes, devices),
        st.builds(
            lambda d, sense, rhs: Linear(label="l", terms=((Load(d), 1.0),), sense=sense, rhs=rhs),
            devices,
            st.sampled_from(["<=", ">="]),
            st.integers(0, 12).map(float),
        ),
        st.builds(
            lambda v, d, w: Linear(label="o", terms=((On(v, d), 1.0), (On(w, d), 1.0 + (v == w))), sense=">=", rhs=1.0),
            nodes,
            devices,
            nodes,
        ),
    ]
    if graph.n > 1:
        rules += [
            st.builds(lambda pair: Colocate(nodes=pair), pairs),
            st.builds(lambda pair: Separate(nodes=pair), pairs),
        ]
    constraints = draw(st.lists(st.one_of(rules), max_size=3))
    order = [Acyclic()] if draw(st.booleans()) else []
    return Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), constraints=[*order, *constraints])


@FEW
@given(constrained())
def test_constrained(problem: Problem) -> None:
    """With constraints that slicing does not know, auto is still exact, and says when there is no plan."""
    clean = [
        c for c in problem.constraints if not (isinstance(c, Linear) and len({d for d, _ in c.terms}) < len(c.terms))
    ]
    check_exact(problem.with_constraints(clean))


def regal(n: int, k: int) -> Problem:
    graph = generate("regal", nodes=n, model="er", seed=3)
    return Problem.create(graph, [Device(f"d{i}") for i in range(k)], Shared(1.0), constraints=[Acyclic()])


def test_limits_hold() -> None:
    """A time limit is kept, give or take a second, with a plan and a bound to show."""
    began = monotonic()
    result = solve(regal(120, 8), time_limit=1)
    assert monotonic() - began < 7
    assert result.status == "feasible"
    assert result.termination == "time_limit"
    assert result.bound is not None
    assert 0 < result.bound.cost < result.cost


def test_what_ideals_left_out_is_said() -> None:
    """Where ``ideals`` has the last word and a gap is left, its reason is among the notes."""
    graph = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=[3.0, 1.0, 3.0], output=[0.5, 0.5, 0.5])
    devices, free = [Device("d"), Device("e")], Replicate(most=2, sync="none")
    assert solve(Problem.create(graph, devices, Shared(1.0), constraints=[free])).notes == ()
    heavy, weights = replace(graph, params=graph.work * 10), Replicate(most=2, sync="weights")
    result = solve(Problem.create(heavy, devices, Shared(1.0), constraints=[weights]))
    assert result.status == "feasible"
    assert any("only at plans whose quotient graph is acyclic" in note for note in result.notes)


def test_what_the_exact_model_leaves_open_is_closed() -> None:
    """Memory of a thousand, and one too much: models of so small problems leave a gap, ideals do not."""
    graph = Graph.create("a", [], work=0.0, output=1000.0, params=1.0, times={"cpu": [0.3]})
    devices = [Device("a", memory=1001.0, reserve=1.0), *(Device(c, type="cpu", pays_io=False) for c in "bc")]
    result = solve(Problem.create(graph, devices, Host(3.0), constraints=[Acyclic(parts="forward"), Memory()]))
    assert (result.status, result.cost) == ("optimal", 0.3)


def test_stopped_before_it_begins() -> None:
    """An interrupt at once still leaves the simple bound, and takes no time."""
    progress = Progress()
    progress.stop()
    began = monotonic()
    result = solve(regal(100, 4), progress=progress)
    assert monotonic() - began < 3
    assert result.termination == "interrupted"
    assert result.bound is not None


def test_gap_stops() -> None:
    """A wide gap is reached and ends the search."""
    result = solve(regal(60, 2), gap=0.3, time_limit=60)
    assert result.termination == "gap"
    assert result.gap is not None
    assert result.gap <= 0.3


def test_start_is_kept() -> None:
    """The answer is never worse than the plan it starts from; a start that is no plan is dropped, with a note."""
    problem = regal(40, 3)
    first = solve(problem, "slicegraph")
    again = solve(problem, start=first.plan, time_limit=1)
    assert again.cost <= first.cost
    cyclic = Plan.create(problem, [v % 3 for v in range(40)])
    assert verify(problem, cyclic)
    assert any("dropped" in note for note in solve(problem, start=cyclic, time_limit=1).notes)


@pytest.mark.parametrize("method", ["simple", "superblock", "slicegraph", "exact", "ideals"])
def test_no_method_ignores_a_start(method: str) -> None:
    """Whatever a method gives, the plan it was started from counts; and its own gap is not taken for the answer's."""
    problem = regal(12, 3)
    start = Plan.create(problem, [0] * 12)
    result = solve(problem, method, start=start, time_limit=5)
    assert result.cost is not None
    assert result.cost <= float(problem.graph.work.sum())
    if result.termination == "gap":
        assert result.gap is not None
        assert result.gap < 1e-5


def test_the_plan_of_a_large_graph_comes_before_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 5,000 nodes one order is sliced before anything that takes longer, and the first split comes at once."""
    costs: list[float | None] = []

    class Seen(Progress):
        def report_plan(self, plan: Plan, cost: float) -> None:
            super().report_plan(plan, cost)
            costs.append(cost)

    def stopped(self: BottleneckRun, bounds: Sequence[type[Method]]) -> None:
        costs.append(None)

    monkeypatch.setattr(BottleneckRun, "quick", stopped)
    problem = Problem.create(
        layered(6_000, 4, 0.4), [Device(f"d{d}") for d in range(8)], Shared(1.0), constraints=ORDER
    )
    progress = Seen()
    progress.report_bound(Bound(sum(problem.time.min(axis=1)) / 8, "test", "trusted", "test"))
    BottleneckRun(problem, Limits(time=30.0, threads=1, gap=0.02), progress).result()
    evenly, of_first, *_ = costs
    assert of_first is None
    assert evenly is not None
    assert progress.cost is not None
    assert progress.cost <= evenly < 1.3 * progress.cost < problem.time[:, 0].sum()
    late = Progress()
    BottleneckRun(problem, Limits(time=0.0, threads=1), late).result()
    assert late.cost == evenly


@pytest.mark.parametrize("nearly", [True, False])
def test_a_model_that_ends_just_before_the_time_is_up_ran_to_its_end_only_where_little_was_open(
    nearly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Result("time_limit", method="exact")
    monkeypatch.setattr(bottleneck_file, "attempt", lambda *_: ended)
    monkeypatch.setattr(BottleneckRun, "nearly", nearly)
    run = BottleneckRun(regal(16, 2), Limits(time=30.0, threads=1), Progress())
    run.exact()
    assert run.ended is not None
    assert run.ended.termination == ("complete" if nearly else "time_limit")
    assert any("no more time" in note for note in run.notes) == nearly


def test_groups_of_devices_are_sliced_as_one_level() -> None:
    """Slices give a plan of a hierarchy at once, which costs far less than one device; its cost is that with groups."""
    devices = [Device(f"d{d}", group=str(d // 2)) for d in range(4)]
    problem = Problem.create(
        layered(200, 4, seed=1), devices, Shared(10.0, between=1.0), constraints=[Acyclic(parts="forward")]
    )
    progress = Progress()
    BottleneckRun(problem, Limits(time=20.0, threads=1), progress).slice_as_it_is()
    assert progress.plan is not None
    assert progress.cost == evaluate(problem, progress.plan).cost < problem.time[:, 0].sum() / 3
    assert verify(problem, progress.plan) == []


def test_same_seed_same_answer() -> None:
    """Two runs with one seed agree node by node."""
    problem = regal(16, 2)
    one, two = (solve(problem, seed=5) for _ in range(2))
    assert one.plan is not None
    assert two.plan is not None
    assert one.plan.assignment.tolist() == two.plan.assignment.tolist()


def test_throughput() -> None:
    """Throughput of a pipeline is one over the bottleneck, and its bound is from above."""
    problem = Problem.create(regal(12, 2).graph, [Device("a"), Device("b")], Shared(1.0), Objective("throughput"))
    result = solve(problem)
    assert result.cost is not None
    assert result.bound is not None
    assert problem.objective.value(result.cost) <= problem.objective.value(result.bound.cost)


@pytest.mark.parametrize("seed", [7, 9, 11, 16, 27, 30, 42])
def test_a_proof_that_is_low_by_rounding_is_a_proof(seed: int) -> None:
    """Asked for no gap at all, auto ends with the search of all ideals, whose bound is less by the rounding of sums."""
    draw = Random(seed)
    graph = layered(draw.randint(4, 25), draw.randint(1, 4), seed=seed)
    devices = [Device(f"d{i}", speed=draw.choice([1.0, 0.7, 1.3])) for i in range(3)]
    problem = Problem.create(graph, devices, Shared(draw.choice([1.0, 0.3, 7.1])), constraints=[Acyclic()])
    said: list[str] = []
    result = solve(problem, gap=0.0, progress=Progress(lambda _, message: said.append(message)))
    assert result.gap == 0.0
    assert result.termination == "gap"
    assert [turn.method for turn in result.turns] == ["ideals"]
    assert not [message for message in said if message.startswith("slicing")]
    assert [message for message in said if message.startswith("running ideals for at most ")]


class Rounded:
    """Goes to its end with a bound that is low by its tolerances, as solvers do."""

    name = "rounded"
    summary = "a proof with tolerances"
    gives = "plan and bound"

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        plan = Plan.create(problem, [0] * problem.graph.n)
        found = evaluate(problem, plan)
        bound = Bound(found.cost * (1 - 5e-7), self.name, "trusted", "test")
        progress.report_plan(plan, found.cost)
        progress.report_bound(bound)
        return Result("gap", plan=plan, bound=bound, evaluation=found, method=self.name)


class TwoSteps(AutoSteps):
    """One proof, and a search after it."""

    def result(self) -> Result:
        self.run(LaneTask(Rounded()))
        self.run(LaneTask(Annealing()))
        return self.answer()


def test_a_proof_ends_a_lane_and_what_follows_it() -> None:
    """Where a method has gone to its end, no other is tried: what is open is the rounding of its proof."""
    problem = Problem.create(layered(6, 2), [Device("d0")], Shared(1.0))
    progress, limits = Progress(), Limits(time=60.0, gap=0.0)
    results = run_lane(problem, [LaneTask(Rounded()), LaneTask(Annealing())], limits, progress)
    assert [result.method for result in results] == ["rounded"]
    run = TwoSteps(problem, limits, Progress())
    answer = run.result()
    assert run.closed
    assert answer.bound is not None
    assert (answer.termination, answer.bound.method) == ("gap", "rounded")


def test_convex_splits_without_an_order_are_proved() -> None:
    """Bounds know hardly anything of ``contiguous`` alone; one model of everything proves real graphs."""
    problem = Problem.create(layered(24, 3, seed=1), [Device(f"d{i}") for i in range(3)], Shared(1.0))
    problem = problem.with_constraints([Contiguous()])
    turns = find_method("auto").outline(problem)  # type: ignore[attr-defined]
    assert turns.index("exact") < turns.index("configuration")
    result = solve(problem, time_limit=30)
    assert result.status == "optimal"


def test_ideals_are_searched_to_their_end_once() -> None:
    """What the search of ideals leaves open when it has ended, it would leave open again: others have the time."""
    problem = Problem.create(layered(45, 4, seed=1), [Device(f"d{i}") for i in range(3)], Shared(1.0))
    problem = problem.with_constraints([Contiguous(), Memory()])
    result = solve(problem, time_limit=5)
    assert [turn.method for turn in result.turns].count("ideals") == 1


def test_few_ideals_are_searched_beyond_the_patience_with_many() -> None:
    """The search goes on for its whole time where all ideals are stored and few; with many it ends soon."""
    problem = Problem.create(
        layered(60, 30, seed=1), [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()]
    )
    run = FlatRun(problem, Limits(time=60.0), Progress(), 1e9, patience=0.0, slices=SliceGraph)
    run._counted(100)
    run._pause()
    run._counted(10**6)
    with pytest.raises(SearchEnded):
        run._pause()
    began = monotonic()
    assert Ideals(patience=0.5).solve(problem, Limits(time=60.0), Progress()).termination == "time_limit"
    assert monotonic() - began < 30
