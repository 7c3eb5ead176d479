"""Tests that plans of a larger problem are plans of a smaller one, where that is said; against all plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from random import Random

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Bottleneck, Linear, Load, Memory, On, Pin, Robust
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.growth import why_not_larger
from mtpp_dsl.core.problem.problem import Problem

SPEC = """
param x: int = 1
graph {
  node a[i in 0..2] (work = x * 1 ms, params = x * i * 1 MB, output = 1 kB)
  edge a[0] -> a[1] -> a[2]
}
device d[2] (memory = 8 MB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint memory
"""


def random_problem(random: Random) -> Problem:
    """Return a problem of three nodes on two devices, with rows that ask for little or for much."""
    amounts = [[random.choice([0.0, 1.0, 1.0, 2.0]) for _ in range(3)] for _ in range(3)]
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=amounts[0], memory=amounts[1], output=amounts[2])
    devices = [Device("d", memory=random.choice([2.0, 3.0]), reserve=random.choice([0.0, 1.0])), Device("e", speed=2.0)]
    decisions = [Load(0), Load(1), Bottleneck(), On(0, 1)]
    rows = [Memory()]
    if random.random() < 0.5:
        terms = tuple((one, random.choice([1.0, 1.0, -1.0])) for one in random.sample(decisions, 2))
        rows.append(
            Linear(label="row", terms=terms, sense=random.choice(["<=", "<=", ">="]), rhs=random.choice([1.0, 2.0]))
        )
    return Problem.create(graph, devices, Shared(2.0), constraints=rows)


def test_plans_of_the_larger_are_plans_of_the_smaller() -> None:
    random, said = Random(5), 0
    for _ in range(150):
        one = random_problem(random)
        more = [
            [x + random.choice([0.0, 0.0, 1.0]) for x in getattr(one.graph, name).tolist()]
            for name in ("work", "memory", "output")
        ]
        graph = Graph.create("abc", [(0, 1), (1, 2)], work=more[0], memory=more[1], output=more[2])
        devices = [replace(device, reserve=device.reserve + random.choice([0.0, 0.5])) for device in one.devices[:1]]
        other = Problem.create(graph, [*devices, one.devices[1]], one.interconnect, constraints=one.constraints)
        if random.random() < 0.3:
            one, other = other, one
        if why_not_larger(one, other):
            continue
        said += 1
        for homes in product(range(2), repeat=3):
            if not verify(other, Plan.create(other, homes)):
                assert not verify(one, Plan.create(one, homes))
    assert said > 20


CHANGES: list[tuple[Callable[[Problem], Problem], str]] = [
    (lambda p: replace(p, devices=(replace(p.devices[0], memory=9e6), p.devices[1])), "the room on d[0] grows, too"),
    (lambda p: replace(p, devices=(replace(p.devices[0], speed=2.0), p.devices[1])), "differs in more than its room"),
    (lambda p: replace(p, devices=p.devices[:1]), "there are other devices"),
    (lambda p: replace(p, interconnect=Shared(2.0)), "the interconnect differs"),
    (lambda p: p.with_constraints([Pin(nodes=(0,), devices=(0,))]), "the constraints differ"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_says_what_differs(change: Callable[[Problem], Problem], message: str) -> None:
    problem = mtpp_dsl.load(SPEC)
    assert why_not_larger(problem, problem) == ""
    assert message in why_not_larger(problem, change(problem))


def test_says_what_falls() -> None:
    spec = mtpp_dsl.read(SPEC)
    one, two = spec.problem(x=1), spec.problem(x=2)
    assert why_not_larger(one, two) == ""
    assert why_not_larger(two, one) == "params falls at a[1]"
    least = [
        problem.with_constraints([Linear(label="least", terms=((Load(0), 1.0),), sense=">=", rhs=0.1)])
        for problem in (one, two)
    ]
    assert why_not_larger(*least) == "constraint least does not only limit loads from above"
    robust = [problem.with_constraints([Robust(most=1)]) for problem in (one, two)]
    assert "constraint robust may be kept where sizes are larger" in why_not_larger(*robust)


def test_phases_are_compared_one_by_one() -> None:
    text = """
    param x: int = 1
    phase prefill, decode (weight = 4)
    graph {
      node a[2] (work = { prefill: x * 1 ms, decode: (9 - x) * 1 ms })
      edge a[0] -> a[1]
    }
    device d[2]
    interconnect shared (bandwidth = 1 GB/s)
    minimize bottleneck(prefill)
    constraint limit: bottleneck(decode) <= 10 ms
    """
    spec = mtpp_dsl.read(text)
    assert why_not_larger(spec.problem(x=1), spec.problem(x=2)) == "the time of a[0] on d[0] falls"
