"""Bounds between the last ends at boundaries: what they say of intervals holds in every plan."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.bounds.schedule.last_ends import LastEnds
from mtpp_dsl.solvers.bounds.schedule.module_heads import whole_problem
from mtpp_dsl.solvers.bounds.schedule.part_work import PartWork
from tests.amount import part
from tests.oracle import optimum


def drawn(seed: int, most: int) -> tuple[Problem, list[int]]:
    """Return a random makespan of modules of one to four nodes, *most* in all at the most, and the module of each."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, random.integers(2, 6)).tolist()
    while sum(sizes) > most:
        sizes.pop()
    module = np.repeat(np.arange(len(sizes)), sizes)
    n, k = len(module), int(random.integers(1, 4)) if most > 6 or len(module) < 6 else 2
    dense, skips = random.choice([0.3, 0.5, 0.8]), random.choice([0.0, 0.1])
    edges = [
        (u, v)
        for u in range(n)
        for v in range(u + 1, n)
        if random.random() < (dense if module[v] - module[u] <= 1 else skips)
    ]
    whole = random.random() < 0.5
    time = random.integers(0, 5, (k, n)).astype(float) if whole else random.random((k, n)) * 9
    if k > 1:
        time[0, random.random(n) < 0.1] = inf
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        edges,
        output=random.choice([0.0, 1.0, 4.0]) * random.random(n),
        times={f"d{d}": time[d] for d in range(k)},
    )
    links = Links(np.where(np.eye(k) > 0, 0.0, 1.0), np.zeros((k, k)))
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, Objective("makespan")), module.tolist()


def ends_of(problem: Problem, module: list[int]) -> tuple[LastEnds, float]:
    """Return the boundaries of a problem, and what one of their units is worth."""
    whole = whole_problem(problem)
    work = PartWork(whole.duration, lambda: False).least
    return LastEnds(whole.single, np.array(module), work), whole.scale.cost(1)


@pytest.mark.parametrize("seed", range(part(90)))
def test_never_above_the_makespan(seed: int) -> None:
    """Whatever the modules, with nodes that take no time and others that cannot be everywhere."""
    problem, module = drawn(seed, 6)
    best = optimum(problem)
    assert best is not None
    ends, unit = ends_of(problem, module)
    found: list[int] = []
    if ends.useful:
        assert ends.price_nodes(inf, inf, lambda: False, found.append)
        ends.solve(inf, 1, lambda: False, found.append)
    assert max(found, default=0) * unit <= best * (1 + 1e-9)


def shares(ends: LastEnds, start: Floats, end: Floats, since: float, until: float) -> Floats:
    """Return [n] which part of each node runs in an interval; one that takes no time belongs to where it ends."""
    takes = end - start
    part = np.minimum(end, until) - np.maximum(start, since)
    instant = (end > since) & (end <= until)
    return np.where(takes > 0, np.maximum(part, 0.0) / np.where(takes > 0, takes, 1.0), instant.astype(float))


@pytest.mark.parametrize("seed", range(1_070, 1_070 + part(300)))
def test_what_is_said_of_intervals_holds_in_random_plans(seed: int) -> None:
    """Each interval is at least as long as said, less the worth of what runs there, at any prices."""
    problem, module = drawn(seed, 16)
    ends, unit = ends_of(problem, module)
    if not ends.useful:
        return
    random, instance = np.random.default_rng(seed), ScheduleInstance.of(problem)
    ends.price = ends.price * random.random(instance.n) * 3
    for _ in range(4):
        can = np.isfinite(instance.time)
        device = np.where(can, random.random(can.shape), -1.0).argmax(axis=1)
        if random.random() < 0.3:
            device = np.where(can, -instance.time, -inf).argmax(axis=1)
        schedule = timed(instance, device, random.random(instance.n)).schedule
        assert schedule is not None
        since, last = 0.0, -1
        for j, writers in enumerate([*ends.writers, [-1]]):
            until = schedule.makespan if writers == [-1] else max(schedule.end[u] for u in writers)
            tied = [u for u in writers if u < 0 or schedule.end[u] == until]
            share = shares(ends, schedule.start, schedule.end, since, until)
            run = (until - since) / unit - float(share @ ends.price)
            programme = ends.programme((j, last, tied[-1]))
            assert programme.relaxed(inf).least <= run + 1e-6 * schedule.makespan / unit
            assert programme.bound(1_000, 1e-6, inf, lambda: False).least <= run + 1e-6 * schedule.makespan / unit
            since, last = until, tied[-1]


def test_modules_that_wait_for_each_other_are_longer_than_their_work() -> None:
    """Devices are idle at boundaries, which sums of work do not see."""
    graph = rwnn(p=0.3, nodes=12, modules=4, channels=2, types="a, b, c", affinity=0.5, seed=1)
    links = Links(np.where(np.eye(3) > 0, 0.0, 1e9), np.zeros((3, 3)))
    devices = [Device("a"), Device("b", speed=0.8), Device("c", speed=0.2)]
    problem = Problem.create(graph, devices, links, Objective("makespan"))
    ends, _ = ends_of(problem, np.repeat(range(4), 12).tolist())
    work = PartWork(whole_problem(problem).duration, lambda: False).least.sum()
    found: list[int] = []
    ends.price_nodes(inf, inf, lambda: False, found.append)
    linear = ends.units()
    ends.solve(inf, 1, lambda: False, found.append)
    assert work * 1.02 < linear < ends.units() == max(found)


def test_stopped_before_all_cases_are_known_it_says_nothing() -> None:
    problem, module = drawn(3, 16)
    ends, _ = ends_of(problem, module)
    found: list[int] = []
    assert not ends.price_nodes(inf, inf, lambda: True, found.append)
    assert not ends.price_nodes(0.0, 0.0, lambda: False, found.append)
    assert found == []
