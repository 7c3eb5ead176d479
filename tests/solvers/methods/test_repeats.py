"""Methods and several batches of a node on a device: plans, optima and bounds against brute force."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import Repeat
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import ConstraintError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import PROOFS, load
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.algorithms.windows.batch_bounds import closed
from mtpp_dsl.solving.api import find_method, method_names, solve
from tests.amount import part
from tests.batched_cases import built, cases
from tests.repeats import random_repeats, reference, references

CAN = {"auto", "batched", "simple", "critical-path", "single-device", "expert"}


@cache
def optimum(seed: int) -> tuple[Problem, float | None] | None:
    """Return a random problem with its optimum, None for one without a plan; None if it cannot be made."""
    try:
        problem = random_repeats(seed)
    except ConstraintError:
        return None
    return problem, min((evaluate(problem, plan).cost for plan in plans(problem)), default=None)


def check(problem: Problem, best: float | None, method: str, solver: str | None, *, exact: bool) -> None:
    """Hold a method's plan, bound and status against the optimum, and its certificate against its bound."""
    found = solve(problem, method, time_limit=20, **({} if solver is None else {"solver": solver}))
    if best is None:
        assert found.evaluation is None
        assert found.status == "infeasible" or not exact
        return
    assert found.status != "infeasible"
    if found.evaluation is not None:
        assert found.evaluation.cost >= best - 1e-6
    if exact:
        assert found.status == "optimal"
        assert found.evaluation is not None
        assert found.evaluation.cost == pytest.approx(best)
    if found.bound is not None:
        assert found.bound.cost <= best + 1e-6
        certificate = found.bound.certificate
        if certificate is not None:
            proved = load(PROOFS, certificate.kind)().prove(problem, certificate.data, Limits(time=20))
            assert proved == pytest.approx(found.bound.cost, rel=1e-6)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", [*range(28), 226, 268])
def test_models_and_bounds_keep_to_the_optimum(seed: int) -> None:
    """The mixed-integer programme is exact; bounds are not above the optimum; one split for all nodes is a plan."""
    known = optimum(seed)
    if known is not None:
        problem, best = known
        check(problem, best, "batched", "highs", exact=True)
        for method in ("simple", "critical-path", "single-device"):
            check(problem, best, method, None, exact=False)


@pytest.mark.parametrize("seed", [2, 9, 13, 24])
def test_cp_sat_is_exact(seed: int) -> None:
    """CP-SAT finds the same optima, over lanes of devices."""
    known = optimum(seed)
    assert known is not None
    check(*known, "batched", "cp-sat", exact=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 100 + part(300)))
def test_many(seed: int) -> None:
    """The same for many problems, with both engines."""
    test_models_and_bounds_keep_to_the_optimum(seed)
    known = optimum(seed)
    if known is not None and seed % 10 == 0:
        check(*known, "batched", "cp-sat", exact=True)


def test_single_batches_are_no_bound(data: Path) -> None:
    """INVALID: the table of single batches says 5 where two batches of 1 take 2; its closure is the bound."""
    problem = reference(references(data)["closure"])
    instance = BatchInstance.of(problem)
    assert (instance.time[0, 0, -1], closed(instance).time[0, 0, -1]) == (5.0, 2.0)
    found = solve(problem, "simple")
    assert found.bound is not None
    assert found.bound.cost == pytest.approx(2.0)


def test_path_of_large_batches_is_no_bound(data: Path) -> None:
    """INVALID: a path of batches of all inputs over devices, 2 + 2, where batches of 1 overlap: 3."""
    found = solve(reference(references(data)["pipelined"]), "auto", time_limit=10)
    assert found.bound is not None
    assert found.evaluation is not None
    assert (found.status, found.evaluation.cost) == ("optimal", 3.0)


@pytest.mark.parametrize("method", [name for name in method_names() if name not in CAN])
def test_others_refuse(method: str) -> None:
    """Methods that know one batch of a node on a device say so."""
    problem = random_repeats(1)
    reason = find_method(method).accepts(problem)
    assert reason is not None
    batched = find_method(method).accepts(problem.with_constraints([]))
    assert batched is not None or "constraint repeat" in reason


def test_repeats_beside_what_they_cannot_have() -> None:
    """The models refuse to break the symmetry of devices that may run several batches."""
    text = """
        graph { node a (work = 1) }
        device d[2]
        interconnect links (bandwidth = 1)
        maximize throughput (batch = 4)
        constraint repeat up to 2
        constraint break symmetry by tasks
    """
    for solver in ("highs", "cp-sat"):
        reason = find_method("batched", solver=solver).accepts(mtpp_dsl.load(text))
        assert reason is not None
        assert "together with 'constraint repeat'" in reason


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["chain2_K2_L4", "fork_K2_L4", "skip_K2_L3"])
def test_published_cases_keep_their_optima(name: str, data: Path) -> None:
    """With ``repeat up to 1`` the optima are those of the corrected model; with 2 they are no worse."""
    case = cases(data)[name]
    problem = built(case)
    one = problem.with_constraints([*problem.constraints, Repeat(most=1)])
    found = solve(one, "batched", solver="highs", time_limit=20)
    assert found.evaluation is not None
    assert (found.status, found.evaluation.cost) == ("optimal", pytest.approx(case["opt_corrected"]))
    two = problem.with_constraints([*problem.constraints, Repeat(most=2)])
    more = solve(two, "batched", solver="cp-sat", time_limit=20)
    assert more.evaluation is not None
    assert more.evaluation.cost <= case["opt_corrected"] + 1e-9


def test_start_with_several_batches_is_used() -> None:
    """A plan with two batches of a node is a start for both engines."""
    text = """
        graph { node a[i in 0..2] (work = 2) edge a[i] -> a[i + 1] for i in 0..1 }
        device d (fixed = 50%)
        interconnect links (bandwidth = 1)
        maximize throughput (batch = 4)
        constraint batch in [1, 2]
        constraint repeat up to 4
    """
    problem = mtpp_dsl.load(text)
    start = solve(problem, "single-device").plan
    assert start is not None
    assert start.batches is not None
    assert np.unique(start.batches.slot).size > 1
    costs = [
        solve(problem, "batched", solver=solver, time_limit=20, start=start).bound for solver in ("highs", "cp-sat")
    ]
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[0].cost == pytest.approx(costs[1].cost)
