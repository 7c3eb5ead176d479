"""Windows of schedules as problems of their own: worth what they say, and put back as plans."""

from __future__ import annotations

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Constraint, ExclusiveLinks, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.schedule.search.sample_state import sample_order_of
from mtpp_dsl.solvers.schedule.splitting import reannealing
from mtpp_dsl.solvers.schedule.splitting.reannealing import Reannealing, refused

N, K = 14, 3


def drawn(seed: int, rules: tuple[Constraint, ...] = (), memory: float | None = None, none: float = 0.5) -> Problem:
    """Return a random makespan, with nodes that take no time, and links of all speeds, the slowest of *none*."""
    random = np.random.default_rng(seed)
    edges = [(u, v) for u in range(N) for v in range(u + 1, N) if random.random() < 0.2]
    time = random.integers(0, 6, (K, N)).astype(float)
    graph = Graph.create(
        [f"v{v}" for v in range(N)],
        edges,
        output=random.integers(0, 4, N).astype(float),
        memory=np.ones(N),
        times={f"d{d}": time[d] for d in range(K)},
    )
    links = Links(random.choice([none, 1.0, 4.0], (K, K)), random.choice([0.0, 1.0], (K, K)))
    return Problem.create(
        graph, [Device(f"d{d}", memory=memory) for d in range(K)], links, Objective("makespan"), list(rules)
    )


def random_plan(problem: Problem, seed: int) -> Plan:
    random = np.random.default_rng(seed)
    return timed(ScheduleInstance.of(problem), random.permutation(np.arange(N) % K), random.random(N))


@pytest.mark.parametrize("seed", range(20))
def test_a_window_is_worth_what_it_says(seed: int) -> None:
    """Whatever runs where and in which order in a window, the whole is as long as it says, or as what passes it by."""
    problem, random = drawn(seed), np.random.default_rng(seed)
    again = Reannealing(problem, random_plan(problem, seed))
    instance = ScheduleInstance.of(problem)
    order = sample_order_of(instance, again.plan)
    first = int(random.integers(N - 2))
    last = int(random.integers(first + 2, N + 1))
    window, more = again.window(first, last)
    nodes = order[first:last]
    for _ in range(5):
        device = np.append(random.integers(0, K, len(nodes)), [K, K])
        inside = timed(ScheduleInstance.of(window), device, np.append(random.random(len(nodes)), [-1.0, 2.0]))
        assert inside.schedule is not None
        says = inside.schedule.makespan + more
        changed, place = again.plan.assignment.copy(), np.arange(N, dtype=float)[np.argsort(order)]
        changed[nodes] = device[:-2]
        anew = order.copy()
        ranked = sample_order_of(ScheduleInstance.of(window), inside)
        anew[first:last] = nodes[ranked[ranked < len(nodes)]]
        place[anew] = np.arange(N)
        whole = timed(instance, changed, place).schedule
        assert whole is not None
        assert says <= whole.makespan + 1e-9
        assert whole.makespan <= max(says, again.makespan) + 1e-9


def test_sweeps_shorten_schedules_and_keep_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reannealing, "SIZE", 6)
    problem = drawn(3, (Memory(),), memory=5.0)
    plan = random_plan(problem, 3)
    taken: list[Plan] = []
    Reannealing(problem, plan).run(Limits(time=20.0), Progress(), taken.append)
    assert plan.schedule is not None
    assert taken[-1].schedule is not None
    assert taken[-1].schedule.makespan < 0.8 * plan.schedule.makespan
    assert not any(verify(problem, one) for one in taken)


def test_devices_that_no_link_joins() -> None:
    problem = drawn(5, none=0.0)
    plan = timed(ScheduleInstance.of(problem), np.ones(N, np.int64), np.zeros(N))
    again = Reannealing(problem, plan)
    again.run(Limits(time=20.0), Progress(), lambda _: None)
    assert not verify(problem, again.plan)
    assert plan.schedule is not None
    assert again.makespan < plan.schedule.makespan


def test_the_same_seed_gives_the_same_schedule() -> None:
    problem = drawn(4)
    ends: list[Schedule] = []
    for _ in range(2):
        again = Reannealing(problem, random_plan(problem, 4))
        again.run(Limits(seed=1), Progress(), lambda _: None)
        assert again.plan.schedule is not None
        ends.append(again.plan.schedule)
    assert (ends[0].start == ends[1].start).all()


def test_what_binds_a_window_to_others_is_refused() -> None:
    assert not refused(drawn(0))
    assert not refused(drawn(0, (Memory(),)))
    assert refused(drawn(0, (ExclusiveLinks(),)))
    spec = "mtpp 1\ndevice d[2]\ngraph { node a (work = 1) node b (work = 1) }\ninterconnect links (bandwidth = 1)\n"
    assert refused(mtpp_dsl.load(spec + "maximize throughput (batch = 2)\n"))
