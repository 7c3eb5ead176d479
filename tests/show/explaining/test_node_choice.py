"""Tests of why a node is on its device: what is said of other devices holds by brute force."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.show.explaining.node_choice import node_choice
from mtpp_dsl.show.explaining.question import question_of
from tests.amount import part
from tests.show.explaining.mixed import problem_of

SPEC = """mtpp 1
graph {
  node a[i in 0..3] (work = 1 ms, output = 1 MB, memory = 1 GB)
  edge a[i] -> a[i + 1] for i in 0..2
}
device big (memory = 3 GB)
device small (memory = 1 GB)
device odd (unsupported = ["*"])
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint acyclic
constraint memory on big, small
constraint pin a[0] on big
"""


@pytest.mark.parametrize("kind", ["links", "network", "weighted"])
def test_what_is_said_of_other_devices_holds(kind: str) -> None:
    """No plan has the node where it is said to be never; the best with it there lies between bound and cost."""
    seen = 0
    for seed in range(part(12)):
        problem = problem_of(kind, seed)
        every = list(plans(problem))
        if problem.k < 2 or not every:
            continue
        plan = min(every, key=lambda one: cost_of(problem, one))
        found = node_choice(question_of(problem, plan, node=0), 0.3)
        assert found is not None
        for place in found.elsewhere:
            for name in (place.device, *place.alike):
                d = problem.device_index[name]
                costs = [cost_of(problem, one) for one in every if one.assignment[0] == d]
                assert not (place.never and costs), (kind, seed)
                if place.status == "infeasible" and not place.beside:
                    assert not costs, (kind, seed)
                if place.moved is not None:
                    assert costs
                    assert place.moved >= min(costs) * (1 - 1e-9) - 1e-9
                if place.beside or not costs:
                    continue
                if place.cost is not None:
                    assert place.cost >= min(costs) - 1e-9 * abs(min(costs))
                    seen += 1
                if place.bound is not None:
                    assert place.bound <= min(costs) + 1e-6 * abs(min(costs)) + 1e-9, (kind, seed)
                if place.exchanged:
                    assert min(costs) == pytest.approx(cost_of(problem, plan))
    assert seen >= (1 if kind != "links" else 0)


def told(spec: str, node: str, on: dict[str, str] | None = None) -> str:
    problem = mtpp_dsl.load(spec)
    given = mtpp_dsl.solve(problem, time_limit=10) if on is None else Plan.from_json(problem, on)
    return "\n".join(mtpp_dsl.explain(problem, given, only=["node"], node=node, time_limit=6).words())


def test_says_what_keeps_a_node_away() -> None:
    spec = SPEC.replace('device odd (unsupported = ["*"])\n', "")
    said = told(spec, "a[0]")
    assert "a[0] is on big, where it takes 1 ms" in said
    assert "it is read by a[1] on big" in said
    assert "on small: never: pin (" in said
    assert "so it can be nowhere else" in said
    said = told(spec, "a[2]")
    assert "on small: moving only this node breaks memory" in said
    assert "with all else arranged anew 4 ms" in said or "no plan exists" in said


def test_asks_of_alike_devices_for_being_with_a_neighbour() -> None:
    spec = (
        SPEC.partition("device big")[0]
        + "device gpu[3]\ninterconnect shared (bandwidth = 1 GB/s)\nminimize bottleneck\n"
    )
    on = {"a[0]": "gpu[0]", "a[1]": "gpu[0]", "a[2]": "gpu[1]", "a[3]": "gpu[1]"}
    said = told(spec, "a[1]", on)
    assert (
        "on gpu[1]: an identical device; moving only this node: 4 ms, 33 % more; "
        "kept with a[2], and all else arranged anew: 4 ms, 33 % more"
    ) in said
    assert "on gpu[2]: an identical device; moving only this node: 3 ms, as now" in said
    assert "so every plan with it beside a[2] is worse" in said


def test_a_node_elsewhere_may_be_on_replicas() -> None:
    """The best plan with a node on a device may have it on others, too, that run the same stage."""
    spec = """
    graph { node a (work = 2) node b (work = 8) }
    device big (speed = 4)
    device gpu[2]
    interconnect shared (bandwidth = 4)
    minimize bottleneck
    constraint replicate gpu up to 2
    constraint pin a on gpu
    """
    problem = mtpp_dsl.load(spec)
    found = node_choice(question_of(problem, mtpp_dsl.solve(problem), node=1), 6.0)
    assert found is not None
    place = found.elsewhere[0]
    assert place.device == "gpu[0]"
    assert (place.status, place.cost) == ("optimal", 5.0)  # both nodes on both; alone it would be 8


def test_a_node_whose_batches_may_be_in_several_places_is_not_said_to_be_bound_to_one() -> None:
    """All batches elsewhere are worse; some of them there may not be."""
    spec = """
    graph { node a (work = 2) node b (work = 2) edge a -> b }
    device big (speed = 4)
    device small
    interconnect links (bandwidth = 4)
    minimize makespan
    """
    single = "\n".join(mtpp_dsl.explain(mtpp_dsl.load(spec), mtpp_dsl.solve(mtpp_dsl.load(spec)), node="a").words())
    assert "so every plan with it elsewhere is worse" in single
    batch = mtpp_dsl.load(spec.replace("minimize makespan", "maximize throughput (batch = 2)"))
    said = "\n".join(mtpp_dsl.explain(batch, mtpp_dsl.solve(batch), only=["node"], node="a").words())
    assert "a is on big" in said
    assert "elsewhere is worse" not in said


def test_rows_that_do_not_bear_on_the_node_are_counted() -> None:
    """Of a statement of many rows those about the node are named, and the others counted; JSON has all of them."""
    problem = mtpp_dsl.load(
        SPEC.replace('(unsupported = ["*"])', "(memory = 9 GB)")
        + "constraint few: forall i in 0..2, j in 0..3 if i < j:"
        " load(odd) + 1 ms * on(a[i], odd) + 1 ms * on(a[j], odd) <= 0.5 ms\n"
    )
    found = node_choice(question_of(problem, Plan.create(problem, [0, 0, 0, 1]), node=2), 0.0)
    assert found is not None
    place = next(each for each in found.elsewhere if each.device == "odd")
    assert len(place.broken) == 6
    said = next(line for line in found.words() if line.startswith("  on odd"))
    assert "breaks few[0, 2], few[1, 2], few[2, 3] and 3 other rows of few (<text>:14);" in said
