"""Bounds by weights with exact tables: never above the optimum, and proved again."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.frontier.frontier_states import narrowest
from mtpp_dsl.solvers.bounds.configuration import configuration, narrow_sets
from mtpp_dsl.solvers.bounds.configuration.covering import Columns, Proof
from mtpp_dsl.solvers.bounds.configuration.narrow_attempt import NarrowAttempt
from mtpp_dsl.solvers.bounds.partition.bound_instance import bound_instance
from mtpp_dsl.solvers.methods.bounds import Configuration
from mtpp_dsl.solvers.proofs.configuration import ConfigurationProof
from mtpp_dsl.solvers.proofs.few_open import heaviest_below
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading
from tests.oracle import optimum
from tests.split_problems import residual, split_problem


def proved(problem: Problem, best: float, seconds: float = 20.0) -> Result:
    """Return the result of the method that knows the cost of a plan."""
    progress = Progress()
    progress.report_cost(best)
    return Configuration().solve(problem, Limits(time=seconds), progress)


@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_and_are_proved_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever plan is known, also one of twice the cost of the best one."""
    monkeypatch.setattr(narrow_sets, "FEWEST", 1)
    problem = split_problem(seed, 6)
    best = optimum(problem)
    if best is None or best == 0:
        return
    for known in (best, 2 * best):
        bound = proved(problem, known).bound
        assert bound is not None
        assert bound.cost <= best * (1 + 1e-9)
        if bound.certificate is not None and bound.certificate.kind == "configuration":
            again = ConfigurationProof().prove(problem, bound.certificate.data, Limits(time=60.0))
            assert again >= bound.cost * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_no_weights_prove_a_target_above_the_optimum(seed: int) -> None:
    """All targets on the way to one that is too high hold, and so say tables of other code."""
    problem = split_problem(seed, 6)
    best = optimum(problem)
    groups = bound_instance(problem)
    if best is None or best == 0 or not np.isfinite(groups.time).any(axis=1).all():
        return
    states = narrowest(groups.n, tuple(tuple(pins) for pins, _ in groups.nets), 1_000)
    assert states is not None
    centre = groups.time.min(axis=1) / (best * groups.counts.sum()) + 1e-3
    proofs: list[Proof] = []
    attempt = NarrowAttempt(groups, states, Columns(groups), 1.5 * best, centre, lambda: False, proofs.append)
    assert attempt.run(1.0) != "proved"
    reading = ProofReading(problem)
    for proof in proofs:
        assert proof.target <= best * (1 + 1e-9)
        assert proof.unit is not None
        weights, named = [0] * len(reading.members), problem.graph.names
        for g, members in enumerate(groups.members):
            weights[reading.group_of(named[members[0]])] += int(proof.weights[g])
        for kind in reading.kinds:
            most = proof.most[groups.types.of[problem.device_index[kind.devices[0]]]]
            heaviest = heaviest_below(reading, kind, proof.target, weights, proof.unit, inf)
            assert heaviest == most


def test_residual_networks_are_bounded_above_their_work() -> None:
    """Large enough for tables; the bound is checked, its certificate by tables of its own."""
    problem = residual(32)
    simple = float(problem.graph.work.sum()) / 3.1
    bound = proved(problem, 1.05 * simple, seconds=4.0).bound
    assert bound is not None
    assert bound.method == "configuration"
    assert bound.cost > simple * 1.001
    assert bound.certificate is not None
    assert "unit" in bound.certificate.data
    assert sorted(bound.certificate.data["order"]) == sorted(problem.graph.names)
    data = bound.certificate.data
    assert ConfigurationProof().prove(problem, data, Limits(time=60.0)) == bound.cost
    assert bound.detail == configuration.BY_TABLES
    reading = ProofReading(problem)
    for kind in reading.kinds:
        heaviest = heaviest_below(reading, kind, data["target"], reading.weights(data), data["unit"], inf)
        assert {heaviest} == {data["most"][device] for device in kind.devices}


def test_devices_that_hold_more_than_a_certificate_says_refute_it() -> None:
    """Two nodes of work 1 on two devices: below 1.5, one of them holds one node, and not none."""
    problem = Problem.create(Graph.create(["a", "b"], [], work=1.0), [Device("d0"), Device("d1")], Host(1.0))
    data = {"target": 1.5, "weights": {"a": 1, "b": 1}, "most": {"d0": 0, "d1": 1}, "unit": 0.125}
    with pytest.raises(Refused):
        ConfigurationProof().prove(problem, data, Limits(time=20.0))
    with pytest.raises(Refused):  # at 1 they hold one each, which is all
        ConfigurationProof().prove(problem, {**data, "most": {"d0": 1, "d1": 1}}, Limits(time=20.0))
    right = {"target": 1.0, "weights": {"a": 1, "b": 1}, "most": {"d0": 0, "d1": 0}, "unit": 0.125}
    assert ConfigurationProof().prove(problem, right, Limits(time=20.0)) == 1.0


@pytest.mark.parametrize("order", [["a"], ["a", "a"], ["a", "c"], "ab", [0, 1]])
def test_orders_name_every_node_once(order: object) -> None:
    problem = Problem.create(Graph.create(["a", "b"], [], work=1.0), [Device("d0"), Device("d1")], Host(1.0))
    data = {"target": 1.0, "weights": {"a": 1, "b": 1}, "most": {"d0": 0, "d1": 0}, "unit": 0.125}
    assert ConfigurationProof().prove(problem, {**data, "order": ["b", "a"]}, Limits(time=20.0)) == 1.0
    with pytest.raises(Refused):
        ConfigurationProof().prove(problem, {**data, "order": order}, Limits(time=20.0))


def test_no_plan_known_is_no_ceiling() -> None:
    """Without a plan the targets of any shape are tried as before."""
    result = Configuration().solve(residual(32), Limits(time=2.0), Progress())
    assert result.bound is not None
    assert 0 < result.bound.cost < inf
