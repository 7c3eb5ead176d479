"""What comes first in ``auto`` where there is little time, and where one method is known to get further."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic, BatchSizes, Constraint, Memory, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.methods.auto.bottleneck import BottleneckRun
from mtpp_dsl.solvers.methods.auto.split_runs import NetworkSteps
from mtpp_dsl.solvers.methods.auto.timed_runs import BatchRun
from mtpp_dsl.solvers.methods.auto.weighted import BOUND_LEAST, BOUND_MOST, BOUND_SHARE, WeightedRun
from mtpp_dsl.solvers.methods.list_schedules import Heft
from mtpp_dsl.solvers.methods.schedules import Ea
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask
from mtpp_dsl.solving.plugins.samples import small

SHORT, LONG = 3.0, 60.0


def unequal(nodes: int) -> Problem:
    """Return a problem whose devices differ, none of which holds everything."""
    graph = layered(nodes, 4, seed=1)
    room = 0.7 * float(graph.memory.sum())
    devices = [Device(f"d{d}", speed=1.0 + d, memory=room) for d in range(2)]
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()])


@pytest.mark.parametrize(("nodes", "seconds", "at_once"), [(500, SHORT, True), (500, LONG, False), (300, SHORT, False)])
def test_orders_of_unequal_devices_have_a_short_time_to_themselves(
    nodes: int, seconds: float, *, at_once: bool
) -> None:
    """Ideals and slices of larger graphs would leave none for the search of orders, which has its own plans."""
    told = BottleneckRun(unequal(nodes), Limits(time=seconds, threads=1), Progress()).outline()
    assert "orders" in told
    assert at_once == ("ideals" not in told) == ("slicegraph" not in told)


@pytest.mark.parametrize(("rules", "first"), [([Separate(nodes=(0, 20))], True), ([], False)])
def test_separate_nodes_are_left_to_the_exact_model(rules: list[Constraint], *, first: bool) -> None:
    """No ideals and no slices know of them."""
    devices = [Device(f"d{d}") for d in range(3)]
    problem = Problem.create(layered(60, 4, seed=2), devices, Shared(1.0), constraints=[Acyclic(), *rules])
    told = BottleneckRun(problem, Limits(time=LONG, threads=1), Progress()).outline()
    assert (told[0] == "exact") == first
    assert "annealing" in told


@pytest.mark.parametrize(
    ("seconds", "share"), [(1e6, BOUND_SHARE), (2 * BOUND_LEAST, 0.5), (0.1, BOUND_MOST), (0.0, BOUND_SHARE)]
)
def test_the_bound_of_a_price_has_seconds_and_not_only_a_share(seconds: float, share: float) -> None:
    """Where time is short, a share of it would be over before the bound is more than 0."""
    problem = next(one for one in small().values() if one.objective.is_linear)
    assert WeightedRun(problem, Limits(time=seconds), Progress()).bound_share == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize(("seconds", "seeds"), [(SHORT, [0, 1]), (LONG, [0])])
def test_moves_come_before_the_ideals_of_a_network_where_time_is_short(
    seconds: float, seeds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ideals may take all of it, with a worse plan; the second turn of moves has another seed."""
    seen: list[tuple[str, int]] = []

    def run(self: NetworkSteps, task: LaneTask) -> None:
        seen.append((task.method.name, task.seed))

    monkeypatch.setattr(NetworkSteps, "run", run)
    links = Links(bandwidth=np.full((2, 2), 1e9), latency=np.zeros((2, 2)))
    problem = Problem.create(layered(30, 3), [Device("a"), Device("b")], links, constraints=[Acyclic()])
    NetworkSteps(problem, Limits(time=seconds), Progress()).result()
    assert [seed for name, seed in seen if name == "annealing"] == seeds
    names = [name for name, _ in seen]
    assert (names.index("annealing") < names.index("ideals")) == (seconds == SHORT)


def batch(nodes: int) -> Problem:
    graph = Graph.create([str(v) for v in range(nodes)], [(v, v + 1) for v in range(nodes - 1)], work=[1.0] * nodes)
    links = Links(bandwidth=np.full((2, 2), 1e9), latency=np.full((2, 2), 1e-5))
    devices = [Device("a", memory=1e9), Device("b", memory=1e9)]
    return Problem.create(graph, devices, links, Objective("throughput", batch=2), [BatchSizes(sizes=(1, 2))])


@pytest.mark.parametrize(("nodes", "first", "last"), [(8, "lns", "MipMethod"), (110, "annealing", "BatchScheduling")])
def test_who_has_most_of_a_batch_on_one_core(nodes: int, first: str, last: str) -> None:
    """Windows of small graphs, moves in large ones; the mixed-integer programme bounds where it is small."""
    run = BatchRun(batch(nodes), Limits(time=LONG, threads=1), Progress())
    (lane,) = run.lanes(1, run.size)
    assert lane[0].method.name == first
    assert {"lns", "annealing", "milp-split", "split-bound"} <= {task.method.name for task in lane}
    assert type(lane[-1].method).__name__ == last


def test_list_schedules_evolve_from_two_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few chunks both are tried: that of ``ea`` itself, and the best plan known."""
    starts: list[bool] = []

    def solve(method: Ea, problem: Problem, limits: Limits, progress: Progress) -> Result:
        starts.append(limits.start is not None)
        return Result("complete", method=method.name)

    monkeypatch.setattr(Ea, "solve", solve)
    for nodes in (8, 110):
        run = BatchRun(batch(nodes), Limits(time=LONG, threads=1), Progress())
        run.first(Heft())
        run.evolve()
    assert starts == [False, True, True]
