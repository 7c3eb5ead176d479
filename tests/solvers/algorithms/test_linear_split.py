"""Splits along one order by times alone are plans, and even where nothing stands against it."""

from __future__ import annotations

from hypothesis import given, settings

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Contiguous, Memory
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.slicing.linear_split import even_split
from tests.strategies import memory_problems, plain_problems


@given(problem=plain_problems() | memory_problems())
@settings(max_examples=100, deadline=None)
def test_a_split_is_a_plan(problem: Problem) -> None:
    """It keeps every constraint; where none is asked for but an order, there is one."""
    plan = even_split(problem)
    assert plan is None or not verify(problem, plan)
    assert plan is not None or problem.of(Memory) or not problem.allowed.all()


def chain(devices: list[Device], memory: float = 1.0) -> Problem:
    names = [str(v) for v in range(12)]
    arcs = [(v, v + 1) for v in range(11)]
    graph = Graph.create(names, arcs, work=[1.0] * 12, params=[memory] * 12)
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()])


def test_stretches_go_by_speed_and_memory() -> None:
    """Equal devices get equal stretches, a fast one more; where only one order of the devices fits, it is found."""
    even = even_split(chain([Device("a"), Device("b"), Device("c")]))
    assert even is not None
    assert sorted(map(len, even.nodes_on(3))) == [4, 4, 4]
    fast = chain([Device("a", speed=3.0), Device("b")])
    plan = even_split(fast)
    assert plan is not None
    assert max(evaluate(fast, plan).work) == 3.0
    small = even_split(chain([Device("a", speed=5.0, memory=3.0), Device("b", memory=9.0)]))
    assert small is not None
    assert len(small.nodes_on(2)[0]) == 3
    assert even_split(chain([Device("a", memory=3.0), Device("b", memory=8.0)])) is None


def test_a_training_graph_is_split_along_its_forward_part() -> None:
    """Backward nodes are where their forward nodes are; those of no forward node are beside what reads them."""
    forward, back = range(12), range(12, 25)
    arcs = [(v, v + 1) for v in range(24)]
    graph = Graph.create([str(v) for v in range(25)], arcs, work=[1.0] * 25, backward=[v in back for v in range(25)])
    alone = 18  # the others stand against the forward nodes in turn
    pairs = zip(reversed(forward), (v for v in back if v != alone), strict=True)
    rules = [Colocate(nodes=pair) for pair in pairs]
    problem = Problem.create(
        graph, [Device(d) for d in "abc"], Shared(1.0), constraints=[Contiguous(), Memory(), *rules]
    )
    plan = even_split(problem)
    assert plan is not None
    assert sorted(map(len, plan.nodes_on(3))) == [8, 8, 9]
    assert plan.assignment[alone] == plan.assignment[alone + 1]


def test_nodes_on_a_cycle_of_colocated_ones_stay_together() -> None:
    """Nodes between two of a class are on its device, as an order has no place for them elsewhere."""
    names = [str(v) for v in range(6)]
    graph = Graph.create(names, [(v, v + 1) for v in range(5)], work=[1.0] * 6)
    rules = [Acyclic(), Colocate(nodes=(1, 3))]
    plan = even_split(Problem.create(graph, [Device("a"), Device("b")], Shared(1.0), constraints=rules))
    assert plan is not None
    assert len({plan.assignment[v] for v in (1, 2, 3)}) == 1
    assert len(set(plan.assignment.tolist())) == 2
