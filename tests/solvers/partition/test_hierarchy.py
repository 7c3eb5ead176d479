"""Hierarchies: groups of devices with a slower network between, against trying everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest

from mtpp_dsl import load
from mtpp_dsl.checks.verification import cost_of, loads, verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Memory, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused, SpecError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import chain as random_chain
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.algorithms.least_load import simple_bound
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.partition.ideals import hierarchy_run as nested_run
from mtpp_dsl.solvers.partition.ideals import two_levels
from mtpp_dsl.solvers.partition.ideals.group_level import groups_as_devices, within_groups
from mtpp_dsl.solvers.partition.ideals.inside_group import INSIDE
from mtpp_dsl.solving.api import find_method, method_names
from mtpp_dsl.solving.api import solve as solve_any
from tests.amount import part
from tests.oracle import optimum, plans
from tests.solvers.partition.test_ideals import check, solve
from tests.strategies import mixed_graph

CHAIN = Graph.create("abc", [(0, 1), (1, 2)], work=[4, 8, 2], output=[1, 2, 3], params=[1, 3, 2])


def grouped(*sizes: int, **device: float) -> list[Device]:
    """Return groups of these sizes; device ``d<group><number>``."""
    return [Device(f"d{g}{i}", group=str(g), **device) for g, size in enumerate(sizes) for i in range(size)]  # type: ignore[arg-type]


def problem_of(*constraints: Constraint, graph: Graph = CHAIN, sizes: tuple[int, ...] = (2, 2)) -> Problem:
    return Problem.create(graph, grouped(*sizes), Shared(2.0, between=0.5), constraints=[Acyclic(), *constraints])


def random_problem(seed: int, *, training: bool = False) -> Problem:
    """Return a small problem on two levels with any mixture of CPUs, memory, colocation, replicas and training."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    graph = mixed_graph(random, n, share=0.6, outputs=[0.0, 0.5, 1.0, 4.0], params=[1.0, 2.0, 4.0], training=training)
    groups = int(random.integers(1, 4)) if n < 4 else 2
    each = int(random.integers(1, 3)) if groups < 3 else 1
    memory = float(graph.memory.sum()) * float(random.choice([0.6, 0.9, 2.0]))
    devices = [Device(f"a{g}{i}", memory=memory, group=str(g)) for g in range(groups) for i in range(each)]
    accelerators = tuple(range(len(devices)))
    if random.random() < 0.2 and len(devices) == 2:
        devices.append(Device("a", memory=memory, group="0"))
        accelerators = (0, 1, 2)
    if random.random() < 0.4 and len(devices) < 4:
        cpus = [Device(f"c{g}", type="cpu", pays_io=False, group=str(g)) for g in range(groups)]
        devices += cpus[: int(random.integers(1, 5 - len(devices)))]
    constraints: list[Constraint] = [Acyclic(parts="forward" if random.random() < 0.5 else "both")]
    if len(accelerators) > 1 and random.random() < 0.6:
        sync = str(random.choice(["weights", "none", ""])) or None
        constraints.append(Replicate(most=int(random.integers(2, 5)), devices=accelerators, sync=sync))  # type: ignore[arg-type]
    if random.random() < 0.4:
        constraints.append(Memory())
    if n > 1 and random.random() < 0.4:
        constraints.append(Colocate(nodes=tuple(sorted(random.choice(n, 2, replace=False).tolist()))))
    bandwidth = float(random.choice([1.0, 3.0]))
    link = Host(
        bandwidth, overflow=bool(random.random() < 0.3), between=bandwidth * float(random.choice([0.2, 0.5, 1.0]))
    )
    return Problem.create(graph, devices, link, constraints=constraints)


def accepted(seeds: range, *, training: bool = False) -> list[Problem]:
    problems = (random_problem(seed, training=training) for seed in seeds)
    return [problem for problem in problems if Ideals().accepts(problem) is None]


def test_random_inference_graphs_are_solved_to_the_optimum() -> None:
    """Mixtures on one to three groups: the optimum over assignments and replicas, or the proof that there is none."""
    statuses = Counter(check(problem) for problem in accepted(range(part(150, 4))))
    assert set(statuses) == {"optimal", "infeasible"}
    assert statuses["optimal"] > part(110, 4)


def test_random_training_graphs_get_plans_and_bounds_that_hold() -> None:
    """Mixtures with backward nodes: never a wrong bound; mostly the optimum."""
    statuses = Counter(check(problem) for problem in accepted(range(1000, 1000 + part(90, 4)), training=True))
    assert statuses["optimal"] > part(60, 4)


def test_groups_taken_for_devices_bound_from_below() -> None:
    """The optimum with one device for each group is at most the true one, whatever the devices of a group are."""
    random = np.random.default_rng(11)
    bounded = 0
    for seed in range(2000, 2000 + part(200, 10)):
        problem = random_problem(seed, training=seed % 2 == 0)
        speeds = random.choice([0.5, 1.0, 2.0], problem.k)
        devices = [replace(device, speed=float(speed)) for device, speed in zip(problem.devices, speeds, strict=True)]
        rules = [rule for rule in problem.constraints if not isinstance(rule, Replicate)]
        uneven = Problem.create(problem.graph, devices, problem.interconnect, constraints=rules)
        level, best = groups_as_devices(uneven), optimum(uneven)
        if level is not None and best is not None:
            lower = optimum(level)
            assert lower is not None
            assert lower <= best * (1 + 1e-9)
            bounded += 1
    assert bounded >= part(200, 10) // 4


def test_nodes_stay_in_their_groups() -> None:
    """A plan of the groups turns into the devices of each group, with what crossing costs in the nodes' times."""
    problem = problem_of()
    level = groups_as_devices(problem)
    assert level is not None
    inside = within_groups(problem, Plan.create(level, [0, 0, 1]))
    assert np.isfinite(inside.time).tolist() == [[True, True, False, False]] * 2 + [[False, False, True, True]]
    for assignment in ([0, 0, 2], [0, 1, 2], [1, 1, 3]):
        own, flat = (evaluate(p, Plan.create(p, assignment)).load for p in (problem, inside))
        assert own.tolist() == pytest.approx(flat.tolist())


def stages(
    work: list[float], weights: list[float], k: int, bandwidth: float, one: Callable[[int, int], float]
) -> float:
    """Return the best of PipeDream's recurrence at one level, on k machines or fewer, without transfers.

    A(j, m) = min over i and m' of max(A(i, m - m'), max(one(i, j), 2 (m' - 1) sum of weights / bandwidth) / m').
    """
    n = len(work)
    best = [[0.0 if j == 0 else inf for _ in range(k + 1)] for j in range(n + 1)]
    for j, m in product(range(1, n + 1), range(1, k + 1)):
        best[j][m] = best[j][m - 1]
        for i, used in product(range(j), range(1, m + 1)):
            stage = max(one(i, j), 2 * (used - 1) * sum(weights[i:j]) / bandwidth) / used
            best[j][m] = min(best[j][m], max(best[i][m - used], stage))
    return best[n][k]


@pytest.mark.parametrize("seed", range(8))
def test_pipedream_on_a_path_of_two_levels(seed: int) -> None:
    """On a path without transfers the optimum is that of PipeDream's recurrence on two levels (SOSP 2019, 3.1)."""
    random = np.random.default_rng(seed)
    n, between = 6, float(random.choice([0.2, 1.0, 2.0]))
    work, weights = random.integers(1, 20, n).astype(float).tolist(), random.integers(0, 6, n).astype(float).tolist()

    def inside(i: int, j: int) -> float:
        return stages(work[i:j], weights[i:j], 2, 4.0, lambda a, b: sum(work[i + a : i + b]))

    expected = stages(work, weights, 3, between, inside)
    path = Graph.create([f"v{i}" for i in range(n)], pairwise(range(n)), work=work, params=weights)
    rules = [Acyclic(), Replicate(most=6, sync="weights")]
    result = solve(Problem.create(path, grouped(2, 2, 2), Shared(4.0, between=between), constraints=rules))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(expected, rel=1e-9)


def test_tensors_between_groups() -> None:
    """A writer pays the dearer price if any reader is in another group, a reader if its producer is."""
    graph = Graph.create("abcd", [(0, 1), (0, 2), (1, 3)], work=0.0, output=1.0)
    problem = Problem.create(graph, grouped(2, 1), Shared(2.0, between=0.5), constraints=[Acyclic()])
    found = evaluate(problem, Plan.create(problem, [0, 1, 2, 1]))
    assert found.output.tolist() == [2, 0, 0]
    assert found.input.tolist() == [0, 0.5, 2]
    assert loads(problem, [0, 1, 2, 1]) == found.load.tolist()
    inside = evaluate(problem, Plan.create(problem, [0, 1, 1, 1]))
    assert inside.load.tolist() == [0.5, 0.5, 0]


def test_replicas_over_groups() -> None:
    """Two stages over the same two groups: no tensor leaves a group, and all weights go over one network link."""
    problem = problem_of(Replicate(most=4, sync="weights"))
    plan = Plan.create(problem, [0, 1, 1], replicas={0: [0, 2], 1: [1, 3]})
    assert verify(problem, plan) == []
    over_the_network = 2 * (1 + 5) / 0.5 / 2
    found = evaluate(problem, plan)
    assert found.work.tolist() == [2, 5, 2, 5]
    assert found.output.tolist() == [0.25, 0, 0.25, 0]
    assert found.load.tolist() == [over_the_network] * 4
    assert loads(problem, [0, 1, 1], replicas=plan.replicas) == [over_the_network] * 4
    silent = problem_of(Replicate(most=4, sync="none"))
    assert evaluate(silent, plan).load.tolist() == [2.25, 5.25, 2.25, 5.25]
    wide = Plan.create(problem, [0, 0, 0], replicas={0: [0, 1, 2, 3]})
    assert evaluate(problem, wide).sync.tolist() == [max(2 * 6 / 2 / 2, 2 * 6 / 0.5) / 2] * 4


@pytest.mark.parametrize(
    ("sizes", "assignment", "replicas", "message"),
    [
        ((2, 2), [0, 0, 0], {0: [0, 1, 2]}, "the replicas of d00 are not spread evenly over their groups"),
        ((2, 2), [0, 1, 1], {0: [0, 2]}, "the stages of d00 and d01 share some of their groups and not all"),
        ((2, 2), [0, 2, 1], {}, "the quotient graph of the groups has the cycle 0 -> 1 -> 0"),
    ],
)
def test_what_is_no_plan(
    sizes: tuple[int, ...], assignment: list[int], replicas: dict[int, list[int]], message: str
) -> None:
    """Replicas lie in one group or evenly in several; stages share all groups or none; groups, too, have an order."""
    problem = problem_of(Replicate(most=4), sizes=sizes)
    broken = verify(problem, Plan.create(problem, assignment, replicas=replicas))
    assert any(message in str(violation) for violation in broken), broken


def test_groups_and_networks_go_together() -> None:
    """Groups need a bandwidth between them, no larger than inside, and every device a group."""
    with pytest.raises(UsageError, match="'d00' is in a group, which has no effect here"):
        Problem.create(CHAIN, grouped(1), Shared(1.0))
    with pytest.raises(UsageError, match="device 'alone' is in none"):
        Problem.create(CHAIN, [*grouped(1), Device("alone")], Shared(1.0, between=0.5))
    for between in (0.0, 2.0):
        with pytest.raises(UsageError, match="at most 1, the bandwidth inside"):
            Problem.create(CHAIN, grouped(2), Shared(1.0, between=between))


SPEC = """
graph {
  node a (work = 6 ms, output = 2 MB)
  node b (work = 5 ms, output = 1 MB)
  node c (work = 4 ms)
  edge a -> b -> c
}
device gpu[i in 0..3] (group = floor(i / 2))
interconnect shared (bandwidth = 10 GB/s, between = 1 GB/s)
minimize bottleneck
constraint acyclic
"""


def test_language() -> None:
    """Groups are strings or whole numbers; the tensor between groups is the smaller one."""
    problem = load(SPEC)
    assert [device.group for device in problem.devices] == ["0", "0", "1", "1"]
    assert load(SPEC.replace("floor(i / 2)", '"rack"')).group.tolist() == [0] * 4
    result = solve_any(problem)
    assert (result.status, result.cost) == ("optimal", pytest.approx(6.2e-3))
    with pytest.raises(SpecError, match="group must be a whole number"):
        load(SPEC.replace("floor(i / 2)", "i / 2"))
    with pytest.raises(SpecError, match="both bandwidths carry units"):
        load(SPEC.replace("1 GB/s)", "1)").replace(", output = 2 MB", "").replace(", output = 1 MB", ""))


def test_methods_for_one_level_refuse() -> None:
    """No method takes a hierarchy for one level."""
    problem = load(SPEC)
    taken = {name for name in method_names() if find_method(name).accepts(problem) is None}
    assert {"ideals", "auto", "simple"} <= taken
    best = optimum(problem)
    assert best is not None
    for name in taken:
        result = solve_any(problem, name, time_limit=10, start=Plan.create(problem, [0, 0, 0]))
        assert result.bound is None or result.bound.cost <= best * (1 + 1e-9)
        assert result.cost is None or result.cost >= best * (1 - 1e-9)
    with pytest.raises(Refused, match="slower network between groups"):
        solve_any(problem, "exact")


def test_groups_that_are_not_alike() -> None:
    """Replicas may be spread over groups of which one has a CPU too: only what all have takes part."""
    cpu = Device("cpu", type="cpu", pays_io=False, group="0")
    rules = [Acyclic(), Replicate(most=4, devices=(0, 1, 2, 3), sync="none")]
    graph = Graph.create("ab", [(0, 1)], work=8.0, output=1.0, times={"cpu": [0.5, 90.0]})
    problem = Problem.create(graph, [*grouped(2, 2), cpu], Host(4.0, between=1.0), constraints=rules)
    assert check(problem) == "optimal"
    assert solve(problem).cost == pytest.approx(4.0)
    two = [Acyclic(), Replicate(most=2, devices=(0, 2)), Replicate(most=2, devices=(1, 3))]
    assert "d00 and d01 are of two" in (Ideals().accepts(problem.with_constraints(two)) or "")


def test_start_and_limits() -> None:
    """A start is kept unless it is no plan; without time it is the answer, and the bound still holds."""
    problem = load(SPEC)
    start = Plan.create(problem, [0, 0, 0])
    result = Ideals().solve(problem, Limits(time=0.0, start=start), Progress())
    assert (result.cost, result.termination) == (pytest.approx(15e-3), "time_limit")
    wrong = Plan.create(problem, [0, 2, 1])
    noted = Ideals().solve(problem, Limits(start=wrong), Progress())
    assert any("the start was dropped" in note for note in noted.notes)
    assert noted.cost == pytest.approx(6.2e-3)


def test_too_many_ideals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit, plans along some orders, cut into pieces, and the bound of one level."""
    monkeypatch.setattr(nested_run, "MAX_IDEALS", 3)
    monkeypatch.setattr(nested_run, "MAX_PIECES", 2)
    for problem in accepted(range(300, 330)):
        best = optimum(problem)
        result = solve(problem)
        if best is not None and result.bound is not None:
            assert result.bound.cost <= best * (1 + 1e-9)
        if result.cost is not None:
            assert best is not None
            assert result.cost >= best * (1 - 1e-9)


@pytest.mark.long
def test_many_ideals(monkeypatch: pytest.MonkeyPatch) -> None:
    """What leaves out pairs of ideals where there are many, and giving up: the optimum, or a bound that holds."""
    monkeypatch.setattr(nested_run, "FEW_IDEALS", 1)
    monkeypatch.setattr(two_levels, "FEW", 0)
    monkeypatch.setattr(two_levels, "UNLIMITED_IDEALS", 5)
    problems = accepted(range(600, 600 + part(60, 2)))
    known = [optimum(problem) for problem in problems]
    solvable = [problem for problem, best in zip(problems, known, strict=True) if best is not None]
    statuses = Counter(map(check, solvable))
    assert statuses["optimal"] > part(30, 2)
    monkeypatch.setattr(two_levels, "EFFORT", 0)
    left = 0
    more = accepted(range(660, 660 + part(60, 2)))
    for problem, best in zip([*problems, *more], [*known, *map(optimum, more)], strict=True):
        result = solve(problem)
        left += nested_run.LONG in result.notes
        assert result.bound is None or best is None or result.bound.cost <= best * (1 + 1e-9)
    assert left


def test_large_graphs_get_a_plan_and_a_bound() -> None:
    """Hundreds of nodes, and more ideals than are gone through: a plan not far from the bound of one level."""
    graph = layered(150, 5, work=10.0, output=1.0, seed=2)
    rules = [Acyclic(), Replicate(most=2, sync="none")]
    problem = Problem.create(graph, grouped(2, 2), Shared(4.0, between=1.0), constraints=rules)
    result = solve(problem)
    assert result.gap is not None
    assert result.gap < 0.2


def test_simple_bound_and_evaluation_hold() -> None:
    """The simple bound holds on two levels; arrays and plain count agree on every plan."""
    for problem in accepted(range(400, 420)):
        for plan in list(plans(problem))[:40]:
            expected = loads(problem, plan.assignment.tolist(), replicas=plan.replicas)
            assert evaluate(problem, plan).load.tolist() == pytest.approx(expected, rel=1e-12)
            assert simple_bound(problem)[0] <= cost_of(problem, plan) * (1 + 1e-9)


@pytest.mark.long
def test_compiled_loops_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loop gives the costs and bounds of the plain one, also on a chain."""
    path = random_chain(nodes=14, seed=3)
    problems = [*accepted(range(500, 512)), Problem.create(path, grouped(2, 2), Shared(2.0, between=0.5))]
    plain = [solve(problem) for problem in problems]
    compiled = INSIDE.compiled()
    monkeypatch.setattr(INSIDE, "pick", lambda *_: compiled)
    for problem, one in zip(problems, plain, strict=True):
        other = solve(problem)
        assert (one.cost, one.status) == (other.cost, other.status)
        assert (one.bound and one.bound.cost) == (other.bound and other.bound.cost)
