"""Certificates ``ideals``: they prove what is true, all of it for simple pipelines, and never more."""

from __future__ import annotations

from math import inf
from operator import le
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    InOrder,
    Linear,
    Memory,
    Pin,
    Replicate,
    Robust,
    StageMemory,
    Used,
)
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs import lattice
from mtpp_dsl.solvers.proofs.chain_labels import undominated
from mtpp_dsl.solvers.proofs.lattice import IdealsProof
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading
from tests.networks import random_problem
from tests.oracle import optimum
from tests.order_problems import KINDS, ordered_problem
from tests.phases import GOALS, phased_problem, random_case
from tests.solvers.partition.test_hierarchy import random_problem as hierarchical
from tests.solvers.proofs.test_chain import pipelines
from tests.staging import random_group_rules, random_groups, random_stages, random_streams
from tests.staging_mixed import random_mixed, random_spread
from tests.tight_memories import tight_problem
from tests.tree import ROOT
from tests.weighted_problems import random_problem as weighted_problem

MORE = (1 + 1e-9, 1 + 1e-6, 1.1)
LESS = 1 - 1e-9
SOURCES = {
    "network": lambda seed: random_problem(Random(seed)),
    "memory": tight_problem,
    "stages": lambda seed: random_stages(seed, 4),
    "groups": lambda seed: random_groups(seed, 3),
    "rules about groups": random_group_rules,
    "mixed": random_mixed,
    "spread": random_spread,
    "streams": random_streams,
    "hierarchy": lambda seed: hierarchical(seed, training=bool(seed % 2)),
    **{f"phases, {goal}": lambda seed, goal=goal: phased_problem(random_case(seed, n=4), goal) for goal in GOALS},
    "prices": lambda seed: weighted_problem(seed, soft=0.3),
    **{f"order, {kind}": lambda seed, kind=kind: ordered_problem(seed, kind, 4, 3) for kind in KINDS},
}


def proves(problem: Problem, target: float) -> bool:
    """Return whether no plan is below the target, as far as the checker can tell."""
    try:
        return IdealsProof().prove(problem, {"target": target}, Limits(time=60.0)) == target
    except Refused:
        return False


@settings(max_examples=80)
@given(pipelines())
def test_it_proves_optima_and_no_more(problem: Problem) -> None:
    """Of a pipeline with memory, streams and colocated nodes exactly the optimum is proved."""
    best = optimum(problem)
    if best is None:
        assert proves(problem, 1e9)
    elif best > 0:
        assert proves(problem, best * LESS)
        assert not any(proves(problem, best * more) for more in MORE)


@settings(max_examples=60)
@given(st.sampled_from(sorted(SOURCES)), st.integers(0, 10_000))
def test_it_never_proves_more_than_is_true(source: str, seed: int) -> None:
    """Whatever else a problem has, what is left out only weakens what is proved."""
    asked = SOURCES[source](seed)
    problem = recognised(asked.in_one_phase or asked).problem
    if not proves(problem, 1e-12):
        return
    best = optimum(asked)
    assert best is None or best == 0 or not any(proves(problem, best * more) for more in MORE)


EXACT = ("stages", "groups", "mixed", "streams", *(f"phases, {goal}" for goal in GOALS if goal != "sums"))
"""Sources whose optimum is proved to the last digit."""
TELLING = (15, 23, 25, 41, 47)
"""Seeds of mixed stages that tell one argument of the proof from another."""


@pytest.mark.parametrize(
    ("source", "seed"),
    [*((source, seed) for source in EXACT for seed in range(5)), *(("mixed", seed) for seed in TELLING)],
)
def test_stages_and_phases_are_proved_to_the_optimum(source: str, seed: int) -> None:
    """What replicas, shards, recomputing, schedules and phases take is counted whole; loads of one device are not."""
    asked = SOURCES[source](seed)
    problem = recognised(asked.in_one_phase or asked).problem
    best = optimum(asked)
    if problem.acyclic and best != 0:
        assert proves(problem, 1e9 if best is None else best * LESS)
        assert best is None or not any(proves(problem, best * more) for more in MORE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40))
def test_equal_devices_under_different_rules(seed: int) -> None:
    """Rules about shards, replicas and places that are each about some of equal devices only keep plans off."""
    problem = random_group_rules(seed)
    best = optimum(problem)
    assert not best or not any(proves(problem, best * more) for more in MORE)


def test_rows_on_used_devices_count() -> None:
    """Under a budget for two of three devices the bottleneck of two devices is proved."""
    graph = Graph.create(["x", "y", "z"], [(0, 1), (1, 2)], work=1.0)
    devices = [Device(name) for name in "abc"]
    budget = Linear(label="budget", terms=tuple((Used(d), 1.0) for d in range(3)), sense="<=", rhs=2.0)
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), budget])
    assert proves(problem, 2.0 * LESS)
    assert not proves(problem, 2.0 * (1 + 1e-9))
    assert not proves(problem.with_constraints([Acyclic()]), 1.0 * (1 + 1e-9))


def chain(n: int, *rules: object, memory: float | None = None) -> Problem:
    graph = Graph.create([f"v{v}" for v in range(n)], [(v, v + 1) for v in range(n - 1)], work=1.0, output=0.5)
    devices = [Device("a", memory=memory), Device("b", speed=2.0)]
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), *rules])


@pytest.mark.parametrize(
    ("problem", "best"),
    [
        (chain(6), 2.5),  # four nodes on b, and one tensor between
        (
            chain(6, Pin(nodes=(0,), devices=(0,)), Pin(nodes=(5,), devices=(0,))),
            6.0,
        ),  # all on a: data must not come back
        (chain(6, InOrder()), 2.5),
        (chain(6, InOrder(devices=(1, 0))), 2.5),
        (chain(4, Colocate(nodes=(0, 3))), 2.0),  # what is between them comes along
        (chain(6, Robust(most=1, share=1.0)), 2.5),  # what is left out: 3 is the optimum
    ],
)
def test_known_optima(problem: Problem, best: float) -> None:
    assert proves(problem, best * LESS)
    assert not proves(problem, best * (1 + 1e-9))


def test_memory_counts() -> None:
    """A device that holds one node leaves the rest to the other one."""
    graph = Graph.create(["x", "y", "z"], [(0, 1), (1, 2)], work=1.0, memory=1.0)
    devices = [Device("a", memory=1.0), Device("b", memory=2.0)]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()])
    assert proves(problem, 2.0 * LESS)
    assert not proves(problem.with_constraints([Acyclic()]), 2.0 * (1 + 1e-9))


@pytest.mark.parametrize(("spec", "price"), [("buying", 2.2), ("cheapest", 1.5)])
def test_prices_of_used_devices(spec: str, price: float) -> None:
    """The least price under a limit of the bottleneck is proved, and no more."""
    problem = recognised(mtpp_dsl.load(ROOT / f"examples/{spec}.mtpp")).problem
    assert proves(problem, price * LESS)
    assert not proves(problem, price * (1 + 1e-9))


def test_memory_of_stages_is_not_streamed() -> None:
    """Where stages must fit, nothing is streamed, and so no time for it is proved."""
    graph = Graph.create(["x", "y"], [(0, 1)], work=1.0, params=2.0)
    devices = [Device(name, memory=2.0) for name in "ab"]
    link = Shared(1.0, overflow=True)
    rule = StageMemory(microbatches=2, schedule="gpipe")
    problem = Problem.create(graph, devices, link, constraints=[Acyclic(), rule])
    assert [kind.free for kind in ProofReading(problem).kinds] == [inf]
    assert [kind.free for kind in ProofReading(problem.with_constraints([Acyclic()])).kinds] == [2.0]


def test_it_refuses_what_it_is_not_about(monkeypatch: pytest.MonkeyPatch) -> None:
    free = chain(3).with_constraints([])
    with pytest.raises(Refused, match="only acyclic plans"):
        IdealsProof().prove(free, {"target": 1.0}, Limits(time=60.0))
    monkeypatch.setattr(lattice, "MAX_IDEALS", 3)
    with pytest.raises(Refused, match="more than 3 ideals"):
        IdealsProof().prove(chain(6), {"target": 1.0}, Limits(time=60.0))
    monkeypatch.undo()
    monkeypatch.setattr(lattice, "MAX_COUNTS", 3)
    with pytest.raises(Refused, match="numbers of devices"):
        IdealsProof().prove(chain(6), {"target": 1.0}, Limits(time=60.0))
    with pytest.raises(UsageError, match="time is not enough"):
        IdealsProof().prove(chain(6), {"target": 1.0}, Limits(time=0.0))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_labels_that_nothing_dominates(width: int) -> None:
    """Those of which no other is nowhere more; of equal ones, one."""
    for seed in range(20):
        labels = np.random.default_rng(seed).integers(0, 4, (12, width)).astype(np.float64)
        rows = {tuple(row) for row in labels.tolist()}
        least = [a for a in rows if not any(b != a and all(map(le, b, a)) for b in rows)]
        assert sorted(map(tuple, undominated(labels).tolist())) == sorted(least)


def test_the_last_device_may_hold_one_node() -> None:
    """Of two nodes each device has one: the chain ends with the block of the second."""
    graph = Graph.create(["x", "y"], [(0, 1)], work=[2.0, 3.0])
    rules = [Acyclic(), Replicate(most=2, devices=(0, 1), sync="none")]
    problem = Problem.create(graph, [Device("a"), Device("b")], Shared(1.0), constraints=rules)
    assert proves(problem, 2.5 * LESS)
    assert not proves(problem, 2.6)
    iteration = problem.asking(Objective("iteration", microbatches=1, schedule="gpipe"))
    assert not proves(iteration, 5.1)
