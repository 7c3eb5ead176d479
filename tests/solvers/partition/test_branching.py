"""Branching over blocks: the optimum and its proof, bounds that hold whenever it is stopped, reasons to refuse."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous, Memory, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered, regal
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.branching import MAX_HALVED, Branching
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.partition.branching import branching as method
from mtpp_dsl.solvers.partition.branching import chains_run as run
from mtpp_dsl.solvers.partition.branching import halves_run, weights
from mtpp_dsl.solvers.partition.branching.bitsets import BitsetInstance, instance_of, unit_of
from mtpp_dsl.solvers.partition.branching.block_pool import positions
from mtpp_dsl.solvers.partition.branching.blocks import BLOCKS, COUNT, DONE, INF, BlockQuestion, walk_of
from mtpp_dsl.solvers.partition.branching.weights import WeightsSearch
from tests.amount import part
from tests.oracle import optimum
from tests.strategies import plain_problems

NEAR = 1e-9


def stages(graph: Graph, k: int, *more: object, memory: float | None = None, overflow: bool = False) -> Problem:
    devices = [Device(f"d{i}", memory=memory) for i in range(k)]
    return Problem.create(graph, devices, Shared(1.0, overflow=overflow), constraints=[Acyclic(), *more])  # type: ignore[list-item]


def random_problem(seed: int) -> Problem:
    """Return a problem of a few nodes: zero weights, huge tensors, ties, parts that nothing joins; memory, overflow."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(1, 7)), int(random.integers(1, 5))
    relabel = random.permutation(n)
    share = random.choice([0.1, 0.3, 0.6])
    edges = [(int(relabel[u]), int(relabel[v])) for u, v in combinations(range(n), 2) if random.random() < share]
    whole = random.random() < 0.5
    work = random.choice([0.0, 1.0, 2.0, 5.0], n) * (1.0 if whole else random.random(n))
    output = random.choice([0.0, 1.0, 3.0, 50.0], n, p=[0.3, 0.3, 0.3, 0.1]) * (1.0 if whole else random.random(n))
    params = random.choice([0.0, 1.0, 4.0], n)
    graph = Graph.create([f"v{i}" for i in range(n)], edges, work=work, output=output, params=params)
    kind = random.integers(0, 4)
    if kind == 0:
        return stages(graph, k, Memory(), memory=float(graph.memory.sum()) / k * random.choice([1.0, 1.3, 1.6]))
    if kind == 1:
        return stages(graph, k, memory=float(params.sum()) / k * random.choice([0.0, 0.7, 1.0]), overflow=True)
    return stages(graph, k, Contiguous()) if kind == 2 else stages(graph, k)


def solve(problem: Problem, progress: Progress | None = None, **limits: object) -> Result:
    result = Branching().solve(problem, Limits(**limits), progress or Progress())  # type: ignore[arg-type]
    check_result(problem, result)
    return result


def bounds_of(result: Result) -> list[float]:
    """Return all bounds that were ever reported."""
    last = [] if result.bound is None else [result.bound.cost]
    return [entry.bound for entry in result.log if entry.bound is not None] + last


def check(problem: Problem) -> str:
    """Solve, compare with trying everything, and return the status."""
    best, result = optimum(problem), solve(problem)
    if best is None:
        assert result.status == "infeasible"
        return result.status
    assert result.status == "optimal", result
    assert result.cost == pytest.approx(best, rel=NEAR)
    assert all(bound <= best * (1 + NEAR) for bound in bounds_of(result))
    return result.status


@pytest.fixture
def _without_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be no plan from elsewhere, so that the search finds its own."""
    monkeypatch.setattr(Annealing, "accepts", lambda *_: "left out")


def test_small_problems_are_solved_to_the_optimum() -> None:
    """Random problems with memory, overflow, ties, zero weights: the optimum, or the proof of no plan."""
    statuses = Counter(check(random_problem(seed)) for seed in range(part(150, 12)))
    assert set(statuses) == {"optimal", "infeasible"}


@pytest.mark.usefixtures("_without_plans")
def test_it_finds_plans_by_itself() -> None:
    """The same without a plan to begin with."""
    statuses = Counter(check(random_problem(seed)) for seed in range(1000, 1000 + part(100, 10)))
    assert set(statuses) == {"optimal", "infeasible"}


@pytest.mark.usefixtures("_without_plans")
def test_two_devices_are_searched_in_two_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ideals by minimum cuts and chains by weights find the same optimum, that of trying everything."""
    problems = [stages(random_problem(seed).graph, 2) for seed in range(2000, 2000 + part(60, 4))]
    for problem in problems:
        check(problem)
    monkeypatch.setattr(halves_run, "halved", lambda _: False)
    for problem in problems[: len(problems) // 2]:
        check(problem)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("model", "seed"), [("sbm", 4), ("er", 1), ("ba", 2), ("ws", 3)])
def test_graphs_are_halved(model: str, seed: int) -> None:
    """Random graphs of 100 nodes over two devices: the optimum, in a second or two; ever better bounds before."""
    result = solve(stages(regal(100, model, "own-memory", seed), 2))
    assert result.status == "optimal"
    assert bounds_of(result) == sorted(bounds_of(result))


def test_bounds_of_parted_devices_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many nodes as it likes over any devices, memory and overflow: bounds that hold, and mostly a plan."""
    monkeypatch.setattr(method, "MAX_NODES", 0)
    statuses: Counter[str] = Counter()
    for seed in range(3000, 3000 + part(150, 25)):
        problem = random_problem(seed)
        best, result = optimum(problem), solve(problem)
        statuses[result.status] += 1
        if best is None:
            assert result.plan is None
        else:
            assert result.infeasibility is None
            assert all(bound <= best * (1 + NEAR) for bound in bounds_of(result))
    assert statuses["optimal"] > part(75, 25)


@pytest.mark.long
def test_parting_beats_a_share_of_the_work() -> None:
    """On a graph of 100 nodes over four devices the bound of two parts is well above that of the work alone."""
    problem = stages(regal(100, "er", "own-memory", 1), 4)
    result = solve(problem, time=4.0)
    assert result.bound is not None
    assert result.bound.cost > 1.1 * float(problem.graph.work.sum()) / 4


@settings(max_examples=60)
@given(problem=plain_problems(most=6, most_devices=4))
def test_plain_problems_are_solved_to_the_optimum(problem: Problem) -> None:
    """Any weights, any bandwidth, more devices than nodes."""
    assert check(problem) == "optimal"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_with_ideals(seed: int) -> None:
    """On graphs too large to try everything, both prove the same optimum."""
    graph = regal(16, ("er", "ba", "ws")[seed % 3], ("literal", "own-memory")[seed % 2], seed)
    problem = stages(graph, 2 + seed)
    one, other = solve(problem), Ideals().solve(problem, Limits(), Progress())
    assert one.status == other.status == "optimal"
    assert one.cost == pytest.approx(other.cost, rel=1e-9)


@pytest.mark.long
def test_what_ideals_leave_open_is_closed() -> None:
    """A random graph of 30 nodes over eight devices, which a search that does not see later cuts leaves open."""
    result = solve(stages(regal(30, "er", "own-memory", 1), 8), time=60.0)
    assert result.status == "optimal"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_whenever_it_is_stopped(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any effort allowed at first, and stopped after any number of looks: what was reported is true."""
    problem = stages(regal(18, "er", "own-memory", seed), 4)
    best = solve(problem).cost
    assert best is not None
    monkeypatch.setattr(run, "EFFORT", 50)
    monkeypatch.setattr(weights, "CHUNK", 20)
    for looks in np.random.default_rng(seed).integers(1, 400, 5).tolist():
        result = solve(problem, progress=Impatient(looks))
        assert all(bound <= best * (1 + NEAR) for bound in bounds_of(result))
        assert result.cost is None or result.cost >= best * (1 - NEAR)
        assert result.infeasibility is None
    assert solve(problem).cost == pytest.approx(best, rel=NEAR)


class Impatient(Progress):
    """Asks to stop when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    @property
    def stopped(self) -> bool:
        self._looks -= 1
        return self._looks < 0


def all_blocks(data: BitsetInstance, cap: int) -> list[int]:
    """Return all convex sets of load up to *cap*, by trying all sets."""
    found = []
    for block in range(1, 1 << len(data.work)):
        inside = [v for v in range(len(data.work)) if block >> v & 1]
        above = below = 0
        for v in inside:
            above |= int(data.before[v])
            below |= int(data.after[v])
        cut = sum(int(c) for p, c in zip(data.pins, data.cost, strict=True) if int(p) & block not in (0, int(p)))
        load = sum(int(data.work[v]) for v in inside) + cut
        if not above & below & ~block and load <= cap:
            found.append(block)
    return found


def heaviest(data: BitsetInstance, weight: Ints, ask: BlockQuestion, needs: int) -> int:
    walk = walk_of(len(weight), 1 << 10)
    zero = np.zeros(1, np.int64)
    assert BLOCKS.plain(zero, zero, np.array([needs]), 1 << 40, ask, data, weight[None, :], walk) == DONE
    assert walk.at[COUNT] <= len(walk.block)
    return int(walk.at[4])


@pytest.mark.parametrize("seed", range(12))
def test_no_heavier_block_is_missed(seed: int) -> None:
    """The heaviest block below a cap is that of trying all sets, for any weights; so are all blocks above a weight."""
    random = np.random.default_rng(seed)
    problem = stages(regal(9, ("er", "ws")[seed % 2], "own-memory", seed), 3)
    data = instance_of(problem, unit_of(problem))
    cap = int(data.work.sum()) // 2
    blocks = all_blocks(data, cap)
    weight = random.integers(0, 1000, 9).astype(np.int64) * random.integers(0, 2, 9)
    weights_of = {b: sum(int(weight[v]) for v in range(9) if b >> v & 1) for b in blocks}
    ask = BlockQuestion(0, 1, cap, INF, INF, INF, np.array([INF]))
    assert heaviest(data, weight, ask, 0) == max(weights_of.values(), default=0)
    floor = int(np.median(list(weights_of.values())))
    walk = walk_of(9, 1 << 10)
    zero, ask = np.zeros(1, np.int64), ask._replace(climb=0)
    BLOCKS.plain(zero, zero, np.array([floor]), 1 << 40, ask, data, weight[None, :], walk)
    assert set(walk.block[: walk.at[COUNT]].tolist()) == {b for b, heavy in weights_of.items() if heavy > floor}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("seed", range(8))
def test_weights_hold_for_the_blocks_of_every_plan(seed: int) -> None:
    """No block of a plan below the cap weighs more than its position may, wherever the chain leaves it."""
    random = np.random.default_rng(seed)
    graph, k = regal(10, "er", "own-memory", seed), 3
    problem = stages(graph, k)
    unit = unit_of(problem)
    data = instance_of(problem, unit)
    best = optimum(stages(graph, 2))
    assert best is not None
    cap = int(best * 1.05 / unit)
    source = WeightsSearch(data, k, lambda _: None, lambda: None)
    source.effort = 1 << 40
    rows = [source.row(cap), source.row_for(cap, 1, random.random(10))]
    blocks = set(all_blocks(data, cap))
    every = (1 << 10) - 1
    ideals = [i for i in range(1 << 10) if all(not i >> v & 1 or not int(data.before[v]) & ~i for v in range(10))]
    chains = [(a, b & ~a, every & ~b) for a in ideals for b in ideals if not a & ~b]
    met = 0
    for chain in chains:
        if all(block == 0 or block in blocks for block in chain):
            met += 1
            for first, row in enumerate(rows):
                for position in range(first, k):
                    heavy = sum(int(row.weight[v]) for v in range(10) if chain[position] >> v & 1)
                    assert heavy <= row.most[position]
    assert met


def test_positions_leave_room_for_every_plan() -> None:
    """A node of a chain stands at no place early that what comes before it forbids; one device holds everything."""
    problem = stages(layered(20, 3, seed=1, output=1.0), 10)
    data = instance_of(problem, unit_of(problem))
    total = int(data.work.sum())
    spans = [(p.first, p.last) for p in positions(data, 10, total // 5)]
    assert spans == [(1, 1), (2, 2), (3, 8), (9, 9), (10, 10)]
    assert [p.shut for p in positions(data, 10, total)] == [0] * 5
    assert positions(data, 10, total // 5)[0].shut
    assert sum(p.count(4) for p in positions(data, 10, total)) == 6


@pytest.mark.long
def test_one_seed_one_answer() -> None:
    """Effort is counted in steps, so two runs agree in plan, bound and all in between."""
    problem = stages(regal(20, "ws", "own-memory", 3), 5)
    one, other = solve(problem), solve(problem)
    assert one.plan is not None
    assert other.plan is not None
    assert np.array_equal(one.plan.assignment, other.plan.assignment)
    assert bounds_of(one) == bounds_of(other)


def test_a_gap_ends_it() -> None:
    """Asked for a tenth, it stops there; the start is kept, where it is better."""
    problem = stages(regal(18, "ba", "own-memory", 2), 4)
    best = solve(problem)
    assert best.plan is not None
    rough = solve(problem, gap=0.1, start=best.plan)
    assert rough.termination == "gap"
    assert rough.cost == best.cost
    assert rough.gap is not None
    assert rough.gap <= 0.1


def test_colocated_nodes_are_made_one() -> None:
    """Nodes held together where they can be one: the optimum of trying everything."""
    graph = Graph.create(
        "abcdef", [(0, 1), (1, 2), (0, 3), (3, 4), (4, 5), (2, 5)], work=[1, 2, 3, 4, 5, 6], output=1.0
    )
    assert check(stages(graph, 3, Colocate(nodes=(1, 2)))) == "optimal"


@pytest.mark.parametrize("memory", [1e12, 1e30, 1e300])
def test_memories_of_any_size_stream_nothing(memory: float) -> None:
    """A memory far larger than all parameters is one without a limit, however many units it has."""
    graph = Graph.create(list("abc"), [(0, 1), (1, 2)], work=[2, 0, 2], output=1.0, params=[3, 1, 3])
    result = solve(stages(graph, 3, memory=memory, overflow=True))
    assert result.cost == optimum(stages(graph, 3))


@pytest.mark.parametrize("over", [0.9e-6, 1.0e-6, 1.5e-6, 2.5e-6])
def test_memories_missed_by_a_tolerance(over: float) -> None:
    """Where a split fits a memory but for a tolerance, the bound holds for the plans that do, and no plan is false."""
    graph = Graph.create(list("abc"), [(0, 1), (1, 2)], work=[2, 1, 2], output=9.0, memory=[0.5 + over, 0.5, 1.0])
    problem = stages(graph, 3, Memory(), memory=1.0)
    result = solve(problem)
    best = optimum(problem)
    assert best is not None
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + NEAR)
    assert result.plan is None or result.cost == best


def test_it_says_what_it_cannot_honour() -> None:
    """Refused with the reason: other objectives and networks, unequal devices, other constraints, too many nodes."""
    graph = regal(6, "er", "own-memory", 1)
    plain = stages(graph, 2)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    large = layered(MAX_HALVED + 200, 8, output=1e-3)
    backward = Graph.create("ab", [(0, 1)], work=1.0, backward=[False, True])
    cases = {
        "bottleneck": Problem.create(graph, plain.devices, Shared(1.0), Objective("makespan"), [Acyclic()]),
        "links": Problem.create(graph, plain.devices, links, constraints=[Acyclic()]),
        "groups": Problem.create(
            graph, [Device("a", group="x"), Device("b", group="y")], Shared(1.0, between=0.5), constraints=[Acyclic()]
        ),
        "pin": stages(graph, 2, Pin(nodes=(0,), devices=(1,))),
        "acyclic": plain.with_constraints([Contiguous()]),
        "backward": stages(backward, 2),
        "equal": Problem.create(graph, [Device("a"), Device("b", speed=2.0)], Shared(1.0), constraints=[Acyclic()]),
        "the most are 5000": stages(large, 3),
    }
    for word, problem in cases.items():
        reason = Branching().accepts(problem)
        assert reason is not None
        assert word in reason
    assert Branching().accepts(plain) is None
