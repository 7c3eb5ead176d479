"""Tests of the splits that targets offer searches to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from random import Random

import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.targets import Split, first_splits
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.first_splits import first_counts, improving, sizes_of
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp
from mtpp_dsl.runtimes.targets.stages import Stages
from mtpp_dsl.solving.answers.again import under_target
from tests.runtimes.targets.experts import every_assignment
from tests.runtimes.targets.experts import problem as with_experts
from tests.runtimes.targets.splits import stack, target_of


def plans(target: Stages, problem: Problem) -> list[Plan]:
    """Return the first splits of a problem under the target's limits, all of which have a device for every node."""
    splits = list(first_splits(target, problem, lambda split: float(split.assignment.count(0))))
    assert splits
    assert all(len(split.assignment) == problem.graph.n for split in splits)
    return [Plan.create(problem, split.assignment) for split in splits]


@pytest.mark.parametrize("name", ["vllm", "llama-cpp", "megatron", "deepspeed"])
def test_first_splits_keep_the_limits_of_their_runtime(name: str) -> None:
    random, target = Random(name), target_of(name)
    assert isinstance(target, Stages)
    for _ in range(4):
        problem = under_target(stack(random), name)
        for plan in plans(target, problem):
            assert all("memory" in broken for broken in verify(problem, plan))
            target.counts(problem, plan)


@pytest.mark.parametrize("seed", range(4))
def test_first_splits_are_launch_lines_of_llama_cpp(seed: int) -> None:
    random, target = Random(seed), LlamaCpp()
    problem = under_target(with_experts(random, 2, 2, shared=False), "llama-cpp")
    every = {tuple(one) for one in every_assignment(target, problem)}
    assert {tuple(plan.assignment.tolist()) for plan in plans(target, problem)} <= every


def test_moving_items_between_devices_ends_at_the_best_counts() -> None:
    """From all items on one device to the only counts that cost least, where each step costs less."""

    def made(counts: Sequence[int]) -> Iterator[Split]:
        yield Split(tuple(counts))

    def cost(split: Split) -> float:
        return float(sum(abs(a - b) for a, b in zip(split.assignment, (7, 30, 4), strict=True)))

    found = list(improving(made, [(41, 0, 0)], cost))
    assert (7, 30, 4) in {split.assignment for split in found}
    assert len(found) == len(set(found)) < 200
    assert len(list(improving(made, [(41, 0, 0)], lambda _: inf))) == 1


def test_counts_to_begin_with_lose_no_item() -> None:
    random = Random(3)
    for _ in range(10):
        problem = stack(random)
        weights, work = sizes_of(problem, [(v,) for v in range(problem.graph.n)], range(problem.k))
        found = list(first_counts(problem, weights, range(problem.k), work))
        assert all(sum(counts) == problem.graph.n and min(counts) >= 0 for counts in found)
