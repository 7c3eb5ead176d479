"""Certificates ``anchors``: what cuts along a chain prove, and nothing above an optimum."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.constraints import ExclusiveLinks, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.modules import ChainRelaxation
from mtpp_dsl.solvers.proofs.anchors import AnchorsProof
from tests.amount import part
from tests.makespans import attention, best_of, hubbed, makespan_problem
from tests.oracle import optimum

WEIGHTS = ((1, 0, 0), (100, 4, 0), (100, 0, 9), (50, 50, 50), (0, 1, 0), (0, 0, 1), (3, 2, 1))


def proved(problem: Problem, data: dict[str, Any], target: float) -> bool:
    """Return whether a target is proved."""
    try:
        return AnchorsProof().prove(problem, {**data, "target": target}, Limits()) == target
    except Refused:
        return False


def some_certificate(problem: Problem, seed: int) -> dict[str, Any]:
    """Return any chain of a graph, with other nodes beside any of its modules, and any means."""
    rng = random.Random(seed)
    graph, names = problem.graph, problem.graph.names
    chain = [rng.randrange(graph.n)]
    while True:
        after = graph.successors(chain[-1]).tolist()
        if not after:
            break
        chain.append(rng.choice(after))
    anchors = [v for v in chain if rng.random() < 0.6] or chain[:1]
    taken = set(anchors)
    for j in range(len(anchors) + 1):
        before = below(problem, anchors[j - 1]) if j > 0 else set(range(graph.n))
        behind = above(problem, anchors[j]) if j < len(anchors) else set(range(graph.n))
        taken |= before & behind
    beside: list[list[str]] = [[] for _ in range(len(anchors) + 1)]
    for v in range(graph.n):
        if v not in taken and rng.random() < 0.9:
            rng.choice(beside).append(names[v])
    hub = rng.choice([None, *anchors])
    exclusive = any(problem.of(ExclusiveLinks))
    means = [
        [None if hub is None else device.name, rng.choice(problem.devices).name, *weights]
        for device in problem.devices
        for weights in rng.sample(WEIGHTS if exclusive else WEIGHTS[:1], 1)
    ]
    return {
        "anchors": [names[v] for v in anchors],
        "beside": beside,
        "hub": None if hub is None else names[hub],
        "means": means,
        "prices": [some_prices(problem, j, len(anchors), rng) for j in range(len(anchors) + 1)],
    }


def some_prices(problem: Problem, j: int, last: int, rng: random.Random) -> list[Any]:
    """Return any windows of any prices for a module, of schedules below any limit."""
    names, exclusive = [device.name for device in problem.devices], any(problem.of(ExclusiveLinks))
    longest = float(np.where(np.isfinite(problem.time), problem.time, 0.0).max(axis=1).sum())

    def window() -> list[Any]:
        head, tail = (rng.choice([0.0, rng.random() * longest]) * rng.random() for _ in "ht")
        kind = rng.choice([0, 0, 1, 2]) if exclusive else 0
        return [kind, rng.choice(names), head, tail, rng.choice([0, 1, 7, 1000])]

    rounds = [[window() for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(0, 3))]
    ends = None if j == 0 else rng.choice(names), None if j == last else rng.choice(names)
    return [[j], *ends, longest * rng.choice([0.1, 0.5, 1.0, 3.0]), rounds]


def below(problem: Problem, v: int) -> set[int]:
    """Return what comes after a node."""
    found = set(problem.graph.successors(v).tolist())
    return found.union(*(below(problem, w) for w in found))


def above(problem: Problem, v: int) -> set[int]:
    """Return what comes before a node."""
    found = set(problem.graph.predecessors(v).tolist())
    return found.union(*(above(problem, w) for w in found))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(120))
def test_no_certificate_proves_more_than_the_optimum(seed: int) -> None:
    """Whatever the chain, what lies beside it, the hub and the means are; most prove something."""
    problem, best = makespan_problem(seed, 5), best_of(seed, 5)
    if best is None or best <= 0:
        return
    data = some_certificate(problem, seed)
    assert not any(proved(problem, data, best * more) for more in (1 + 1e-9, 1 + 1e-6, 1.1, 2.0))
    assert proved(problem, data, 0.0)


@pytest.mark.parametrize("seed", range(1, 1 + part(24, 8)))
def test_it_proves_what_the_method_says(seed: int) -> None:
    """The bound by cuts alone is proved again, to the last digit, and nothing above the optimum."""
    problem = hubbed(seed)
    best = optimum(problem)
    bound = ChainRelaxation(largest=seed % 2, cuts_alone=True).solve(problem, Limits(), Progress()).bound
    assert bound is not None
    assert best is not None
    if bound.certificate is None:  # nothing lies beside the chain
        return
    assert bound.certificate.kind == "anchors"
    data = dict(bound.certificate.data)
    assert proved(problem, data, bound.cost)
    assert not any(proved(problem, data, best * more) for more in (1 + 1e-9, 1.01, 1.5))


@pytest.mark.parametrize("seed", range(part(6, 2)))
def test_prices_are_proved_again(seed: int) -> None:
    """Where heads share a device and its ports, a bound that prices have raised is proved with them alone."""
    problem = attention(seed, 2, 3, 2 + seed % 2, exclusive=True)
    bound = ChainRelaxation(largest=8, cuts_alone=True).solve(problem, Limits(), Progress()).bound
    assert bound is not None
    assert bound.certificate is not None
    data = dict(bound.certificate.data)
    assert data["prices"]
    assert proved(problem, data, bound.cost)
    assert not proved(problem, {**data, "prices": []}, bound.cost)


def test_branches_that_cannot_be_sent_away_are_proved() -> None:
    """A longest path is half of it: cuts know that one device runs all four branches, as transfers take too long."""
    edges = [*((0, v) for v in range(1, 5)), *((v, 5) for v in range(1, 5))]
    times = {"d0": [1.0] * 6, "d1": [1.0] * 6}
    graph = Graph.create([f"v{v}" for v in range(6)], edges, output=3.0, times=times)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    devices = [Device("d0"), Device("d1")]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [ExclusiveLinks()])
    data = {"anchors": ["v0", "v5"], "beside": [[], [], []], "hub": None, "means": [[None, "d0", 1, 0, 0]]}
    assert proved(problem, data, 6.0 * (1 - 1e-9))
    assert not proved(problem, data, 6.0 * (1 + 1e-9))


CHAIN: dict[str, Any] = {"anchors": ["v1"], "beside": [[], []], "hub": None, "means": [[None, "d0", 1, 0, 0]]}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"anchors": ["v2", "v1"], "beside": [[], [], []]}, "does not come before the next"),
        ({"anchors": [], "beside": [[]]}, "there must be anchors"),
        ({"beside": [[]]}, "one list of nodes beside each module"),
        ({"beside": [["v9"], []]}, "beside is not a list of nodes"),
        ({"beside": [["v1"], []]}, "a node is in two places"),
        ({"beside": [["v0"], []]}, "a node is in two places"),
        ({"hub": "v0"}, "the hub is no anchor"),
        ({"means": [[None, "d0", 1, 0]]}, "two devices and three weights"),
        ({"means": [[None, "d9", 1, 0, 0]]}, "are not two devices"),
        ({"means": [[None, "d0", 0, 0, 0]]}, "weights are whole numbers"),
        ({"means": [[None, "d0", -1, 2, 0]]}, "weights are whole numbers"),
        ({"means": []}, "may be shorter"),
        ({"prices": {}}, "prices is not a list"),
        ({"prices": [[[0], None, "d0", 1.0]]}, "prices is not a list"),
        ({"prices": [[[2], None, "d0", 1.0, []]]}, "are not modules"),
        ({"prices": [[[0], None, "d9", 1.0, []]]}, "are not two devices"),
        ({"prices": [[[0], "d0", "d0", 1.0, []]]}, "for other ends"),
        ({"prices": [[[1], "d0", "d0", 1.0, []]]}, "for other ends"),
        ({"prices": [[[0], None, "d0", -1.0, []]]}, "is no time"),
        ({"prices": [[[0], None, "d0", 1.0, [3]]]}, "have no list of rounds"),
        ({"prices": [[[0], None, "d0", 1.0, [[[0, "d0", 0.0, 0.0]]]]]}, "is no window"),
        ({"prices": [[[0], None, "d0", 1.0, [[[3, "d0", 0.0, 0.0, 1]]]]]}, "a window of no device"),
        ({"prices": [[[0], None, "d0", 1.0, [[[0, "d0", 0.0, 0.0, -1]]]]]}, "a price is a whole number"),
        ({"prices": [[[0], None, "d0", 1.0, [[[0, "d0", 0.0, 0.0, 1 << 17]] * 2]]]}, "add up to more"),
        ({"prices": [[[0], None, "d0", 1.0, [[]] * 21]]}, "too many windows"),
    ],
)
def test_what_is_no_certificate_is_refused(change: dict[str, Any], why: str) -> None:
    """It says what is wrong."""
    with pytest.raises(Refused, match=why):
        AnchorsProof().prove(hubbed(1), {**CHAIN, "target": 1e-3, **change}, Limits())


def test_ports_count_on_exclusive_links_alone() -> None:
    """Weights of transfers are refused where several run at once."""
    problem = hubbed(1).with_constraints([])
    with pytest.raises(Refused, match="without exclusive links"):
        AnchorsProof().prove(problem, {**CHAIN, "means": [[None, "d0", 1, 1, 0]], "target": 1e-3}, Limits())
    prices = [[[0], None, "d0", 1.0, [[[1, "d0", 0.0, 0.0, 1]]]]]
    with pytest.raises(Refused, match="without exclusive links"):
        AnchorsProof().prove(problem, {**CHAIN, "prices": prices, "target": 1e-3}, Limits())


def test_prices_of_windows_prove_what_no_device_proves_by_itself() -> None:
    """Eight branches between two ends on d0, which transfers of 1 reach one by one: 5.5 by d0 and its port."""
    edges = [*((0, v) for v in range(1, 9)), *((v, 9) for v in range(1, 9))]
    times = {"d0": [1.0] * 10, "d1": [1.0] * 10}
    graph = Graph.create([f"v{v}" for v in range(10)], edges, output=1.0, times=times)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    rules = [ExclusiveLinks(), Pin(nodes=(0, 9), devices=(0,))]
    problem = Problem.create(graph, [Device("d0"), Device("d1")], links, Objective("makespan"), rules)
    data = {"anchors": ["v0", "v9"], "beside": [[], [], []], "hub": None, "means": [[None, "d0", 1, 0, 0]]}
    windows = [[0, "d0", 0.0, 0.0, 1], [1, "d0", 0.0, 2.0 * (1 - 1e-9), 1]]
    assert not proved(problem, data, 6.6)
    for limit in (5.5, 7.0):
        priced = {**data, "prices": [[[1], "d0", "d0", limit, [windows]]]}
        assert proved(problem, priced, 6.5 * (1 - 1e-8))
        assert not proved(problem, priced, 6.5 * (1 + 1e-8))
