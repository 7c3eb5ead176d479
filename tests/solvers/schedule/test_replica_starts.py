"""Schedules in which groups of chunks run alike on groups of equal devices: plans, and better ones than lists make."""

from __future__ import annotations

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.schedule.search.replica_starts import kinds_of, near_first, one_group, replica_starts
from mtpp_dsl.solvers.schedule.search.schedule_annealing import anneal_batches, anneal_sample
from tests.amount import part
from tests.batch_problems import random_batches

SPEC = """mtpp 1
graph {
  node a[i in 1..6] (work = 4 ms, params = 1 GB, output = 1 MiB)
  edge a[i] -> a[i + 1] for i in 1..5
}
device fast[i in 0..3] (memory = 3.5 GB, group = mod(i, 2))
device slow[2] (speed = 0.1, fixed = 60%)
interconnect links (bandwidth = 1 GiB/s)
link fast[i] -> fast[j] (bandwidth = 100 GiB/s) for i in 0..3 for j in 0..3 if i != j and mod(i, 2) == mod(j, 2)
maximize throughput (batch = 8, transfer = per_input)
constraint batch in [2, 4, 8]
constraint memory
"""


def sample(problem: Problem, limits: Limits) -> Plan | None:
    return anneal_sample(problem, Limits(time=0.3, seed=limits.seed), Progress(), 1, 20).plan


def starts(problem: Problem) -> list[Plan]:
    return list(replica_starts(BatchInstance.of(problem), Limits(time=5.0), sample))


def test_two_groups_have_half_of_the_chunks_each() -> None:
    """Each group of four inputs has two fast devices of one group, which hold three of the six nodes each."""
    problem = mtpp_dsl.load(SPEC)
    halves = starts(problem)[0]
    assert not verify(problem, halves)
    assert halves.batches is not None
    where = halves.batches.device
    assert (where[:, :4] == where[:, :1]).all()
    assert (where[:, 4:] == where[:, 4:5]).all()
    assert {d % 2 for d in where[:, 0].tolist()} != {d % 2 for d in where[:, 4].tolist()}
    assert cost_of(problem, halves) == pytest.approx(6 * 4 * 4e-3 + 4 * 2**20 / (100 * 2**30), rel=1e-6)


def test_near_devices_follow_each_other() -> None:
    instance = BatchInstance.of(mtpp_dsl.load(SPEC))
    fast, slow = kinds_of(instance)
    assert (fast, slow) == ([0, 1, 2, 3], [4, 5])
    assert near_first(instance, fast) == [0, 2, 1, 3]


def test_a_group_takes_what_its_chunks_take() -> None:
    problem = mtpp_dsl.load(SPEC)
    instance = BatchInstance.of(problem)
    group = one_group(instance, np.array([2, 4]), 2)
    assert (group.time == instance.time[:, [2, 4], 2]).all()
    assert group.transfers.scaled(0, 0, 1, 1) == instance.takes(0, 2, 4, 2)


def test_without_equal_devices_there_are_none() -> None:
    apart = SPEC.replace("fast[i in 0..3] (", "fast[i in 0..3] (speed = 1 + i, ").replace("slow[2]", "slow[1]")
    assert starts(mtpp_dsl.load(apart)) == []


def test_they_are_plans_as_a_rule() -> None:
    """Only memory that a group of chunks needs beside another, and pins, can be against it."""
    made = good = 0
    for seed in range(part(240, 4)):
        problem = random_batches(seed, nodes=5, devices=4, chunks=4, kinds=2)
        for plan in starts(problem):
            made += 1
            good += not verify(problem, plan)
    assert made >= 8
    assert good >= 0.9 * made


def test_annealing_goes_on_from_them() -> None:
    """A list scheduler fills the first devices, and single moves do not part the chunks of all nodes."""
    problem = mtpp_dsl.load(SPEC)
    result = anneal_batches(problem, Limits(time=3.0), Progress(), 1, 1)
    assert result.plan is not None
    assert cost_of(problem, result.plan) <= min(cost_of(problem, plan) for plan in starts(problem)) * (1 + 1e-9)
