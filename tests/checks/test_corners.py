"""What checkers say where few problems take them: exclusive transfers, streams, orders of stages, backward parts."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice, permutations

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.stage_check import held_memory
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Acyclic, Contiguous, InOrder, Pin, StageMemory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.stages import Keeping, stage_order, stages_after
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.lattice import IdealsProof
from tests.networks import random_problem as network_problem
from tests.phases import phased_problem, random_case
from tests.split_problems import split_problem
from tests.staging import random_stages, random_streams
from tests.staging_mixed import random_mixed, random_spread


def separate(seed: int) -> Problem:
    """Return a problem about the sum of the bottlenecks of both parts, where it has two."""
    problem = split_problem(seed)
    return problem.asking(Objective("bottleneck", parts="separate")) if problem.graph.backward.any() else problem


STREAMED = (39, 48, 50, 77, 87, 125, 152, 153, 172, 175, 184, 192)
"""Seeds of iterations in which some stages stream."""
COUNTED: dict[str, Callable[[int], Problem]] = {
    "mixed": random_mixed,
    "spread": random_spread,
    "streams": random_streams,
    "streams of iterations": lambda seed: random_spread(STREAMED[seed]),
    "network": lambda seed: network_problem(random.Random(seed)),
    "parts": separate,
    "phases": lambda seed: phased_problem(random_case(seed, 3, 2), "sums"),
}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", COUNTED)
def test_both_ways_to_count_agree(kind: str, seed: int) -> None:
    """What a plan costs and holds by ``checks``, and by ``core.plans``."""
    problem = COUNTED[kind](seed)
    for plan in islice(plans(problem), 12):
        assert cost_of(problem, plan) == pytest.approx(evaluate(problem, plan).cost, rel=1e-12)
        shards = {d: plan.shards.get(d, 1) for d in range(problem.k)}
        keeping = Keeping.of(problem, plan.assignment, shards)
        after = stages_after(plan.order, plan.assignment, problem.k)
        for lead in np.unique(plan.assignment).tolist():
            if problem.stage_memory[lead] is not None:
                held, kept = held_memory(problem, plan)[lead]
                assert held == pytest.approx(
                    keeping.memory(lead, int(after[lead]), again=lead in plan.recomputed), rel=1e-12
                )
                assert kept == keeping.kept(lead, int(after[lead]))


@pytest.mark.parametrize("seed", [331, 404, 733, 922, 1142, 1258, 1271, 1355, 1468, 1637, 1850, 2184, 2224, 2282, 2484])
def test_stages_are_in_the_best_order(seed: int) -> None:
    """In no other order do all stages fit, or recompute nowhere, if in this one they do not; few seeds tell."""
    problem = (random_stages, random_mixed)[seed % 2](seed)
    random_devices = np.random.default_rng(seed).integers(problem.k, size=problem.graph.n)
    keeping, usual = Keeping.of(problem, random_devices, {}), tuple(range(problem.k))
    ends = random_devices[np.stack([problem.graph.tails, problem.graph.heads], axis=1)].tolist()

    def possible(order: tuple[int, ...]) -> bool:
        return all(order.index(a) <= order.index(b) for a, b in ends)

    def worst(order: tuple[int, ...]) -> int:
        """Return 2 where a stage does not fit, 1 where one has to recompute, else 0."""
        after = stages_after(order, random_devices, problem.k)
        needs = [keeping.recomputes(d, int(after[d])) for d in np.unique(random_devices).tolist()]
        return max(2 if need is None else int(need) for need in needs)

    orders = [*filter(possible, permutations(usual))]
    chosen = stage_order(problem, random_devices, {}, usual)
    assert chosen is not None
    assert possible(chosen)
    assert worst(chosen) == min(map(worst, orders)) < max(map(worst, orders))


def test_stages_that_do_not_fit_recompute_where_they_have_to() -> None:
    """Under ``always`` every stage recomputes, even one that is too large; under ``free`` only those that must."""
    graph = Graph.create(["x", "y"], [(0, 1)], work=1.0, params=[1.0, 9.0], saved=[4.0, 4.0], backward=[False, False])
    for recompute, expected in (("always", {0, 1}), ("free", {0}), ("never", set())):
        rule = StageMemory(microbatches=4, schedule="1f1b", recompute=recompute)  # type: ignore[arg-type]
        devices = [Device(name, memory=8.0) for name in "ab"]
        problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), rule])
        assert Keeping.of(problem, np.array([0, 1]), {}).settled(np.array([0, 1]), (0, 1)) == expected


def test_what_streams_take_counts_once() -> None:
    """Parameters beyond the memory, over the bandwidth: 2 of work and 6 / 4, in a plan and in a proof."""
    graph = Graph.create(["x", "y"], [(0, 1)], work=1.0, params=5.0)
    problem = Problem.create(graph, [Device("a", memory=4.0)], Shared(4.0, overflow=True), constraints=[Acyclic()])
    plan = Plan.create(problem, [0, 0])
    assert evaluate(problem, plan).cost == cost_of(problem, plan) == 3.5
    assert IdealsProof().prove(problem, {"target": 3.5 * (1 - 1e-9)}, Limits(time=60.0)) > 3.4
    with pytest.raises(Refused):
        IdealsProof().prove(problem, {"target": 3.5 * (1 + 1e-9)}, Limits(time=60.0))


def test_both_parts_go_by_the_order() -> None:
    """The backward part goes back along the devices; the other way is a fault, and what it says names the part."""
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=1.0, backward=[False, False, True, True])
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[InOrder()])
    assert verify(problem, Plan.create(problem, [0, 1, 1, 0])) == []
    for assignment, message in (
        ([0, 0, 0, 1], "a path of the backward part goes from x back to y at d"),
        ([1, 0, 0, 0], "a path goes from y back to x at b"),
    ):
        assert message in str(verify(problem, Plan.create(problem, assignment)))
    pinned = problem.with_constraints([InOrder(), Pin(nodes=(1,), devices=(1,)), Pin(nodes=(2,), devices=(0,))])
    assert quick(pinned) is None
    assert verify(pinned, Plan.create(pinned, [0, 1, 0, 0])) == []


def test_many_paths_are_looked_at_once() -> None:
    """Of 40 diamonds in a row, 2 ** 40 paths lead from the first node to the last."""
    edges = [(3 * i + a, 3 * i + b) for i in range(40) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    graph = Graph.create([f"v{v}" for v in range(121)], edges, work=1.0)
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[Contiguous()])
    assert verify(problem, Plan.create(problem, [0, *[1] * 120])) == []
    back = Plan.create(problem, [0, *[1] * 119, 0])
    assert "a path leaves x and comes back at v120" in str(verify(problem, back))
