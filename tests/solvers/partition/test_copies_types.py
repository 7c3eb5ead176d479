"""Method ``copies`` where devices are equal: types of devices against brute force over devices."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Copies, Memory, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import PROOFS, load
from mtpp_dsl.solvers.partition.copies import pipelines, pricing, stage_moves, stages
from mtpp_dsl.solvers.partition.copies.instance import instance_of
from tests.copies_brute import least_period
from tests.networks import random_tree

SHARES = ("pipelines", "stages", "ranges", "any")


def with_types(rng: random.Random, share: str, *, chain: bool = True) -> Problem:
    """Return a small problem with equal devices, ties, times of 0, nodes that cannot run, and any magnitude."""
    n, k = rng.choice([(2, 3), (3, 3), (3, 3), (2, 4), (4, 3)])
    kinds = [rng.randrange(rng.choice([1, 2, 2])) for _ in range(k)]
    scale = rng.choice([1.0, 1.0, 1e-6, 1e7])
    values = [0, 1, 1, 2, 3, 5, float("inf")] if rng.random() < 0.5 else [1, 2, 3, 4, 6]
    memory = [rng.choice([0, 1, 2, 3]) for _ in range(n)]
    table = [[scale * rng.choice(values) for _ in range(n)] for _ in range(2)]
    room = [float(rng.randint(max(memory), max(1, sum(memory)))) for _ in range(2)]
    if rng.random() < 0.3:
        table[1] = table[0]
    if rng.random() < 0.3:
        room[1] = room[0]
    edges = [(i, i + 1) for i in range(n - 1)]
    if not chain:
        edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.6]
    graph = Graph.create(
        [f"n{v}" for v in range(n)],
        edges,
        work=0.0,
        output=[scale * rng.randint(0, 2) for _ in range(n)],
        memory=memory,
        device_times={f"d{d}": np.array(table[kind]) for d, kind in enumerate(kinds)},
    )
    rules: list[Constraint] = [Memory(), Copies(most=rng.choice([k, k, 1, 2]), share=share)]  # type: ignore[arg-type]
    if not chain or rng.random() < 0.7:
        rules.append(Acyclic())
        if chain and rng.random() < 0.2:
            rules.append(rng.choice([Colocate, Separate])(nodes=(0, rng.randrange(1, n))))
    if rng.random() < 0.2:
        rules.append(Pin(nodes=(rng.randrange(n),), devices=tuple(rng.sample(range(k), 2))))
    joined = interconnect(rng, kinds, chain)
    free = isinstance(joined, Host)
    devices = [Device(f"d{d}", memory=room[kind], pays_io=kind == 0 or not free) for d, kind in enumerate(kinds)]
    return Problem.create(graph, devices, joined, Objective("throughput"), rules)


def interconnect(rng: random.Random, kinds: list[int], chain: bool) -> Interconnect:
    """Return a channel, or links whose bandwidths depend on the types of both devices, some of them missing."""
    what = rng.random()
    if not chain or what < 0.4:
        return rng.choice([Shared(1.0), Host(1.0)])
    k = len(kinds)
    if what < 0.55:
        return replace(random_tree(rng, k), overlap="none", send="once")
    width = [[rng.choice([0.5, 1.0, 2.0, 1e6, 0.0]) for _ in range(2)] for _ in range(2)]
    table = np.array([[0.0 if d == e else width[kinds[d]][kinds[e]] for e in range(k)] for d in range(k)])
    if rng.random() < 0.2:
        table[0, k - 1] = 0.25
    late = np.where(table > 0, rng.choice([0.0, 0.5]), 0.0)
    return Links(bandwidth=table, latency=late, routing="direct")


def check(problem: Problem, *, complete: bool = True) -> None:
    """Hold plan, bound and certificate to brute force; and to the optimum, where it is known to be found."""
    share = next(problem.of(Copies)).share
    wanted = least_period(problem)
    result = mtpp_dsl.solve(problem, "copies", time_limit=20 if complete else 2, gap=1e-9)
    spec = problem.to_spec()
    if wanted is None:
        assert result.plan is None, spec
        return
    assert result.infeasibility is None, spec
    slack = 1e-7 * wanted
    if result.bound is not None:
        assert result.bound.cost <= wanted + slack, (spec, result.bound, wanted)
        if result.bound.certificate is not None:
            proved = load(PROOFS, "routes")().prove(problem, result.bound.certificate.data, Limits())
            assert result.bound.cost * (1 - 1e-9) <= proved <= wanted + slack, (spec, proved, wanted)
    if result.plan is not None:
        assert verify(problem, result.plan) == []
        assert result.cost is not None
        assert result.cost >= wanted - slack, (spec, result.plan.routes)
        assert cost_of(problem, result.plan) == pytest.approx(result.cost)
    most = next(problem.of(Copies)).most
    ordered = any(problem.of(Acyclic))
    plain = isinstance(problem.interconnect, (Shared, Host))
    exact = {"any": ordered or most >= problem.k, "ranges": ordered and most in (1, problem.k), "stages": False}
    if complete and exact.get(share, ordered and plain):
        assert result.cost == pytest.approx(wanted, rel=1e-6, abs=1e-12), (spec, result)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("share", SHARES)
def test_small_chains_of_types(share: str) -> None:
    rng = random.Random(f"types {share}")
    for _ in range(8):
        check(with_types(rng, share))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("share", ["pipelines", "any"])
def test_small_graphs_of_types(share: str) -> None:
    rng = random.Random(f"types of graphs {share}")
    for _ in range(6):
        check(with_types(rng, share, chain=False))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("share", SHARES)
def test_what_is_left_out_where_devices_are_many(share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds hold, and plans keep everything, where tables have room for few numbers of devices."""
    rng = random.Random(f"few {share}")
    for steps, entries, pairs in ((500.0, 20, 9), (3e4, 1, 4)):
        monkeypatch.setattr(pipelines, "MAX_STEPS", steps)
        monkeypatch.setattr(pipelines, "MAX_TABLE", entries)
        monkeypatch.setattr(pricing, "MAX_ENTRIES", entries)
        monkeypatch.setattr(stages, "MAX_PAIRS", pairs)
        for _ in range(2):
            check(with_types(rng, share), complete=False)


TWO = Links(bandwidth=np.full((3, 3), 2.0), latency=np.zeros((3, 3)))
PLAIN = [Device(f"d{d}", memory=3.0) for d in range(3)]


def chain_of(devices: list[Device], joined: Interconnect, *rules: Constraint, **times: list[float]) -> Problem:
    """Return a chain of three nodes."""
    graph = Graph.create(
        ["a", "b", "c"],
        [(0, 1), (1, 2)],
        work=1.0,
        output=[1.0, 1.0, 0.0],
        memory=1.0,
        device_times={name: np.array(values) for name, values in times.items()} or None,
    )
    return Problem.create(graph, devices, joined, Objective("throughput"), [Memory(), Copies(most=3), *rules])


def wider(d: int, e: int, rate: float) -> Links:
    """Return links of which one has another rate."""
    table = np.array(TWO.bandwidth)
    table[d, e] = rate
    return replace(TWO, bandwidth=table)


@pytest.mark.parametrize(
    ("problem", "types"),
    [
        (chain_of(PLAIN, TWO), ((0, 1, 2),)),
        (chain_of(PLAIN, Shared(1.0)), ((0, 1, 2),)),
        (chain_of([*PLAIN[:2], Device("d2", memory=2.0)], TWO), ((0, 1), (2,))),
        (chain_of([*PLAIN[:2], Device("d2", memory=3.0, reserve=1.0)], TWO), ((0, 1), (2,))),
        (chain_of([PLAIN[0], Device("d1", memory=3.0, speed=2.0), PLAIN[2]], TWO), ((0, 2), (1,))),
        (chain_of([*PLAIN[:2], Device("d2", memory=3.0, pays_io=False)], Host(1.0)), ((0, 1), (2,))),
        (chain_of(PLAIN, TWO, Pin(nodes=(1,), devices=(0, 2))), ((0, 2), (1,))),
        (chain_of(PLAIN, wider(0, 1, 1.0)), ((0,), (1,), (2,))),
        (chain_of(PLAIN, replace(wider(0, 1, 0.0), routing="direct")), ((0,), (1,), (2,))),
        (chain_of([replace(device, group=name) for device, name in zip(PLAIN, "xxy", strict=True)], TWO), ((0, 1, 2),)),
        (
            chain_of(
                [replace(device, group=name) for device, name in zip(PLAIN, "xxy", strict=True)],
                Shared(1.0, between=0.5),
            ),
            ((0, 1), (2,)),
        ),
    ],
)
def test_devices_of_one_type_are_equal_in_all_that_matters(problem: Problem, types: object) -> None:
    """Memory, reserve, speed, io, pins and every link tell devices apart; a group alone does not."""
    assert instance_of(problem).members == types


def test_stages_are_improved_within_the_chain() -> None:
    """One device more for the long stage, and then the border: borders do not leave the two stages."""
    instance = instance_of(chain_of(PLAIN, Shared(1e9)))
    nothing = np.zeros((3, 1))
    better = stage_moves.improved(instance, [(0, 1, (1,)), (1, 3, (1,))], 3, nothing, nothing)
    assert better in ([(0, 3, (3,))], [(0, 1, (1,)), (1, 3, (2,))])


def servers(share: str, sizes: list[int], most: int = 16) -> Problem:
    """Return 40 layers on servers of equal devices, each server with half the speed of the one before."""
    k = sum(sizes)
    server = np.repeat(np.arange(len(sizes)), sizes)
    table = np.where(server[:, None] == server, 100.0, 5.0)
    devices = [Device(f"d{d}", memory=[30.0, 14.0, 9.0, 9.0][s], speed=2.0**-s) for d, s in enumerate(server.tolist())]
    graph = Graph.create(
        [f"n{v}" for v in range(40)], [(v, v + 1) for v in range(39)], work=1.0, output=1.0, memory=1.0
    )
    links = Links(bandwidth=table, latency=np.zeros((k, k)))
    rules = [Acyclic(), Memory(), Copies(most=most, share=share)]  # type: ignore[arg-type]
    return Problem.create(graph, devices, links, Objective("throughput"), rules)


@pytest.mark.parametrize("share", SHARES)
def test_sixteen_devices_of_four_types(share: str) -> None:
    """They are proved within 1 % (2 % where a stage's transfers are not known), and prices are proved again."""
    problem = servers(share, [4, 4, 4, 4])
    result = mtpp_dsl.solve(problem, time_limit=20, gap=0.01)
    assert result.plan is not None
    assert verify(problem, result.plan) == []
    assert result.gap is not None
    assert result.gap <= (0.02 if share == "stages" else 0.01)
    assert result.bound is not None
    if result.bound.certificate is not None:
        proved = load(PROOFS, "routes")().prove(problem, result.bound.certificate.data, Limits())
        assert proved >= result.bound.cost * (1 - 1e-9)


def test_many_devices_have_a_plan_and_a_bound() -> None:
    """Forty devices of four types, of which counting would take too long, are within 3 %."""
    result = mtpp_dsl.solve(servers("any", [10, 10, 10, 10], 40), time_limit=20, gap=0.03)
    assert result.gap is not None
    assert result.gap <= 0.03


def test_answers_of_routes_on_links_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Loads of channels in an answer are those of all routes together; a load that was changed is noticed."""
    spec, answer = tmp_path / "servers.mtpp", tmp_path / "answer.json"
    spec.write_text(servers("any", [2, 2]).to_spec())
    assert run(["solve", str(spec), "--json", str(answer), "--gap", "1%"]) == 0
    capsys.readouterr()
    assert run(["verify", str(spec), str(answer)]) == 0
    assert "re-checked from its certificate (routes)" in capsys.readouterr().out
    given = json.loads(answer.read_text())
    given["channels"][0]["load"] *= 1.001
    answer.write_text(json.dumps(given))
    assert run(["verify", str(spec), str(answer)]) != 0
    assert "channels: the load of" in capsys.readouterr().out


def test_too_many_devices_are_refused_with_what_can_be_done() -> None:
    graph = Graph.create([f"n{v}" for v in range(100)], [(v, v + 1) for v in range(99)], work=1.0)
    devices = [Device(f"d{d}") for d in range(500)]
    problem = Problem.create(graph, devices, Shared(1.0), Objective("throughput"), [Copies(most=2)])
    with pytest.raises(Refused, match=r"20,000,000 at most, and here are 500 devices; what can be done"):
        mtpp_dsl.solve(problem)
