"""Certificates ``halves``: they prove optima over two equal devices, and never more than is true."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Acyclic, Colocate
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.halves import HalvesProof
from tests.oracle import optimum
from tests.solvers.proofs.test_chain import pipelines

MORE = (1 + 1e-9, 1 + 1e-6, 1.1, 2.0)
LESS = 1 - 1e-9


def proves(problem: Problem, target: float, **data: Any) -> bool:
    """Return whether no plan is below the target, as far as the checker can tell."""
    try:
        return HalvesProof().prove(problem, {"target": target, **data}, Limits(time=60.0)) == target
    except Refused:
        return False


def pipeline(seed: int, k: int) -> Problem:
    """Return a random problem over equal devices; times and tensors have zeros and ties, and several magnitudes."""
    r = Random(seed)
    n = r.randint(2, 6)
    size = r.choice([1e-6, 1.0, 1.0, 0.1, 1e9])
    work, output = ([size * r.choice([0, 0, 1, 1, 2, 3, 7]) for _ in range(n)] for _ in "wo")
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if r.random() < 0.5]
    rules = [Acyclic(), *([Colocate(nodes=tuple(r.sample(range(n), 2)))] if r.random() < 0.2 else [])]
    graph = Graph.create([f"v{v}" for v in range(n)], edges, work=work, output=output)
    link = r.choice([Shared(1.0), Shared(0.5), Host(2.0)])
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], link, constraints=rules)


@pytest.mark.parametrize("seed", range(12))
def test_two_devices_are_proved_to_the_optimum(seed: int) -> None:
    """Of ideals and what they leave the checker misses none."""
    problem = pipeline(seed, 2)
    best = optimum(problem)
    assert best is not None
    assert best == 0 or proves(problem, best * LESS)
    assert best == 0 or not any(proves(problem, best * more) for more in MORE)


@settings(max_examples=60)
@given(st.integers(0, 100_000), st.integers(3, 4))
def test_more_devices_are_never_proved_too_much(seed: int, k: int) -> None:
    problem = pipeline(seed, k)
    best = optimum(problem)
    assert best is not None
    assert best == 0 or not any(proves(problem, best * more) for more in MORE)


@settings(max_examples=60)
@given(pipelines())
def test_memory_and_streams_only_weaken_it(problem: Problem) -> None:
    best = optimum(problem)
    assert not best or not any(proves(problem, best * more) for more in MORE)


def test_it_refuses_what_it_is_not_about() -> None:
    problem = pipeline(1, 3)
    for first in (0, 3, -1, True, 1.0, "1"):
        with pytest.raises(Refused, match="of 3 devices from the others"):
            HalvesProof().prove(problem, {"target": 1.0, "first": first}, Limits(time=60.0))
    with pytest.raises(Refused, match="acyclic plans alone"):
        HalvesProof().prove(problem.with_constraints([]), {"target": 1.0}, Limits(time=60.0))
    unequal = Problem.create(problem.graph, [Device("a"), Device("b", speed=2.0)], Shared(1.0), constraints=[Acyclic()])
    with pytest.raises(Refused, match="not equal"):
        HalvesProof().prove(unequal, {"target": 1.0}, Limits(time=60.0))
    with pytest.raises(UsageError, match="time is not enough"):
        HalvesProof().prove(problem, {"target": 1e9}, Limits(time=0.0))
