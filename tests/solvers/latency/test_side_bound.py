"""Bounds by chains of nodes beside a path: never above an optimum, proved again, and above those of the path alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Colocate, Contiguous, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.latency import side_bound
from mtpp_dsl.solvers.latency.along_path import AlongPath
from mtpp_dsl.solvers.latency.hulls import Hulls
from mtpp_dsl.solvers.latency.side_pass import CHEAPEST_WAY
from mtpp_dsl.solvers.latency.subgraph_arrays import LatencyInstance
from mtpp_dsl.solvers.methods.by_subgraphs import LatencySearch, PathHull
from mtpp_dsl.solvers.proofs.hull import PathHullProof
from tests.latency_cases import BESIDE, MAKESPAN, braided_problem, mated_problem, tied_problem
from tests.oracle import optimum


def bounded(problem: Problem, *, sides: bool = True) -> Bound | None:
    """Return the bound along a path, or None where there is no plan."""
    return PathHull(sides=sides).solve(problem, Limits(), Progress()).bound


def proved(problem: Problem, data: dict[str, Any]) -> float:
    """Return what a certificate proves."""
    return PathHullProof().prove(problem, data, Limits())


def blocks(count: int = 2) -> Problem:
    """Return blocks of two branches in a row, of which a memory holds no more than two nodes and a CPU is slow."""
    names, edges = ["in"], []
    for b in range(count):
        join = f"join{b}"
        edges += [(names[-1], f"left{b}"), (names[-1], f"right{b}"), (f"left{b}", join), (f"right{b}", join)]
        names += [f"left{b}", f"right{b}", join]
    index = {name: v for v, name in enumerate(names)}
    graph = Graph.create(names, [(index[u], index[v]) for u, v in edges], work=1.0, output=1.0, memory=1.0)
    devices = [*(Device(f"acc[{i}]", memory=2.0) for i in range(4)), Device("cpu", speed=0.1, pays_io=False)]
    return Problem.create(graph, devices, Host(1.0), MAKESPAN, [Contiguous(), Memory()])


def test_colocated_nodes_are_cut_off_together() -> None:
    """The second subgraph reads what u has left, which takes 10, or runs v and u, 20; u without v takes nothing."""
    edges = [(0, 1), (0, 2), (2, 3), (1, 4), (3, 4)]
    graph = Graph.create(
        ["s", "x", "v", "u", "t"], edges, work=[0, 0, 20, 0, 0], output=[0, 0, 0, 10, 0], memory=[1, 0, 0, 0, 1]
    )
    devices = [Device("a", memory=1.0), Device("b", memory=1.0)]
    apart = Problem.create(graph, devices, Host(1.0), MAKESPAN, [Contiguous(), Memory()])
    together = Problem.create(graph, devices, Host(1.0), MAKESPAN, [*apart.constraints, Colocate(nodes=(2, 3))])
    data = {"path": ["s", "x", "t"], "cuts": [[1, 2, 0.0], [2, 2, 0.0]]}
    for problem, least in ((apart, 0.0), (together, 10.0)):
        assert Hulls(LatencyInstance.of(problem)).cheapest([0, 1, 4], 2, 2)[0] == pytest.approx(least)
        assert proved(problem, data) == pytest.approx(least)


def test_what_no_subgraph_along_the_path_has_room_for() -> None:
    """Branches beside the path need subgraphs of their own: bounds without them are below the optimum."""
    problem = blocks(1)
    best = optimum(problem)
    alone, beside = bounded(problem, sides=False), bounded(problem)
    assert best is not None
    assert alone is not None
    assert beside is not None
    assert beside.certificate is not None
    assert alone.cost < 0.999 * beside.cost
    assert beside.cost <= best
    assert beside.cost == pytest.approx(best)
    assert beside.certificate.data["held"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", [*BESIDE, *range(300, 420)])
def test_no_plan_is_below_the_bound(seed: int) -> None:
    """On braids of chains with everything on and off; the certificate proves as much, and no more than there is."""
    no_plan_is_below(braided_problem(seed, 4))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [3, 200, 201, 4, 202, 203, 5, 204, 205, 17, 206, 207, 68, *range(208, 300)])
def test_no_plan_with_ends_of_edges_together_is_below_the_bound(seed: int) -> None:
    """Colocated nodes are in one subgraph only where each device has one; the first of three seeds tell otherwise."""
    no_plan_is_below(mated_problem(seed, 4))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [36, 400, 401, 150, 402, 403, 21, *range(404, 500)])
def test_no_plan_with_subgraphs_that_share_a_memory_is_below_the_bound(seed: int) -> None:
    """Several subgraphs of one device, which ends of edges tie together: the first of three seeds part places."""
    no_plan_is_below(tied_problem(seed, 5 if seed < 400 else 4))


@pytest.mark.parametrize("seed", [36, 96])
def test_subgraphs_of_one_device_share_its_memory(seed: int) -> None:
    """Bounds are above those by which each subgraph may have all of it; any amounts prove no more than the optimum."""
    problem = tied_problem(seed)
    best, bound = optimum(problem), bounded(problem)
    assert best is not None
    assert bound is not None
    assert bound.certificate is not None
    data = dict(bound.certificate.data)
    assert any(len(amounts) > 1 for amounts in data["ties"])
    assert proved(problem, {**data, "ties": []}) < 0.999 * bound.cost
    assert proved(problem, {**data, "ties": [amounts[:1] for amounts in data["ties"]]}) < 0.999 * bound.cost
    random = np.random.default_rng(seed)
    total = float(problem.graph.memory.sum())
    for _ in range(20):
        ties = [[x, *sorted({*random.uniform(0, total, int(random.integers(4))).tolist()})] for x, *_ in data["ties"]]
        assert proved(problem, {**data, "ties": ties}) <= best


def test_forged_ties_are_refused() -> None:
    """Ties between nodes that are not colocated, at no boundary, or twice, and amounts that are none or do not rise."""
    problem = tied_problem(36)
    bound = bounded(problem)
    assert bound is not None
    assert bound.certificate is not None
    good = dict(bound.certificate.data)
    x = good["ties"][0][0]
    apart = next(y for y in range(1, len(good["path"])) if y not in [entry[0] for entry in good["ties"]])
    no_ties: list[object] = ["all", [None], [[]], [[0]], [[99]], [[True]], [[apart]], [[x], [x]]]
    no_ties += [[[x, amount]] for amount in (0.0, -1.0, float("inf"), float("nan"), "1", True)]
    no_ties += [[[x, 2.0, 1.0]], [[x, 1.0, 1.0]], [[x, *range(1, 99)]]]
    for ties in no_ties:
        with pytest.raises(Refused):
            proved(problem, {**good, "ties": ties})


def no_plan_is_below(problem: Problem) -> None:
    """Compare the bound of a problem, and what its certificate proves, with brute force."""
    best, result = optimum(problem), PathHull().solve(problem, Limits(), Progress())
    if result.infeasibility is not None:
        assert best is None
        return
    assert result.bound is not None
    assert result.bound.certificate is not None
    again = proved(problem, dict(result.bound.certificate.data))
    assert result.bound.cost <= again * (1 + 1e-9)
    if best is not None:
        assert result.bound.cost <= best
        assert again <= best


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", BESIDE)
def test_changed_certificates_prove_nothing_wrong(seed: int) -> None:
    """Other targets, levels, steps, options and rents prove no more than the optimum, or are refused."""
    problem = braided_problem(seed, 4)
    best, bound = optimum(problem), bounded(problem)
    assert best is not None
    assert bound is not None
    assert bound.certificate is not None
    assert bound.certificate.data["held"]
    random = np.random.default_rng(seed)
    for _ in range(20):
        data: dict[str, Any] = deepcopy(dict(bound.certificate.data))
        side = data["sides"][int(random.integers(len(data["sides"])))]
        data["target"] *= float(random.choice([1.0, 0.5, 3.0]))
        side["levels"] = int(random.integers(1, 9))
        side["step"] *= float(random.choice([0.1, 1.0, 2.0]))
        if random.random() < 0.3:
            side["stops"] = [list(range(int(random.integers(0, len(chain) + 1)))) for chain in side["chains"]]
        side["from"], side["to"] = side["from"] - int(random.integers(2)), side["to"] + int(random.integers(2))
        held = data["held"][int(random.integers(len(data["held"])))]
        held[int(random.integers(2))] += int(random.integers(-1, 2))
        for which in (2, 3):
            if held[which] is not None and random.random() < 0.5:
                held[which] = [int(random.integers(0, 3)) for _ in held[which]]
        held[4] = float(random.choice([0.0, 0.1, 5.0]))
        try:
            assert proved(problem, data) <= best
        except Refused:
            continue


def test_forged_chains_are_refused() -> None:
    """Chains that do not lead from the path to the path, are on it, or at no boundary, and options that are none."""
    problem = blocks(1)
    bound = bounded(problem)
    assert bound is not None
    assert bound.certificate is not None
    good = dict(bound.certificate.data)
    assert proved(problem, good) >= bound.cost
    side = good["sides"][0]
    run = good["held"][0]
    no_sides: list[object] = ["all", [None], [{}], [{**side, "chains": [["nowhere"]]}], [{**side, "chains": [[]]}]]
    no_sides += [[{**side, "chains": [good["path"][1:2]]}], [{**side, "chains": [["in"]]}], [{**side, "chains": []}]]
    no_sides += [[{**side, "at": [0]}], [{**side, "at": side["at"] * 2}], [{**side, "at": None}], [side, side]]
    no_sides += [[{**side, "from": side["to"]}], [{**side, "to": 99}], [{**side, "from": True}]]
    no_sides += [[{**side, "levels": 0}], [{**side, "levels": 1000}], [{**side, "step": 0.0}]]
    no_sides += [[{**side, "stops": stops}] for stops in ("all", [], [[9]], [[0, 0]], [[-1]], [["0"]], [None])]
    no_sides += [[{**side, "step": float("inf")}], [{**side, "chains": [side["chains"][0] * 99]}]]
    for sides in no_sides:
        with pytest.raises(Refused):
            proved(problem, {**good, "sides": sides})
    free = [[*run[:2], None, None, 0.0][:k] for k in range(5)]
    for held in (
        "all",
        [None],
        [[0, 9, None, None, 0.0]],
        [[*run[:4], -1.0]],
        [[*run[:2], [9], None, 0.0]],
        *([h] for h in free),
    ):
        with pytest.raises(Refused):
            proved(problem, {**good, "held": held})
    for target in (None, 0.0, float("inf"), float("nan"), "1"):
        with pytest.raises(Refused):
            proved(problem, {**good, "target": target})
    assert proved(problem, {**good, "target": 0.5}) == pytest.approx(0.5)


def test_more_stops_know_what_fewer_did() -> None:
    """With more ways to share chains, what is known of runs is kept, and the bound is no lower."""
    instance = LatencyInstance.of(braids(5))
    hulls = Hulls(instance)
    path = hulls.path(hulls.weights, instance.tensor)
    ways = AlongPath(hulls, path)
    along = ways.least(lambda: False)
    few = side_bound.SideBound.of(hulls, ways, along, 4 * along.cost)
    assert few is not None
    least = few.least(along.cost, lambda: False)
    more = few.fuller(4 * along.cost)
    assert more is not None
    assert max(map(len, more.options)) > max(map(len, few.options))
    assert len(more.held) == len(few.held)
    for one, other in zip(few.held, more.held, strict=True):
        assert (one.i, one.j, one.rent) == (other.i, other.j, other.rent)
        assert held_nodes(few, one) <= held_nodes(more, other)  # what is before a node that it holds, too
    assert more.least(along.cost, lambda: False) >= least * (1 - 1e-12)


def test_a_way_of_which_nothing_has_been_looked_at() -> None:
    """A pass is the last when time is up, and its runs are not looked at; the bound with more ways follows it."""
    instance = LatencyInstance.of(braids(5))
    hulls = Hulls(instance)
    ways = AlongPath(hulls, hulls.path(hulls.weights, instance.tensor))
    along = ways.least(lambda: False)
    side = side_bound.SideBound.of(hulls, ways, along, 4 * along.cost)
    assert side is not None
    calls = iter(range(99))
    assert side.least(2 * along.cost, lambda: next(calls) > 0) > 0
    assert (side.way[:, 0] >= 0).any()
    assert side.fuller(4 * along.cost) is not None


def held_nodes(side: side_bound.SideBound, held: side_bound.Held) -> set[int]:
    """Return the nodes of the chains that a run holds of those around it."""
    before, behind = side.bundle[held.i], side.bundle[held.j + 1]
    nodes: set[int] = set()
    if held.left is not None:
        nodes |= {v for part in side.bundles[before].between(held.left, side.options[before][-1]) for v in part}
    if held.taken is not None:
        nodes |= {v for part in side.bundles[behind].between(side.options[behind][0], held.taken) for v in part}
    return nodes


def braids(length: int) -> Problem:
    """Return a source and a sink, between them three chains of so many nodes, for four small memories and no CPU."""
    edges = [(0, 1 + c * length) for c in range(3)] + [((c + 1) * length, 3 * length + 1) for c in range(3)]
    edges += [(1 + c * length + i, 2 + c * length + i) for c in range(3) for i in range(length - 1)]
    work = [1.0, *(1.0 + 0.1 * i for i in range(3 * length)), 1.0]
    graph = Graph.create([f"v{i}" for i in range(3 * length + 2)], edges, work=work, output=0.5, memory=1.0)
    devices = [Device(f"acc[{i}]", memory=length + 1.0) for i in range(6)]
    return Problem.create(graph, devices, Host(1.0), MAKESPAN, [Contiguous(), Memory()])


def test_a_search_ends_with_the_bound_beside_its_plan() -> None:
    """The search proves its plan by chains beside the path, which takes the cost of the plan."""
    result = LatencySearch().solve(blocks(1), Limits(time=30.0), Progress())
    assert result.status == "optimal" or (result.bound is not None and result.bound.cost >= 0.999 * (result.cost or 0))
    alone = bounded(blocks(1), sides=False)
    assert alone is not None
    assert result.bound is not None
    assert result.bound.cost > alone.cost


def test_too_much_for_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for the arrays, the bound is that of the path alone."""
    monkeypatch.setattr(side_bound, "MOST_CELLS", 1)
    beside, alone = bounded(blocks()), bounded(blocks(), sides=False)
    assert beside is not None
    assert alone is not None
    assert beside.cost == alone.cost


def test_few_levels_where_there_is_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is room for the ways to share chains and for no more levels, chains still count."""
    alone = bounded(blocks(), sides=False)
    monkeypatch.setattr(side_bound, "MOST_STATES", 60)
    few = bounded(blocks())
    assert alone is not None
    assert few is not None
    assert few.certificate is not None
    assert {side["levels"] for side in few.certificate.data["sides"]} == {1}
    assert alone.cost < few.cost


@pytest.mark.long
def test_the_same_passes_compiled_and_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """One source, twice: the same runs and the same bound."""
    found = []
    for kernel in (CHEAPEST_WAY.plain, CHEAPEST_WAY.compiled()):
        instance = LatencyInstance.of(blocks(3))
        hulls = Hulls(instance)
        path = hulls.path(hulls.weights, instance.tensor)
        ways = AlongPath(hulls, path)
        along = ways.least(lambda: False)
        side = side_bound.SideBound.of(hulls, ways, along, 2 * along.cost)
        assert side is not None
        with monkeypatch.context() as patch:
            patch.setattr(CHEAPEST_WAY, "pick", lambda _, kernel=kernel: kernel)
            found.append((side.least(along.cost, lambda: False), side.held))
    assert found[0] == found[1]
