"""Moves of nodes between blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import loads, verify
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types, fits
from mtpp_dsl.solvers.partition.slicing import border_moves as local_search
from mtpp_dsl.solvers.partition.slicing.border_moves import improve
from tests.oracle import plans
from tests.solvers.partition.test_slicegraph import random_problem, uneven_problems
from tests.strategies import memory_problems, plain_problems


def annealed(problem: Problem, devices: DeviceTypes, blocks: Ints, moves: int = 400, temperature: float = 0.3) -> Ints:
    """Anneal with block b on device b."""
    return improve(
        problem.graph,
        devices,
        blocks,
        devices.of,
        moves=moves,
        temperature=temperature,
        random=np.random.default_rng(0),
        stopped=lambda: False,
        say=lambda _: None,
    )


def in_sequence(problem: Problem, blocks: Ints) -> bool:
    return bool((blocks[problem.graph.tails] <= blocks[problem.graph.heads]).all())


@pytest.mark.parametrize("strategy", [plain_problems(), memory_problems(), uneven_problems()])
@given(st.data())
def test_the_best_state_is_a_plan_and_never_worse(strategy: st.SearchStrategy[Problem], data: st.DataObject) -> None:
    """From any plan in sequence, the result keeps limits, places and the sequence, and costs no more."""
    problem = data.draw(strategy)
    start = next((p.assignment for p in plans(problem) if in_sequence(problem, p.assignment)), None)
    if start is None:
        return
    best = annealed(problem, device_types(problem), start, temperature=data.draw(st.sampled_from([0.01, 1.0])))
    assert in_sequence(problem, best)
    assert fits(problem, best)
    assert not verify(problem, Plan.create(problem, best))
    assert max(loads(problem, best.tolist())) <= max(loads(problem, start.tolist())) * (1 + 1e-12)


@pytest.mark.parametrize("uneven", [False, True])
def test_compiled_and_plain_walk_the_same_way(uneven: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled kernel is the plain one: the same moves lead to the same blocks."""
    problem = random_problem(3, 80, uneven=uneven)
    devices = device_types(problem)
    blocks = np.minimum(np.arange(80) // 16, 4)
    assert in_sequence(problem, blocks)
    found = []
    for threshold in (0.0, float("inf")):
        monkeypatch.setattr(local_search, "ANNEAL", Kernel(local_search.ANNEAL.plain, threshold))
        found.append(annealed(problem, devices, blocks, moves=20_000))
    assert (found[0] == found[1]).all()
    if not uneven:
        assert max(loads(problem, found[0].tolist())) < max(loads(problem, blocks.tolist()))


def test_incremental_loads_are_the_loads() -> None:
    """After thousands of moves the kernel's own best value is the evaluated cost of its best blocks."""
    problem = random_problem(7, 50, uneven=False)
    devices = device_types(problem)
    state = local_search._state(problem.graph, devices, np.zeros(50, np.int64), devices.of)
    best = np.zeros(50, np.int64)
    draws = np.random.default_rng(1).random((5_000, 4))
    local_search.ANNEAL.plain(draws, np.full(5_000, 0.1), 4, best, *state)
    block, base, least = state[0], state[2], state[6]
    assert max(loads(problem, best.tolist())) == pytest.approx(float(least[0]), rel=1e-9)
    assert loads(problem, block.tolist()) == pytest.approx(base.tolist(), rel=1e-9)


def test_a_group_moves_where_no_single_node_can() -> None:
    """Two pairs, each joined by a heavy tensor: a pair leaves its block as one, a node alone would pay."""
    graph = Graph.create(["a", "b", "c", "d"], [(0, 1), (2, 3)], work=2.0, output=100.0)
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0))
    best = annealed(problem, device_types(problem), np.zeros(4, np.int64), temperature=0.01)
    assert max(loads(problem, best.tolist())) == 4.0


def test_one_block_has_no_moves() -> None:
    """With one device, or no node, the blocks are returned as they are."""
    problem = Problem.create(Graph.create(["a"], []), [Device("d")], Shared(1.0))
    assert annealed(problem, device_types(problem), np.zeros(1, np.int64)).tolist() == [0]
