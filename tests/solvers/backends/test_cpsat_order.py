"""CP-SAT where the quotient graph must be acyclic, or device sets convex: as the MILP, and as trying everything."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    Contiguous,
    ExclusiveLinks,
    Memory,
    Parts,
    Pin,
    Separate,
)
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.engine import availability, solve_request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solving.api import find_method, solve
from tests.oracle import optimum
from tests.strategies import mixed_graph

pytestmark = pytest.mark.skipif(not availability().ok, reason=f"CP-SAT is not installed: {availability().install}")

MAKESPAN = Objective("makespan")
PARTS: tuple[Parts, ...] = ("both", "forward")


def in_order(seed: int) -> Problem:
    """Return a random makespan on links, also of training graphs, of which ``acyclic`` or ``contiguous`` is asked."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(3, 6)), int(random.integers(2, 4))
    drawn = mixed_graph(random, n, share=0.6, outputs=(0.0, 0.25, 1.0), params=(1.0, 2.0), training=seed % 2 == 0)
    graph = Graph.create(
        drawn.names,
        list(zip(drawn.tails.tolist(), drawn.heads.tolist(), strict=True)),
        output=drawn.output,
        params=drawn.params,
        backward=drawn.backward,
        times={f"t{d}": random.choice([0.0, 1.0, 2.5, 8.0], n) for d in range(k)},
    )
    devices = [Device(f"d{d}", f"t{d}", memory=float(random.integers(4, 12))) for d in range(k)]
    links = Links(random.choice([1.0, 4.0], (k, k)), random.choice([0.0, 0.2], (k, k)))

    def some(number: int) -> tuple[int, ...]:
        return tuple(sorted(random.choice(n, min(n, number), replace=False).tolist()))

    part = [PARTS[i] for i in random.integers(0, 2, 2)]
    where = None if random.random() < 0.5 else tuple(sorted({int(d) for d in random.integers(0, k, 2)}))
    asked: list[Constraint] = [
        [Acyclic(parts=part[0])],
        [Contiguous(devices=where, parts=part[1])],
        [Acyclic(parts=part[0]), Contiguous(devices=where, parts=part[1])],
    ][seed % 3]  # type: ignore[assignment]
    extra: list[tuple[float, Constraint]] = [
        (0.3 * (n < 5), ExclusiveLinks()),
        (0.3, Colocate(nodes=some(2))),
        (0.3, Separate(nodes=some(2))),
        (0.2, Pin(nodes=some(1), devices=(int(random.integers(k)),))),
        (0.3, Memory()),
    ]
    chosen = [constraint for share, constraint in extra if random.random() < share]
    return Problem.create(graph, devices, links, MAKESPAN, [*asked, *chosen])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_it_finds_and_proves_what_trying_everything_finds(start: int) -> None:
    """The optimum in whole numbers is the optimum, its plan breaks nothing, and the bound is no more."""
    for seed in range(start, start + 20):
        problem = in_order(seed)
        best, whole = optimum(problem), lower(problem)
        answer = solve_request(whole.request)
        assert (answer.status == "infeasible") == (best is None), seed
        if best is None or answer.solution is None:
            continue
        found = whole.plans(answer.solution)[0]
        assert not verify(problem, found), seed
        assert cost_of(problem, found) == pytest.approx(best, rel=1e-7), seed
        assert best * (1 - 1e-6) <= whole.scale.cost(answer.bound) <= best * (1 + 1e-12), seed
        again = solve_request(lower(problem, found).request)  # with a hint, and nothing above its cost
        assert again.status == "optimal", seed


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_with_the_mixed_integer_programme(seed: int) -> None:
    """Both ways to solve ``moirai`` prove the same."""
    problem = in_order(seed)
    programme, model = (solve(problem, find_method("moirai", solver)) for solver in ("highs", "cp-sat"))
    assert model.status == programme.status == "optimal"
    assert model.cost == pytest.approx(programme.cost)


def crossed(*constraints: Constraint) -> Problem:
    """Return two edges of equal work and opposite wishes: a and d are fast on x, b and c on y."""
    graph = Graph.create("abcd", [(0, 2), (1, 3)], times={"x": [1.0, 9, 9, 1], "y": [9.0, 1, 1, 9]})
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    return Problem.create(graph, [Device("x"), Device("y")], links, MAKESPAN, constraints)


def test_convex_sets_may_have_a_cycle() -> None:
    """Edges both ways between two devices leave their sets convex, but not the quotient graph acyclic."""
    free, convex, acyclic = (
        solve(crossed(*rules), find_method("moirai", "cp-sat")) for rules in ((), (Contiguous(),), (Acyclic(),))
    )
    assert (free.cost, convex.cost) == (2.0, 2.0)
    assert acyclic.cost is not None
    assert acyclic.cost > 2.0
    assert acyclic.status == "optimal"


def test_what_cannot_hold_is_named() -> None:
    """Of a problem without a plan the constraints that clash are said, those of orders too."""
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=1.0)
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    ends, middle = Pin(nodes=(0, 2), devices=(0,)), Pin(nodes=(1,), devices=(1,))
    for order in (Acyclic(), Contiguous(), Contiguous(devices=(0,))):
        problem = Problem.create(
            graph, [Device("x"), Device("y")], links, MAKESPAN, [Memory(), order, ends, middle, ExclusiveLinks()]
        )
        result = solve(problem, find_method("moirai", "cp-sat"))
        assert result.status == "infeasible"
        assert result.infeasibility is not None
        assert result.infeasibility.clash == (str(order), str(ends), str(middle))
    other = problem.with_constraints([Contiguous(devices=(1,)), ends, middle])
    assert solve(other, find_method("moirai", "cp-sat")).cost == 3.0
