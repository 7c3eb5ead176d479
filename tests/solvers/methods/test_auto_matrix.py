"""Method auto over objectives, interconnects and constraints: it accepts what something behind it can solve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError
from itertools import combinations, islice, product
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.cli.run import run as mtpp
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    ExclusiveLinks,
    Forbid,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Pin,
    Replicate,
    Separate,
    Start,
    Subgraphs,
)
from mtpp_dsl.core.contracts.protocols import refusal
from mtpp_dsl.core.errors import MtppError, Refused, SolverError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat import effort
from mtpp_dsl.solvers.backends.cpsat.engine import availability
from mtpp_dsl.solvers.methods.auto import sizes
from mtpp_dsl.solvers.methods.cp_sat import Scheduling
from mtpp_dsl.solving.api import find_method, load, method_names, solve
from tests.amount import stride
from tests.oracle import optimum

DIAMOND = Graph.create(
    "abcd", [(0, 1), (0, 2), (1, 3), (2, 3)], work=[2, 3, 4, 2], output=[1, 2, 0.5, 1], params=[2, 1, 2, 1]
)
TRAINING = Graph.create(
    "abcd", [(0, 1), (1, 2), (2, 3)], work=[1, 3, 4, 2], output=1.0, params=1.0, backward=[False, False, True, True]
)
UNEQUAL = [Device("x", memory=9.0), Device("y", speed=2.0, memory=7.0)]
EQUAL = [Device("x", memory=9.0), Device("y", memory=9.0)]
GROUPS = [Device("x", memory=9.0, group="p"), Device("y", memory=9.0, group="q")]
POOL = [Device("x", memory=9.0), Device("y", speed=0.5, pays_io=False)]
OBJECTIVES = [
    Objective("bottleneck"),
    Objective("bottleneck", parts="separate"),
    Objective("throughput"),
    Objective("makespan"),
    Objective("throughput", batch=2),
]
INTERCONNECTS: list[Interconnect] = [
    Shared(2.0),
    Shared(2.0, between=1.0),
    Host(2.0),
    Links(np.ones((2, 2)), 0.1 * np.ones((2, 2))),
]


def row(terms: dict[object, float], sense: str, rhs: float) -> Linear:
    return Linear(label="row", terms=tuple(terms.items()), sense=sense, rhs=rhs)  # type: ignore[arg-type]


CONSTRAINTS: list[Constraint] = [
    Acyclic(),
    Acyclic(parts="forward"),
    Contiguous(),
    Contiguous(devices=(0,)),
    Memory(),
    Colocate(nodes=(0, 1)),
    Separate(nodes=(1, 2)),
    Pin(nodes=(0,), devices=(0,)),
    Forbid(nodes=(0,), devices=(0,)),
    Subgraphs(most=1),
    Subgraphs(most=2, devices=(0,)),
    ExclusiveLinks(),
    BatchSizes(sizes=(1, 2)),
    Replicate(most=2),
    BreakSymmetry(by="tasks"),
    row({On(1, 0): 1.0, On(2, 0): 1.0}, "<=", 1.0),
    row({Load(0): 1.0}, "<=", 9.0),
    row({Load(0): 1.0, Bottleneck(): -0.5}, ">=", 0.0),
    row({Start(3): 1.0}, "<=", 20.0),
    row({Makespan(): 1.0}, "<=", 30.0),
]


def problems(first: int, step: int) -> Iterator[Problem]:
    """Yield small problems of combinations that make sense, each with up to two constraints and contiguity.

    Of all combinations the one numbered *first* and each *step* after it.
    """
    settings = product(OBJECTIVES, INTERCONNECTS, (DIAMOND, TRAINING), (UNEQUAL, EQUAL, GROUPS, POOL))
    pairs = [chosen for size in (0, 1, 2) for chosen in combinations(CONSTRAINTS, size)]
    for (objective, interconnect, graph, devices), chosen in islice(product(settings, pairs), first, None, step):
        latency = objective.name == "makespan" and not isinstance(interconnect, Links)
        further = [Contiguous()] if latency and not any(isinstance(c, (Contiguous, Subgraphs)) for c in chosen) else []
        if latency and devices is POOL:
            further = [Subgraphs(most=1, devices=(0,))] if further else []
        try:
            yield Problem.create(graph, devices, interconnect, objective, [*chosen, *further])
        except MtppError:
            continue


@pytest.fixture
def without_cp_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make OR-tools seem not to be installed, in this process."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(effort, "version", version)
    assert not availability().ok


def said(problem: Problem) -> str:
    """Return what is asked, for messages of tests."""
    return f"{problem.objective} on {problem.interconnect.keyword}: {', '.join(map(str, problem.constraints))}"


def check_acceptance(chosen: Iterable[Problem]) -> None:
    """Hold that auto accepts what a method that finds plans accepts, baselines aside, and nothing else."""
    others = [find_method(name) for name in method_names() if name != "auto"]
    others = [other for other in others if "plan" in other.gives and not getattr(other, "baseline", False)]
    auto, count = find_method("auto"), 0
    for problem in chosen:
        can = [other.name for other in others if refusal(other, problem) is None]
        reason = auto.accepts(problem)
        assert (reason is None) == bool(can), f"{said(problem)}: {can}, and auto says {reason}"
        count += 1
    assert count > 150


def test_auto_accepts_what_something_can_solve() -> None:
    """Nothing that any method can solve is refused, and nothing accepted that none can."""
    check_acceptance(problems(0, 7 * stride(9)))


@pytest.mark.usefixtures("without_cp_sat")
def test_auto_accepts_what_something_can_solve_without_cp_sat() -> None:
    """The same holds of what is left without OR-tools."""
    check_acceptance(problems(1, 7 * stride(9)))


def latency(*constraints: Constraint) -> Problem:
    """Return a latency by subgraphs on ``host``."""
    return Problem.create(DIAMOND, UNEQUAL, Host(2.0), Objective("makespan"), [Contiguous(), *constraints])


def on_links(objective: Objective, *constraints: Constraint) -> Problem:
    """Return a problem on links between unequal devices."""
    return Problem.create(TRAINING, UNEQUAL, INTERCONNECTS[-1], objective, constraints)


@pytest.mark.parametrize(
    "problem",
    [
        latency(Separate(nodes=(1, 2))),
        latency(Separate(nodes=(0, 3)), Memory()),
        on_links(Objective("makespan"), Acyclic(), Contiguous(devices=(0,)), Pin(nodes=(1,), devices=(0,))),
        on_links(Objective("makespan"), Contiguous(parts="forward"), ExclusiveLinks(), Separate(nodes=(0, 3))),
        on_links(Objective("throughput", batch=2), Separate(nodes=(0, 3)), BatchSizes(sizes=(1, 2))),
        Problem.create(DIAMOND, UNEQUAL, Shared(2.0), constraints=[Acyclic(), Separate(nodes=(1, 2))]),
        Problem.create(TRAINING, EQUAL, Shared(2.0), constraints=[Acyclic(), Pin(nodes=(0,), devices=(0,))]),
        Problem.create(DIAMOND, POOL, Host(2.0), constraints=[Contiguous(devices=(0,)), Colocate(nodes=(0, 3))]),
    ],
    ids=said,
)
def test_auto_proves_what_an_exact_method_can(problem: Problem) -> None:
    """Also where no search, or not CP-SAT, honours all constraints, the optimum is found and proved."""
    result, best = solve(problem, threads=1), optimum(problem)
    assert result.status == ("infeasible" if best is None else "optimal")
    assert result.cost == (None if best is None else pytest.approx(best))


def test_replicas_of_devices_that_are_told_apart_have_a_plan() -> None:
    """Where a pin tells devices apart, only splits of orders know of replicas: their plan is the answer."""
    problem = Problem.create(
        DIAMOND, EQUAL, Shared(2.0), constraints=[Replicate(most=2), Pin(nodes=(0,), devices=(0,))]
    )
    result = solve(problem, threads=1, time_limit=20)
    assert result.cost == solve(problem, "dpl").cost


CLASHING = """
graph {
  node a (work = 1, output = 1)
  node b (work = 2, output = 1)
  node c (work = 3, output = 1)
  edge a -> b -> c
}
device x
device y
interconnect links (bandwidth = 1)
minimize makespan
"""


@pytest.mark.parametrize(
    ("rules", "best"), [("constraint contiguous constraint separate a, c", 7.0), ("constraint acyclic", 6.0)]
)
@pytest.mark.parametrize("there", [True, False])
def test_orders_on_links_are_proved(rules: str, best: float, there: bool, request: pytest.FixtureRequest) -> None:
    """Constraints that no search for schedules honours are the models' matter: CP-SAT's, or without it the MILP."""
    if not there:
        request.getfixturevalue("without_cp_sat")
    result = solve(load(CLASHING + rules), threads=1)
    assert (result.status, result.cost) == ("optimal", best)
    two = load(CLASHING.replace("  edge a -> b -> c\n", "") + rules)
    assert solve(two, threads=1).status == "optimal"


def test_a_model_that_refuses_or_fails_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CP-SAT's model refuses, or CP-SAT fails, the mixed-integer programme has its turn; the answer says so."""
    problem = load(CLASHING + "constraint contiguous constraint separate a, c")

    def fails(*_: object) -> Result:
        raise SolverError("the process died")

    monkeypatch.setattr(Scheduling, "solve", fails)
    result = solve(problem, threads=1)
    assert (result.status, result.cost) == ("optimal", 7.0)
    assert any("the process died" in note for note in result.notes)
    monkeypatch.setattr(Scheduling, "accepts", lambda *_: "refused")
    assert find_method("auto").accepts(problem) is None
    assert solve(problem, threads=1).cost == 7.0
    with pytest.raises(Refused, match="refused"):
        solve(problem, solver="cp-sat")


def test_a_model_that_is_large_is_solved_where_nothing_else_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that no search honours leaves the exact model alone, whatever its size."""
    monkeypatch.setattr(sizes, "MAX_ROWS", 1)
    few = row({On(v, 0): 1.0 for v in range(4)}, "==", 1.0)
    apart = Problem.create(DIAMOND, UNEQUAL, Shared(2.0), constraints=[few, Separate(nodes=(1, 2))])
    result = solve(apart, threads=1)
    assert (result.status, result.cost) == ("optimal", optimum(apart))


@pytest.mark.usefixtures("without_cp_sat")
def test_check_lists_what_is_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without OR-tools what needs it is not among the methods that can solve a spec, or is named in its place."""
    spec = tmp_path / "chain.mtpp"
    spec.write_text(CLASHING)
    assert mtpp(["check", str(spec), "--verbose"]) == 0
    told = capsys.readouterr().out
    can = next(line for line in told.splitlines() if line.startswith("solve it"))
    assert "auto" in can
    assert not any(name in can for name in ("decomposition", "chain-relaxation", "lns"))
    assert "not installed" in told
    assert "lns" not in find_method("auto").outline(load(CLASHING))  # type: ignore[attr-defined]
    with pytest.raises(Refused, match="annealing") as refused:
        solve(load(CLASHING), "exact")
    assert "lns" not in str(refused.value)
