"""Method ``ideals`` on latencies and bottlenecks of chains on links and trees, against all plans of small problems."""

import itertools
import random
from math import inf

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Memory,
    Pin,
)
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.partition.ideals import phase_parts_run
from tests.amount import part
from tests.networks import random_links, random_tree

P, Q = Latency("p"), Latency("q")
GOALS = (
    [(P, 1.0), (Q, 3.0)],
    [(P, 0.5), (Latency(), 1.0)],
    [(Q, 1.0), (Bottleneck("p"), 2.0)],
    [(Bottleneck("p"), 1.0), (Bottleneck("q"), 2.5)],
    [(Largest(((((P, 1.0),), -3.0), (((Q, 2.0), (Bottleneck("q"), 1.0)), 1.0))), 1.0), (P, 0.25)],
)


def random_chain(seed: int) -> Problem:
    """Return a chain with two phases, and colocated nodes now and then, on a random network."""
    rng = random.Random(seed)
    n, k = rng.randint(3, 5), rng.randint(2, 3)
    edges = [(v, v + 1) for v in range(n - 1)]
    order = InOrder(devices=tuple(rng.sample(range(k), k)), empty=rng.choice(["allowed", "never"]))
    rules: list[Constraint] = [Acyclic()] if rng.random() < 0.5 else [order] if rng.random() < 0.3 else []
    if rng.random() < 0.3:
        v = rng.randrange(n - 2)
        rules.append(Colocate(nodes=(v + 1, v + 2)))
        edges.append((v, v + 2))
    links = rng.random() < 0.6
    names = [f"v{v}" for v in range(n)]
    alike = rng.random() < 0.5
    graphs = {}
    memory = [float(rng.randint(0, 4)) for _ in range(n)]
    for phase in "pq":
        times = [[rng.choice([0.0, 1.0, 2.5, 4.0, 7.0]) for _ in range(n)] for _ in range(1 if alike else k)]
        graphs[phase] = Graph.create(
            names,
            edges,
            output=[float(rng.randint(0, 4)) for _ in range(n)],
            sizes=[float(rng.randint(0, 4)) for _ in edges] if links and rng.random() < 0.4 else None,
            memory=memory,
            device_times={f"d{d}": times[d % len(times)] for d in range(k)},
        )
    if rng.random() < 0.6:
        rules.append(Memory())
    if rng.random() < 0.2:
        rules.append(Pin(nodes=(rng.randrange(n),), devices=(rng.randrange(k),)))
    if rng.random() < 0.2:
        rules.append(Forbid(nodes=(0, n - 1), devices=(rng.randrange(k),)))
    if rng.random() < 0.2:
        rules.append(Contiguous(devices=(0,)))
    if rng.random() < 0.4:
        decision = rng.choice([P, Bottleneck("p"), Largest(((((Q, 1.0),), 0.0), (((P, 1.0),), 0.0)))])
        rules.append(Linear(label="most", terms=((decision, 1.0),), sense="<=", rhs=float(rng.randint(6, 20))))
    room = float(rng.randint(3, 9))
    devices = [Device(f"d{d}", memory=room if rng.random() < 0.7 else float(rng.randint(3, 9))) for d in range(k)]
    net = random_links(rng, k) if links else random_tree(rng, k)
    if rng.random() < 0.3:
        goal = [(Latency(), 1.0)] if rng.random() < 0.5 else [(Latency(), 1.0), (Bottleneck(), 1.5)]
        rules = [rule for rule in rules if not isinstance(rule, Linear)]
        return Problem.create(graphs["p"], devices, net, Objective.linear(goal), rules)
    graph = phased_graph(graphs, {"p": 1.0, "q": float(rng.randint(1, 5))})
    return Problem.create(graph, devices, net, Objective.linear(rng.choice(GOALS)), rules)


def least(problem: Problem) -> float:
    """Return the least cost of any plan, each verified and evaluated; inf where there is none."""
    plans = (Plan.create(problem, at) for at in itertools.product(range(problem.k), repeat=problem.graph.n))
    return min((evaluate(problem, plan).cost for plan in plans if not verify(problem, plan)), default=inf)


@pytest.mark.parametrize("seed", range(part(120)))
def test_chains_are_proved_in_any_order_of_devices(seed: int) -> None:
    """The optimum is found and proved: with and without ``acyclic``, with memory, rows, pins and colocated nodes."""
    problem = random_chain(seed)
    optimum = least(problem)
    result = mtpp_dsl.solve(problem, method="ideals", time_limit=20)
    if optimum == inf:
        assert result.plan is None
        return
    assert result.bound is not None
    assert result.bound.cost <= optimum * (1 + 1e-9) + 1e-9
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(part(60)))
def test_bounds_hold_where_labels_are_left_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two labels at each node the bound is no larger than the optimum, and nothing is called infeasible."""
    monkeypatch.setattr(phase_parts_run, "WIDTHS", (1, 2))
    problem = random_chain(1000 + seed)
    optimum = least(problem)
    result = Ideals().solve(problem, Limits(time=20), Progress())
    assert result.status != "infeasible" or optimum == inf
    assert result.cost is None or result.cost >= optimum * (1 - 1e-9)
    assert result.bound is None or result.bound.cost <= optimum * (1 + 1e-9) + 1e-9


def test_graphs_that_are_no_chains_are_refused_without_an_order() -> None:
    """The refusal says so, of phases and of ordinary problems."""
    graphs = {phase: Graph.create("abc", [(0, 1), (0, 2)], work=1.0, output=1.0) for phase in "pq"}
    links = random_links(random.Random(0), 2)
    for graph, goal in ((phased_graph(graphs), GOALS[2]), (graphs["p"], [(Latency(), 1.0)])):
        problem = Problem.create(graph, [Device("d0"), Device("d1")], links, Objective.linear(goal))
        assert "of chains" in (Ideals().accepts(problem) or "")
