"""Method ``diving``: splits made of sets that the configuration bound covers with."""

from __future__ import annotations

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Colocate, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Bools, Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import least_load
from mtpp_dsl.solvers.bounds.configuration import narrow_sets
from mtpp_dsl.solvers.bounds.configuration.covering import Columns
from mtpp_dsl.solvers.bounds.configuration.diving import Diving as Dive
from mtpp_dsl.solvers.bounds.configuration.narrow_attempt import NarrowAttempt
from mtpp_dsl.solvers.bounds.partition.bound_instance import bound_instance
from mtpp_dsl.solvers.methods.diving import Diving
from tests.amount import part
from tests.oracle import optimum
from tests.split_problems import residual, split_problem


def test_nearly_all_small_splits_are_optimal() -> None:
    """With ties, zeros, magnitudes and pins; memory, which tables do not count, may leave it without a plan."""
    optimal = tried = 0
    for seed in range(part(1200)):
        problem = split_problem(seed, 6)
        if Diving().accepts(problem) is not None:
            continue
        plan, best = Diving().solve(problem, Limits(time=2.0), Progress()).plan, optimum(problem)
        assert plan is None or not verify(problem, plan), seed
        if best is None or any(problem.of(Memory)):
            continue
        tried += 1
        assert plan is not None, seed
        assert cost_of(problem, plan) >= best * (1 - 1e-9)
        optimal += cost_of(problem, plan) <= best * (1 + 1e-9)
    assert tried >= 20
    assert optimal >= 0.9 * tried


def test_loads_are_below_the_target() -> None:
    """But for what rounding adds to them; no weights prove that the rest does not fit where it does."""
    problem = residual(8)
    groups = bound_instance(problem)
    states = narrow_sets.states_of(groups)
    assert states is not None
    least = least_load(problem, Limits(), Progress()).bound
    assert least is not None
    target = 1.1 * least.cost
    device = Dive(groups, states, Columns(groups), target, 20, 3, lambda: False).split(np.ones(groups.n), 5.0)
    assert device is not None
    assert cost_of(problem, Plan.create(problem, device[groups.of])) <= target * (1 + 1e-3)


def test_no_split_is_below_what_is_proved() -> None:
    """Weights tell at once that a target is too low, so that the first set is never fixed."""
    problem = residual(8)
    groups = bound_instance(problem)
    states = narrow_sets.states_of(groups)
    least = least_load(problem, Limits(), Progress()).bound
    assert states is not None
    assert least is not None
    dive = Dive(groups, states, Columns(groups), 0.99 * least.cost, 20, 3, lambda: False)
    assert dive.split(groups.time.min(axis=1), 5.0) is None
    assert dive._turns == 19


def test_it_goes_back_where_a_set_leaves_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a set of one node comes first, the next ones have their turn, unless one alone is tried; 9.4 is optimal."""
    problem = residual(4)
    groups = bound_instance(problem)
    states = narrow_sets.states_of(groups)
    assert states is not None
    likely = NarrowAttempt.likely

    def poor_first(attempt: NarrowAttempt) -> list[tuple[int, Bools]]:
        held = np.arange(groups.n) == np.flatnonzero(attempt._covered)[0]
        return [(0, held), *likely(attempt)]

    monkeypatch.setattr(NarrowAttempt, "likely", poor_first)
    for branches in (1, 3):
        dive = Dive(groups, states, Columns(groups), 9.41, 60, branches, lambda: False)
        assert (dive.split(np.ones(groups.n), 5.0) is not None) == (branches > 1)


TIGHT = """mtpp 1
graph {
  node a[i in 0..12] (work = (3 + mod(7 * i, 11)) * 1 ms, params = (2 + mod(5 * i, 7)) * 1 MiB,
                      output = (1 + mod(3 * i, 5)) * 1 MiB)
  node s[i in 0..<12] (work = (1 + mod(5 * i, 3)) * 1 ms, params = 1 MiB, output = 1 MiB)
  edge a[i] -> a[i + 1] for i in 0..<12
  edge a[i] -> s[i]     for i in 0..<12
  edge s[i] -> a[i + 1] for i in 0..<12
}
device big[2] (memory = 40 MiB)
device small[3] (speed = 0.5, memory = 16 MiB)
device cpu (speed = 0.1, memory = 4 GiB)
interconnect shared (bandwidth = 5 GiB/s)
minimize bottleneck
constraint memory
"""


def test_sets_that_exceed_a_memory_go_to_no_device() -> None:
    """Without that, the sets with the largest shares make no plan here."""
    problem = mtpp_dsl.load(TIGHT)
    plan = Diving().solve(problem, Limits(time=2.0), Progress()).plan
    assert plan is not None
    assert not verify(problem, plan)


def test_memory_is_kept() -> None:
    """The plan holds what its devices can, or there is none."""
    plans = [Diving().solve(residual(4, memory), Limits(time=0.5), Progress()).plan for memory in (17.0, 2.0)]
    assert plans[0] is not None
    assert not verify(residual(4, 17.0), plans[0])
    assert plans[1] is None or not verify(residual(4, 2.0), plans[1])


def test_nodes_that_no_device_holds_together_are_told() -> None:
    """Each fits, and both have to share a device."""
    fitting = [Device(f"acc{d}", memory=1.5) for d in range(20)]
    together = Problem.create(residual(4).graph, fitting, Host(1.0), constraints=[Memory(), Colocate(nodes=(0, 1))])
    result = Diving().solve(together, Limits(time=1.0), Progress())
    assert result.infeasibility is not None
    assert "'v0', 'v1'" in result.infeasibility.reason


def test_wide_graphs_are_refused() -> None:
    n, random = 60, np.random.default_rng(0)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.3]
    graph = Graph.create([f"v{v}" for v in range(n)], edges, work=1.0, output=1.0)
    wide = Problem.create(graph, [Device("a"), Device("b")], Shared(1.0))
    assert "few tensors open" in str(Diving().accepts(wide))
    with pytest.raises(Refused, match="few tensors open"):
        Diving().solve(wide, Limits(time=1.0), Progress())


def test_results_have_the_name_of_a_subclass() -> None:
    class Renamed(Diving):
        name = "renamed"

    assert Renamed().solve(residual(2), Limits(time=0.5), Progress()).method == "renamed"
