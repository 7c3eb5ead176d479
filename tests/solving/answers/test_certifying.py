"""Certificates that are searched for a bound that rests on a solver's word, or on nothing that the answer shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Contiguous
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers import certifying, proofs
from mtpp_dsl.solving.answers.certifying import certified, weights_for
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from tests.amount import part


def skips(n: int = 7, k: int = 2, seed: int = 0) -> Problem:
    """Return a chain with some skips, whose devices have convex sets and may be in any order."""
    random = np.random.default_rng(seed)
    edges = [(v, v + 1) for v in range(n - 1)] + [(v, v + 3) for v in range(n - 3) if random.random() < 0.5]
    graph = Graph.create(
        [f"v{v}" for v in range(n)], edges, work=random.uniform(1, 3, n), output=random.uniform(0, 0.4, n)
    )
    return Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=[Contiguous()])


def by_cost(problem: Problem) -> list[tuple[float, Plan]]:
    return sorted(((evaluate(problem, plan).cost, plan) for plan in plans(problem)), key=lambda pair: pair[0])


def trusted(problem: Problem, plan: Plan, cost: float) -> Result:
    """Return an answer that says, on a solver's word, that a plan is optimal."""
    claim = Bound(cost, "exact", "trusted", "highs")
    return Result("gap", method="exact", plan=plan, evaluation=evaluate(problem, plan), bound=claim).of(problem)


def cases() -> Iterator[tuple[Problem, list[tuple[float, Plan]]]]:
    for seed in range(part(60, 15)):
        problem = skips(5 + seed % 3, 2 + seed % 2, seed)
        yield problem, by_cost(problem)


def test_weights_prove_what_is_true_and_nothing_more() -> None:
    """That the best plan is optimal, most often; never that another is."""
    seen: Counter[str] = Counter()
    for problem, known in cases():
        best, plan = known[0]
        bound = weights_for(problem, plan, best, 5.0)
        seen["proved" if bound is not None else "not"] += 1
        if bound is not None and bound.certificate is not None:
            checker = registry.load(registry.PROOFS, bound.certificate.kind)()
            assert best * (1 - 1e-6) <= checker.prove(problem, bound.certificate.data, Limits()) <= best * (1 + 1e-12)
        cost, worse = next((pair for pair in known if pair[0] > best * (1 + 1e-4)), (0.0, None))
        assert worse is None or weights_for(problem, worse, cost, 0.3) is None
    assert seen["proved"] >= part(30, 15)


def test_an_answer_on_a_solvers_word_gets_a_certificate() -> None:
    """If it is optimal: a millionth lower, where rounding asks for it. Not beyond its time, and not in place of one."""
    problem = skips()
    cost, plan = by_cost(problem)[0]
    answer = trusted(problem, plan, cost)
    better = certified(problem, answer, 4.0)
    assert better.bound is not None
    assert better.bound.certificate is not None
    assert better.status == "optimal"
    check_result(problem, better)
    assert check_bound(problem, BoundClaim.of(problem, result_to_json(problem, better)), Limits()).proved  # type: ignore[arg-type]
    assert certified(problem, better, 4.0) is better
    assert certified(problem, answer, 4.0, limit=4.0) is answer


def test_a_false_optimum_is_not_proved() -> None:
    problem = skips()
    cost, worse = by_cost(problem)[-1]
    answer = trusted(problem, worse, cost)
    assert certified(problem, answer, 2.0) is answer
    claim = BoundClaim.of(problem, result_to_json(problem, answer))
    assert claim is not None
    assert not check_bound(problem, claim, Limits(time=2.0)).proved


def test_verify_proves_an_optimum_by_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing that needs a target alone does, and says that it is up to rounding."""
    monkeypatch.setattr(proofs, "WITHOUT_DATA", {})
    problem = skips()
    cost, plan = by_cost(problem)[0]
    claim = BoundClaim.of(problem, result_to_json(problem, trusted(problem, plan, cost)))
    assert claim is not None
    finding = check_bound(problem, claim, Limits())
    assert finding.proved
    assert "up to a millionth, by weights" in finding.text


def test_a_request_to_stop_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate is not worth waiting for then; the answer stays as it is."""
    monkeypatch.setattr(certifying, "leaves_for", lambda *_: None)
    problem, progress = skips(), Progress()
    cost, plan = by_cost(problem)[0]
    answer = trusted(problem, plan, cost)
    assert certified(problem, answer, 60.0, outer=progress) is not answer
    progress.stop()
    assert certified(problem, answer, 60.0, outer=progress) is answer


def test_without_time_nothing_is_proved() -> None:
    problem = skips()
    cost, plan = by_cost(problem)[0]
    assert weights_for(problem, plan, cost, certifying.SHORTEST / 2) is None


@pytest.mark.parametrize(("limit", "least", "most"), [(None, 20.0, 30.0), (600.0, 20.0, 30.0), (6000.0, 200.0, 300.0)])
def test_all_searches_together_have_half_a_minute(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, least: float, most: float
) -> None:
    """Or a twentieth of a long time limit."""
    asked: list[float] = []
    monkeypatch.setattr(proofs, "WITHOUT_DATA", {})
    monkeypatch.setattr(proofs, "leaves_for", lambda *given: asked.append(given[2].remaining))
    problem = skips()
    claim = BoundClaim(50.0, 50.0, "exact", None)
    assert not check_bound(problem, claim, Limits(time=limit)).proved
    assert least < asked[0] <= most
