"""Method ``piecewise``: plans of pieces put together, of one sample and of batches."""

from __future__ import annotations

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.solvers.methods.modules import Piecewise
from mtpp_dsl.solvers.schedule.splitting.pieces import parted, pieces
from mtpp_dsl.solvers.schedule.splitting.piecewise import rooms
from tests.batch_problems import random_batches
from tests.oracle import optimum

ROW = """mtpp 1
param size: int = 10
graph from generator rwnn (model = "er", nodes = size, modules = 6, channels = 2, dependence = "strong",
                           types = "cpu,gpu", affinity = 0.5, seed = 1)
device cpu (speed = 0.3, memory = 64 GiB)
device gpu[2] (type = "gpu", memory = 16 GiB)
interconnect links (bandwidth = 12 GiB/s, latency = 10 us)
constraint memory
"""
SAMPLE, BATCH = ROW + "minimize makespan\n", ROW + "maximize throughput (batch = 4)\n"


def solved(problem: Problem, *, wanted: int = 10, seconds: float = 1.5) -> Result:
    return Piecewise(wanted=wanted, patience=2).solve(problem, Limits(time=seconds), Progress())


@pytest.mark.parametrize("spec", [SAMPLE, SAMPLE + "constraint exclusive links\n", BATCH])
def test_pieces_make_a_plan(spec: str) -> None:
    """It starts as early as its order allows, and is no worse than the list schedule with which pieces begin."""
    problem = mtpp_dsl.load(spec)
    result = solved(problem)
    assert result.plan is not None
    assert not verify(problem, result.plan)
    listed = load(METHODS, "heft")().solve(problem, Limits(time=5.0), Progress()).plan
    assert mtpp_dsl.evaluate(problem, result.plan).cost <= mtpp_dsl.evaluate(problem, listed).cost
    assert any("pieces of" in note for note in result.notes)


def test_a_list_schedule_is_there_before_the_first_piece() -> None:
    """Stopped as soon as it has reported a plan, the method has that plan."""
    problem = mtpp_dsl.load(SAMPLE)
    progress = Progress(lambda progress, _: progress.stop() if progress.plan is not None else None)
    result = Piecewise(wanted=10).solve(problem, Limits(time=60.0), progress)
    assert result.plan is not None
    assert not verify(problem, result.plan)


def test_results_have_the_name_of_a_subclass() -> None:
    class Renamed(Piecewise):
        name = "renamed"

    assert Renamed(wanted=10, patience=1).solve(mtpp_dsl.load(SAMPLE), Limits(time=0.3), Progress()).method == "renamed"


def test_pieces_are_of_the_wanted_size() -> None:
    problem = mtpp_dsl.load(SAMPLE)
    assert max(pieces(problem, 10).sizes) <= 20
    assert len(pieces(problem, 60).modules) <= 2
    assert not parted(problem)
    assert parted(mtpp_dsl.load(SAMPLE, size=60))


def test_memory_is_shared_out_where_it_binds() -> None:
    """In proportion to what the nodes of a piece need; without a limit where every device holds everything."""
    problem = mtpp_dsl.load(SAMPLE)
    row = pieces(problem, 10)
    assert np.isinf(rooms(problem, row)).all()
    total = float(problem.graph.memory.sum())
    spec = SAMPLE.replace("memory = 16 GiB", f"memory = {0.6 * total / 2**30!r} GiB")
    tight = mtpp_dsl.load(spec)
    shares = rooms(tight, row)
    assert shares[:, 1:].sum(axis=0) == pytest.approx(0.6 * total, rel=1e-6)
    unlimited = rooms(mtpp_dsl.load(spec.replace(", memory = 64 GiB", "")), row)
    assert np.isinf(unlimited[:, 0]).all()
    assert unlimited[:, 1:] == pytest.approx(shares[:, 1:])
    result = solved(tight)
    assert result.plan is not None
    assert not verify(tight, result.plan)


def test_nodes_together_and_apart_stay_in_one_piece() -> None:
    spec = SAMPLE + "constraint colocate v[0], v[5]\nconstraint separate v[20], v[31]\n"
    problem = mtpp_dsl.load(spec)
    row = pieces(problem, 10)
    assert row.of[0] == row.of[5]
    assert row.of[20] == row.of[31]
    result = solved(problem)
    assert result.plan is not None
    assert not verify(problem, result.plan)


def test_a_graph_in_one_piece_is_annealed() -> None:
    problem = mtpp_dsl.load(SAMPLE)
    result = solved(problem, wanted=1_000, seconds=1.0)
    assert result.plan is not None
    assert any("one piece" in note for note in result.notes)


def test_small_batches_come_near_the_optimum() -> None:
    """Random menus, pins, memories and missing links: every plan is one, and no plan is claimed that is none."""
    found = 0
    for seed in range(24):
        problem = random_batches(seed, nodes=4, devices=2, chunks=2)
        method = Piecewise(wanted=2, patience=1)
        if method.accepts(problem) is not None:
            continue
        result = method.solve(problem, Limits(time=0.2), Progress())
        best = optimum(problem)
        if result.plan is not None:
            found += 1
            assert not verify(problem, result.plan), seed
            assert best is not None
            assert mtpp_dsl.evaluate(problem, result.plan).cost >= best * (1 - 1e-9)
    assert found >= 10
