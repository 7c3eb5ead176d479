"""Method ``chunk-order``: never above the best schedule of a batch, with a certificate that proves it again."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Repeat
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.bounds import ChunkOrder, CriticalPath
from mtpp_dsl.solvers.proofs.leaves import LeavesProof
from tests.amount import part
from tests.batch_problems import random_batches
from tests.oracle import optimum

SPEC = """mtpp 1
param count: int = 6
graph {
  node a[i in 1..count] (work = 4 ms, output = 1 MiB)
  edge a[i] -> a[i + 1] for i in 1..count - 1
}
device gpu[2] (fixed = 60%)
interconnect links (bandwidth = 8 GiB/s)
maximize throughput (batch = 16)
constraint batch in [4, 8, 12, 16]
"""


def bounded(problem: Problem, known: float | None = None, seconds: float = 20.0) -> Result:
    """Return what the method says, where a plan is known or not."""
    progress = Progress()
    progress.cost = known
    return ChunkOrder().solve(problem, Limits(time=seconds), progress)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e6])
def test_it_is_never_above_the_optimum(unit: float) -> None:
    """Whether or not a plan is known; often it is the optimum, and the certificate proves as much."""
    reached, bounds = 0, 0
    for seed in range(part(120, 12)):
        problem = recognised(random_batches(seed, devices=2 + seed % 2, chunks=2 + seed % 2, unit=unit)).problem
        best = optimum(problem)
        if best is None or best <= 0:
            continue
        for known in (None, best):
            bound = bounded(problem, known).bound
            bounds += 1
            if bound is None:
                continue
            assert bound.cost <= best * (1 + 1e-9), seed
            assert bound.certificate is not None
            proved = LeavesProof().prove(problem, bound.certificate.data, Limits(time=20.0))
            assert proved >= bound.cost * (1 - 1e-9)
            reached += bound.cost >= best * (1 - 1e-5)
    assert 2 * reached > bounds


def test_it_is_above_the_longest_path_and_the_share_of_work() -> None:
    """Batches of all inputs would leave one of two devices idle, and smaller ones take longer."""
    problem = mtpp_dsl.load(SPEC)
    other = CriticalPath().solve(problem, Limits(time=10.0), Progress()).bound
    bound = bounded(problem).bound
    assert bound is not None
    assert other is not None
    assert bound.cost > 1.05 * other.cost
    answer = mtpp_dsl.solve(problem, method="batched", solver="cp-sat", time_limit=20)
    assert answer.plan is not None
    assert bound.cost <= mtpp_dsl.evaluate(problem, answer.plan).cost * (1 + 1e-9)


def test_few_rows_between_nodes_go_first() -> None:
    """Their bound has a certificate of its own, and the one of all rows is no worse."""
    problem = mtpp_dsl.load(SPEC)
    found: list[Bound] = []
    progress = Progress(lambda one, _: found.append(one.bound) if one.bound not in (None, *found[-1:]) else None)
    ChunkOrder().solve(problem, Limits(time=20.0), progress)
    first, last = found[0], found[-1]
    assert first.certificate is not None
    assert first.certificate.data["ordered"] == 1_000
    assert first.cost <= last.cost
    proved = LeavesProof().prove(problem, first.certificate.data, Limits(time=20.0))
    assert proved == pytest.approx(first.cost, rel=1e-9)


@pytest.mark.parametrize("ordered", [-1, 250_001, "all", None, 0.5])
def test_rows_are_ordered_or_not_or_in_part(ordered: object) -> None:
    problem = mtpp_dsl.load(SPEC)
    bound = bounded(problem).bound
    assert bound is not None
    assert bound.certificate is not None
    with pytest.raises(Refused, match="ordered or not, or in part"):
        LeavesProof().prove(problem, {**bound.certificate.data, "ordered": ordered}, Limits(time=20.0))


def test_without_time_it_has_no_bound() -> None:
    result = bounded(mtpp_dsl.load(SPEC), seconds=0.0)
    assert (result.bound, result.termination) == (None, "time_limit")


def test_repeated_batches_are_refused() -> None:
    problem = mtpp_dsl.load(SPEC)
    problem = problem.with_constraints([*problem.constraints, Repeat(most=2)])
    assert ChunkOrder().accepts(problem) is not None


def test_what_is_derived_from_it_has_its_own_name() -> None:
    class Mine(ChunkOrder):
        name = "mine"

    result = Mine().solve(mtpp_dsl.load(SPEC, count=3), Limits(time=20.0), Progress())
    assert result.bound is not None
    assert (result.method, result.bound.method) == ("mine", "mine")


def test_auto_runs_it() -> None:
    """It has a turn where its share of the time is enough."""
    answer = mtpp_dsl.solve(mtpp_dsl.load(SPEC), time_limit=4, threads=1)
    assert "chunk-order" in {turn.method for turn in answer.turns}
