"""Parameters that are streamed while devices work: the longer of both, defined once more, against every method."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import costs_of
from mtpp_dsl.core.constraints import Acyclic, Bottleneck, Latency, Linear, Load, Replicate, Robust, StageMemory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError, Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import PROOFS, load
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solving.answers.counts import counted
from mtpp_dsl.solving.api import find_method
from tests.amount import part


def instance(draw: Random, *, phases: bool) -> Problem:
    """Return a small split in which devices stream more than they work, less, or as much."""
    n, k, unit = draw.randint(2, 4), draw.randint(1, 3), draw.choice([1.0, 1e-3, 1e6])
    edges = [(u, v) for v in range(n) for u in range(v) if draw.random() < 0.5]
    params = [draw.choice([0, 1, 2, 5]) * unit for _ in range(n)]

    def graph() -> Graph:
        work, output = ([draw.choice([0, 1, 2, 5]) * unit for _ in range(n)] for _ in range(2))
        return Graph.create([f"n{v}" for v in range(n)], edges, work=work, output=output, params=params)

    rooms = [draw.choice([None, 0, 1, 2, 5]) for _ in range(k)]
    devices = [
        Device(f"d{d}", memory=None if room is None else room * unit, pays_io=draw.random() < 0.8)
        for d, room in enumerate(rooms)
    ]
    link = draw.choice([Shared, Host])(draw.choice([0.5, 1.0, 4.0]), overflow=True, prefetch=True)
    rules = [Acyclic()] if draw.random() < 0.5 else []
    if not phases:
        return Problem.create(graph(), devices, link, constraints=rules)
    both = phased_graph({"p": graph(), "q": graph()}, {"q": draw.choice([0.5, 3.0])})
    goal = Objective.linear([(Bottleneck("p"), 1.0), (draw.choice([Bottleneck, Latency])("q"), 2.0)])
    return Problem.create(both, devices, link, goal, rules)


def load_by_hand(problem: Problem, home: list[int], d: int) -> float:
    """Return the longer of work and streaming of a device, and its transfers."""
    graph, device, link = problem.graph, problem.devices[d], problem.channel
    nodes = [v for v, e in enumerate(home) if e == d]
    pays = isinstance(link, Shared) or device.pays_io
    streams = pays and device.memory is not None
    over = max(0.0, sum(graph.params[nodes].tolist()) - (device.memory or 0.0)) if streams else 0.0
    moved = 0.0
    for u in range(graph.n):
        ends = {home[u], *(home[v] for v in graph.successors(u).tolist())}
        moved += float(graph.output[u]) if pays and d in ends and len(ends) > 1 else 0.0
    return max(sum(problem.time[nodes, d].tolist()), over / link.bandwidth) + moved / link.bandwidth


@pytest.mark.parametrize("seed", range(part(60, 10)))
@pytest.mark.parametrize("phases", [False, True])
def test_loads_and_optima(seed: int, phases: bool) -> None:
    """Evaluation, check and recount agree with the definition; the model finds the least; others refuse."""
    problem = instance(Random(f"prefetch {seed}"), phases=phases)
    alone = [(p.weight, problem.phase(p.name)) for p in problem.graph.phases] or [(1.0, problem)]
    best = float("inf")
    for plan in plans(problem):
        home, evaluation = plan.assignment.tolist(), evaluate(problem, plan)
        rows = counted(problem, plan)
        for d in range(problem.k):
            wanted = sum(weight * load_by_hand(one, home, d) for weight, one in alone)
            assert evaluation.load[d] == pytest.approx(wanted)
            assert rows[d]["load"] == pytest.approx(wanted)
            assert rows[d]["overflow"] == pytest.approx(evaluation.overflow[d])
        assert costs_of(problem, plan)[0] == pytest.approx(evaluation.cost)
        best = min(best, evaluation.cost)
    result = mtpp_dsl.solve(problem, method="exact", time_limit=20)
    assert result.cost == pytest.approx(best, rel=1e-6)
    assert result.status == "optimal"
    for name in ("ideals", "annealing", "simple", "anchor", "node", "count", "configuration", "superblock"):
        assert not problem.prefetches or find_method(name).accepts(problem) is not None


def two(*rules: object, to: Objective | None = None, phases: bool = False) -> Problem:
    """Return two nodes on devices whose memory holds neither."""
    graph = Graph.create("ab", [(0, 1)], work=[3.0, 1.0], params=4.0, output=1.0)
    graph = phased_graph({"p": graph, "q": graph}) if phases else graph
    devices = [Device("x", memory=2.0), Device("y", memory=2.0)]
    link = Shared(1.0, overflow=True, prefetch=True)
    return Problem.create(graph, devices, link, to, [Acyclic(), *rules])  # type: ignore[list-item]


def test_what_is_waited_for_is_the_rest() -> None:
    evaluation = evaluate(two(), Plan.create(two(), [0, 1]))
    assert evaluation.overflow.tolist() == [0.0, 1.0]  # 2 to stream beside 3 of work, and beside 1
    assert evaluation.load.tolist() == [4.0, 3.0]


def test_what_adds_both_up_refuses() -> None:
    """Reductions and certificates, and the model where a row gains from a larger load."""
    assert Contract().accepts(two()) is not None
    for kind in ("shares", "cuts", "configuration", "count", "leaves"):
        with pytest.raises(Refused):
            load(PROOFS, kind)().prove(two(), {}, Limits())
    more = Linear(label="more", terms=((Load(0), 1.0),), sense=">=", rhs=2.0)
    assert "larger loads" in str(find_method("exact").accepts(two(more)))


def test_it_is_refused_where_it_is_not_defined() -> None:
    stages = StageMemory(schedule="1f1b", microbatches=2)
    for rule in (Replicate(most=2), Robust(most=1, share=0.5), stages):
        with pytest.raises(MtppError):
            two(rule)
    with pytest.raises(UsageError, match="name the phases"):
        two(phases=True)
    total = Linear(label="total", terms=((Load(0), 1.0),), sense="<=", rhs=9.0)
    with pytest.raises(UsageError, match="name the phases"):
        two(total, to=Objective.linear([(Bottleneck("p"), 1.0)]), phases=True)
    with pytest.raises(UsageError, match="give both"):
        Problem.create(two().graph, two().devices, Shared(1.0, prefetch=True))


def test_a_spec_says_it_and_gets_it_back() -> None:
    problem = two()
    again = mtpp_dsl.load(problem.to_spec())
    assert again.interconnect == problem.interconnect
    assert "overflow = prefetch" in problem.to_spec().replace('"', "")
    assert mtpp_dsl.load(replace(problem, interconnect=Shared(1.0, overflow=True)).to_spec()).prefetches is False


def test_what_phases_wait_for_is_part_of_their_forward_loads() -> None:
    """Two phases stream 3 each while they work 1 and 2: loads are the longer ones, and all of them are forward."""
    graphs = {name: Graph.create("a", [], work=work, params=5.0) for name, work in (("p", 1.0), ("q", 2.0))}
    goal = Objective.linear([(Bottleneck("p"), 1.0), (Bottleneck("q"), 1.0)])
    link = Shared(1.0, overflow=True, prefetch=True)
    problem = Problem.create(phased_graph(graphs, {}), [Device("d", memory=2.0)], link, goal)
    evaluation = evaluate(problem, Plan.create(problem, [0] * problem.graph.n))
    assert evaluation.load.tolist() == evaluation.forward.tolist() == [6.0]
