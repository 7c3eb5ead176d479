"""What is asked of single phases, by exact, ideals and auto, against brute force and the notes' references."""

import itertools
import json
import random
from math import inf
from pathlib import Path
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.bounds import Anchor, Configuration, Count, Node, Simple
from mtpp_dsl.solvers.methods.partition import Ideals
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.phase_bounds import PhaseBounds
from mtpp_dsl.solving.api import find_method
from tests.amount import part
from tests.networks import random_links, random_tree
from tests.phases import GOALS, Case, best, by_hand, phased_problem, random_case

REFERENCES = Path(__file__).parents[4] / "shared/prototypes/extensions/references.json"
LABELLED = ("separate", "worst", "latency")
"""Goals for which ideals has labels."""


def references() -> list[Any]:
    """Return the references of phases; none where the notes are not here."""
    if not REFERENCES.exists():
        return []
    return [one for one in json.loads(REFERENCES.read_text()) if one["feature"] == 7]


def hold(case: Case, goal: str, method: str) -> None:
    """Hold that a method finds the optimum of a case, proves it, and never a bound above it."""
    optimum = best(case, goal)
    result = mtpp_dsl.solve(phased_problem(case, goal), method=method, time_limit=20)
    if optimum == inf:
        assert result.status == "infeasible"
        return
    assert result.plan is not None
    assert result.cost == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert result.bound is not None
    assert result.bound.cost <= optimum + 1e-6 * max(1.0, optimum)
    assert result.status == "optimal"
    assert by_hand(case, goal, result.plan.assignment.tolist())[1]


@pytest.mark.parametrize("method", ["exact", "ideals", "auto"])
@pytest.mark.parametrize("one", references() or [None], ids=lambda one: one["name"] if one else "absent")
def test_references(one: Any, method: str) -> None:
    """The notes' instances of phases have their optima, proved."""
    if one is None:
        pytest.skip("the notes' references are not here")
    data = one["data"]
    edges = [(u, v) for u, v in data["edges"]]
    limit = data.get("limit", 0)
    case = Case(
        data["n"],
        data["k"],
        edges,
        data["time"],
        data["out"],
        data["weight"],
        data.get("offset", [0, 0]),
        limit,
        False,
    )
    assert best(case, data["goal"]) == one["optimum"]
    result = mtpp_dsl.solve(phased_problem(case, data["goal"]), method=method)
    assert result.cost == pytest.approx(one["optimum"])
    assert result.status == "optimal"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(14))
def test_ideals_against_brute_force(seed: int) -> None:
    """Labels of both phases give the optimum, a proof, and no plan where there is none."""
    case = random_case(seed)
    if not case.acyclic:
        pytest.skip("ideals needs acyclic")
    for goal in LABELLED:
        hold(case, goal, "ideals")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 220))
def test_ideals_against_brute_force_on_more(seed: int) -> None:
    """The same on more instances."""
    test_ideals_against_brute_force(seed)


@pytest.mark.parametrize(
    ("seed", "goal"), [(0, "sums"), (1, "soft"), (3, "separate"), (9, "worst"), (10, "sums"), (11, "latency")]
)
def test_exact_against_brute_force(seed: int, goal: str) -> None:
    """The mixed-integer programme does so for every goal, with and without acyclic."""
    hold(random_case(seed), goal, "exact")


def test_what_ideals_refuses() -> None:
    """Loads of single devices, penalties and devices that are not in an order have no labels."""
    refused = ((2, "sums", "the objective is another"), (2, "soft", "penalty"), (1, "worst", "acyclic"))
    for seed, goal, says in refused:
        reason = find_method("ideals").accepts(phased_problem(random_case(seed), goal))
        assert reason is not None
        assert says in reason


def test_equal_sums_do_not_make_devices_equal() -> None:
    """Two devices that take the same time in both phases together, and not in each, are two types."""
    time = [[[1, 3], [1, 3]], [[3, 1], [3, 1]]]
    case = Case(2, 2, [(0, 1)], time, [[0, 0], [0, 0]], [1, 1], [0, 0], 4, False)
    for method in ("exact", "ideals", "auto"):
        hold(case, "latency", method)
        hold(case, "worst", method)


def test_the_example_of_serving() -> None:
    """A limit on what a token takes costs prefill time; auto proves both, with and without the limit felt."""
    costs = {}
    for most in (20, 25):
        result = mtpp_dsl.solve(mtpp_dsl.load("examples/serving.mtpp", ms_per_token=most))
        assert result.status == "optimal"
        assert result.evaluation is not None
        assert result.evaluation.phases["decode"].latency <= most * 1e-3 * (1 + 1e-6)
        costs[most] = result.cost
    assert costs[20] == pytest.approx(0.165667, rel=1e-4)
    assert costs[25] == pytest.approx(0.140333, rel=1e-4)


def on_network(seed: int, goal: str) -> Problem:
    """Return a random case on a random network."""
    rng = random.Random(seed)
    case = random_case(seed)
    net = random_tree(rng, case.k) if seed % 2 else random_links(rng, case.k)
    base = phased_problem(case, goal)
    return Problem.create(base.graph, [Device(f"d{d}") for d in range(case.k)], net, base.objective, base.constraints)


def by_force(problem: Problem) -> float:
    """Return the least cost of any plan, each verified and evaluated; inf where there is none."""
    plans = (Plan.create(problem, list(at)) for at in itertools.product(range(problem.k), repeat=problem.graph.n))
    return min((evaluate(problem, plan).cost for plan in plans if not verify(problem, plan)), default=inf)


def below(problem: Problem, optimum: float, method: str) -> float | None:
    """Hold that a method's bound is no larger than the optimum, and its cost no less; return its cost."""
    result = mtpp_dsl.solve(problem, method=method, time_limit=20)
    if result.bound is not None:
        assert result.bound.cost <= optimum + 1e-6 * max(1.0, abs(optimum))
    assert result.status != "infeasible" or optimum == inf
    assert result.cost is None or result.cost >= optimum - 1e-6 * max(1.0, abs(optimum))
    return result.cost


@pytest.mark.parametrize("seed", range(part(6, 3)))
def test_networks(seed: int) -> None:
    """On links and trees plans are found, and bounds of single phases hold, against brute force."""
    goal = ("separate", "worst", "latency", "sums", "soft")[seed % 5]
    problem = on_network(seed, goal)
    optimum = by_force(problem)
    if problem.acyclic and goal in LABELLED:
        below(problem, optimum, "ideals")
    cost = below(problem, optimum, "annealing")
    if optimum < inf and goal != "latency":
        assert cost is not None
        assert cost <= optimum * 2 + 1


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_parts(seed: int) -> None:
    """Every bound on a phase, or on the weighted sum of all, gives a bound that is no larger than the optimum."""
    for goal in GOALS[1:]:
        case = random_case(seed)
        optimum = best(case, goal)
        problem = phased_problem(case, goal)
        assert PhaseBounds.fits(problem)
        bounds = PhaseBounds(problem)
        incumbent = Incumbent("bounds", problem, Limits(time=20), Progress())
        methods = [Simple(), Node(), Anchor(), Count(), Ideals(), Configuration()]
        found = bounds.take(methods, Limits(time=20), Progress(), incumbent)
        assert found is None or optimum == inf
        assert bounds.bound().cost <= optimum + 1e-6 * max(1.0, optimum)
        assert incumbent.cost >= optimum - 1e-6


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 400))
def test_more_networks_and_bounds(seed: int) -> None:
    """The same on more instances."""
    test_networks(seed)
    test_bounds_of_parts(seed)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("seed", "goal"), [(2, "separate"), (3, "sums"), (9, "worst"), (10, "soft"), (11, "latency")])
def test_annealing_against_brute_force(seed: int, goal: str) -> None:
    """Moves of nodes find optima of small cases, with and without acyclic, and never less."""
    case = random_case(seed)
    optimum = best(case, goal)
    cost = below(phased_problem(case, goal), optimum, "annealing")
    assert cost == pytest.approx(optimum, rel=0.1, abs=1)
