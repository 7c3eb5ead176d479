"""Annealing of weighted sums of decisions, and of splits under labelled rows."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl import evaluate, solve, verify
from mtpp_dsl.core.constraints import Acyclic, Bottleneck, Finish, Linear, Memory, Used
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.solvers.partition.weighted.instance import instance_of, state_of
from mtpp_dsl.solvers.partition.weighted.moves import ANNEAL, DRAWS, BestWeighted, WeightedMoves
from tests.amount import part
from tests.weighted_problems import all_costs, random_problem


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(part(40, 4)))
def test_annealing_finds_the_best_of_small_problems(seed: int) -> None:
    """On problems of a few nodes the search meets the optimum, and finds no plan only where there is none."""
    problem = random_problem(seed, rows=2, linear=seed % 2 == 0)
    best = min((costs[0] for costs in all_costs(problem)), default=None)
    found = solve(problem, "annealing", time_limit=20)
    assert (found.cost is None) == (best is None)
    if best is not None:
        assert found.cost == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_state_is_kept_move_by_move(seed: int) -> None:
    """After some hundred moves all sums are those of the split, and the best cost is that of the plan."""
    problem = random_problem(seed, rows=3, most=8)
    view = hypergraph(problem)
    instance = instance_of(problem, view)
    if not instance.allowed.any(axis=1).all():
        return
    n, k = instance.time.shape
    random = np.random.default_rng(seed)
    state = state_of(instance, instance.allowed.argmax(axis=1).astype(np.int64))
    best = BestWeighted(np.zeros(n, np.int64), np.array([np.inf]))
    moves = WeightedMoves(near=0.5, clusters=0.3, exchanges=0.3, whole=0.1, charge=2.0)
    draws = random.random(DRAWS * 400)
    ANNEAL.plain(draws, 400, 0.3, 10.0, moves, np.ones(k, np.bool_), instance, state, np.inf, best)
    fresh = state_of(instance, state.device)
    for name in ("inside", "sizes", "listed", "crowd", "clash", "quotient"):
        assert (getattr(state, name) == getattr(fresh, name)).all(), name
    for name in ("load", "streamed", "used", "row", "sums"):
        assert getattr(state, name) == pytest.approx(getattr(fresh, name), abs=1e-9), name
    for d in range(k):
        assert sorted(state.members[d, : state.sizes[d]]) == np.flatnonzero(state.device == d).tolist()
    if np.isfinite(best.cost[0]):
        plan = {name: problem.devices[best.device[view.of[v]]].name for v, name in enumerate(problem.graph.names)}
        assert not verify(problem, plan)
        assert evaluate(problem, plan).cost == pytest.approx(best.cost[0], abs=1e-9)


@pytest.mark.long
def test_unused_devices_are_emptied() -> None:
    """Of devices that cost the more the faster they are, the cheapest pair that meets the deadline is found."""
    graph = Graph.create([f"v{i}" for i in range(24)], [(i, i + 1) for i in range(23)], work=1.0, output=0.0)
    devices = [Device(f"d{d}", speed=speed) for d, speed in enumerate([1.0, 1.0, 2.0, 3.0, 4.0])]
    price = Objective.linear([(Used(d), p) for d, p in enumerate([5.0, 4.0, 9.0, 10.0, 20.0])], unit="USD")
    rows = [Acyclic(), Memory(), Linear(label="deadline", terms=((Bottleneck(), 1.0),), sense="<=", rhs=6.0)]
    problem = Problem.create(graph, devices, Shared(1.0), price, rows)
    assert solve(problem, "annealing", time_limit=3).cost == 14.0  # speeds 1 and 3 do 24 in 6 s


def test_times_are_refused() -> None:
    """A row that speaks of times is for methods that make schedules."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0)
    row = Linear(label="late", terms=((Finish(1), 1.0),), sense="<=", rhs=9.0)
    problem = Problem.create(graph, [Device("d"), Device("e")], Shared(1.0), Objective.linear([(Used(0), 1.0)]), [row])
    with pytest.raises(Refused, match="finish"):
        solve(problem, "annealing")
