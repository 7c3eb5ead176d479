"""Several objectives in their order, against brute force and from Python."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl import Progress, solve
from mtpp_dsl.core.constraints import On
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import find_method
from mtpp_dsl.solving.drivers.lexicographic import solve_in_order, stages
from mtpp_dsl.solving.drivers.rows import keeping
from tests.amount import part, stride
from tests.weighted_problems import all_costs, lexicographic, random_problem


def loosened(problem: Problem, seed: int) -> Problem:
    """Return the problem with a tolerance for later objectives, as a share or in the unit of the first."""
    objective = problem.objective
    changes = [{}, {"within": 0.1}, {"within": 0.5}, {"within": 2.0, "within_is": "value"}][seed % 4]
    return replace(problem, objective=replace(objective, **changes))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(0, 40, 4 * stride(2)))
def test_best_plans_in_order(seed: int) -> None:
    """Each objective has the best value over the plans that those before it leave, with and without a tolerance."""
    problem = loosened(random_problem(seed, objectives=2 + seed % 2), seed)
    costs = all_costs(problem)
    found = solve(problem, "annealing", time_limit=40)
    assert (found.plan is None) == (not costs)
    if found.plan is not None:
        assert [one.best for one in found.objectives] == pytest.approx(lexicographic(problem, costs), abs=1e-6)
        assert [one.cost for one in found.objectives] == pytest.approx(evaluate(problem, found.plan).costs)
        assert found.status == "feasible"  # annealing proves nothing
        assert any("not proved to be the best" in note for note in found.notes)
        assert found.verified


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(part(150, 10)))
def test_optima_in_order(seed: int) -> None:
    """By the exact model every objective of the order is proved, and no bound is above the best plan."""
    problem = loosened(random_problem(seed, objectives=2 + seed % 2, soft=0.7), seed)
    costs = all_costs(problem)
    found = solve(problem, "exact", time_limit=20)
    assert (found.plan is None) == (not costs)
    if found.plan is not None:
        wanted = lexicographic(problem, costs)
        assert [one.best for one in found.objectives] == pytest.approx(wanted, abs=1e-5)
        assert found.status == "optimal"
        for one, best in zip(found.objectives, wanted, strict=True):
            assert one.bound is not None
            assert one.bound.cost <= best + 1e-6 * max(1.0, abs(best))
        costs_of_it = [one.cost for one in found.objectives]
        room = [1e-5 * max(1.0, abs(cost)) for cost in costs_of_it]
        for other in costs:  # no tolerance is used needlessly: no plan is better in one objective and as good in all
            as_good = all(a <= b + r for a, b, r in zip(other, costs_of_it, room, strict=True))
            assert not as_good or other == pytest.approx(costs_of_it, abs=1e-4)


def test_an_objective_without_a_plan_gets_the_rest_of_the_time() -> None:
    """Where the first objective finds no plan in half of the time, it has the other half before the run ends."""
    problem = next(p for p in (random_problem(seed, objectives=2) for seed in range(30)) if all_costs(p))
    limits: list[float | None] = []

    def solver(asked: Problem, time_limit: float | None, start: Plan | None, *_: object) -> Result:
        limits.append(time_limit)
        if len(limits) == 1:
            return Result("time_limit")
        return solve(asked, "exact", start=start)

    found = solve_in_order(problem, solver, Progress(), 100.0, None)
    assert limits[:3] == pytest.approx([50, 100, 100], rel=0.2)
    assert found.plan is not None
    assert all(one.best is not None for one in found.objectives)


def test_a_tolerance_is_used_only_where_it_helps() -> None:
    """Of plans that are equally good in the later objective, the one that is best in the earlier one is the answer."""
    graph = Graph.create(["a", "b"], [], work=[4.0, 2.0])
    devices = [Device("d0"), Device("d1")]
    spread = Objective("bottleneck", within=1.0)
    price = Objective.linear([(On(0, 0), 1.0)], label="price")
    problem = Problem.create(graph, devices, Shared(1.0), [spread, price])

    def solver(asked: Problem, time_limit: float | None, start: Plan | None, *_: object) -> Result:
        if asked.objective.is_linear:  # any plan with 'a' off d0 is optimal; this one wastes the tolerance
            return Result("gap", Plan.create(asked, [1, 1])).of(asked)
        return solve(asked, "exact", time_limit=time_limit, start=start)

    found = solve_in_order(problem, solver, Progress(), None, None)
    assert [one.cost for one in found.objectives] == pytest.approx([4.0, 0.0])
    assert any("bottleneck was 6 after the last objective, and 4 with all others as good" in x for x in found.notes)


def test_checkpoint_holds_all_objectives(tmp_path: Path) -> None:
    """What is kept while a later objective has its turn is an answer for all of them, and so is the last one."""
    problem = next(p for p in (random_problem(seed, objectives=2) for seed in range(30)) if all_costs(p))
    kept = tmp_path / "kept.json"
    found = solve(problem, "exact", checkpoint=kept)
    data = json.loads(kept.read_text())
    assert data["termination"] == found.termination
    assert [one["name"] for one in data["objectives"]] == [one.objective.shown for one in found.objectives]
    assert data == found.to_dict()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(30))
def test_rows_keep_the_plan_they_are_made_of(seed: int) -> None:
    """The row of an objective at the cost of a plan allows that plan, and no plan that costs more than its rounding."""
    problem = random_problem(seed, objectives=2)
    asked = problem.asking(problem.objective)
    for costs in all_costs(problem)[:5]:
        row = keeping(problem, problem.objective, costs[0])
        left = [one[0] for one in all_costs(asked.with_constraints([*asked.constraints, row]))]
        assert max(left) <= costs[0] + 1e-4
        assert any(one == costs[0] for one in left)


def test_watching_sees_the_plan_of_the_whole_run() -> None:
    """What is reported carries the objective whose turn it is; the progress itself has the cost of the first."""
    problem = next(p for p in (random_problem(seed, objectives=2) for seed in range(40)) if all_costs(p))
    seen: list[tuple[str, int]] = []

    def listen(progress: Progress, _: str) -> None:
        seen.append((progress.heading, 0 if progress.cost is None else 1))

    progress = Progress(listen)
    found = solve(problem, "annealing", time_limit=10, progress=progress)
    headings = {heading for heading, _ in seen}
    assert headings == {f"{one.objective.shown} ({i + 1} of 2)" for i, one in enumerate(found.objectives)}
    assert progress.plan is not None
    assert progress.cost == pytest.approx(found.cost)


def test_a_stopped_run_says_which_objectives_had_no_turn() -> None:
    """After an interrupt the plan of those that had their turn is kept, and the others say that they had none."""
    problem = next(p for p in (random_problem(seed, objectives=3) for seed in range(60)) if all_costs(p))
    progress = Progress(lambda progress, _: progress.plan is not None and outer[0].stop())
    outer = [progress]
    found = solve(problem, "annealing", time_limit=10, progress=progress)
    assert found.termination == "interrupted"
    assert found.plan is not None
    assert found.objectives[2].best is None
    assert found.objectives[2].cost is not None
    assert any("had no turn" in note for note in found.notes)


def test_methods_are_asked_before_anything_is_solved() -> None:
    """A method that cannot take a later objective is refused at once, with one that can."""
    problem = next(
        p for p in (random_problem(seed, objectives=2, linear=True, rows=0) for seed in range(9)) if p.k == 2
    )
    with pytest.raises(Refused, match=r"for objective 'goal0', .*(auto|annealing)"):
        solve(problem, "slicegraph")
    assert find_method("annealing").accepts(stages(problem)[1]) is None
    with pytest.raises(UsageError, match="model of its own"):
        solve(problem, "auto", write_model="model.lp")
