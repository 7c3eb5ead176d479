"""Optima of small problems that can be worked out by hand, by trying everything."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of

TWO = "device p\ndevice q\n"
LINKS = TWO + "interconnect links (bandwidth = 1)\n"
CASES = {
    "each device has half of the inputs": ("", LINKS + "maximize throughput\nconstraint copies up to 2\n", 2.0),
    "routes and memory": (
        "",
        LINKS.replace("p", "p (memory = 1)", 1) + "maximize throughput\nconstraint copies up to 2\nconstraint memory\n",
        2.0,  # two of three inputs run a on p
    ),
    "one after another": ('edge "a" -> "b"\n', LINKS + "minimize makespan\n", 4.0),
    "side by side": ("", LINKS + "minimize makespan\n", 3.0),
    "the start of a node is paid": (
        "",
        "device p\ninterconnect links (bandwidth = 1)\nminimize 2 * start(a) + makespan\n",
        4.0,
    ),
    "the start of the other is": (
        "",
        "device p\ninterconnect links (bandwidth = 1)\nminimize 2 * start(b) + makespan\n",
        4.0,
    ),
    "batches": ('edge "a" -> "b"\n', LINKS + "maximize throughput (batch = 2)\n", 4.0),
    "batches by subgraphs": (
        'edge "a" -> "b"\n',
        TWO + "interconnect shared (bandwidth = 1)\nminimize makespan\nconstraint contiguous\n",
        4.0,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_known_optima(case: str) -> None:
    edge, rest, best = CASES[case]
    nodes = 'node "a" (work = 3, output = 1, memory = 1)\nnode "b" (work = 1, memory = 1)\n'
    problem = mtpp_dsl.load(f"mtpp 1\ngraph {{\n{nodes}{edge}}}\n{rest}")
    assert min(cost_of(problem, plan) for plan in plans(problem)) == pytest.approx(best)
