"""Bounds on both parts of a training graph alone add up to no more than the optimum of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.auto.bottleneck import BottleneckRun
from mtpp_dsl.solvers.methods.auto.parts import bound_parts
from mtpp_dsl.solvers.reductions.training_parts import part_alone, parts_fit
from tests.amount import part
from tests.oracle import optimum
from tests.strategies import mixed_graph


def training(seed: int) -> Problem:
    """Return a training graph of five nodes on two or three devices, whose parts are one after the other."""
    random = np.random.default_rng(seed)
    graph = mixed_graph(random, 5, share=0.5, outputs=(0.0, 1.0, 4.0), params=(0.0, 2.0, 3.0), training=True)
    rules: list[Constraint] = [Acyclic(parts="forward" if seed % 5 == 0 else "both")] if seed % 3 else [Contiguous()]
    rules += [Memory()] if seed % 2 else []
    rules += [Colocate(nodes=tuple(random.choice(5, 2, replace=False).tolist()))] if seed % 4 == 0 else []
    rules += [Pin(nodes=(int(random.integers(5)),), devices=(0,))] if seed % 7 == 0 else []
    devices = [
        Device(f"d{d}", memory=float(random.choice([6.0, 20.0])), speed=1.0 + d % 2) for d in range(2 + seed % 2)
    ]
    channel = Shared(1.0, overflow=seed % 2 == 0)
    return Problem.create(graph, devices, channel, Objective("bottleneck", parts="separate"), rules)


@pytest.mark.parametrize("first", range(0, part(120, 30), 30))
def test_the_sum_is_no_more_than_the_optimum(first: int) -> None:
    """On tiny graphs, the parts solved to the end; often it is the optimum."""
    tight = compared = 0
    for seed in range(first, first + 30):
        problem = training(seed)
        best = optimum(problem) if parts_fit(problem) else None
        if best is None:
            continue
        progress = Progress()
        limits = Limits(time=60.0, threads=1)
        bound_parts(problem, limits, progress, lambda *call: BottleneckRun(*call).result())
        assert progress.bound is not None
        assert progress.bound.cost <= best * (1 + 1e-9)
        compared, tight = compared + 1, tight + (progress.bound.cost >= 0.999 * best)
    assert compared > 5
    assert tight > compared / 5


def test_a_plan_taken_to_a_part_costs_no_more_there() -> None:
    """For every split: the bottleneck of a part alone is at most what that part costs in the whole."""
    random = np.random.default_rng(0)
    for seed in range(40):
        problem = training(seed)
        if not parts_fit(problem):
            continue
        device = random.integers(problem.k, size=problem.graph.n)
        whole = evaluate(problem, Plan.create(problem, device))
        for backward, loads in ((False, whole.forward), (True, whole.backward)):
            alone = part_alone(problem, backward=backward)
            own = evaluate(alone, Plan.create(alone, device[problem.graph.backward == backward]))
            assert (own.load <= loads + 1e-9).all()


def test_what_the_parts_say_nothing_of_is_left_out() -> None:
    """Other objectives, and graphs of one part, have no parts to bound."""
    problem = next(training(seed) for seed in range(20) if parts_fit(training(seed)))
    together = replace(problem, objective=Objective("bottleneck"))
    assert not parts_fit(together)


@pytest.mark.parametrize(("cost", "bound", "k", "first"), [(10, 5, 2, True), (10, 9, 2, False), (10, 5, 3, False)])
def test_the_exact_model_goes_first_where_plan_and_bound_are_far_apart(
    cost: float, bound: float, k: int, first: bool
) -> None:
    """Under ``acyclic``, on two devices: what went before seems to have missed what there is to find."""
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=1.0, backward=[False, False, True, True])
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=[Acyclic()])
    progress = Progress()
    progress.report_plan(Plan.create(problem, [0] * 4), cost)
    progress.report_bound(Bound(bound, "simple", "checked", "mtpp"))
    assert BottleneckRun(problem, Limits(time=10.0), progress).exact_first == first
