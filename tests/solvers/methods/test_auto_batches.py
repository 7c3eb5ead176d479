"""Method auto on batches: lists, modules, a search, one model of everything, and what is there without CP-SAT."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.core.constraints import BatchSizes, ExclusiveLinks, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Availability
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.solvers.methods.auto import timed_runs
from mtpp_dsl.solving.api import solve
from mtpp_dsl.solving.plugins.samples import optimum, small

NAMES = [name for name, problem in small().items() if problem.objective.batch is not None]


def network(modules: int, *constraints: object) -> Problem:
    devices = [Device(f"d{i}", speed=speed, memory=1e9, fixed=0.2 * i) for i, speed in enumerate((1.0, 2.0, 0.5))]
    links = Links(bandwidth=np.full((3, 3), 1e9), latency=np.full((3, 3), 1e-5))
    rules = [BatchSizes(sizes=(4, 8, 12, 16)), *constraints]
    graph = rwnn(nodes=8, modules=modules, channels=2, seed=3)
    return Problem.create(graph, devices, links, Objective("throughput", batch=16), rules)  # type: ignore[arg-type]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_small_problems_without_cp_sat(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OR-tools the mixed-integer programme proves the same optimum, and the user is told of the other."""
    monkeypatch.setattr(timed_runs, "availability", lambda: Availability(ok=False, install="pip install it"))
    result = solve(small()[name], threads=1)
    best = optimum(name)
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.cost == pytest.approx(best)
    assert result.status == "optimal"
    assert result.bound is not None
    assert result.bound.method in ("simple", "critical-path") or "pip install it" in " ".join(result.notes)


@pytest.mark.parametrize("name", ["measured batches", "batches far apart", "transfers by input"])
def test_small_problems(name: str) -> None:
    """With everything built in the optimum is found and proved."""
    result = solve(small()[name], threads=1)
    assert result.cost == pytest.approx(optimum(name))
    assert result.status == "optimal"


@pytest.mark.parametrize("there", [True, False])
def test_one_model_of_everything_takes_batches(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed, the model that small problems are given to is one of batches."""
    monkeypatch.setattr(timed_runs, "availability", lambda: Availability(ok=there, install="pip install it"))
    for name in NAMES:
        run = timed_runs.BatchRun(small()[name], Limits(), Progress())
        assert [type(method).__name__ for method in run.whole] == ["BatchScheduling" if there else "MipMethod"]
        assert run.whole[0].accepts(run.problem) is None


@pytest.mark.long
def test_networks_have_a_plan_and_a_bound_in_time() -> None:
    """A network of modules has a verified plan close to its bound when its time is up."""
    result = solve(network(3, Memory()), time_limit=6)
    assert result.verified
    assert result.gap is not None
    assert result.gap < 0.1
    assert result.time["total"] < 25


def test_what_is_of_one_sample_is_refused() -> None:
    """Constraints that mean nothing of a batch are refused by name."""
    with pytest.raises(Refused, match="exclusive links"):
        solve(network(1, ExclusiveLinks()))
