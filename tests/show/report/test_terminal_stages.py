"""What a terminal says of stages: groups, what they keep, and how long an iteration takes pass by pass."""

from __future__ import annotations

from mtpp_dsl.core.constraints import Acyclic, Replicate, Shard, StageMemory
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.terminal import summary


def test_stages_say_what_they_keep() -> None:
    """A row for every device says whose shard it is, and of a stage what it keeps and whether it recomputes."""
    graph = Graph.create("ab", [(0, 1)], work=4.0, saved=3.0, forward_share=0.5)
    devices = [Device(f"d{i}", memory=5.0) for i in range(5)]
    rules = [
        Acyclic(),
        StageMemory(schedule="1f1b", microbatches=4, recompute="free"),
        Shard(by=(1, 2)),
        Replicate(most=2, sync="none"),
    ]
    problem = Problem.create(graph, devices, Shared(1.0), Objective("iteration"), rules)
    plan = Plan.create(problem, [0, 4], replicas={0: [0, 1, 2, 3]}, shards={0: 2}, recomputed=[4])
    found = Result("complete", plan, evaluation=evaluate(problem, plan), time={"total": 1.0})
    text = "\n".join(line.plain for line in summary(problem, found))
    assert "a; also on d1, d2, d3; 2 shards x 2 replicas; keeps 2 microbatches" in text
    assert text.count("shard of d0") == 3
    assert "b; keeps 1 microbatch; recomputes" in text
    assert "as 1f1b orders them" in text
