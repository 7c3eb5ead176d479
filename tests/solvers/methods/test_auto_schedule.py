"""Method auto on makespans: lists, modules, chains, one model of everything, and what is there without CP-SAT."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import TOLERANCE, verify
from mtpp_dsl.core.constraints import Contiguous, ExclusiveLinks, Linear, Makespan, Memory, Start
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import chain, layered
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.methods.auto import makespan as schedule
from mtpp_dsl.solvers.methods.auto.makespan import ScheduleRun
from mtpp_dsl.solvers.methods.auto.policy import INTERVAL_FAR
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.plugins.samples import optimum, small

MAKESPAN = Objective("makespan")
NAMES = [name for name, problem in small().items() if problem.objective == MAKESPAN]


def unequal(graph: Graph, *constraints: object, memory: float | None = None) -> Problem:
    devices = [Device(f"d{i}", speed=speed, memory=memory) for i, speed in enumerate((1.0, 2.0, 0.5))]
    links = Links(bandwidth=np.full((3, 3), 2.0), latency=np.full((3, 3), 0.1))
    return Problem.create(graph, devices, links, MAKESPAN, constraints)  # type: ignore[arg-type]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_small_problems_without_cp_sat(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OR-tools the mixed-integer programme proves the same optimum, and the user is told of the other."""
    monkeypatch.setattr(schedule, "availability", lambda: Availability(ok=False, install="pip install it"))
    result = solve(small()[name], threads=1)
    best = optimum(name)
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.cost == pytest.approx(best)
    assert result.status == "optimal" or "pip install it" in " ".join(result.notes)


def test_what_nothing_parts_goes_to_a_policy_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large graph without modules, whose plan is far from its bound, has plans of placeto before the race."""
    problem = unequal(layered(nodes=80, width=8, p=0.5, seed=1))
    turns = [turn.method for turn in solve(problem, time_limit=1.5, threads=1).turns]
    assert "placeto" not in turns
    monkeypatch.setattr(schedule, "LIFTED_NODES", 50)
    monkeypatch.setattr(schedule, "APART", 0.0)
    turns = [turn.method for turn in solve(problem, time_limit=1.5, threads=1).turns]
    assert turns.index("placeto") < turns.index("lns")


@pytest.mark.long
def test_modules() -> None:
    """A chain of modules that intervals do not close is solved by its modules, and proved."""
    graph = rwnn(model="ws", nodes=16, modules=4, seed=1)
    links = Links(bandwidth=np.full((3, 3), 1e9), latency=np.zeros((3, 3)))
    problem = Problem.create(graph, [Device(f"d{i}") for i in range(3)], links, MAKESPAN, [ExclusiveLinks()])
    result = solve(problem, time_limit=60)
    assert result.status == "optimal"
    assert result.bound is not None
    assert result.bound.method == "decomposition"


def test_a_bound_of_a_moment_comes_before_a_model() -> None:
    """What intervals prove in a moment is proved before one model of everything has its turn."""
    problem = unequal(rwnn(model="er", nodes=6, modules=4, seed=3), ExclusiveLinks())
    result = solve(problem, time_limit=60)
    assert result.bound is not None
    assert result.bound.method == "interval"
    assert not {"moirai", "decomposition"} & {turn.method for turn in result.turns}


def test_a_gap_is_reported_in_time() -> None:
    """A graph without cut nodes has a plan and a bound when its time is up."""
    problem = unequal(layered(90, 8, seed=2), ExclusiveLinks(), Memory(), memory=500.0)
    result = solve(problem, time_limit=4)
    assert result.plan is not None
    assert result.bound is not None
    assert result.time["total"] < 25
    assert not verify(problem, result.plan)


def test_labelled_constraints_on_times() -> None:
    """Where no list scheduler honours a constraint, one model does."""
    late = Linear(label="late", terms=((Start(2), 1.0),), sense=">=", rhs=50.0)
    result = solve(unequal(chain(5), late), time_limit=30)
    assert result.plan is not None
    assert result.plan.schedule is not None
    assert result.plan.schedule.start[2] >= 50 * (1 - TOLERANCE)
    assert result.status == "optimal"
    impossible = Linear(label="soon", terms=((Makespan(), 1.0),), sense="<=", rhs=1e-3)
    assert solve(unequal(chain(5), impossible), time_limit=30).status == "infeasible"


def test_solvers() -> None:
    """Another solver takes the place of CP-SAT; CP-SAT itself is for links alone."""
    problem = unequal(chain(6))
    for solver in ("highs", "scip", "cp-sat"):
        assert solve(problem, solver=solver, time_limit=30).status == "optimal"
    bottleneck = Problem.create(chain(6), [Device("x")], Shared(1.0))
    with pytest.raises(Refused, match="makespans on links only"):
        solve(bottleneck, solver="cp-sat")


def test_latency_by_subgraphs() -> None:
    """On host the search and the bound along a path meet, or the programme closes what is left."""
    devices = [Device("acc[0]", memory=30.0), Device("acc[1]", memory=30.0), Device("cpu", speed=0.1, pays_io=False)]
    problem = Problem.create(chain(8), devices, Host(5.0), MAKESPAN, [Contiguous(devices=(0, 1)), Memory()])
    result = solve(problem, time_limit=30)
    assert result.status == "optimal"


def test_how_a_network_is_taken_apart() -> None:
    """Cut nodes come first, then modules along few channels; a graph of one piece is left whole."""
    found = []
    for graph in (rwnn(nodes=10, modules=4, seed=1), rwnn(nodes=10, modules=6, channels=2, seed=1), layered(90, 8)):
        run = schedule.ScheduleRun(unequal(graph), Limits(), Progress())
        found.append((run.cut, run.split))
    assert found == [(True, False), (False, True), (False, False)]


@pytest.mark.parametrize(("cost", "given"), [(None, (0.05, 5.0)), (1.05, (0.05, 5.0)), (2.0, INTERVAL_FAR)])
def test_intervals_have_more_time_where_no_bound_is_near(cost: float | None, given: tuple[float, float]) -> None:
    graph = Graph.create([f"v{v}" for v in range(500)], [(v, v + 1) for v in range(499)], work=1.0)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("x"), Device("y")], links, Objective("makespan"))
    progress = Progress()
    if cost is not None:
        progress.report_plan(Plan.create(problem, [0] * 500), cost)
        progress.report_bound(Bound(1.0, "simple", "checked", "mtpp"))
    task = ScheduleRun(problem, Limits(time=60.0), progress).intervals()
    assert (task.share, task.seconds) == given
