"""Latencies by subgraphs: what they are, and that the check of them sees what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Contiguous, Linear, Load, Makespan, Memory, Replicate, Subgraphs
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.plans.subgraphs import scheduled, undefined
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from tests.latency_cases import MAKESPAN, latency_problem
from tests.oracle import plans


def diamond(*rules: object, memory: float | None = None, cpus: int = 1) -> Problem:
    """Return a -> b, c -> d, and a tensor of a that both read, on two accelerators beside CPUs ten times as slow."""
    graph = Graph.create("abcd", [(0, 1), (0, 2), (1, 3), (2, 3)], work=[1, 2, 3, 4], output=[0.5, 0.25, 1.0, 9.0])
    devices = [Device("acc[0]", memory=memory), Device("acc[1]", memory=memory)]
    devices += [Device(f"cpu[{i}]", speed=0.1, pays_io=False) for i in range(cpus)]
    return Problem.create(graph, devices, Host(1.0), MAKESPAN, rules or [Contiguous()])  # type: ignore[arg-type]


def tampered(plan: Plan, problem: Problem, **changes: object) -> list[str]:
    """Return what the check says of a plan whose schedule is changed."""
    assert plan.schedule is not None
    assignment = changes.pop("assignment", plan.assignment)
    schedule = replace(plan.schedule, **changes)  # type: ignore[arg-type]
    return [str(v) for v in verify(problem, Plan.create(problem, assignment, schedule=schedule))]  # type: ignore[arg-type]


def moved(values: np.ndarray, v: int, by: float) -> np.ndarray:
    """Return *values* with one moved."""
    new = np.array(values)
    new[v] += by
    return new


def test_a_tensor_is_paid_for_once() -> None:
    """Two nodes of one subgraph that read a tensor read it once; the end has no tensor that anybody reads."""
    problem = diamond()
    plan = scheduled(problem, [2, 1, 1, 0], [0, 0, 0, 0])
    assert plan.schedule is not None
    assert plan.schedule.start.tolist() == [0, 10.5, 12.5, 10 + 0.5 + 5 + 1.25 + 1.25]
    assert verify(problem, plan) == []
    assert cost_of(problem, plan) == evaluate(problem, plan).cost == 22.0
    assert evaluate(problem, plan).input.tolist() == [1.25, 0.5, 0.0]
    assert evaluate(problem, plan).output.tolist() == [0.0, 1.25, 0.0]
    assert evaluate(problem, plan).load.tolist() == [5.25, 6.75, 10.0]


@pytest.mark.parametrize(("twice", "once", "valid"), [(0, 1, False), (1, 0, True)])
def test_subgraphs_are_limited_device_by_device(twice: int, once: int, valid: bool) -> None:
    """One accelerator runs a and d, with b and c of the other between them: two subgraphs, which the second may run."""
    plan = scheduled(diamond(Subgraphs(most=2)), [twice, once, once, twice], [0, 0, 0, 1])
    problem = diamond(Contiguous(devices=(0,)), Subgraphs(most=2, devices=(1,)))
    assert (verify(problem, plan) == []) == valid


def test_a_node_without_time_may_lie_within_another() -> None:
    """In one subgraph, of which no two nodes that take time run at once."""
    graph = Graph.create("abc", [(0, 1), (0, 2)], work=[1.0, 4.0, 0.0])
    problem = Problem.create(graph, [Device("acc"), Device("cpu", pays_io=False)], Host(1.0), MAKESPAN, [Contiguous()])
    plan = scheduled(problem, [0, 0, 0], [0, 0, 0])
    assert plan.schedule is not None
    inside = moved(plan.schedule.start, 2, 3.0 - plan.schedule.start[2])
    assert tampered(plan, problem, start=inside, end=moved(plan.schedule.end, 2, 3.0 - plan.schedule.end[2])) == []


def test_nodes_beside_host_memory_run_at_once_and_free() -> None:
    """A CPU is a pool without end: nodes that are ready run at the same time, and two such devices are one."""
    one, two = diamond(), diamond(cpus=2)
    plan = scheduled(one, [2, 2, 2, 2], [0, 0, 0, 0])
    assert plan.schedule is not None
    assert plan.schedule.start.tolist() == [0, 10, 10, 40]
    assert verify(one, plan) == []
    assert cost_of(two, scheduled(two, [2, 3, 2, 3], [0, 0, 0, 0])) == cost_of(one, plan) == 80


def test_two_subgraphs_of_one_device_pay_for_what_passes_between_them() -> None:
    """Published code: a tensor between two subgraphs of one accelerator is written and read again."""
    problem = diamond(Subgraphs(most=2))
    plan = scheduled(problem, [0, 0, 0, 0], [0, 0, 0, 1])
    assert verify(problem, plan) == []
    assert cost_of(problem, plan) == 6 + 1.25 + 1.25 + 4
    assert any("2 subgraphs of at most 1" in one for one in tampered(plan, diamond()))


def test_subgraphs_that_wait_for_each_other_are_no_schedule() -> None:
    """Two contiguous sets can need each other; also where all of it takes no time."""
    crossed = Graph.create("abcd", [(0, 2), (3, 1)])
    problem = Problem.create(crossed, [Device("x"), Device("y")], Shared(1.0), MAKESPAN, [Contiguous()])
    with pytest.raises(UsageError, match="wait for each other"):
        scheduled(problem, [0, 0, 1, 1], [0, 0, 0, 0])
    at_once = Schedule.create(crossed, [0] * 4, [0] * 4, piece=[0] * 4)
    broken = verify(problem, Plan.create(problem, [0, 0, 1, 1], schedule=at_once))
    assert any("wait for each other" in str(v) for v in broken)


def test_each_kind_of_tampering_is_seen() -> None:
    """A node shorter or earlier, a subgraph before its input or beside another, or not contiguous, breaks the plan."""
    problem = diamond(Subgraphs(most=2))
    plan = scheduled(problem, [2, 1, 1, 1], [0, 0, 1, 1])
    assert verify(problem, plan) == []
    schedule = plan.schedule
    assert schedule is not None
    start, end = schedule.start, schedule.end
    assert any("takes" in one for one in tampered(plan, problem, end=moved(end, 1, 0.5)))
    early = {"start": moved(start, 1, -0.5), "end": moved(end, 1, -0.5)}
    assert any("starts at" in one for one in tampered(plan, problem, **early))
    both = {"start": start - np.array([0, 0, 2, 2]), "end": end - np.array([0, 0, 2, 2])}
    assert any("subgraph 1 of acc[1]" in one for one in tampered(plan, problem, **both))
    swapped = {"start": moved(start, 3, -1.0), "end": moved(end, 3, -1.0)}
    assert any("d starts at" in one or "at once" in one for one in tampered(plan, problem, **swapped))
    whole = scheduled(problem, [0] * 4, [0] * 4)
    assert any("entered again" in one for one in tampered(whole, problem, piece=np.array([0, 1, 0, 0])))
    assert any("no subgraphs are named" in one for one in tampered(plan, problem, piece=None))
    assert any("transfer" in one for one in tampered(plan, problem, sent=np.zeros(4), arrived=np.zeros(4)))
    three = tampered(plan, problem, piece=np.array([0, 0, 1, 2]))
    assert any("3 subgraphs" in one for one in three)
    other = tampered(plan, problem, assignment=[2, 1, 1, 0])
    assert other
    full = diamond(Subgraphs(most=2), Memory(), memory=1.0)
    assert any("needs" in str(v) for v in verify(full, scheduled(full, [2, 1, 1, 1], [0, 0, 1, 1])))


def test_rows_of_the_user_see_the_times_and_loads() -> None:
    """Labelled constraints over loads and the makespan are checked against the subgraphs."""
    late = Linear(label="late", terms=((Makespan(), 1.0),), sense=">=", rhs=13.0)
    light = Linear(label="light", terms=((Load(0), 1.0),), sense="<=", rhs=12.0)
    problem = diamond(Subgraphs(most=2), late, light)
    broken = [str(v) for v in verify(problem, scheduled(problem, [0, 0, 0, 0], [0, 0, 0, 1]))]
    assert [one.split(":")[0] for one in broken] == ["late", "light"]
    assert all("12.5" in one for one in broken)


def test_what_has_no_latency_is_refused() -> None:
    """Without a number of subgraphs, with a backward part, streams, replicas or contiguous CPUs there is a reason."""
    plain = diamond()
    backward = replace(plain.graph, backward=np.array([False, False, True, True]))
    devices, host = plain.devices, plain.interconnect
    free = Contiguous(devices=(2,))
    cases = {
        "how many subgraphs": Problem.create(plain.graph, devices, host, MAKESPAN, []),
        "backward": Problem.create(backward, devices, host, MAKESPAN, [Contiguous()]),
        "streamed": Problem.create(
            plain.graph, [Device("a", memory=1.0)], Shared(1.0, overflow=True), MAKESPAN, [Contiguous()]
        ),
        "io = free": Problem.create(plain.graph, devices, host, MAKESPAN, [Contiguous(), free]),
        "replicate": Problem.create(
            plain.graph, devices, host, MAKESPAN, [Contiguous(), Replicate(most=2, devices=(0, 1))]
        ),
        "not a bottleneck": Problem.create(plain.graph, devices, host, Objective("bottleneck"), [Contiguous()]),
    }
    for words, problem in cases.items():
        reason = undefined(problem)
        assert words in str(reason)
        if problem.objective.quantity == "makespan":
            with pytest.raises(Refused, match=words):
                verify(problem, Plan.create(problem, [0] * 4))


def test_plans_survive_json() -> None:
    """A plan by subgraphs is read back as it was written."""
    problem = diamond(Subgraphs(most=2))
    plan = scheduled(problem, [2, 1, 1, 1], [0, 0, 1, 1])
    again = Plan.from_json(problem, plan.to_json(problem))
    assert again.to_json(problem) == plan.to_json(problem)
    assert verify(problem, again) == []
    assert cost_of(problem, again) == cost_of(problem, plan)


@pytest.mark.parametrize("seed", range(12))
def test_evaluation_and_check_agree(seed: int) -> None:
    """Costs of all plans of random problems are the same by arrays and by the definitions."""
    problem = latency_problem(seed, most=4)
    for plan in plans(problem):
        assert evaluate(problem, plan).cost == cost_of(problem, plan)


@pytest.mark.parametrize(("twice", "once", "valid"), [(0, 1, False), (1, 0, True)])
def test_rules_about_subgraphs_are_for_their_devices(twice: int, once: int, valid: bool) -> None:
    """The first accelerator may run one subgraph, the second two."""
    plan = scheduled(diamond(Subgraphs(most=2)), [twice, once, once, twice], [0, 0, 0, 1])
    problem = diamond(Subgraphs(most=1, devices=(0,)), Subgraphs(most=2, devices=(1,)))
    assert (verify(problem, plan) == []) == valid
