"""Memory by stage, iterations and groups of devices: evaluation, the independent check, all plans of small cases."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.stage_check import iteration_times
from mtpp_dsl.checks.verification import cost_of, loads, verify
from mtpp_dsl.core.constraints import Acyclic, Constraint, InOrder, Memory, Replicate, Shard, StageMemory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.pipeline import iteration_bound, iteration_of, simulated
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.stages import Keeping, shard_speedup, stage_order
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse
from mtpp_dsl.solving.answers.claims import false_claims
from mtpp_dsl.solving.answers.json import result_to_json
from mtpp_dsl.solving.answers.plans import false_devices, false_stages
from mtpp_dsl.solving.answers.shape import check_shape
from mtpp_dsl.solving.api import find_method, load, solve
from tests.staging import group_problem, random_groups, random_stages, references, stage_problem
from tests.tree import ROOT

STAGES = ("count the stages", "gpipe keeps all", "stash", "few microbatches", "many microbatches", "recompute")
GROUPS = ("faster than t", "must share", "rule A at t = 1", "replicas or shards")


def best(problem: Problem) -> float | None:
    """Return the least cost of any plan, by trying everything."""
    return min((cost_of(problem, plan) for plan in plans(problem)), default=None)


@pytest.mark.parametrize("name", STAGES)
def test_the_references_of_memory_by_stage(name: str) -> None:
    """All plans together have the optimum that is known by hand."""
    case = references(4)[name]
    assert best(stage_problem(case["data"])) == pytest.approx(case["optimum"])


@pytest.mark.parametrize("name", GROUPS)
def test_the_references_of_groups(name: str) -> None:
    """All plans together have the optimum that is known by hand."""
    case = references(6)[name]
    assert best(group_problem(case["data"])) == pytest.approx(case["optimum"])


def test_gpipe_does_not_fit_into_one_less() -> None:
    """With one unit less of memory nothing fits, neither on two devices nor on one."""
    data = dict(references(4)["gpipe keeps all"]["data"])
    assert best(stage_problem(data)) == 3
    assert best(stage_problem({**data, "memory": 11})) is None


@settings(max_examples=12)
@given(st.integers(0, 10**6))
@example(26)  # two replicas that take longer to exchange their weights than to compute
def test_evaluation_and_check_agree(seed: int) -> None:
    """Both count the same cost and loads for every plan that there is."""
    problem = random_stages(seed, n=3) if seed % 2 else random_groups(seed, n=3)
    for plan in plans(problem):
        assert evaluate(problem, plan).cost == pytest.approx(cost_of(problem, plan), abs=1e-9)
        again = Plan.from_json(problem, plan.to_json(problem))
        assert (again.order, dict(again.shards), again.recomputed) == (plan.order, dict(plan.shards), plan.recomputed)


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_order_and_recomputing_are_chosen_as_well_as_they_can_be(seed: int) -> None:
    """A plan that says neither has the least bottleneck of its assignment, if anything fits."""
    problem = replace(random_stages(2 * seed + 1, n=4), objective=Objective("bottleneck"))
    least: dict[tuple[int, ...], float] = {}
    for plan in plans(problem):
        key = tuple(plan.assignment.tolist())
        least[key] = min(least.get(key, np.inf), cost_of(problem, plan))
    for key, cost in least.items():
        plan = Plan.create(problem, key)
        assert verify(problem, plan) == []
        assert cost_of(problem, plan) == pytest.approx(cost)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(["gpipe", "1f1b"]))
def test_one_microbatch_one_stage_one_device_is_what_it_was(seed: int, schedule: str) -> None:
    """M = 1, S = 1 and t = 1 cost what the sum of loads, the memory and the bottleneck were without them."""
    rng = np.random.default_rng(seed)
    n, k = 4, 3
    edges = [(u, v) for u, v in pairwise(range(n)) if rng.random() < 0.8]
    graph = Graph.create(
        "abcd", edges, work=rng.integers(0, 9, n), output=rng.integers(0, 4, n), params=rng.integers(3)
    )
    devices = [Device(f"d{i}", memory=9.0, pays_io=i != 1) for i in range(k)]
    plain = Problem.create(graph, devices, Host(2.0), None, [Acyclic(), Memory()])
    assert schedule in ("gpipe", "1f1b")
    rule = StageMemory(schedule=schedule, microbatches=1)  # type: ignore[arg-type]
    staged = Problem.create(graph, devices, Host(2.0), Objective("iteration"), [Acyclic(), rule])
    sharded = Problem.create(graph, devices, Host(2.0), None, [Acyclic(), Memory(), Shard(by=(1,))])
    cost = {tuple(plan.assignment): loads(plain, plan.assignment.tolist()) for plan in plans(plain)}
    assert cost == {tuple(plan.assignment): loads(plain, plan.assignment.tolist()) for plan in plans(sharded)}
    found = {tuple(plan.assignment): cost_of(staged, plan) for plan in plans(staged)}
    assert found.keys() == cost.keys()
    for key, total in found.items():
        assert total == pytest.approx(sum(cost[key]))
        if len(set(key)) == 1:
            assert total == pytest.approx(max(cost[key]))


def test_an_order_that_edges_do_not_respect_is_no_plan() -> None:
    """The order of a plan is checked, as stages are counted by it."""
    problem = stage_problem({**references(4)["count the stages"]["data"], "goal": "bottleneck"})
    assert verify(problem, Plan.create(problem, [0, 1])) == []
    assert "goes from d0 back to d1" in str(verify(problem, Plan.create(problem, [0, 1], order=[1, 0, 2]))[0])


def test_what_groups_may_not_be() -> None:
    """A group is of one constraint, of equal devices, and of a size that it allows."""
    graph = Graph.create("ab", [(0, 1)], work=[4.0, 2.0])
    devices = [Device("d0"), Device("d1"), Device("d2", memory=3.0), Device("d3")]
    rule = Shard(by=(1, 2), devices=(0, 1, 2))
    problem = Problem.create(graph, devices, Shared(1.0), None, [Acyclic(), rule])

    def broken(assignment: list[int], replicas: dict[int, list[int]], shards: dict[int, int]) -> str:
        return str((verify(problem, Plan.create(problem, assignment, replicas=replicas, shards=shards)) or [""])[0])

    assert broken([0, 2], {0: [0, 1]}, {0: 2}) == ""
    assert "not equal" in broken([0, 0], {0: [0, 2]}, {0: 2})
    assert "no constraint has both" in broken([0, 0], {0: [0, 3]}, {0: 2})
    assert "allows [1, 2]" in broken([0, 3], {0: [0, 1, 2]}, {0: 3})
    assert "no groups of 2" in broken([0, 0], {}, {0: 2})
    assert "which no constraint allows" in broken([0, 0], {0: [0, 1]}, {})
    assert "has nodes of its own" in broken([0, 1], {0: [0, 1]}, {0: 2})


def test_what_goes_with_stages() -> None:
    """Stages need an order, and one schedule; an iteration ends."""
    graph, devices = Graph.create("ab", [(0, 1)], work=1.0), [Device("d0", memory=3.0), Device("d1")]
    memory = StageMemory(schedule="1f1b", microbatches=4)

    def make(objective: Objective, *rules: object) -> Problem:
        return Problem.create(graph, devices, Shared(1.0), objective, rules)  # type: ignore[arg-type]

    with pytest.raises(ConstraintError, match="'constraint acyclic' puts them in an order"):
        make(Objective("bottleneck"), memory)
    with pytest.raises(UsageError, match="needs the number of its microbatches"):
        make(Objective("iteration"), Acyclic())
    with pytest.raises(UsageError, match="an iteration never ends"):
        make(Objective("iteration", microbatches=3, schedule="pipedream"), Acyclic())
    with pytest.raises(ConstraintError, match="make both the same"):
        make(Objective("iteration", microbatches=3), Acyclic(), memory)
    with pytest.raises(ConstraintError, match="two constraints say what d0 keeps"):
        make(Objective("bottleneck"), Acyclic(), memory, Memory())
    assert make(Objective("iteration"), Acyclic(), memory).objective.microbatches == 4


@settings(max_examples=60)
@given(st.data(), st.integers(1, 5), st.integers(1, 9), st.sampled_from(["gpipe", "1f1b"]))
def test_simulated_passes(data: st.DataObject, stages: int, many: int, schedule: str) -> None:
    """GPipe takes what the formula says, no schedule is faster than the bound, and both simulations agree.

    That holds whichever device has which stage.
    """
    times = st.lists(st.integers(0, 9), min_size=stages, max_size=stages)
    f, b = data.draw(times), data.draw(times)
    found = simulated(f, b, many, schedule)
    total = [p + q for p, q in zip(f, b, strict=True)]
    if schedule == "gpipe":
        assert found == (many - 1) * (max(f) + max(b)) + sum(total)
    assert iteration_bound(total, many) <= found
    work = [p + q for p, q in zip(f, b, strict=True)]
    share = [p / (p + q) if p + q else 0.0 for p, q in zip(f, b, strict=True)]
    names = [f"v{i}" for i in range(stages)]
    graph = Graph.create(names, list(pairwise(range(stages))), work=work, forward_share=share)
    objective = Objective("iteration", microbatches=many, schedule=schedule)  # type: ignore[arg-type]
    devices = [Device(f"d{i}") for i in range(stages)]
    problem = Problem.create(graph, devices, Shared(1.0), objective, [Acyclic()])
    order = data.draw(st.permutations(range(stages)))
    plan = Plan.create(problem, order, order=order)
    one = iteration_of(problem, plan, evaluate(problem, plan))
    assert (one.simulated, one.bound) == pytest.approx(iteration_times(problem, plan))
    assert one.simulated == pytest.approx(found)
    assert evaluate(problem, plan).cost == pytest.approx(cost_of(problem, plan))


def test_answers_say_what_stages_do() -> None:
    """The JSON of an answer fits the schema, and a claim about its stages or its iteration that is wrong is found."""
    drawn = random_stages(4, n=4)
    rule = StageMemory(schedule="1f1b", microbatches=8, recompute="free")
    asked = Objective("iteration")
    problem = Problem.create(drawn.graph, drawn.devices, drawn.interconnect, asked, [Acyclic(), rule])
    plan = min(plans(problem), key=lambda each: cost_of(problem, each))
    answer = result_to_json(
        problem, Result("complete", plan, evaluation=evaluate(problem, plan), time={"total": 1.0}, verified=True)
    )
    check_shape(answer, "answer")
    assert list(false_claims(problem, answer, plan)) == []
    assert list(false_stages(problem, plan, answer["plan"])) == []
    assert list(false_devices(problem, plan, answer["devices"])) == []
    answer["iteration"]["simulated"] *= 2
    assert any("iteration.simulated" in each for each in false_claims(problem, answer, plan))
    answer["plan"]["stages"][0]["kept"] += 1
    assert any("kept" in each for each in false_stages(problem, plan, answer["plan"]))


def test_the_examples() -> None:
    """The examples are proved optimal, and say what their comments say."""
    folder = ROOT / "examples"
    training = solve(load(folder / "training.mtpp"))
    assert training.status == "optimal"
    assert training.plan is not None
    assert 0 < len(training.plan.recomputed) < 8
    serving = solve(load(folder / "tensor_parallel.mtpp", S=8))
    assert serving.status == "optimal"
    assert serving.plan is not None
    assert not serving.plan.shards
    split = solve(load(folder / "tensor_parallel.mtpp", S=2))
    assert split.plan is not None
    assert set(split.plan.shards.values()) == {4}


@pytest.mark.parametrize(("feature", "name"), [*((4, name) for name in STAGES), *((6, name) for name in GROUPS)])
def test_what_is_invalid_is_not_used(feature: int, name: str) -> None:
    """No bound is above the optimum, such as the share of the work, and rules that merge nodes are not applied."""
    case = references(feature)[name]
    problem = (stage_problem if feature == 4 else group_problem)(case["data"])
    assert Contract().accepts(problem) is not None
    assert Fuse().accepts(problem) is not None
    for method in ("simple", "anchor", "node", "count", "configuration", "ideals", "exact"):
        found = find_method(method)
        if found.accepts(problem) is None:
            bound = found.solve(problem, Limits(gap=0.0), Progress()).bound
            assert bound is None or bound.cost <= case["optimum"] * (1 + 1e-9)


def test_counting_all_devices_as_used_would_refuse_a_plan_that_fits() -> None:
    """Of three devices two are used: the first stage keeps two microbatches, and three would not fit."""
    problem = stage_problem(references(4)["count the stages"]["data"])
    plan = Plan.create(problem, [0, 1])
    assert verify(problem, plan) == []
    keeping = Keeping.of(problem, plan.assignment, {})
    assert keeping.memory(0, 1, again=False) <= problem.stage_limit[0] < keeping.memory(0, 2, again=False)


def staged(*rules: Constraint) -> Problem:
    """Return a chain of two nodes that save 1 each, on three devices with a memory of 2, under some more rules."""
    graph = Graph.create("ab", [(0, 1)], work=1.0, state=1.0, saved=1.0)
    devices = [Device(f"d{d}", memory=2.0) for d in range(3)]
    return Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), *rules])


def test_a_stage_without_a_rule_about_memory_need_not_recompute() -> None:
    """It keeps what it will, wherever it stands: not the same as a stage that does not fit."""
    problem = staged(StageMemory(schedule="1f1b", microbatches=4, devices=(1,)))
    keeping = Keeping.of(problem, np.array([0, 1]), {})
    assert [keeping.recomputes(0, after) for after in range(3)] == [False] * 3
    assert [keeping.recomputes(1, after) for after in range(3)] == [False, None, None]


def test_devices_without_nodes_are_last_in_an_order() -> None:
    """The order of devices is over three of them, of which the second has no stage."""
    problem = staged(StageMemory(schedule="1f1b", microbatches=4), InOrder())
    assert stage_order(problem, np.array([0, 2]), {}, (0, 1, 2)) == (0, 2, 1)


def test_the_check_counts_what_replicas_exchange() -> None:
    """Two replicas take 2 each for the work of a microbatch, and 3 to exchange 6 at 2 each way."""
    graph = Graph.create("a", [], work=4.0, params=6.0)
    objective = Objective("iteration", microbatches=2, schedule="1f1b")
    rules = [Acyclic(), Replicate(most=2, sync="weights")]
    problem = Problem.create(graph, [Device("p"), Device("q")], Shared(2.0), objective, rules)
    plan = Plan.create(problem, [0], replicas={0: (0, 1)})
    assert verify(problem, plan) == []
    assert evaluate(problem, plan).cost == cost_of(problem, plan) == 6.0


def test_two_shares_make_passes_of_their_own() -> None:
    """With gpipe both passes count by themselves: 3 + 4 for each microbatch but one, and the loads, 4 and 5."""
    graph = Graph.create("ab", [(0, 1)], work=[4.0, 5.0], forward_share=[0.75, 0.2])
    objective = Objective("iteration", microbatches=3, schedule="gpipe")
    problem = Problem.create(graph, [Device("p"), Device("q")], Shared(2.0), objective, [Acyclic()])
    plan = Plan.create(problem, [0, 1])
    assert evaluate(problem, plan).cost == cost_of(problem, plan) == 2 * (3 + 4) + 4 + 5


def test_shards_that_no_rule_is_about_are_as_fast_as_they_are_many() -> None:
    """Such a plan breaks the spec, and still has a cost."""
    problem = staged(Shard(by=(1, 2), speedup=(1.0, 1.5), devices=(0, 1)))
    assert shard_speedup(problem, np.array([2, 1, 3])).tolist() == [1.5, 1.0, 3.0]


def test_many_passes_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.create("a", [], work=4.0)
    objective = Objective("iteration", microbatches=3, schedule="gpipe")
    problem = Problem.create(graph, [Device("p")], Shared(2.0), objective, [Acyclic()])
    plan = Plan.create(problem, [0])
    assert iteration_times(problem, plan) == (12.0, 12.0)
    monkeypatch.setattr("mtpp_dsl.checks.stage_check.MOST_PASSES", 5)
    assert iteration_times(problem, plan) == (None, 12.0)
