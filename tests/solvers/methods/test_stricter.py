"""Stricter problems: their plans are plans of what is asked, at no larger cost."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.auto import Auto
from mtpp_dsl.solvers.methods.auto.stricter import stricter
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solvers.methods.partition import Ideals

SPEC = """mtpp 1
graph {{
  {nodes}
  edge v0 -> v1
  edge v1 -> v2
}}
device d[3] (memory = {memory} GB)
interconnect shared (bandwidth = 1 GB/s{overflow})
minimize bottleneck
{constraint}
"""

PHASES = """mtpp 1
graph {
  node block[8] (work = {prefill: 9 ms, decode: 1 ms}, params = 2 GB, output = {prefill: 8 MB, decode: 8 kB},
                 workspace = 700 MB)
  node head     (work = {prefill: 1 ms, decode: 1 ms}, params = 1 GB, workspace = 2 GB)
  edge block[i] -> block[i + 1] for i in 0..<7
  edge block[7] -> head
}
phase prefill, decode (weight = 64)
device d[3] (memory = 10 GB)
interconnect shared (bandwidth = 16 GB/s)
minimize bottleneck(prefill) + 64 * bottleneck(decode)
constraint memory
constraint acyclic
"""


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return a problem of workspaces that differ, or of parameters that are streamed while devices work."""
    few = st.integers(0, 3)
    nodes = "\n".join(
        f"node v{i} (work = {draw(few)} s, params = {draw(few)} GB, output = 1 GB, workspace = {draw(few)} GB)"
        for i in range(3)
    )
    streamed = draw(st.booleans())
    return mtpp_dsl.load(
        SPEC.format(
            nodes=nodes,
            memory=draw(st.integers(1, 7)),
            overflow=", overflow = prefetch" if streamed else "",
            constraint=draw(st.sampled_from(["", "constraint acyclic"] if streamed else ["constraint memory"])),
        )
    )


@settings(max_examples=60)
@given(problems())
def test_their_plans_are_plans_that_cost_no_more(problem: Problem) -> None:
    """All plans of every stricter problem are plans, and what each costs is no less than what is asked."""
    for strict in stricter(problem):
        for plan in plans(strict):
            assert verify(problem, plan) == []
            assert cost_of(problem, plan) <= cost_of(strict, plan) * (1 + 1e-9)


def test_auto_has_a_plan_where_no_model_is_small_enough() -> None:
    """Searches that add streaming to work find plans of graphs that are too large for the exact model."""
    n, k = 1500, 64
    spec = f"""mtpp 1
graph {{
  node v[{n}] (work = 1 ms, params = 10 MB, output = 1 MB)
  edge v[i] -> v[i + 1] for i in 0..<{n - 1}
}}
device d[{k}] (memory = 100 MB)
interconnect shared (bandwidth = 10 GB/s, overflow = prefetch)
minimize bottleneck
"""
    answer = mtpp_dsl.solve(mtpp_dsl.load(spec), time_limit=4.0, threads=1)
    assert answer.cost is not None
    assert answer.cost <= 2e-3 * n / k


def test_slices_come_first_where_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No device holds everything, and neither ideals nor models find anything: slices do."""
    for kind in (Ideals, MipMethod, Annealing):
        monkeypatch.setattr(kind, "solve", lambda method, *_: Result("time_limit", method=method.name))
    problem = mtpp_dsl.load(PHASES)
    result = Auto().solve(problem, Limits(time=4.9, threads=1), Progress())
    assert result.plan is not None
    assert verify(problem, result.plan) == []


def on_links(params: list[int], workspace: list[int], memory: int) -> Problem:
    """Return a problem of single phases on links, which no method takes where workspaces differ."""
    nodes = "".join(
        f"node v{i} (work = {{a: {3 + i} ms, b: {1 + i % 2} ms}}, output = 4 MB, params = {size} MB, "
        f"workspace = {used} MB)\n"
        for i, (size, used) in enumerate(zip(params, workspace, strict=True))
    )
    return mtpp_dsl.load(f"""phase a, b (weight = 2)
    graph {{ {nodes} edge {" -> ".join(f"v{i}" for i in range(len(params)))} }}
    device d[{len(params)}] (memory = {memory} MB)
    interconnect links (bandwidth = 1 GB/s)
    minimize bottleneck(a) + bottleneck(b)
    constraint memory
    constraint stages
    """)  # fmt: skip


@pytest.mark.parametrize(
    ("params", "workspace", "memory", "found"),
    [
        ([40, 40, 40], [9, 30, 12], 120, True),  # with the largest kept free on every device
        ([60, 40, 40], [9, 30, 9], 82, True),  # on one of them
        ([60, 40, 45], [9, 30, 25], 82, False),  # neither, though there is a plan
    ],
)
def test_auto_searches_them_where_nothing_takes_what_is_asked(
    params: list[int], workspace: list[int], memory: int, found: bool
) -> None:
    problem = on_links(params, workspace, memory)
    best = min(cost_of(problem, plan) for plan in plans(problem) if not verify(problem, plan))
    assert Auto().accepts(problem) is None
    assert "annealing" in Auto().outline(problem)
    answer = mtpp_dsl.solve(problem, time_limit=5.0, threads=1)
    assert answer.infeasibility is None
    assert (answer.plan is not None) == found
    assert answer.bound is not None
    assert answer.bound.cost <= best * (1 + 1e-9)
    assert "only plans were searched that keep the largest workspace free" in answer.notes[0]
    if answer.plan is not None and answer.cost is not None:
        assert verify(problem, answer.plan) == []
        assert answer.cost >= best * (1 - 1e-9)


def test_what_stricter_problems_do_not_help_with_is_refused_with_the_reason_of_the_problem() -> None:
    problem = on_links([40, 40], [9, 30], 100)
    apart = problem.with_constraints([*problem.constraints, Separate(nodes=(0, 1))])
    assert "single phases on links" in (Auto().accepts(apart) or "")
