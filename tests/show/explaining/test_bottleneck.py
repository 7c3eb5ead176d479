"""Tests of what holds the cost of a plan: its pieces add up, and its limits hold for every plan."""

from __future__ import annotations

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.bottleneck import BottleneckPart, bottleneck, limits_of
from mtpp_dsl.show.explaining.pieces import channel_pieces, device_pieces
from mtpp_dsl.show.explaining.question import question_of
from tests.amount import part
from tests.show.explaining.mixed import KINDS, every_plan, problem_of

SPEC = """mtpp 1
graph {
  node embed (work = 4 ms, output = 8 MB)
  node block[i in 0..3] (work = (3 + i) * 1 ms, output = 8 MB)
  node head (work = 2 ms)
  edge embed -> block[0]
  edge block[i] -> block[i + 1] for i in 0..2
  edge block[3] -> head
}
device gpu[2]
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint acyclic
"""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return mtpp_dsl.load(SPEC)


def held(problem: Problem, plan: object) -> BottleneckPart:
    found = bottleneck(question_of(problem, plan))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_names_the_busiest_device_its_pieces_and_the_next(problem: Problem) -> None:
    on = {"embed": "gpu[0]", "block[0]": "gpu[0]", "block[1]": "gpu[0]"}
    plan = {name: on.get(name, "gpu[1]") for name in problem.graph.names}
    (one,) = held(problem, plan).held
    (holder,) = one.holders
    assert holder.names == ("gpu[1]",)
    assert holder.parts == pytest.approx({"work": 0.013, "input": 0.001})
    assert [(p.kind, p.name) for p in holder.pieces] == [
        ("node", "block[3]"),
        ("node", "block[2]"),
        ("node", "head"),
        ("read", "block[1]"),
    ]
    assert holder.pieces[-1].devices == ("gpu[0]",)
    assert one.second is not None
    assert one.second.names == ("gpu[0]",)
    assert one.to_json()["margin"] == pytest.approx(0.014 - 0.012)


def test_says_so_in_words(problem: Problem) -> None:
    result = mtpp_dsl.solve(problem, "ideals")
    words = mtpp_dsl.explain(problem, result, only=["bottleneck"]).words()
    assert words[0] == "bottleneck 14 ms"
    assert "the largest load is 14 ms, of device gpu[" in words[1]
    assert "  no plan is below 14 ms: so it is optimal" in words
    assert "  at least 12 ms: all work spread evenly over all devices, with nothing to send" in words


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_pieces_add_up_and_limits_hold(kind: str) -> None:
    """Nodes add up to the work of a device and tensors to its transfers; no plan is below any limit."""
    seen = 0
    for seed in range(part(24, 3)):
        problem = problem_of(kind, seed)
        limits = limits_of(problem)
        for plan in every_plan(problem, 40):
            found = evaluate(problem, plan)
            seen += 1
            assert all(limit.cost <= found.cost * (1 + 1e-9) + 1e-12 for limit in limits), (kind, seed)
            if problem.timed or seen % 7:
                continue
            for d in range(problem.k):
                pieces = device_pieces(problem, plan, d)
                for what, said in (("node", found.work), ("read", found.input), ("write", found.output)):
                    total = sum(piece.time for piece in pieces if piece.kind == what)
                    assert total == pytest.approx(said[d], rel=1e-9, abs=1e-12), (kind, seed, what)
            for c, load in enumerate(found.channels.tolist()):
                assert sum(p.time for p in channel_pieces(problem, plan, c)) == pytest.approx(load), (kind, seed)
    assert seen > 15


@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_is_as_large_as_the_cost(kind: str) -> None:
    """Holders of a bottleneck are as large as it; those of a sum, a path or a linear objective add up to it."""
    for seed in range(part(18)):
        problem = problem_of(kind, seed)
        for plan in every_plan(problem, 3):
            found = evaluate(problem, plan)
            for one in held(problem, plan).held:
                own = [h for h in one.holders if h.role != "paid"]
                paid = found.paid if one.objective.penalised else 0.0
                base = one.objective.value(one.cost) if one.objective.is_linear else one.cost - paid
                if one.left:
                    continue
                if one.objective.is_linear:
                    base = one.objective.value(one.cost - paid)
                    assert sum(h.amount for h in own) == pytest.approx(base, abs=1e-9)
                elif one.objective.quantity == "makespan":
                    assert sum(h.amount for h in own) == pytest.approx(base, rel=1e-6)
                elif one.objective.quantity == "bottleneck":
                    assert all(np.isclose(h.amount, base) for h in own)


def test_complains_of_parts_and_nodes_that_are_not_there(problem: Problem) -> None:
    result = mtpp_dsl.solve(problem, "ideals")
    with pytest.raises(UsageError, match="no part 'bottelneck'; did you mean 'bottleneck'"):
        mtpp_dsl.explain(problem, result, only=["bottelneck"])
    with pytest.raises(UsageError, match=r"no node 'block\[7\]'"):
        mtpp_dsl.explain(problem, result, node="block[7]")


def test_shards_are_not_called_replicas() -> None:
    problem = mtpp_dsl.load("""
        graph { node a (work = 4, params = 2) }
        device d[2]
        interconnect host (bandwidth = 2)
        minimize bottleneck
        constraint acyclic
        constraint shard d by [1, 2]
    """)
    result = mtpp_dsl.solve(problem, time_limit=10)
    words = "\n".join(mtpp_dsl.explain(problem, result, only=["bottleneck"], time_limit=10).words())
    assert "which share it as shards" in words
