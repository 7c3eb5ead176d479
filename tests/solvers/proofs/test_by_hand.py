"""Certificates made by hand: of a few nodes, so that what is true can be told on paper, and what is nearly true."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Replicate
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem

UNIT = 2.0**-32
"""Of a load below 1, as ``cuts`` counts it."""
ONE = "device p\ninterconnect shared (bandwidth = 2)\nminimize bottleneck\n"
PAIR = "device p\ndevice q\ninterconnect shared (bandwidth = 2)\nminimize bottleneck\nconstraint acyclic\n"
THREE = 'node "a" (work = 2, output = 1)\nnode "b" (work = 2)\nnode "c" (work = 2)\nedge "a" -> "b"\nedge "a" -> "c"\n'
HEAVY = 'node "a" (work = 4, memory = 3, params = 6)\n'
REPLICAS = "constraint replicate devices up to 4 (sync = weights)\n"
MEMORIES = "device p (memory = 1)\ndevice q (memory = 1)\n"
FOUR = "device d[i in 0..3] (group = floor(i / 2))\n"
STREAMED = (
    "device p (memory = 1e12)\ninterconnect shared (bandwidth = 1e9, overflow = stream)\nminimize bottleneck\n"
    "constraint acyclic\n"
)
READ = (
    'node "u" (work = 1, output = 10)\nnode "t"\nnode "h" (work = 1)\nedge "u" -> "h"\nedge "t" -> "h"\n',
    (
        "device acc\ndevice cpu (io = free)\ninterconnect host (bandwidth = 1)\nminimize makespan\n"
        'constraint contiguous\ntime "t" on "acc" = 100\ntime "u", "h" on "cpu" = 50\ntime "t" on "cpu" = 0.1\n'
    ),
)

STAGES = 'node "a" (work = 4)\nnode "b" (work = 6)\nedge "a" -> "b"\n'
AGAIN = (
    "device p (memory = 8)\ndevice q (memory = 9)\ninterconnect shared (bandwidth = 2)\n"
    "minimize iteration (microbatches = 8, schedule = gpipe)\nconstraint acyclic\nconstraint pin a on p\n"
    "constraint pin b on q\nconstraint memory on p (schedule = gpipe, microbatches = 8, recompute = always)\n"
)
PASSES = (
    "device d[3]\ninterconnect shared (bandwidth = 2)\nminimize iteration (microbatches = 100, schedule = gpipe)\n"
    "constraint acyclic\n"
) + REPLICAS
DIAMOND = THREE + 'node "d" (work = 4)\nedge "b" -> "d"\nedge "c" -> "d"\n'
COPIES = "device p\ndevice q\ninterconnect links (bandwidth = 2)\nmaximize throughput\nconstraint copies up to 2\n"

Case = tuple[str, str, str, Mapping[str, Any]]
"""Kind of the certificate, nodes and edges, what is asked, and the certificate."""

TRUE: dict[str, Case] = {
    "nothing of one device": (
        "halves",
        HEAVY,
        ONE + "constraint acyclic\n",
        {"target": 0.0},
    ),
    "a first part": ("halves", THREE, PAIR, {"target": 4.0, "first": 1}),
    "nothing by cuts": ("cuts", THREE, PAIR, {"target": 0.0, "shares": {}}),
    "nothing by counting": ("count", THREE, PAIR, {"target": 0.0, "nets": {}, "shares": {}}),
    "a stage that recomputes and one that does not": ("ideals", STAGES, AGAIN, {"target": 84.0 * (1 - 1e-9)}),
    "a node that the quick device may not have": (
        "path-hull",
        'node "u" (work = 2)\n',
        (
            "device slow\ndevice quick (speed = 2)\ndevice cpu (io = free)\ninterconnect host (bandwidth = 1)\n"
            'minimize makespan\nconstraint contiguous\nconstraint forbid u on quick\ntime "u" on "cpu" = 50\n'
        ),
        {"path": ["u"], "cuts": [], "target": 2.0 * (1 - 1e-12)},
    ),
    "a dear tensor, or parameters that are streamed": (
        "cuts",
        'node "a" (output = 100)\nnode "b" (params = 60)\nedge "a" -> "b"\n',
        (
            "device p (memory = 50)\ndevice q (memory = 50)\n"
            "interconnect shared (bandwidth = 1, overflow = stream)\nminimize bottleneck\n"
        ),
        {"target": 9.0, "nodes": ["a"], "shares": {"p": 1.0}},
    ),
    "nodes that are together from the first on": (
        "path-hull",
        (
            'node "u" (work = 1)\nnode "w" (work = 1)\nnode "c" (output = 10)\nnode "h" (work = 3)\n'
            'edge "u" -> "w"\nedge "c" -> "h"\n'
        ),
        (
            "device acc\ndevice cpu (io = free)\ninterconnect host (bandwidth = 1)\nminimize makespan\n"
            "constraint contiguous\nconstraint colocate u, w, c\n"
            'time "c" on "acc" = 0\ntime "u", "c", "h" on "cpu" = 50\ntime "w" on "cpu" = 0.5\n'
        ),
        {"path": ["u", "w"], "cuts": [[0, 1, 0]], "target": 5.0 * (1 - 1e-12)},
    ),
}
"""What is proved."""

FALSE: dict[str, tuple[Case, float]] = {
    "two of three may be together": (
        (
            "count",
            THREE,
            PAIR,
            {
                "target": 5.0,
                "shares": {"p": 1.0, "q": 1.0},
                "nets": {"a": {"devices": 3, "apart": ["a", "b", "c"]}},
            },
        ),
        4.5,
    ),
    "one unit less than the target": (
        (
            "cuts",
            f'node "a" (work = {1 - UNIT!r})\n',
            ONE,
            {"target": 1.0, "nodes": ["a"], "shares": {"p": 1.0}},
        ),
        1 - UNIT,
    ),
    "a device that is to stay empty": (
        ("ideals", THREE, PAIR + 'constraint one: used("q") <= 0\n', {"target": 7.0}),
        6.0,
    ),
    "parameters that just fit": (
        (
            "ideals",
            'node "a" (work = 0.001, params = 1e12)\n',
            STREAMED,
            {"target": 0.001 * (1 + 1e-8)},
        ),
        0.001,
    ),
    "a limit on one of two equal devices": (
        (
            "ideals",
            HEAVY,
            PAIR.replace("device p\ndevice q\n", MEMORIES) + 'constraint memory on "p"\n' + REPLICAS.replace("4", "2"),
            {"target": 9.0},
        ),
        4.0,
    ),
    "weights that are exchanged once": (("ideals", HEAVY, PAIR + REPLICAS.replace("4", "2"), {"target": 3.5}), 3.0),
    "weights that two groups exchange": (
        (
            "ideals",
            'node "a" (work = 8, params = 5)\n',
            PAIR.replace("device p\ndevice q\n", FOUR).replace("= 2)", "= 2, between = 2)") + REPLICAS,
            {"target": 3.0},
        ),
        2.5,
    ),
    "a reader without all that it reads": (("path-hull", *READ, {"path": ["u"], "cuts": [[0, 0, 0]]}), 2.1),
    "forward passes as long as loads": (
        (
            "ideals",
            'node "a" (work = 12, params = 20)\nnode "b" (work = 10)\nedge "a" -> "b"\n',
            PASSES,
            {"target": 1050.0},
        ),
        1010.0,
    ),
    "more replicas on some of equal devices": (
        (
            "ideals",
            'node "a" (work = 6)\n',
            (
                "device d[5]\ninterconnect shared (bandwidth = 2)\nminimize bottleneck\nconstraint acyclic\n"
                'constraint replicate "d[0]", "d[1]" up to 2\nconstraint replicate "d[2]", "d[3]", "d[4]" up to 3\n'
            ),
            {"target": 2.5},
        ),
        2.0,
    ),
    "streaming on one of two equal devices": (
        (
            "ideals",
            'node "a" (work = 4, params = 100, memory = 1)\n',
            MEMORIES + "interconnect shared (bandwidth = 2, overflow = stream)\nminimize bottleneck\n"
            "constraint acyclic\nconstraint memory on p\nconstraint replicate devices up to 2 (sync = none)\n",
            {"target": 5.0},
        ),
        4.0,
    ),
    "no memory, and nodes that need none": (
        (
            "ideals",
            'node "a" (work = 4)\n',
            (
                "device p (memory = 0)\ninterconnect shared (bandwidth = 2)\nminimize bottleneck\nconstraint acyclic\n"
                "constraint memory\n"
            ),
            {"target": 5.0},
        ),
        4.0,
    ),
    "a device without memory, for a node that needs none": (
        (
            "path-hull",
            'node "u" (work = 2)\n',
            (
                "device acc (memory = 0)\ndevice cpu (io = free)\ninterconnect host (bandwidth = 1)\n"
                'minimize makespan\nconstraint contiguous\nconstraint memory\ntime "u" on "cpu" = 50\n'
            ),
            {"path": ["u"], "cuts": []},
        ),
        2.0,
    ),
    "two nodes on devices of their own": (
        (
            "path-hull",
            'node "w"\nnode "u"\nedge "u" -> "w"\n',
            (
                "device one\ndevice two\ndevice cpu (io = free)\ninterconnect host (bandwidth = 1)\n"
                'minimize makespan\nconstraint contiguous\ntime "u" on "one" = 1\ntime "w" on "two" = 1\n'
                'time "w" on "one" = 10\ntime "u" on "two" = 10\ntime "u", "w" on "cpu" = 50\n'
            ),
            {"path": ["u", "w"], "cuts": []},
        ),
        2.0,
    ),
}
"""What is refused, as there are such plans, and what the best one costs."""


def spec(nodes: str, rest: str) -> str:
    return f"mtpp 1\ngraph {{\n{nodes}}}\n{rest}"


@cache
def cheapest(text: str) -> float:
    """Return what the best plan costs, by brute force."""
    problem = mtpp_dsl.load(text)
    return min(float(cost_of(problem, plan)) for plan in plans(problem))


def proved(case: Case) -> float:
    """Return what a certificate proves."""
    kind, nodes, rest, data = case
    return float(
        registry.load(registry.PROOFS, kind)().prove(mtpp_dsl.load(spec(nodes, rest)), data, Limits(time=60.0))
    )


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_is_proved(name: str) -> None:
    _, nodes, rest, data = TRUE[name]
    assert proved(TRUE[name]) == data["target"] <= cheapest(spec(nodes, rest))


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_not_proved(name: str) -> None:
    case, best = FALSE[name]
    assert cheapest(spec(case[1], case[2])) == pytest.approx(best, rel=1e-15)
    with suppress(Refused):
        assert proved(case) <= best


def test_routes_of_a_diamond() -> None:
    """Of a graph that is no chain each node counts by itself, where it is cheapest: 2 + 2 + 2 + 4 by two prices."""
    problem = mtpp_dsl.load(spec(DIAMOND, COPIES))
    bound = registry.load(registry.PROOFS, "routes")().prove(problem, {"prices": {"p": 1.0, "q": 1.0}}, Limits())
    assert 5.0 * (1 - 1e-9) <= bound <= 5.0


class Ending(Limits):
    """Limits of which the time ends after it was asked for a few times."""

    asked = 0

    @property
    def remaining(self) -> float:
        Ending.asked -= 1
        return max(float(Ending.asked), 0.0)


@pytest.mark.parametrize("times", [1, 2])
def test_time_that_ends_between_cuts(times: int) -> None:
    """Once before the cut of a node, once before the sets that have it."""
    problem = mtpp_dsl.load(spec(THREE, PAIR))
    Ending.asked = times
    with pytest.raises(UsageError, match="time is not enough"):
        registry.load(registry.PROOFS, "cuts")().prove(
            problem, {"target": 5.0, "nodes": ["a"], "shares": {"p": 1.0}}, Ending()
        )


def test_replicas_share_both_passes() -> None:
    """Two replicas take 1 forward and 1 backward: nothing above 2 is proved."""
    graph = Graph.create("a", [], work=4.0, forward_share=0.5)
    rules = [Acyclic(), Replicate(most=2, sync="none")]
    problem = Problem.create(graph, [Device("p"), Device("q")], Shared(1.0), constraints=rules)
    assert min(cost_of(problem, plan) for plan in plans(problem)) == 2.0
    checker = registry.load(registry.PROOFS, "ideals")()
    assert checker.prove(problem, {"target": 2.0 * (1 - 1e-9)}, Limits(time=60.0)) > 0
    with pytest.raises(Refused, match="all blocks below"):
        checker.prove(problem, {"target": 3.0}, Limits(time=60.0))
