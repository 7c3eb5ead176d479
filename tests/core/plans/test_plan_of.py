"""Plans that are given to a problem: of another one they are refused before anything is made of them."""

import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import plan_of

SPEC = "examples/quickstart.mtpp"


@pytest.mark.parametrize("change", ["nodes", "devices"])
def test_a_plan_of_another_problem(change: str) -> None:
    problem = mtpp_dsl.load(SPEC, k=4)
    plan = mtpp_dsl.solve(problem, "slicegraph").plan
    assert plan is not None
    assert plan_of(problem, plan) is plan
    text = "mtpp 1 graph { node a (work = 1) } device d[4] interconnect shared (bandwidth = 1) minimize bottleneck"
    other = mtpp_dsl.load(text) if change == "nodes" else mtpp_dsl.load(SPEC, k=2)
    with pytest.raises(UsageError, match="the plan is of another problem"):
        mtpp_dsl.solve(other, start=plan)
