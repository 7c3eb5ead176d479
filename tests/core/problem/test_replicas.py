"""Replicas: what they cost, what is no plan, and the programme over ideals against trying everything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest

from mtpp_dsl import load
from mtpp_dsl.checks.verification import cost_of, loads, verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, Linear, Load, Memory, Pin, Replicate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.lattice import GROW, MEASURE
from mtpp_dsl.solvers.algorithms.ideals.sweep import SWEEP
from mtpp_dsl.solvers.algorithms.least_load import simple_bound
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.api import find_method, method_names
from mtpp_dsl.solving.api import solve as solve_any
from tests.amount import part
from tests.oracle import optimum, plans
from tests.solvers.partition.test_ideals import check, solve
from tests.strategies import mixed_graph

CHAIN = Graph.create("abc", [(0, 1), (1, 2)], work=[4, 8, 2], output=[1, 2, 3], params=[1, 3, 2])


def problem_of(
    *constraints: Constraint, graph: Graph = CHAIN, k: int = 4, bandwidth: float = 2.0, **device: Any
) -> Problem:
    return Problem.create(
        graph,
        [Device(f"d[{i}]", **device) for i in range(k)],
        Host(bandwidth),
        constraints=[Acyclic(), *constraints],
    )


def random_problem(seed: int, *, training: bool) -> Problem:
    """Return a small problem with replicas and any mixture of CPUs, memory, colocation, overflow and training."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    graph = mixed_graph(random, n, share=0.5, outputs=[0.0, 0.5, 1.0, 7.0], params=[0.0, 1.0, 4.0], training=training)
    cpus = int(random.integers(0, 3))
    k = int(random.integers(2, 5 - cpus // 2)) if n < 4 else 3 - cpus // 2
    memory = float(graph.memory.sum()) * float(random.choice([0.6, 0.9, 2.0]))
    devices = [Device(f"a{i}", memory=memory) for i in range(k)]
    devices += [Device(f"c{i}", type="cpu", pays_io=False) for i in range(cpus)]
    sync = str(random.choice(["weights", "none", ""])) or None
    most = int(random.integers(2, 5))
    chosen = tuple(range(k)) if random.random() < 0.7 else (0, k - 1)
    constraints: list[Constraint] = [Acyclic(parts="forward" if random.random() < 0.5 else "both")]
    constraints.append(Replicate(most=most, devices=chosen, sync=sync))  # type: ignore[arg-type]
    if cpus == 2 and random.random() < 0.5:
        constraints.append(Replicate(most=2, devices=(k, k + 1), sync="weights"))
    if random.random() < 0.5:
        constraints.append(Memory())
    if n > 1 and random.random() < 0.4:
        constraints.append(Colocate(nodes=tuple(sorted(random.choice(n, 2, replace=False).tolist()))))
    if random.random() < 0.1:
        constraints.append(Pin(nodes=(0,), devices=chosen))
    link = Host(float(random.choice([0.5, 1.0, 3.0])), overflow=bool(random.random() < 0.3))
    return Problem.create(graph, devices, link, constraints=constraints)


def test_random_inference_graphs_are_solved_to_the_optimum() -> None:
    """Mixtures: the optimum over assignments and replicas, or the proof that there is no plan."""
    statuses = Counter(check(random_problem(seed, training=False)) for seed in range(part(160)))
    assert set(statuses) == {"optimal", "infeasible"}
    assert statuses["optimal"] > part(125)


def test_random_training_graphs_get_plans_and_bounds_that_hold() -> None:
    """Mixtures with backward nodes: never a wrong bound; mostly the optimum."""
    statuses = Counter(check(random_problem(seed, training=True)) for seed in range(1000, 1000 + part(90)))
    assert statuses["optimal"] > part(65)


def pipedream(work: Sequence[float], weights: Sequence[float], k: int, bandwidth: float) -> float:
    """Return the optimum of PipeDream's programme on a path without transfers, some of k machines left idle or not.

    A(j, m) = min over i and m' of max(A(i, m - m'), T(i -> j, m')), with
    T(i -> j, m') = max(sum of work, 2 (m' - 1) sum of weights / bandwidth) / m' (SOSP 2019, 3.1).
    """
    n = len(work)
    best = [[0.0 if j == 0 else inf for _ in range(k + 1)] for j in range(n + 1)]
    for j in range(1, n + 1):
        for m in range(1, k + 1):
            best[j][m] = best[j][m - 1]
            for i in range(j):
                for used in range(1, m + 1):
                    stage = max(sum(work[i:j]), 2 * (used - 1) * sum(weights[i:j]) / bandwidth) / used
                    best[j][m] = min(best[j][m], max(best[i][m - used], stage))
    return best[n][k]


@pytest.mark.parametrize("seed", range(12))
def test_pipedream_on_a_path(seed: int) -> None:
    """On a path without transfers the optimum is that of PipeDream's own recurrence."""
    random = np.random.default_rng(seed)
    n, k, bandwidth = 9, 6, float(random.choice([0.5, 2.0, 8.0]))
    work, weights = random.integers(1, 20, n).astype(float), random.integers(0, 9, n).astype(float)
    path = Graph.create([f"v{i}" for i in range(n)], pairwise(range(n)), work=work, params=weights)
    result = solve(problem_of(Replicate(most=k, sync="weights"), graph=path, k=k, bandwidth=bandwidth))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(pipedream(work.tolist(), weights.tolist(), k, bandwidth), rel=1e-9)


def test_loads_of_replicas() -> None:
    """Three devices share work and transfers; they exchange 2 (m-1)/m of the weights, which may take longer."""
    problem = problem_of(Replicate(most=3, sync="weights"), k=5)
    plan = Plan.create(problem, [0, 1, 4], replicas={1: [1, 3, 2]})
    found = evaluate(problem, plan)
    cost = 8 + 1 / 2 + 2 / 2
    assert found.load.tolist() == pytest.approx([4.5, cost / 3, cost / 3, cost / 3, 3.0])
    assert found.sync.tolist() == pytest.approx([0, 2, 2, 2, 0])
    assert found.memory.tolist() == [2, 5, 5, 5, 5]
    assert loads(problem, [0, 1, 4], replicas=plan.replicas) == pytest.approx(found.load.tolist())
    slow = problem_of(Replicate(most=3, sync="weights"), k=5, bandwidth=0.5)
    assert evaluate(slow, plan).load[1:4].tolist() == pytest.approx([8.0] * 3)
    assert cost_of(slow, plan) == pytest.approx(evaluate(slow, plan).cost)
    free = problem_of(Replicate(most=3, sync="weights"), k=5, bandwidth=0.5, pays_io=False)
    assert evaluate(free, plan).load.tolist() == pytest.approx([4, 8 / 3, 8 / 3, 8 / 3, 2])


def test_who_exchanges_weights() -> None:
    """By default training graphs exchange weights and inference does not."""
    training = Graph.create("ab", [(0, 1)], work=1.0, params=8.0, backward=[False, True])
    for graph, sync, expected in (
        (training, None, 8.0),
        (training, "none", 1.0),
        (CHAIN, None, 7.0),
        (CHAIN, "weights", 7.0),
        (CHAIN, "none", 7.0),
    ):
        problem = problem_of(Replicate(most=2, sync=sync), graph=graph)  # type: ignore[arg-type]
        plan = Plan.create(problem, [0] * graph.n, replicas={0: [0, 1]})
        assert cost_of(problem, plan) == pytest.approx(expected), sync


@pytest.mark.parametrize(
    ("constraints", "replicas", "message"),
    [
        ([], {0: [0, 2]}, "d[0] has replicas, and no constraint allows them"),
        ([Replicate(most=2)], {0: [0, 2, 3]}, "the nodes of d[0] are on 3 devices; constraint replicate allows 2"),
        ([Replicate(most=3)], {0: [0, 1]}, "d[1] is a replica of d[0] and has nodes of its own"),
        ([Replicate(most=3)], {0: [0, 2], 1: [1, 2]}, "d[2] is a replica of d[1] and has those of d[0]"),
        ([Replicate(most=3)], {0: [0, 2, 2]}, "d[2] is a replica of d[0] and has those of d[0]"),
        ([Replicate(most=3)], {2: [2, 3]}, "d[2] has replicas and no nodes"),
        ([Replicate(most=3, devices=(0, 1, 2))], {0: [0, 3]}, "which constraint replicate does not allow"),
        ([Replicate(most=3), Forbid(nodes=(0,), devices=(3,))], {0: [0, 3]}, "a is on d[3]"),
        ([Replicate(most=3), Pin(nodes=(0,), devices=(0, 1))], {0: [0, 3]}, "a is on d[3]"),
    ],
)
def test_what_is_no_plan(constraints: list[Constraint], replicas: dict[int, list[int]], message: str) -> None:
    """Replicas are distinct devices without nodes, allowed by a constraint, that may run every node of their stage."""
    problem = problem_of(*constraints)
    broken = verify(problem, Plan.create(problem, [0, 1, 1], replicas=replicas))
    assert any(message in str(violation) for violation in broken), broken


def test_memory_of_every_replica_counts() -> None:
    """A replica holds the whole stage, also where only its own memory is under the constraint."""
    problem = problem_of(Replicate(most=2), Memory(devices=(3,)), memory=6.0)
    fits = Plan.create(problem, [0, 1, 1], replicas={0: [0, 3]})
    assert verify(problem, fits) == []
    broken = verify(problem, Plan.create(problem, [0, 1, 1], replicas={1: [1, 3]}))
    assert [str(violation) for violation in broken] == ["memory: d[3] needs 10 of 6"]
    assert "tell d[0] and d[3] of replicate apart" in (Ideals().accepts(problem) or "")


def test_overflow_is_shared() -> None:
    """Parameters beyond the memory are streamed for every input, and every replica has its share of the inputs."""
    graph = Graph.create("a", [], work=6.0, params=5.0)
    devices = [Device(f"d[{i}]", memory=3.0) for i in range(2)]
    rule = Replicate(most=2, sync="none")
    problem = Problem.create(graph, devices, Host(1.0, overflow=True), constraints=[Acyclic(), rule])
    plan = Plan.create(problem, [0], replicas={0: [0, 1]})
    assert evaluate(problem, plan).load.tolist() == loads(problem, [0], replicas=plan.replicas) == [4.0, 4.0]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([Replicate(most=2, devices=(1,))], "two devices or more"),
        ([Replicate(most=2, devices=(0, 4))], "d[0] and big differ in memory"),
        ([Replicate(most=2, devices=(0, 5))], "d[0] and cpu differ in io"),
        ([Replicate(most=2, devices=(0, 6))], "d[0] and slow differ in the time of node 'a'"),
        (
            [Replicate(most=2, devices=(0, 1)), Replicate(most=3, devices=(1, 2))],
            "d[1] is in constraint replicate already",
        ),
        (
            [Replicate(most=2, devices=(0, 1)), Linear(label="x", terms=((Load(0), 1.0),), sense="<=", rhs=9.0)],
            "the two do not go together",
        ),
    ],
)
def test_replicas_need_equal_devices(constraints: list[Constraint], message: str) -> None:
    """A constraint that cannot be meant is refused, with the difference."""
    devices = [Device(f"d[{i}]", memory=4.0) for i in range(4)]
    devices += [
        Device("big", memory=8.0),
        Device("cpu", memory=4.0, pays_io=False),
        Device("slow", memory=4.0, speed=0.5),
    ]
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        Problem.create(CHAIN, devices, Host(1.0), constraints=[Acyclic(), *constraints])


def test_weights_need_a_size() -> None:
    """Where a file gives no parameters, their exchange is refused, with the remedy."""
    graph = Graph.create("ab", [(0, 1)], work=1.0, output=1.0, memory=9.0, backward=[False, True], memory_unit="B")
    with pytest.raises(UsageError, match=r"no node has params; .* \(sync = none\)"):
        problem_of(Replicate(most=2), graph=graph)
    assert problem_of(Replicate(most=2, sync="none"), graph=graph).k == 4


SPEC = """
graph { node a (work = 6 ms, params = 2 MB, output = 1 kB) node b (work = 2 ms) edge a -> b }
device gpu[3]
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint acyclic
"""


def test_language() -> None:
    """The set of devices, the most of a stage, and what is exchanged; errors in their place."""
    problem = load(SPEC + "param r: int = 2\nconstraint replicate gpu up to r (sync = weights)\n")
    assert list(problem.of(Replicate)) == [Replicate(most=2, devices=(0, 1, 2), sync="weights")]
    result = solve_any(problem)
    assert (result.status, result.cost) == ("optimal", pytest.approx(3.0005e-3))
    with pytest.raises(SpecError, match="sync is one of weights, none"):
        load(SPEC + "constraint replicate gpu up to 2 (sync = maybe)\n")
    with pytest.raises(SpecError, match=r":7:1-\d+: error\[MTPP-E511\]: replicas are taken from two devices or more"):
        load(SPEC + "constraint replicate gpu[0] up to 2\n")
    with pytest.raises(SpecError, match="separate"):
        load(SPEC.replace("bottleneck", "bottleneck (parts = separate)") + "constraint replicate gpu up to 2\n")


def test_json_of_a_plan() -> None:
    """Replicas are written by name and read back; what is none is refused."""
    problem = load(SPEC + "constraint replicate gpu up to 3\n")
    result = solve(problem)
    assert result.plan is not None
    data = json.loads(json.dumps(result_to_json(problem, result)))
    (lead, members), *others = data["plan"]["replicas"].items()
    assert (len(members), members[0], others) == (3, lead, [])
    again = Plan.from_json(problem, data)
    assert dict(again.replicas) == dict(result.plan.replicas)
    assert cost_of(problem, again) == pytest.approx(result.cost)
    for replicas, message in (
        ([], "an object"),
        ({"gpu[0]": ["tpu"]}, "no device"),
        ({"gpu[0]": ["gpu[1]"]}, "itself"),
    ):
        data["plan"]["replicas"] = replicas
        with pytest.raises(UsageError, match=message if message != "itself" else "among its own replicas"):
            Plan.from_json(problem, data)


def test_methods_that_know_no_replicas_refuse() -> None:
    """Replicas are never ignored: a method that takes the problem finds the optimum with them, or bounds it."""
    problem = load(SPEC + "constraint replicate gpu up to 3\n")
    best = optimum(problem)
    assert best is not None
    assert simple_bound(problem)[0] <= best * (1 + 1e-9)
    taken = {name for name in method_names() if find_method(name).accepts(problem) is None}
    assert {"ideals", "auto", "simple"} <= taken
    assert not {"exact", "slicegraph", "superblock", "guess"} & taken


def test_simple_bound_holds() -> None:
    """The largest node is shared by the most replicas there can be."""
    for seed in range(30):
        problem = random_problem(seed, training=False)
        best = optimum(problem)
        assert best is None or simple_bound(problem)[0] <= best * (1 + 1e-9)


def test_compiled_loops_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loops give the costs and bounds of the plain ones."""
    problems = [random_problem(seed, training=seed % 2 == 1) for seed in range(2000, 2020)]
    plain = [solve(problem) for problem in problems]
    for kernel in (GROW, MEASURE, SWEEP):
        compiled = kernel.compiled()
        monkeypatch.setattr(kernel, "pick", lambda *_, compiled=compiled: compiled)
    for problem, one in zip(problems, plain, strict=True):
        other = solve(problem)
        assert (one.cost, one.status) == (other.cost, other.status)
        assert (one.bound and one.bound.cost) == (other.bound and other.bound.cost)


def test_no_room_for_the_ideals() -> None:
    """Without room for the lattice: the best plan along some orders, and a bound that holds."""
    problem = random_problem(8, training=False)
    best = optimum(problem)
    result = Ideals(most_bytes=100).solve(problem, Limits(), Progress())
    assert best is not None
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)
    assert result.cost is not None
    assert result.cost >= best * (1 - 1e-9)


def test_every_plan_is_evaluated_as_it_is_verified() -> None:
    """The arrays and the plain count agree on all plans of some problems."""
    for seed in (3, 9, 14, 21):
        problem = random_problem(seed, training=seed % 2 == 0)
        for plan in list(plans(problem))[:60]:
            expected = loads(problem, plan.assignment.tolist(), replicas=plan.replicas)
            assert evaluate(problem, plan).load.tolist() == pytest.approx(expected, rel=1e-12)
