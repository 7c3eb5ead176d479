"""Certificates of pipelines: never more than the truth, and what is heavier is found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.verification import loads
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous, Memory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.proofs.chain import ChainCertificate
from mtpp_dsl.solvers.proofs.heaviest import Sets
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading
from tests.oracle import optimum

SMALL = st.one_of(st.integers(0, 4).map(float), st.floats(0, 5, width=32))


@st.composite
def pipelines(draw: st.DrawFn, most: int = 6, most_devices: int = 3) -> Problem:
    """Draw splits over equal devices in a pipeline, with tight memory or streams, and nodes that are together."""
    n, k = draw(st.integers(1, most)), draw(st.integers(1, most_devices))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    column = st.lists(SMALL, min_size=n, max_size=n)
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        work=draw(column),
        output=draw(column),
        params=draw(st.lists(st.integers(0, 3).map(float), min_size=n, max_size=n)),
    )
    share = float(graph.params.sum()) / k
    memory = draw(st.sampled_from([None, np.ceil(share), share * 1.5 + 1]))
    hard = memory is not None and draw(st.booleans())
    rules = [Acyclic(), *([Memory()] if hard else []), *([Colocate(nodes=(0, n - 1))] if draw(st.booleans()) else [])]
    link = Shared(draw(st.sampled_from([1.0, 0.5])), overflow=memory is not None and not hard)
    return Problem.create(graph, [Device(f"d{d}", memory=memory) for d in range(k)], link, constraints=rules)


def proves(problem: Problem, data: dict[str, object]) -> float:
    try:
        return ChainCertificate().prove(problem, data, Limits(time=60.0))
    except Refused:
        return 0.0


@settings(max_examples=150)
@given(pipelines(), st.data())
def test_no_chain_proves_more_than_the_optimum(problem: Problem, data: st.DataObject) -> None:
    """Whatever weights and places a certificate gives, what it proves no plan is below."""
    best = optimum(problem)
    if best is None or best == 0:
        return
    weights = data.draw(st.lists(st.integers(0, 5), min_size=problem.graph.n, max_size=problem.graph.n))
    most = data.draw(st.lists(st.integers(0, max(sum(weights), 1)), min_size=problem.k, max_size=problem.k))
    target = best * data.draw(st.sampled_from([0.5, 0.9, 1.0, 1 + 1e-9, 1 + 1e-6, 1.1, 2.0]))
    named = dict(zip(problem.graph.names, weights, strict=True))
    assert proves(problem, {"target": target, "weights": named, "most": most}) <= best * (1 + 1e-9)


@settings(max_examples=100)
@given(pipelines(most=6, most_devices=1), st.data())
def test_the_heaviest_set_is_found(problem: Problem, data: st.DataObject) -> None:
    """The branch and bound agrees with all convex sets on what the heaviest below a target weighs."""
    reading = ProofReading(problem)
    pair = Problem.create(
        problem.graph, [*problem.devices, Device("else", memory=None)], problem.interconnect, constraints=[]
    )
    arcs = [(reading.group[u], reading.group[v]) for u, v in reading.edges(backward=False)]
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(reading.members), max_size=len(reading.members)))
    target = data.draw(st.sampled_from([1.5, 3.25, 7.5, 20.5]))
    sets = Sets(reading, reading.kinds[0], target, arcs)
    heaviest = -1
    for held in product([True, False], repeat=len(weights)):
        device = [0 if held[reading.group[v]] else 1 for v in range(problem.graph.n)]
        params = sum(float(m) for m, d in zip(problem.graph.memory, device, strict=True) if d == 0)
        if problem.devices[0].memory is not None and list(problem.of(Memory)) and params > problem.devices[0].memory:
            continue
        middle = any(
            held[b] is False and held[a] and held[c] and sets._reach[a, b] and sets._reach[b, c]
            for a, b, c in product(range(len(weights)), repeat=3)
        )
        soft = pair.with_constraints([c for c in problem.constraints if isinstance(c, Memory)])
        if not middle and loads(soft, device)[0] < target:
            heaviest = max(heaviest, sum(w for w, h in zip(weights, held, strict=True) if h))
    for most in {max(heaviest - 1, 0), max(heaviest, 0), heaviest + 1}:
        found = sets.heavier(weights, most, sets.place(None, None))
        assert (found is not None) == (heaviest > most)


@pytest.mark.parametrize("seed", range(12))
def test_branching_finds_the_heaviest_set(seed: int) -> None:
    """Where minimum cuts alone do not tell, branches do: nothing heavier is overlooked, nothing lighter taken."""
    rng, n = np.random.default_rng(seed), 8
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    edges = [pair for pair, chosen in zip(pairs, rng.random(len(pairs)) < 0.35, strict=True) if chosen]
    work, output = rng.integers(1, 9, n), rng.integers(0, 6, n)
    graph = Graph.create([f"v{v}" for v in range(n)], edges, work=work, output=output)
    reading = ProofReading(Problem.create(graph, [Device("d")], Shared(1.0), constraints=[Acyclic()]))
    sets = Sets(reading, reading.kinds[0], rng.integers(12, 30) + 0.5, reading.arcs(reading.kinds[0]))
    weights, place = rng.integers(1, 9, n), sets.place(None, None)
    possible = [members for members in product([True, False], repeat=n) if sets.possible(np.array(members), place)]
    heaviest = max(int(weights[np.array(members)].sum()) for members in possible)
    assert sets.heavier(weights.tolist(), heaviest, place) is None
    better = sets.heavier(weights.tolist(), heaviest - 1, place)
    assert better is not None
    assert weights[better].sum() == heaviest


def chain(**options: float) -> Problem:
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=3.0, output=2.0, params=1.0)
    devices = [Device(f"d{i}", **options) for i in range(2)]
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic()])


ALL = {"a": 1, "b": 1, "c": 1, "d": 1}


def test_a_chain_of_four_on_two() -> None:
    """Two blocks below 8 cannot hold four nodes: one of two nodes costs 8; at 8.5 they can."""
    assert optimum(chain()) == 8.0
    assert ChainCertificate().prove(chain(), {"target": 8.0, "weights": ALL, "most": [1, 1]}, Limits()) == 8.0
    with pytest.raises(Refused, match="can hold nodes that weigh more"):
        ChainCertificate().prove(chain(), {"target": 8.5, "weights": ALL, "most": [1, 1]}, Limits())


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"target": 8.0, "weights": ALL, "most": [1]},
        {"target": 8.0, "weights": ALL, "most": {"d0": 1, "d1": 1}},
        {"target": 8.0, "weights": ALL, "most": [1, True]},
        {"target": 8.0, "weights": ALL, "most": [1, 1.5]},
        {"target": 8.0, "weights": ALL, "most": [1, float("nan")]},
        {"target": 8.0, "weights": ALL, "most": [2, 2]},
        {"target": 8.0, "weights": {"a": 0.5}, "most": [0, 0]},
        {"target": 8.0, "weights": {"x": 1}, "most": [0, 0]},
        {"target": float("inf"), "weights": ALL, "most": [1, 1]},
    ],
)
def test_malformed_chains_are_refused(data: dict[str, object]) -> None:
    """Nothing in a certificate is believed."""
    with pytest.raises(Refused):
        ChainCertificate().prove(chain(), data, Limits())


@pytest.mark.parametrize(
    "problem",
    [
        chain().with_constraints([Contiguous()]),
        Problem.create(chain().graph, [Device("d0"), Device("d1", speed=2.0)], Shared(1.0), constraints=[Acyclic()]),
        Problem.create(chain().graph, [Device("d0", pays_io=False)], Host(1.0), constraints=[Acyclic()]),
    ],
)
def test_chains_are_for_equal_devices_in_a_pipeline(problem: Problem) -> None:
    """Where the argument does not hold the certificate is refused, whatever it says."""
    most = [0] * problem.k
    with pytest.raises(Refused, match="says nothing here"):
        ChainCertificate().prove(problem, {"target": 1.0, "weights": ALL, "most": most}, Limits())


def test_too_little_time_is_said() -> None:
    """A search that was cut short proves nothing and refutes nothing."""
    graph = regal(nodes=120, model="ws", reading="own-memory", seed=2)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(4)], Shared(1.0), constraints=[Acyclic()])
    weights = {name: int(work) for name, work in zip(graph.names, graph.work.tolist(), strict=True)}
    share = -(-sum(weights.values()) // 4) - 1
    data = {"target": 1.2 * graph.work.sum() / 4, "weights": weights, "most": [share] * 4}
    with pytest.raises(UsageError, match="time is not enough"):
        ChainCertificate().prove(problem, data, Limits(time=0.2))


@pytest.mark.parametrize("place", range(6))
def test_every_place_of_many_is_checked(place: int) -> None:
    """Each of six devices can hold one of six nodes below 1.5, so no place may be said to hold none."""
    names = [f"v{v}" for v in range(6)]
    graph = Graph.create(names, [(v, v + 1) for v in range(5)], work=1.0)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(6)], Shared(1.0), constraints=[Acyclic()])
    most = [0 if i == place else 1 for i in range(6)]
    data = {"target": 1.5, "weights": dict.fromkeys(names, 1)}
    with pytest.raises(Refused, match=f"block {place + 1} of 6 can hold nodes that weigh more than 0"):
        ChainCertificate().prove(problem, {**data, "most": most}, Limits(time=60.0))
    for value in (0.5, -1, True):
        wrong = [value if i == place else 1 for i in range(6)]
        with pytest.raises(Refused, match=f"'most' of place {place + 1} is {value}, not a"):
            ChainCertificate().prove(problem, {**data, "most": wrong}, Limits(time=60.0))
