"""The conformance suite itself: a plug-in that breaks a law is caught, and the law is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Infeasibility, LogEntry, Result
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.solving import testing
from mtpp_dsl.solving.plugins import claims, samples
from tests import oracle
from tests.amount import stride
from tests.extensions import capped

VARIANTS = claims.variants()


class OneDevice:
    """A method that keeps every law: everything on the first device, which takes the whole of the work."""

    name = "one-device"
    summary = "everything on the first device"
    gives = "plan and bound"

    def accepts(self, problem: Problem) -> str | None:
        plain = problem.objective.quantity == "bottleneck" and not isinstance(problem.interconnect, Links)
        plain = plain and all(type(c) is Acyclic for c in problem.constraints) and problem.allowed.all()
        return None if plain else "one-device honours acyclic and nothing else"

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        plan = Plan.create(problem, [0] * problem.graph.n)
        return Result("complete", plan, evaluation=evaluate(problem, plan), method=self.name)


def changed(change: Callable[[Problem, Result], Result], **attributes: object) -> OneDevice:
    """Return a one-device method whose results are changed."""

    class Changed(OneDevice):
        def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
            return change(problem, super().solve(problem, limits, progress))

    method = Changed()
    for name, value in attributes.items():
        setattr(method, name, value)
    return method


def with_bound(problem: Problem, result: Result) -> Result:
    """Claim that the plan is optimal."""
    return replace(result, bound=Bound(result.cost or 0.0, "one-device", "trusted", "hope"))


def elsewhere(problem: Problem, result: Result) -> Result:
    """Put one node elsewhere and keep the cost."""
    moved = [problem.k - 1, *[0] * (problem.graph.n - 1)]
    return replace(result, plan=Plan.create(problem, moved))


def scattered(problem: Problem, result: Result) -> Result:
    """Deal the nodes out in turn, whatever the quotient graph."""
    plan = Plan.create(problem, [v % problem.k for v in range(problem.graph.n)])
    return replace(result, plan=plan, evaluation=evaluate(problem, plan))


TURN = count()


def fickle(problem: Problem, result: Result) -> Result:
    """Choose the device anew each time."""
    plan = Plan.create(problem, [next(TURN) % problem.k] * problem.graph.n)
    return replace(result, plan=plan, evaluation=evaluate(problem, plan))


def slow(problem: Problem, result: Result) -> Result:
    if problem is samples.large():
        sleep(0.3)
    return result


def test_a_good_method_passes() -> None:
    """What keeps the laws is let through."""
    testing.check_method(OneDevice())


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (changed(with_bound), "is above the optimum"),
        (changed(lambda _, r: replace(r, log=(LogEntry(0.0, None, 1e9),))), "1000000000.0 is above the optimum"),
        (changed(elsewhere), "the plan costs"),
        (changed(scattered), "the plan is infeasible: acyclic"),
        (changed(fickle), "two runs with one seed, two answers"),
        (changed(lambda _, r: replace(r, plan=None, evaluation=None, infeasibility=Infeasibility("no"))), "infeasible"),
        (changed(lambda _, r: replace(r, termination="done")), "termination 'done'"),
        (changed(lambda _, r: r.plan), "returned a Plan, not a Result"),
        (changed(slow), r"stopped before it began: came back after 0\.3 s"),
        (changed(lambda _, r: r, gives="bound"), "gives bound, and there is a plan"),
        (changed(lambda _, r: r, gives="everything"), "gives is 'everything'"),
        (changed(lambda _, r: r, name="One Device"), "name is 'One Device'"),
        (changed(lambda _, r: r, summary=""), "summary is ''"),
        (changed(lambda _, r: r, accepts=lambda _: ""), "accepts gave ''"),
        (changed(lambda _, r: r, accepts=lambda _: False), "accepts gave False"),
        (changed(lambda _, r: r, accepts=lambda _: "no"), "refuses every sample"),
        (changed(lambda _, r: r, accepts=lambda _: None), "the plan is infeasible|nothing can verify"),
        (object(), "lacks a part of the contract Method"),
    ],
)
def test_a_broken_method_is_caught(monkeypatch: pytest.MonkeyPatch, method: Any, message: str) -> None:
    """Each law fails on a method that breaks it, and says what is broken."""
    monkeypatch.setattr(testing, "PROMPT", 0.2)
    with pytest.raises(AssertionError, match=message):
        testing.check_method(method)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the suite short: some problems, and no limits."""
    names = ("anything goes", "makespan", "makespan and memory", "unequal devices")
    monkeypatch.setattr(testing, "small", lambda: {name: samples.small()[name] for name in names})
    monkeypatch.setattr(testing, "_check_limits", lambda *_, **__: None)
    monkeypatch.setattr(claims, "variants", dict)


def lost(self: object, problem: Problem, model: object) -> Plan:
    """Read everything from the first device, whatever the model says."""
    return Plan.create(problem, [0] * problem.graph.n)


@pytest.mark.parametrize(
    ("formulation", "message"),
    [
        (capped(Moirai, 2, below=lambda _, cost: Moirai(cost)), "returns a Moirai named 'moirai'.* would be lost"),
        (capped(Exact, 2, (0,)), r"exclude a plan of cost .*say so in words, in its attribute adds"),
        (
            capped(Moirai, 3, adds="few nodes", extract=lost),
            r"extract\(\) of formulation 'capped' makes of it what is no",
        ),
        (
            capped(Exact, 4, adds="few nodes", extract=lost),
            r"extract\(\) of formulation 'capped' makes of it a plan that",
        ),
    ],
)
@pytest.mark.usefixtures("few")
def test_an_extension_is_blamed_for_what_it_loses(formulation: Any, message: str) -> None:
    """An extension that is lost, and a plan that breaks its rows, are called that; no solver is blamed."""
    with pytest.raises(AssertionError, match=message):
        testing.check_formulation(formulation)


class WholeOrder(Exact):
    """Orders the whole graph where it should order each part, and claims what its scopes inherit."""

    name = "whole-order"

    def build(self, problem: Problem) -> Any:
        return super().build(self.whole(problem))

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        super().start(self.whole(problem), model, plan)

    def whole(self, problem: Problem) -> Problem:
        """Return the problem with one part."""
        graph = replace(problem.graph, backward=np.zeros(problem.graph.n, np.bool_))
        return Problem.create(graph, problem.devices, problem.interconnect, problem.objectives, problem.constraints)


@pytest.mark.usefixtures("few")
def test_an_order_of_the_whole_graph_is_no_order_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formulation that claims backward parts, and is acyclic over the whole graph, excludes the best plan of one."""
    names = ("backward, for a bottleneck on shared", "acyclic, for a bottleneck on shared")
    monkeypatch.setattr(claims, "variants", lambda: {name: VARIANTS[name] for name in names})
    testing.check_formulation(Exact())
    with pytest.raises(AssertionError, match=r"backward, for a bottleneck on shared \(beside acyclic\)"):
        testing.check_formulation(WholeOrder())


@pytest.mark.parametrize("name", [*VARIANTS][:: stride(8)])
def test_a_claim_that_is_ignored_shows(name: str) -> None:
    """The problem of each claim has another optimum than each of those in which it is left out, beside some order."""

    def best(problem: Problem) -> float | None:
        return min((cost_of(problem, plan) for plan in plans(problem)), default=None)

    claim = claims.claims()[name]
    found = [
        (best(claim.asked.problem(order)), [best(one.problem(order)) for one in claim.without])
        for order in claim.orders
    ]
    assert any(cost is not None and cost not in others for cost, others in found)


@pytest.mark.usefixtures("few")
def test_an_extension_that_says_what_it_adds_passes() -> None:
    """Its optimum is that of the plans that its rows allow."""
    testing.check_formulation(capped(Moirai, 3, adds="at most 3 nodes on a device"))


def test_broken_generators_are_caught() -> None:
    """Randomness without a seed, and a name that no spec can say, are caught."""
    turn = count(1)
    with pytest.raises(AssertionError, match="two calls, two graphs"):
        testing.check_generator("acme", lambda: Graph.create("a", [], work=float(next(turn))))
    with pytest.raises(AssertionError, match="no name that a spec can say"):
        testing.check_generator("acme-star", lambda: Graph.create("a", []))


def test_broken_formats_are_caught(tmp_path: Path) -> None:
    """A format that returns no workload, or lets an exception that is not ours through, is caught."""

    class Careless:
        name = "careless"
        suffixes = (".txt",)

        def read(self, path: Path) -> Any:
            return Workload(Graph.create(path.read_text(encoding="utf-8").split(), []))

    sample = tmp_path / "sample.txt"
    sample.write_text("a b")
    with pytest.raises(AssertionError, match="no samples to read"):
        testing.check_format(Careless(), [])
    with pytest.raises(AssertionError, match="a missing file: expected a UsageError, got FileNotFoundError"):
        testing.check_format(Careless(), [sample])
    with pytest.raises(AssertionError, match="returned a int, not a Workload"):
        testing.check_format(type("Wrong", (Careless,), {"read": lambda *_: 3})(), [sample])


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", [name for name, problem in samples.small().items() if samples.verifiable(problem)])
def test_optima(name: str) -> None:
    """The suite's own optima agree with the test oracle's."""
    assert samples.optimum(name) == oracle.optimum(samples.small()[name])


BITES = {
    "two devices": "anything goes",
    "memory": "three devices",
    "too little memory": "two devices",
    "overflow": "two devices",
    "pinned": "three devices",
    "together": "three devices",
    "impossible": "two devices",
    "busy": "three devices",
    "apart": "three devices",
    "no balance": "two devices",
    "few": "two devices",
    "convex and acyclic": "convex",
}


def test_samples_bite() -> None:
    """Each kind of constraint raises an optimum or leaves no plan, so that dropping one is caught."""
    for name, without in BITES.items():
        found, free = samples.optimum(name), samples.optimum(without)
        assert free is not None
        assert found is None or found > free, name
