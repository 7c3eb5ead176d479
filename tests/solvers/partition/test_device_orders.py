"""Method ``orders``: against brute force, its relaxations for sequences of sets, and where it ends."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.algorithms.reach.measures import measured
from mtpp_dsl.solvers.algorithms.reach.states import ReachTables
from mtpp_dsl.solvers.backends.mip.bounded import BoxProgramme, minimise_relaxed, minimise_whole
from mtpp_dsl.solvers.partition.orders.ideal_chain import IdealChain, Tensors
from mtpp_dsl.solvers.partition.orders.superblocks import Superblocks
from tests.oracle import optimum, plans
from tests.tight_memories import tight_problem

SPLITS = ("shared", "host")


def solved(problem: Problem, progress: Progress, time: float | None = None) -> Result:
    result: Result = load(METHODS, "orders")().solve(problem, Limits(time=time), progress)
    return result


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(1000, 1240, 15))
def test_optima(first: int) -> None:
    """The plan is the best, no bound on the way is above it, and what has no plan is known to have none."""
    for seed in range(first, first + 15):
        problem, progress = tight_problem(seed, most=4, kinds=SPLITS), Progress()
        if load(METHODS, "orders")().accepts(problem) is not None:
            continue
        result, best = solved(problem, progress), optimum(problem)
        assert (result.infeasibility is None) == (best is not None), seed
        if best is not None:
            assert result.plan is not None
            assert not verify(problem, result.plan), seed
            assert result.cost == pytest.approx(best, rel=2e-6), seed
            assert all(entry.bound is None or entry.bound <= best * (1 + 1e-9) for entry in progress.log), seed


def best_by_order(problem: Problem) -> dict[tuple[int, ...], float]:
    """Return the least cost of the plans whose devices stand in each order."""
    cost = dict.fromkeys(permutations(range(problem.k)), np.inf)
    ends = list(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True))
    for plan in plans(problem):
        value, device = evaluate(problem, plan).cost, plan.assignment.tolist()
        for order in cost:
            if all(order.index(device[u]) <= order.index(device[v]) for u, v in ends):
                cost[order] = min(cost[order], value)
    return cost


@pytest.mark.parametrize("seed", range(40, 50))
def test_sets_cost_no_more_than_their_devices(seed: int) -> None:
    """No programme of a sequence of sets is above the best plan of an order of it; that of an order is this plan."""
    problem = tight_problem(seed, most=4, kinds=SPLITS)
    if load(METHODS, "orders")().accepts(problem) is not None:
        return
    superblocks = Superblocks(ReachTables(measured(problem)))
    tensors = Tensors.of(superblocks.measures.graph)
    for order, best in best_by_order(problem).items():
        for parts in product([False, True], repeat=problem.k - 1):
            ends = [0, *(i + 1 for i, cut in enumerate(parts) if cut), problem.k]
            sets = tuple(order[a:b] for a, b in pairwise(ends))
            if not 0 < best < np.inf:
                continue
            windows = superblocks.windows(sets, best * (1 + 1e-9))
            assert windows is not None, sets
            chain = IdealChain(superblocks, tensors, sets, windows, best * (1 + 1e-9))
            assert minimise_relaxed(chain.programme(whole=False), 10.0).bound <= 1
            whole = minimise_whole(chain.programme(whole=True), 10.0, lambda: False, gap=1e-6)
            assert whole.bound <= 1 + 1e-6
            if all(parts):
                assert whole.bound == pytest.approx(1.0, rel=1e-5)


def test_layers_of_many_ideals() -> None:
    """Eighty nodes on four devices of tight memories are proved in a moment."""
    graph = layered(nodes=80, width=4, p=0.4, spread=0.8, seed=0)
    need = float(graph.memory.sum())
    devices = [Device(f"d{i}", speed=1.0 + i % 3, memory=2.16 * need * (4 - i) / 20) for i in range(4)]
    problem = Problem.create(graph, devices, Shared(2.0), constraints=[Acyclic(), Memory()])
    result = solved(problem, Progress(), time=30.0)
    assert result.status == "optimal"
    assert result.bound is not None
    assert result.bound.proof == "trusted"
    assert result.solver is None or "highs" in result.solver


def test_stopped_at_once() -> None:
    """Without time there is the simple bound, and the plan to start from."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0, memory=1.0)
    problem = Problem.create(
        graph, [Device("x", memory=2.0), Device("y", memory=1.0)], Shared(1.0), constraints=[Acyclic(), Memory()]
    )
    result = solved(problem, Progress(), time=0.0)
    assert result.termination == "time_limit"
    assert result.bound is not None
    assert result.bound.method == "simple"


def test_bounds_are_added_up_again() -> None:
    """Any prices of rows give a bound, also wrong ones; the best ones give the optimum."""
    ones = np.ones(2)
    programme = BoxProgramme(
        cost=np.array([1.0, 2.0]), low=np.zeros(2), high=3 * ones, integer=np.zeros(2, np.bool_),
        row=np.array([0, 0]), column=np.array([0, 1]), value=ones, least=np.array([4.0]),
    )  # fmt: skip
    assert minimise_relaxed(programme, 1.0).bound == pytest.approx(5.0)
    assert minimise_relaxed(programme, 1.0).bound <= 5.0
    matrix = programme.matrix()
    for price in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 9.0):
        assert programme.bound_of(np.array([price]), matrix) <= 5.0


def test_what_it_refuses() -> None:
    """More devices than sets can be looked at, streams, and no order."""
    graph, method = Graph.create(["a", "b"], [(0, 1)], work=1.0, memory=1.0), load(METHODS, "orders")()
    many = [Device(f"d{d}", memory=1.0 + d) for d in range(13)]
    for devices, shared, rules, reason in (
        (many, Shared(1.0), [Acyclic(), Memory()], "up to 12 devices, not 13"),
        (many[:2], Shared(1.0, overflow=True), [Acyclic()], "does not support parameters that are streamed"),
        (many[:2], Shared(1.0), [Memory()], "needs 'constraint acyclic'"),
    ):
        assert reason in method.accepts(Problem.create(graph, devices, shared, constraints=rules))
