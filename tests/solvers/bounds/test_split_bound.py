"""The bound by modules: never above an optimum, whatever the modules, and as tight as the thesis says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import (
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Constraint,
    ExclusiveLinks,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow, split
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool, availability
from mtpp_dsl.solvers.backends.cpsat.questions import ask
from mtpp_dsl.solvers.backends.cpsat.request import Effort
from mtpp_dsl.solvers.bounds.schedule import module_heads
from mtpp_dsl.solvers.bounds.schedule import part_work as bound_work
from mtpp_dsl.solvers.bounds.schedule import split_bound as bounding
from mtpp_dsl.solvers.bounds.schedule.module_heads import whole_problem
from mtpp_dsl.solvers.bounds.schedule.part_work import monotone
from mtpp_dsl.solvers.bounds.schedule.split_bound import bound, joined
from mtpp_dsl.solvers.methods.modules import SplitBound
from mtpp_dsl.solving.plugins import samples
from tests.amount import part
from tests.batch_problems import random_batches

OVER = 1 + 1e-9


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPool]:
    """Return processes of CP-SAT; skips, visibly, without ortools."""
    if not availability().ok:
        pytest.skip("ortools is not installed")
    with ProcessPool(2) as found:
        yield found


def modules_of(problem: Problem, cuts: list[int]) -> ModuleRow:
    """Return modules between places in the topological order."""
    order = problem.graph.topological_order
    parts = tuple(part for part in np.split(order, cuts) if len(part))
    return ModuleRow(problem.graph, parts, len(problem.graph.tails), (False,) * (len(parts) - 1))


def optimum(problem: Problem, pool: ProcessPool) -> float | None:
    """Return the optimum by CP-SAT; None where there is no plan."""
    asked = ask(problem)
    found = asked.found(pool.submit(asked.request, Effort(20.0)).result())
    assert found.settled
    return found.cost if found.plan is not None else None


def bounded(problem: Problem, cuts: list[int], pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> Bound:
    """Return the bound over modules of which none are joined."""
    monkeypatch.setattr(bounding, "WANTED", 1)
    monkeypatch.setattr(bounding, "WIDE", 1)
    return bound(problem, modules_of(problem, cuts), Limits(threads=1), Progress(), pool)


def modular(seed: int) -> tuple[Problem, list[int]]:
    """Return a random makespan on a graph of modules, and where they end; with all kinds of transfers."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, random.integers(2, 4)).tolist()
    n, k = sum(sizes), int(random.integers(1, 4))
    edges, first = set(), 0
    for i, size in enumerate(sizes):
        inside = range(first, first + size)
        edges |= {(u, v) for u in inside for v in inside if u < v and random.random() < 0.45}
        if i + 1 < len(sizes):
            behind = range(first + size, first + size + sizes[i + 1])
            for _ in range(random.integers(1, 4)):
                edges.add((int(random.choice(inside)), int(random.choice(behind))))
            if random.random() < 0.2 and i + 2 < len(sizes):
                edges.add((int(random.choice(inside)), n - 1))
        first += size
    whole = random.random() < 0.5
    times = {f"d{d}": (random.integers(0, 9, n).astype(float) if whole else random.random(n) * 9.0) for d in range(k)}
    moves = [0.0, 1.0, 3.0, 30.0][seed % 4]
    graph = Graph.create(
        [f"v{v}" for v in range(n)], sorted(edges), output=moves * random.random(n).round(1), params=1.0, times=times
    )
    constraints: list[Constraint] = []
    if random.random() < 0.4:
        constraints.append(ExclusiveLinks())
    if random.random() < 0.3:
        constraints.append(Memory())
    if n > 2 and random.random() < 0.2:
        constraints.append(Colocate(nodes=(0, n - 1)))
    if n > 2 and k > 1 and random.random() < 0.2:
        constraints.append(Separate(nodes=(0, n // 2)))
    if random.random() < 0.2:
        constraints.append(Pin(nodes=(n // 2,), devices=(k - 1,)))
    room = float(graph.memory.sum()) * float(random.choice([0.7, 1.0]))
    links = Links(np.where(np.eye(k) > 0, 0.0, random.choice([0.5, 1.0, 2.0], (k, k))), np.zeros((k, k)))
    devices = [Device(f"d{d}", memory=room) for d in range(k)]
    return Problem.create(graph, devices, links, Objective("makespan"), constraints), np.cumsum(sizes)[:-1].tolist()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(part(36, 4)))
def test_never_above_the_makespan(seed: int, pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On modular graphs with strong and weak dependence, no bound exceeds the optimum, and some meet it."""
    problem, cuts = modular(seed)
    best = optimum(problem, pool)
    found = bounded(problem, cuts, pool, monkeypatch)
    assert best is None or found.cost <= best * OVER, found.detail


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(100, 110))
def test_never_above_on_many_devices(seed: int, pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ends of modules are bounded on all devices together, bounds are bounds too."""
    monkeypatch.setattr(module_heads, "PLACES", 1)
    problem, cuts = modular(seed)
    best = optimum(problem, pool)
    found = bounded(problem, cuts, pool, monkeypatch)
    assert best is None or found.cost <= best * OVER, found.detail


@pytest.mark.parametrize("seed", range(400, 420))
def test_work_of_many_chunks(seed: int) -> None:
    """Where all ways to share chunks out are too many, each chunk counts at its cheapest: no more than all ways say."""
    duration = whole_problem(random_batches(seed, nodes=4, devices=3, chunks=4)).duration
    y = np.random.default_rng(seed).random(duration.shape[1])
    even, exact = (way(duration, y).cost[:, -1] for way in (bound_work._even, bound_work.spread))
    assert (even <= exact * OVER).all()
    monotone_cost = bound_work.spread(monotone(duration), y).cost[:, -1]
    assert (monotone_cost <= exact * OVER).all()


@pytest.mark.parametrize("seed", range(part(120)))
def test_paths_and_work_are_never_above(seed: int) -> None:
    """Without a solver, no bound exceeds what everything tried gives, whatever the modules."""
    problem = random_batches(seed, nodes=3, devices=2, chunks=3)
    random = np.random.default_rng(seed)
    cuts = sorted(set(random.integers(0, problem.graph.n + 1, 2).tolist()))
    run = bounding._Run(problem, modules_of(problem, cuts), Limits(), Progress())
    run.bound(None)
    best = min((plan.batches.makespan for plan in plans(problem) if plan.batches is not None), default=inf)
    assert run.best.cost <= best * OVER, run.best.detail


@pytest.mark.parametrize("seed", range(300, 300 + part(24)))
def test_never_above_the_makespan_of_batches(seed: int, pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With times that are arbitrary in the size, and sizes with gaps, no bound exceeds the optimum."""
    problem = random_batches(seed, nodes=4, devices=3, chunks=4)
    best = optimum(problem, pool)
    cuts = sorted(set(np.random.default_rng(seed).integers(0, problem.graph.n + 1, 2).tolist()))
    found = bounded(problem, cuts, pool, monkeypatch)
    assert best is None or found.cost <= best * OVER, found.detail


def of_case(case: dict[str, object], sizes: bool) -> Problem:
    """Return the instance of a reference file."""
    times, outputs, inputs = case["t"], case["om"], case["L"]
    assert isinstance(times, list)
    assert isinstance(outputs, list)
    assert isinstance(inputs, int)
    k = len(times[0])
    tables = {
        f"d{d}": {p: [float(row[d].get(str(p), inf)) for row in times] for p in range(1, inputs + 1)} for d in range(k)
    }
    graph = Graph.create(
        [f"v{v}" for v in range(len(times))],
        [(int(u), int(v)) for u, v in case["edges"]],  # type: ignore[attr-defined]
        output=np.array(outputs, float),
        batch_times=tables,
        times={name: rows[1] for name, rows in tables.items()},
    )
    links = Links(np.array(case["beta"], float), np.zeros((k, k)))
    goal = Objective("throughput", batch=inputs, chunk=1) if sizes else Objective("makespan")
    rules = [BatchSizes(sizes=tuple(menu), devices=(d,)) for d, menu in enumerate(case["B"])] if sizes else []  # type: ignore[arg-type, call-overload]
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, goal, rules)


def test_counterexamples(data: Path, pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the inequalities of the thesis exceed the optimum, ours do not."""
    for case in json.loads((data / "batched" / "lb_counterexamples.json").read_text()):
        found = bounded(of_case(case, sizes=False), [case["n1"]], pool, monkeypatch)
        assert found.cost <= case["opt"] < case["bound"]
    case = json.loads((data / "batched" / "lb_batched_counterexample.json").read_text())
    found = bounded(of_case(case, sizes=True), [3], pool, monkeypatch)
    assert found.cost <= case["opt_corrected"] < case["bound"]


@pytest.mark.parametrize("nodes", [5, 6])
def test_tight_behind_single_channels(nodes: int, pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one channel between modules that all nodes follow and precede, a module at a time proves the optimum."""
    graph = rwnn(p=0.4, nodes=nodes, modules=3, channels=1, seed=3)
    devices = [Device("a", speed=1.0), Device("b", speed=0.8)]
    links = Links(np.array([[0.0, 1e9], [1e9, 0.0]]), np.zeros((2, 2)))
    problem = Problem.create(graph, devices, links, Objective("makespan"))
    told = Progress()
    monkeypatch.setattr(bounding, "WANTED", 1)
    modules = ModuleRow(graph, tuple(np.split(np.arange(3 * nodes), 3)), 1, (True, True))
    found = bound(problem, modules, Limits(threads=1), told, pool)
    best = optimum(problem, pool)
    assert best is not None
    assert best * (1 - 1e-6) <= found.cost <= best * OVER


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(samples.small()))
def test_samples(name: str) -> None:
    """Every problem that is accepted gets a bound that is one, or is shown to have no plan."""
    problem = samples.small()[name]
    method = SplitBound()
    if method.accepts(problem) is not None:
        return
    run = bounding._Run(problem, split(problem.graph), Limits(), Progress())
    run.bound(None)
    best = samples.optimum(name)
    assert best is None or run.best.cost <= best * OVER


def test_symmetry_takes_no_bound_up() -> None:
    """Breaking symmetry leaves a bound what it is: it may not count on it."""
    graph = rwnn(nodes=4, modules=2, seed=1)
    devices = [Device("a"), Device("b")]
    links = Links(np.array([[0.0, 1e9], [1e9, 0.0]]), np.zeros((2, 2)))
    plain = Problem.create(graph, devices, links, Objective("throughput", batch=2))
    broken = plain.with_constraints([BreakSymmetry(by="tasks")])
    runs = [bounding._Run(problem, split(graph), Limits(), Progress()) for problem in (plain, broken)]
    for run in runs:
        run.bound(None)
    assert runs[0].best.cost == runs[1].best.cost > 0


def test_interrupt_keeps_the_best(pool: ProcessPool) -> None:
    """Stopped before anything is solved, what needs no solver is still there, and soon."""
    graph = rwnn(modules=10, nodes=10, channels=3, seed=2)
    links = Links(np.array([[0.0, 1e9], [1e9, 0.0]]), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("a"), Device("b", speed=0.7)], links, Objective("makespan"))
    told = Progress(lambda progress, _: progress.stop() if progress.bound is not None else None)
    method: Method = registry.load(registry.METHODS, "split-bound")()
    result = method.solve(problem, Limits(time=60.0), told)
    assert result.termination == "interrupted"
    assert result.bound is not None
    assert result.bound.cost > 0
    assert told.elapsed < 10


def test_joined_modules() -> None:
    """Neighbours are joined up to the wanted size; a larger module stays by itself."""
    module = np.repeat([0, 1, 2, 3, 4], [1, 9, 1, 15, 2])
    assert joined(module, 12).tolist() == np.repeat([0, 1, 2], [11, 15, 2]).tolist()


def test_monotone_times() -> None:
    """Times of fewer chunks are those of the cheapest larger batch; what no batch can do stays undone."""
    never = 1 << 50
    duration = np.array([[[0, 5, 3, never, 9]], [[0, never, never, never, never]]])
    assert monotone(duration)[0, 0].tolist() == [0, 3, 3, 9, 9]
    assert (monotone(duration)[1, 0, 1:] == never).all()


def test_no_plan_is_said_so(pool: ProcessPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the devices hold less than the nodes, which no sum of memories tells, there is no bound but no plan."""
    graph = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=1.0, memory=[2.0, 2.0, 2.0])
    links = Links(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros((2, 2)))
    devices = [Device("x", memory=3.0), Device("y", memory=3.0)]
    problem = Problem.create(graph, devices, links, Objective("makespan"), [Memory()])
    result = SplitBound().solve(problem, Limits(time=20.0, threads=1), Progress())
    assert result.status == "infeasible"
    assert result.bound is None
