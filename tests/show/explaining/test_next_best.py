"""Tests of the best neighbours of a plan: they are plans, cost what is said, and no single move is better."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import costs_of, verify
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.moves import canonical, matched_devices
from mtpp_dsl.show.explaining.neighbours import classes_of
from mtpp_dsl.show.explaining.next_best import next_best
from mtpp_dsl.show.explaining.question import question_of
from tests.amount import part
from tests.show.explaining.mixed import every_plan, problem_of
from tests.tree import ROOT


def moved(problem: Problem, plan: Plan) -> list[float]:
    """Return what every allowed plan costs in which one node, and all that are tied to it, is elsewhere."""
    found = []
    for members, d in product(set(classes_of(problem)), range(problem.k)):
        device = np.array(plan.assignment)
        device[list(members)] = d
        other = Plan.create(problem, device)
        if d != plan.assignment[members[0]] and not verify(problem, other):
            found.append(costs_of(problem, other)[0])
    return found


@pytest.mark.parametrize("kind", ["network", "objectives", "weighted"])
def test_no_single_move_is_better_than_the_best_neighbour(kind: str) -> None:
    seen = 0
    for seed in range(part(30)):
        problem = problem_of(kind, seed)
        for plan in every_plan(problem, 2):
            if problem.timed:
                continue
            found = next_best(question_of(problem, plan), 2.0)
            assert found is not None
            assert found.complete
            for one in found.neighbours:
                assert not verify(problem, one.plan)
                assert costs_of(problem, one.plan) == pytest.approx(list(one.costs), rel=1e-9, abs=1e-12)
            costs = [one.costs[0] for one in found.neighbours]
            assert costs == sorted(costs)
            by_hand = moved(problem, plan)
            own = costs_of(problem, plan)[0]
            if [cost for cost in by_hand if cost < own - 1e-9 * abs(own)]:
                assert costs[0] <= min(by_hand) + 1e-9 * abs(min(by_hand)), (kind, seed)
                seen += 1
    assert seen > 2


def test_timed_neighbours_have_schedules() -> None:
    for seed in range(part(24)):
        problem = problem_of("makespan", seed)
        for plan in every_plan(problem, 1):
            found = next_best(question_of(problem, plan), 1.0)
            assert found is not None
            assert found.rescheduled
            for one in found.neighbours:
                assert not verify(problem, one.plan)
                assert costs_of(problem, one.plan)[0] == pytest.approx(one.costs[0])


def test_neighbours_of_counted_stages_keep_their_order() -> None:
    """Where memory depends on the place of a stage, a neighbour without an order of devices would be no plan."""
    seen = 0
    for seed in range(part(12)):
        problem = problem_of("stages", seed)
        for plan in every_plan(problem, 1):
            found = next_best(question_of(problem, plan), 1.0)
            assert found is not None
            for one in found.neighbours:
                assert not verify(problem, one.plan)
                seen += any(problem.stage_memory)
    assert seen > 3


def test_says_what_changes_and_what_forbids() -> None:
    problem = mtpp_dsl.load(ROOT / "examples" / "cheapest.mtpp")
    result = mtpp_dsl.solve(problem, time_limit=20)
    words = "\n".join(mtpp_dsl.explain(problem, result, only=["next"], time_limit=5).words())
    assert "(not of all plans)" in words
    assert "2.8 USD (87 % more): exchange what small[" in words
    assert "steps that would cost less, but break a constraint: deadline (" in words


def test_refuses_plans_of_several_routes() -> None:
    problem = mtpp_dsl.load(ROOT / "examples" / "copies.mtpp")
    result = mtpp_dsl.solve(problem, "copies", time_limit=1)
    assert result.plan is not None
    assert result.plan.routes
    with pytest.raises(Refused, match="several routes"):
        next_best(question_of(problem, result), 1.0)
    assert "several routes" in mtpp_dsl.explain(problem, result, only=["next"]).notes[0]


def test_alike_devices_are_named_as_they_fit_best() -> None:
    """Assigning names by matched() keeps as many nodes in place as trying all permutations does."""
    from itertools import permutations

    rng = np.random.default_rng(5)
    for _ in range(60):
        k = int(rng.integers(1, 6))
        one, other = rng.integers(0, k, 8), rng.integers(0, k, 8)
        classes = [tuple(range(k))] if rng.random() < 0.5 else [tuple(range(0, k, 2)), tuple(range(1, k, 2))]
        to = matched_devices(one, other, classes, k)
        assert sorted(to.tolist()) == list(range(k))
        best = max(
            int((np.array(p)[one] == other).sum())
            for p in permutations(range(k))
            if all(p[d] in members for members in classes for d in members)
        )
        assert int((to[one] == other).sum()) == best
        assert canonical(to[one], classes, k).tolist() == canonical(one, classes, k).tolist()


PINNED = """
graph { node a (work = 3 ms, params = 2 GB) node b[2] (work = 4 ms, params = 500 MB) edge a -> b[0] }
device slow (memory = 2 GB)
device fast (speed = 2, memory = 1 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint pin a on slow
constraint memory
"""


def test_counts_neighbours_of_which_none_is_allowed_and_says_where_a_node_is_fastest(tmp_path: Path) -> None:
    (tmp_path / "pinned.mtpp").write_text(PINNED)
    problem = mtpp_dsl.load(tmp_path / "pinned.mtpp")
    result = mtpp_dsl.solve(problem, "ideals")
    words = "\n".join(mtpp_dsl.explain(problem, result, only=["bottleneck", "next"], time_limit=5).words())
    assert re.search(r"none of the (\d+) neighbouring plans is allowed: \1 break memory \(", words)
    assert "a alone takes so long on slow, and no device that may run it is faster" in words


def test_says_nothing_of_steps_where_none_could_be_tried(tmp_path: Path) -> None:
    (tmp_path / "pinned.mtpp").write_text(PINNED + "constraint pin b[0], b[1] on fast\n")
    problem = mtpp_dsl.load(tmp_path / "pinned.mtpp")
    explained = mtpp_dsl.explain(problem, mtpp_dsl.solve(problem, "ideals"), only=["next"], time_limit=5)
    words = "\n".join(explained.words())
    assert "there is no other plan a step away" in words
    assert "these steps" not in words


def test_says_of_the_only_neighbour_what_it_breaks(tmp_path: Path) -> None:
    (tmp_path / "pinned.mtpp").write_text(PINNED.replace("b[2]", "b[1]"))
    problem = mtpp_dsl.load(tmp_path / "pinned.mtpp")
    explained = mtpp_dsl.explain(problem, mtpp_dsl.solve(problem, "ideals"), only=["next"], time_limit=5)
    assert "the only neighbouring plan is not allowed: it breaks memory (" in "\n".join(explained.words())


def test_rows_of_one_statement_are_counted_together() -> None:
    text = """
    graph {
      node a[4] (work = 1 ms, output = 1 kB)
      edge a[i] -> a[i + 1] for i in 0..2
    }
    device d[2]
    interconnect shared (bandwidth = 1 GB/s)
    minimize latency
    constraint here: on(a[i], d[0]) == 1 for i in 0..3
    """
    problem = mtpp_dsl.load(text)
    result = mtpp_dsl.solve(problem, time_limit=10)
    shown = "\n".join(mtpp_dsl.explain(problem, result, only=["next"], time_limit=5).words())
    assert shown.count("break here") == 1, shown
    assert "here[" not in shown
