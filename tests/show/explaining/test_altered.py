"""Altered problems, held against all their plans by brute force."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Links, Shared, Tree
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.altered import relaxes, with_bandwidth, with_memory, without
from tests.objective_problems import random_case, random_timed_case
from tests.oracle import optimum, plans
from tests.row_problems import small_problem


def _random(seed: int) -> Problem:
    kind = seed % 4
    if kind == 0:
        return random_case(seed).problem
    if kind == 1:
        return random_timed_case(seed).problem
    return small_problem(seed, "bottleneck")


@pytest.mark.parametrize("seed", range(12))
def test_without_a_constraint_all_plans_stay_and_none_costs_more(seed: int) -> None:
    problem = _random(seed)
    if problem.graph.n > 4 or problem.timed:
        problem = small_problem(seed + 100, "bottleneck")
    kept = list(plans(problem))[:20]
    for constraint in problem.constraints:
        altered = without(problem, [constraint])
        assert constraint not in altered.constraints
        assert len(altered.constraints) == len(problem.constraints) - 1
        if relaxes(problem, [constraint]):
            assert not any(verify(altered, plan) for plan in kept)
            before, after = optimum(problem), optimum(altered)
            assert before is None or (after is not None and after <= before + 1e-9)


TWO = """
graph {{ node a (work = 2 ms, params = 3 MB, output = 8 MB) node b (work = 3 ms, params = 4 MB) edge a -> b }}
device d[2] (memory = 5 MB, reserve = 1 MB)
{joined}
minimize bottleneck
constraint memory on d[0], d[1]
{more}
"""


def _two(joined: str = "interconnect shared (bandwidth = 1 GB/s)", more: str = "") -> Problem:
    return mtpp_dsl.load(TWO.format(joined=joined, more=more))


def test_memories_are_scaled_and_lifted() -> None:
    problem = _two()
    assert optimum(problem) is None  # a takes 11 MB of 4 MB
    assert optimum(with_memory(problem, 3.0)) == pytest.approx(0.011)
    one = with_memory(problem, 3.0, [0])  # the reserve stays
    assert (one.memory_limit / problem.memory_limit).tolist() == pytest.approx([3.5, 1.0])
    with pytest.raises(Refused, match="reserve"):
        with_memory(problem, 0.1)
    with pytest.raises(Refused, match="a factor is a number above zero"):
        with_memory(problem, 0.0)


@pytest.mark.parametrize(
    "joined",
    [
        "interconnect shared (bandwidth = 1 GB/s)",
        "link d <-> d (bandwidth = 1 GB/s, latency = 1 us)",
    ],
)
def test_bandwidths_are_scaled_and_latencies_stay(joined: str) -> None:
    problem = without(_two(joined), list(_two(joined).constraints))
    faster = with_bandwidth(problem, 2.0)
    assert faster.interconnect is not problem.interconnect
    if isinstance(problem.interconnect, Shared):
        assert faster.channel.bandwidth == 2 * problem.channel.bandwidth
    else:
        assert isinstance(faster.interconnect, Links)
        assert isinstance(problem.interconnect, Links)
        assert faster.interconnect.latency.tolist() == problem.interconnect.latency.tolist()
    slow, fast = with_bandwidth(problem, 1e-6), with_bandwidth(problem, 1e6)
    assert optimum(slow) == pytest.approx(0.005)
    assert optimum(fast) == pytest.approx(0.003, rel=1e-2)


def test_a_tree_has_its_uplinks_scaled() -> None:
    problem = mtpp_dsl.load("""
        graph { node a (work = 2 ms, output = 8 MB) node b (work = 3 ms) edge a -> b }
        switch rack
        device d[2] (switch = rack, uplink = 1 GB/s)
        minimize bottleneck
    """)
    assert isinstance(problem.interconnect, Tree)
    faster = with_bandwidth(problem, 2.0).interconnect
    assert isinstance(faster, Tree)
    assert faster.uplink[:2].tolist() == [2e9, 2e9]


def test_what_says_what_is_asked_cannot_be_left_out() -> None:
    problem = mtpp_dsl.load("""
        graph from generator chain (nodes = 3)
        device d[2]
        interconnect shared (bandwidth = 1)
        minimize iteration (microbatches = 4)
        constraint acyclic
    """)
    with pytest.raises(Refused, match="order"):
        without(problem, list(problem.constraints))
    latency = mtpp_dsl.load("""
        graph from generator chain (nodes = 3)
        device d[2]
        interconnect shared (bandwidth = 1)
        minimize makespan
        constraint contiguous constraint subgraphs at most 2
    """)
    contiguous, subgraphs = latency.constraints
    assert without(latency, [contiguous]).constraints == (subgraphs,)
    with pytest.raises(Refused, match="fewer subgraphs"):
        without(latency, [subgraphs])
    with pytest.raises(Refused, match="nothing says how many subgraphs"):
        without(latency, [contiguous, subgraphs])
