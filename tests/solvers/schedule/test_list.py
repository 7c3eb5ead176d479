"""List schedulers: plans or none, never an invalid one; a way on is kept; what they are known to do."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import process_time
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Colocate, ExclusiveLinks, Memory, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.exchange.formats.moirai import MoiraiFormat
from mtpp_dsl.solvers.algorithms.timing import compressed, timed
from mtpp_dsl.solvers.methods.list_schedules import Cpop, Etf, Getf, Greedy, Heft, ListScheduler, Met, Peft, Sct
from mtpp_dsl.solvers.schedule.list.list_run import Lister, complete, scheduled
from mtpp_dsl.solvers.schedule.list.packing import FILL, SEARCH, settle
from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, rules
from mtpp_dsl.solvers.schedule.list.placing import IN_TURN, IN_TURN_FREELY
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward, upward_ranks
from mtpp_dsl.solvers.schedule.list.ready_first import EARLIEST, EARLIEST_FREELY
from mtpp_dsl.solvers.schedule.list.relaxation import favourites, rounded, shares, speed_groups, speeds
from mtpp_dsl.solving.api import solve
from tests.strategies import link_problems

SCHEDULERS: list[type[ListScheduler]] = [Met, Greedy, Heft, Cpop, Peft, Etf, Sct, Getf]


def solved(scheduler: type[ListScheduler], problem: Problem) -> Result:
    return scheduler().solve(problem, Limits(time=60.0), Progress())


def tabled(times: list[list[float]], edges: list[tuple[int, int, float]]) -> Problem:
    """Return a published example: nodes from 1, times by device, data that take their size between any two devices."""
    k = len(times[0])
    graph = Graph.create(
        [str(v + 1) for v in range(len(times))],
        [(u - 1, v - 1) for u, v, _ in edges],
        sizes=[size for _, _, size in edges],
        times={f"p{d}": [row[d] for row in times] for d in range(k)},
    )
    links = Links(np.ones((k, k)), np.zeros((k, k)))
    return Problem.create(graph, [Device(f"p{d}") for d in range(k)], links, Objective("makespan"))


TOPCUOGLU = tabled(
    [[14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10], [13, 16, 9], [7, 15, 11], [5, 11, 14],
     [18, 12, 20], [21, 7, 16]],
    [(1, 2, 18), (1, 3, 12), (1, 4, 9), (1, 5, 11), (1, 6, 14), (2, 8, 19), (2, 9, 16), (3, 7, 23), (4, 8, 27),
     (4, 9, 23), (5, 9, 13), (6, 8, 15), (7, 10, 17), (8, 10, 11), (9, 10, 13)],
)  # fmt: skip
ARABNEJAD = tabled(
    [[22, 21, 36], [22, 18, 18], [32, 27, 43], [7, 10, 4], [29, 27, 35], [26, 17, 24], [14, 25, 30], [29, 23, 36],
     [15, 21, 8], [13, 16, 33]],
    [(1, 2, 17), (1, 3, 31), (1, 4, 29), (1, 5, 13), (1, 6, 7), (2, 8, 3), (2, 9, 30), (3, 7, 16), (4, 8, 11),
     (4, 9, 7), (5, 9, 57), (6, 8, 5), (7, 10, 9), (8, 10, 42), (9, 10, 7)],
)  # fmt: skip


def related(seed: int, n: int = 30, k: int = 4, *, sizes: float = 1.0, memory: float | None = None) -> Problem:
    """Return a random problem on devices of different speeds and links that are alike both ways.

    With *memory*, every device has what a random placement needs there, times that.
    """
    random = np.random.default_rng(seed)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 3 / n]
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        edges,
        work=random.random(n) + 0.1,
        output=random.random(n) * sizes,
        memory=random.integers(1, 10, n),
    )
    width = 0.5 + random.random((k, k))
    width = np.triu(width) + np.triu(width, 1).T
    taken = np.bincount(random.integers(0, k, n), weights=graph.memory, minlength=k)
    limits = [None if memory is None else float(room) * memory for room in taken]
    devices = [
        Device(f"d{d}", speed=float(random.choice([1, 2, 4]) + random.random()), memory=limits[d]) for d in range(k)
    ]
    links = Links(width, np.zeros((k, k)))
    return Problem.create(graph, devices, links, Objective("makespan"), [] if memory is None else [Memory()])


@settings(max_examples=80)
@given(link_problems(5))
def test_a_plan_if_there_is_one(problem: Problem) -> None:
    """Whatever binds memory, links and nodes: a plan where there is any, else none and a note."""
    there_is = next(plans(problem), None) is not None
    for scheduler in SCHEDULERS:
        result = solved(scheduler, problem)
        assert (result.plan is not None) == there_is, (scheduler.name, result.notes)
        if result.plan is not None:
            assert verify(problem, result.plan) == []
        else:
            assert result.notes


@pytest.mark.parametrize(
    ("problem", "scheduler", "makespan"),
    [(TOPCUOGLU, Heft, 80), (TOPCUOGLU, Cpop, 86), (ARABNEJAD, Heft, 133), (ARABNEJAD, Peft, 122)],
)
def test_published_examples(problem: Problem, scheduler: type[ListScheduler], makespan: float) -> None:
    """The examples of topcuoglu2002 (Fig. 2 and 3) and arabnejad2014 (Fig. 1 and 2) come out as published."""
    assert solved(scheduler, problem).cost == makespan


def test_published_ranks() -> None:
    """Upward ranks are those of topcuoglu2002, Table 2."""
    ranks = [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]
    np.testing.assert_allclose(upward_ranks(ScheduleInstance.of(TOPCUOGLU)), ranks, atol=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_heft_agrees_with_another_library(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks, and schedules of its order, are those of anrg-saga; without data to send, so is all of heft.

    Its mean transfer counts those within a device, as nothing; so with data its order differs from that of the paper.
    Its downward ranks add the time of the head, not of the tail; so cpop is held to the paper's example alone.
    """
    for module in ("pysmt", "pysmt.shortcuts", "pysmt.typing"):  # of its scheduler by a solver, which is not asked
        monkeypatch.setitem(sys.modules, module, MagicMock())
    saga = pytest.importorskip("saga")
    heft = pytest.importorskip("saga.schedulers.heft")
    for sizes in (0.0, 1.0, 8.0):
        problem = related(seed, sizes=sizes)
        graph, links, k = problem.graph, problem.interconnect, problem.k
        assert isinstance(links, Links)
        names = [device.name for device in problem.devices]
        network = saga.Network.create(
            [(device.name, device.speed) for device in problem.devices],
            [(names[a], names[b], float(links.bandwidth[a, b])) for a, b in product(range(k), range(k)) if a < b],
        )
        tasks = saga.TaskGraph.create(
            [(name, float(work)) for name, work in zip(graph.names, graph.work, strict=True)],
            [(graph.names[u], graph.names[v], float(graph.sizes[e])) for e, (u, v) in
             enumerate(zip(graph.tails, graph.heads, strict=True))],
        )  # fmt: skip
        theirs = heft.HeftScheduler().schedule(network, tasks)
        counted = np.triu(1 / links.bandwidth, 1).sum() / (k * (k + 1) / 2)
        ranks = upward(graph, problem.time.mean(axis=1), graph.sizes * counted)
        said = heft.upward_rank(network, tasks)
        np.testing.assert_allclose(ranks, [said[name] for name in graph.names], rtol=1e-12)
        lister = Lister.of(ScheduleInstance.of(problem))
        assert lister is not None
        ours = lister.in_turn(in_order(graph, ranks))
        assert cost_of(problem, ours) == pytest.approx(theirs.makespan, rel=1e-12)
        if sizes == 0:
            assert solved(Heft, problem).cost == pytest.approx(theirs.makespan, rel=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("slack", [1.0, 1.05, 1.3])
@pytest.mark.parametrize("seed", range(4))
def test_memory_is_packed_ahead(seed: int, slack: float) -> None:
    """Where all memory together is hardly more than is needed, no scheduler ends in a dead end."""
    for n in (12, 60):
        problem = related(seed, n=n, memory=slack)
        for scheduler in SCHEDULERS:
            result = solved(scheduler, problem)
            assert result.plan is not None, (scheduler.name, n, result.notes)


def test_memory_of_the_published_example(data: Path) -> None:
    """The tasks of example-1 take all the memory there is; everything finds a schedule, none below the optimum 30."""
    workload = MoiraiFormat().read(data / "moirai" / "example-1.json")
    for constraints in ([Memory()], [Memory(), ExclusiveLinks()]):
        problem = Problem.create(
            workload.graph, workload.devices, workload.interconnect, Objective("makespan"), constraints
        )
        assert workload.graph.memory.sum() == problem.memory_limit.sum()
        costs = [solved(scheduler, problem).cost for scheduler in SCHEDULERS]
        assert all(cost is not None and 30 <= cost <= 50 for cost in costs), costs


def test_nobody_goes_where_no_link_leads_on() -> None:
    """Before a device from which nothing leads on is taken, all that must follow is known to have a place."""
    graph = Graph.create(
        "abcd",
        [(0, 1), (1, 2), (2, 3)],
        output=1.0,
        times={"d0": [9, 9, 9, np.inf], "d1": [1, 1, 1, np.inf], "d2": [9, 9, 9, 1]},
    )
    width = np.zeros((3, 3))
    width[0, 1] = width[0, 2] = 1.0
    problem = Problem.create(
        graph, [Device(f"d{d}") for d in range(3)], Links(width, np.zeros((3, 3))), Objective("makespan")
    )
    for scheduler in SCHEDULERS:
        result = solved(scheduler, problem)
        assert result.plan is not None
        assert 1 not in result.plan.assignment
        assert result.plan.assignment[3] == 2


def test_a_class_goes_where_all_of_it_is_fast() -> None:
    """The first node of a colocated class counts the time of the others."""
    graph = Graph.create("ab", [(0, 1)], times={"d0": [1.0, 50.0], "d1": [2.0, 2.0]})
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    devices = [Device("d0"), Device("d1")]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [Colocate(nodes=(0, 1))])
    assert solved(Heft, problem).cost == 4.0


def test_no_plan_is_said() -> None:
    """Nodes that are together and apart, or fit nowhere: no plan, a note, and nothing raised."""
    graph = Graph.create("abc", [(0, 1)], work=1.0, memory=2.0)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    devices = [Device("d0", memory=3.0), Device("d1", memory=3.0)]
    clash = [Colocate(nodes=(0, 1)), Separate(nodes=(0, 1))]
    for constraints in ([Memory()], clash, [Pin(nodes=(0,), devices=(0,)), Pin(nodes=(0,), devices=(1,))]):
        problem = Problem.create(graph, devices, links, Objective("makespan"), constraints)
        for scheduler in SCHEDULERS:
            result = solved(scheduler, problem)
            assert result.plan is None
            assert "no way was found" in result.notes[0]
            assert solve(problem, scheduler.name).status in ("infeasible", "bound")


@given(link_problems(5), st.integers(0, 10_000))
def test_completion(problem: Problem, seed: int) -> None:
    """An assignment without times becomes a schedule of it, that timing cannot shorten; or it is refused."""
    instance = ScheduleInstance.of(problem)
    device = np.random.default_rng(seed).integers(0, problem.k, instance.n)
    try:
        plan = complete(problem, Plan.create(problem, device))
    except UsageError:
        with pytest.raises(UsageError):
            timed(instance, device, np.zeros(instance.n))
        return
    assert plan.assignment.tolist() == device.tolist()
    assert not {violation.constraint for violation in verify(problem, plan)} & {"schedule", "precedence", "links"}
    assert cost_of(problem, compressed(instance, plan)) == pytest.approx(cost_of(problem, plan), rel=1e-12)


def test_completion_by_latest_starts() -> None:
    """Without priorities the longest path comes first; with them, what is asked for."""
    graph = Graph.create("abc", [(1, 2)], work=[3.0, 1.0, 5.0])
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("d0"), Device("d1")], links, Objective("makespan"))
    instance = ScheduleInstance.of(problem)
    assert cost_of(problem, scheduled(instance, [0, 0, 1])) == 6.0
    assert cost_of(problem, scheduled(instance, [0, 0, 1], [1.0, 0.0, 0.0])) == 9.0


@pytest.mark.long
def test_compiled_is_plain() -> None:
    """Compiled kernels place as the plain ones do."""
    kernels = (IN_TURN, IN_TURN_FREELY, EARLIEST, EARLIEST_FREELY, FILL, SEARCH)
    found: list[list[float | None]] = []
    problems = [related(seed, memory=memory) for seed in range(3) for memory in (None, 1.05)]
    problems += [problem.with_constraints([*problem.constraints, ExclusiveLinks()]) for problem in problems]
    for compiled in (False, True):
        for kernel in kernels:
            kernel._ready = False
            if compiled:
                kernel.compiled()
        found.append([solved(scheduler, problem).cost for problem in problems for scheduler in (Heft, Peft, Etf, Sct)])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(8))
def test_etf_takes_the_earliest_start(seed: int) -> None:
    """etf is what its definition says, step by step, ties by upward ranks."""
    problem = related(seed, n=25)
    instance = ScheduleInstance.of(problem)
    graph, rank = problem.graph, upward_ranks(instance)
    placed: dict[int, tuple[int, float, float]] = {}
    free = [0.0] * problem.k
    while len(placed) < graph.n:
        ready = [v for v in range(graph.n) if v not in placed and set(graph.predecessors(v).tolist()) <= placed.keys()]
        starts = []
        for v, d in product(ready, range(problem.k)):
            edges = [e for e in range(graph.m) if graph.heads[e] == v]
            came = [placed[int(graph.tails[e])] for e in edges]
            arrived = [end + instance.transfers.time(e, f, d) for e, (f, _, end) in zip(edges, came, strict=True)]
            starts.append((max([free[d], *arrived]), -rank[v], problem.time[v, d], v, d))
        start, _, takes, v, d = min(starts)
        free[d] = start + takes
        placed[v] = d, start, start + takes
    plan = solved(Etf, problem).plan
    assert plan is not None
    assert plan.schedule is not None
    assert {v: (int(plan.assignment[v]), float(plan.schedule.start[v])) for v in placed} == {
        v: (d, float(start)) for v, (d, start, _) in placed.items()
    }


def test_shares_of_a_chain() -> None:
    """The programme of getf leaves a chain where it is fastest, and spreads what can run at once by speeds."""
    for edges, expected in (([(0, 1), (1, 2)], [1.0, 0.0]), ([], [0.8, 0.2])):
        graph = Graph.create("abc", edges, work=2.0)
        devices = [Device("d0", speed=4.0), Device("d1", speed=1.0)]
        links = Links(np.ones((2, 2)), np.zeros((2, 2)))
        lister = Lister.of(ScheduleInstance.of(Problem.create(graph, devices, links, Objective("makespan"))))
        assert lister is not None
        found = shares(lister, np.array([True, True]))
        assert found is not None
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_allclose(found.mean(axis=0), expected, atol=1e-9)


def test_favourites_are_matched() -> None:
    """A chain keeps its heavy edges together; nobody has two favourites, and nobody is the favourite of two."""
    chain = tabled([[1.0, 1.0]] * 4, [(1, 2, 5.0), (2, 3, 5.0), (3, 4, 5.0)])
    lister = Lister.of(ScheduleInstance.of(chain))
    assert lister is not None
    found = favourites(lister)
    assert found is not None
    assert found.tolist() == [1, 2, 3, -1]
    for seed in range(5):
        problem = related(seed)
        lister = Lister.of(ScheduleInstance.of(problem))
        assert lister is not None
        found = favourites(lister)
        assert found is not None
        chosen = found[found >= 0].tolist()
        assert len(set(chosen)) == len(chosen)
        edges = set(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True))
        assert {(v, int(w)) for v, w in enumerate(found) if w >= 0} <= edges


def test_a_device_waits_for_a_favourite() -> None:
    """m-sct leaves a device idle for the favourite child of its last node, where etf takes what is ready first."""
    problem = tabled([[4.0, 4.0], [6.0, 6.0], [9.0, 9.0], [9.0, 9.0]], [(1, 3, 9.0), (2, 3, 1.0), (2, 4, 1.0)])
    costs = {scheduler.name: solved(scheduler, problem).cost for scheduler in (Etf, Sct)}
    assert costs["m-sct"] is not None
    assert costs["etf"] is not None
    plan = solved(Sct, problem).plan
    assert plan is not None
    assert plan.assignment[2] == plan.assignment[0]


def test_groups_of_devices() -> None:
    """Speeds are those of related machines; groups, their rounding and what is too slow as chudak1999 has them."""
    graph = Graph.create("abc", [(0, 1)], work=[4.0, 8.0, 2.0])
    fast = [8.0, 7.0, 2.0, 1.5, 0.4]
    devices = [Device(f"d{i}", speed=s) for i, s in enumerate(fast)]
    links = Links(np.ones((5, 5)), np.zeros((5, 5)))
    instance = ScheduleInstance.of(Problem.create(graph, devices, links, Objective("makespan")))
    np.testing.assert_allclose(speeds(instance), np.array(fast) / 8)
    group = speed_groups(speeds(instance))
    assert group.tolist() == [2, 1, 0, -1, -1]
    share = np.array([[0.6, 0.2, 0.2, 0.0, 0.0], [0.0, 0.1, 0.9, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]])
    assert rounded(instance, share, group, speeds(instance)).tolist() == [2, 2, 2]
    slow = [2.0, 1.0, 1.0, 1.0, 1.0]
    devices = [Device(f"d{i}", speed=s) for i, s in enumerate(slow)]
    instance = ScheduleInstance.of(Problem.create(graph, devices, links, Objective("makespan")))
    group = speed_groups(speeds(instance))
    assert group.tolist() == [1, 0, 0, 0, 0]
    assert rounded(instance, share, group, speeds(instance)).tolist() == [1, 0, 0]


def test_stopped_or_out_of_time() -> None:
    """A run that is stopped, or has no time, has no plan, and says so."""
    stopped = Progress()
    stopped.stop()
    for scheduler in SCHEDULERS:
        for limits, progress in ((Limits(), stopped), (Limits(time=0.0), Progress())):
            result = scheduler().solve(TOPCUOGLU, limits, progress)
            assert result.plan is None
            assert result.termination in ("interrupted", "time_limit")
            assert "before every node" in result.notes[0]


@pytest.mark.parametrize("exclusive", [False, True])
def test_units_do_not_matter(exclusive: bool) -> None:
    """With all times and data times a power of two, schedules are the same, that many times as long."""
    for seed, scale in product(range(3), (2.0**40, 2.0**-30)):
        problem = related(seed, memory=1.5)
        if exclusive:
            problem = problem.with_constraints([*problem.constraints, ExclusiveLinks()])
        graph = replace(problem.graph, work=problem.graph.work * scale, sizes=problem.graph.sizes * scale)
        larger = Problem.create(
            graph, problem.devices, problem.interconnect, Objective("makespan"), problem.constraints
        )
        for scheduler in SCHEDULERS:
            one, other = solved(scheduler, problem), solved(scheduler, larger)
            assert one.cost is not None
            assert other.cost == one.cost * scale


@pytest.mark.parametrize("seed", range(6))
def test_any_magnitudes(seed: int) -> None:
    """Times from 1e-9 to 1e12 side by side, and zeros: a plan that is one."""
    random = np.random.default_rng(seed)
    n, k = 25, 3
    times = 10.0 ** random.uniform(-9, 12, (k, n)) * (random.random((k, n)) < 0.9)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.15]
    table = 10.0 ** random.uniform(-9, 12, (len(edges), k, k)) * (1 - np.eye(k))
    graph = Graph.create([f"v{i}" for i in range(n)], edges, times={f"d{d}": times[d] for d in range(k)})
    links = Links(np.ones((k, k)), np.zeros((k, k)), table)
    for constraints in ([], [ExclusiveLinks()]):
        problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, Objective("makespan"), constraints)
        for scheduler in SCHEDULERS:
            plan = solved(scheduler, problem).plan
            assert plan is not None
            assert verify(problem, plan) == []


def test_classes_keep_to_all_rules() -> None:
    """Kept placements hold every class once, count memory right, and never break a bond, whatever is tried."""
    random = np.random.default_rng(5)
    for seed in range(20):
        problem = related(seed, n=14, k=3, memory=1.3)
        some = tuple(sorted(random.choice(14, 3, replace=False).tolist()))
        problem = problem.with_constraints([*problem.constraints, Separate(nodes=some)])
        lister = Lister.of(ScheduleInstance.of(problem))
        if lister is None:
            continue
        found = rules(lister.instance)
        hold: Hold = lister.hold
        for c, d in random.integers(0, [14, 3], (60, 2)).tolist():
            before = hold.home.copy()
            if settle(found, hold, c, d):
                assert hold.home[c] == d
            else:
                assert hold.home.tolist() == before.tolist()
            held = np.bincount(hold.home, weights=found.need, minlength=3)
            np.testing.assert_allclose(held, hold.used)
            assert (held <= found.limit).all()
            assert len(set(hold.home[list(some)].tolist())) == 3


@pytest.mark.long
def test_fifty_thousand_nodes() -> None:
    """heft places 50,000 nodes on 8 devices in less than ten seconds."""
    n, k = 50_000, 8
    random = np.random.default_rng(0)
    back = random.integers(1, 50, (2, n))
    edges = {(max(v - int(step), 0), v) for row in back for v, step in enumerate(row.tolist()) if v}
    graph = Graph.create([f"v{i}" for i in range(n)], sorted(edges), work=random.random(n), output=random.random(n))
    links = Links(random.choice([1.0, 2.0], (k, k)), np.full((k, k), 0.01))
    devices = [Device(f"d{d}", speed=float(random.choice([1.0, 2.0, 4.0]))) for d in range(k)]
    problem = Problem.create(graph, devices, links, Objective("makespan"))
    began = process_time()
    result = solved(Heft, problem)
    assert process_time() - began < 10.0
    assert result.plan is not None


def test_devices_that_each_take_no_time_for_something_have_speeds() -> None:
    """Where every node takes no time somewhere, no device is the fastest, and ``getf`` schedules all the same."""
    graph = Graph.create("ab", [], times={"x": [0.0, 4.0], "y": [1.5, 0.0]})
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("x"), Device("y")], links, Objective("makespan"))
    assert solve(problem, "getf").plan is not None


@pytest.mark.parametrize("seed", [54, 59])
def test_times_left_over_are_as_long_as_what_was_promised_them(seed: int) -> None:
    """What is left between two transfers to one node is not lost where rounding makes it look too short for a third."""
    random = np.random.default_rng(seed)
    n, k = 40, 3
    edges = [(u, v) for u in range(n) for v in range(u + 1, min(n, u + 14)) if random.random() < 0.6]
    sizes = random.choice([0.1 / 3, 0.1 / 7, 0.01], n)
    times = {f"d{d}": 0.1 * random.random(n) for d in range(k)}
    graph = Graph.create([f"v{i}" for i in range(n)], edges, output=sizes, times=times)
    links = Links(np.ones((k, k)), np.zeros((k, k)))
    devices = [Device(f"d{d}") for d in range(k)]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [ExclusiveLinks()])
    lister = Lister.of(ScheduleInstance.of(problem))
    assert lister is not None
    tier = np.ones((n, k))
    tier[np.arange(n), random.integers(0, k, n)] = 0.0
    assert verify(problem, lister.in_turn(in_order(graph, -np.arange(n, dtype=np.float64)), tier=tier)) == []
