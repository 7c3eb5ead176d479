"""What has no plan is said to have none, in the same words by every method, with exit code 3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from mtpp_dsl.checks.infeasible import forced_together, quick
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.problem.colocation import cycle, together
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import load
from tests.core.problem.test_objective_parts import training_problems
from tests.oracle import optimum, plans

SPEC = """
graph {
  node a1 (work = 1, memory = 3, output = 0.01)
  node a2 (work = 1, memory = 3, output = 0.01)
  node b1 (work = 1, memory = 3, output = 0.01)
  node b2 (work = 1, memory = 3, output = 0.01)
  node c (work = 1, memory = 1)
  edge a1 -> b1
  edge b2 -> a2
}
device d[2] (memory = MEMORY)
interconnect host (bandwidth = 1)
minimize bottleneck
RULES
"""
PAIRS = "constraint colocate a1, a2\nconstraint colocate b1, b2\n"
CYCLE = "a1 -> b1 -> b2 -> a2 -> a1"
METHODS = ["auto", "exact", "ideals"]


def spec(memory: float, rules: str, folder: Path) -> Path:
    """Write a spec with devices of this memory, and constraints."""
    path = folder / "toy.mtpp"
    path.write_text(SPEC.replace("MEMORY", f"{memory:g}").replace("RULES", rules))
    return path


CASES = {
    "a node": (2, "constraint acyclic\nconstraint memory", "a1 takes 3; the largest device for it, d[0], has 2"),
    "a class": (
        5,
        "constraint colocate a1, a2\nconstraint acyclic\nconstraint memory",
        "a1 and a2 take 6 together; the largest device",
    ),
    "a cycle": (
        7,
        PAIRS + "constraint acyclic\nconstraint memory",
        f"a1, a2, b1 and b2 take 12 together, as colocation closes the cycle {CYCLE}; the largest device for them",
    ),
    "a cycle and pins": (
        20,
        PAIRS + "constraint acyclic\nconstraint memory\nconstraint pin a1 on d[0]\nconstraint pin b1 on d[1]",
        f"no device is left for a1 and b1 together, as colocation closes the cycle {CYCLE}",
    ),
    "pins": (
        20,
        PAIRS + "constraint acyclic\nconstraint memory\nconstraint pin a1 on d[0]\nconstraint pin a2 on d[1]",
        "no device is left for a1 and a2 together",
    ),
    "pins of one node": (
        20,
        "constraint acyclic\nconstraint memory\nconstraint pin c on d[0]\nconstraint forbid c on d[0]",
        "no device is left for c",
    ),
    "all memory": (6, "constraint acyclic\nconstraint memory", "all nodes take 13; all devices together have 12"),
    "memory of some": (
        7,
        "constraint acyclic\nconstraint memory\nconstraint forbid a1, a2, b1 on d[1]",
        "a1, a2 and b1 take 9; the devices they may be on, d[0], have 7",
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_every_method_says_the_same(case: str, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, and the node, class, cycle or devices by name, whoever was asked."""
    memory, rules, reason = CASES[case]
    path, answer = spec(memory, rules, tmp_path), tmp_path / "answer.json"
    assert run(["solve", str(path), "--method", method, "--json", str(answer)]) == 3
    found = json.loads(answer.read_text())
    assert found["status"] == "infeasible"
    assert found["infeasible"]["reason"].startswith(reason)
    assert found["infeasible"]["clash"]
    assert "No plan exists" in capsys.readouterr().out
    assert optimum(load(path)) is None


def test_the_clash_is_all_and_only_what_takes_part(tmp_path: Path) -> None:
    """A cycle is closed by acyclic and both colocations; the pins are what forbids it."""
    memory, rules, _ = CASES["a cycle and pins"]
    found = quick(load(spec(memory, rules, tmp_path)))
    assert found is not None
    assert [word.split(" (")[0] for word in found.clash] == ["acyclic", "colocate", "colocate", "pin", "pin"]


def test_a_cycle_that_does_no_harm_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where one device holds the cycle there is a plan, and the reader is told why the four nodes are together."""
    path = spec(20, PAIRS + "constraint acyclic\nconstraint memory", tmp_path)
    assert run(["solve", str(path)]) == 0
    assert CYCLE in " ".join(capsys.readouterr().out.split())
    assert run(["check", str(path)]) == 0
    assert CYCLE in capsys.readouterr().out
    assert forced_together(load(spec(20, PAIRS + "constraint memory", tmp_path))) is None


@settings(max_examples=100)
@given(training_problems())
def test_classes_are_together_in_every_plan(problem: Problem) -> None:
    """No plan has two nodes of a class apart, and a class beyond colocation has a cycle to show."""
    classes = together(problem)
    for plan in plans(problem):
        for v in range(problem.graph.n):
            assert plan.assignment[v] == plan.assignment[classes.tolist().index(classes[v])]
    if forced_together(problem) is not None:
        assert any(cycle(problem, (classes == c).nonzero()[0].tolist()) for c in set(classes.tolist()))
    if quick(problem) is not None:
        assert optimum(problem) is None


TOY = """
graph {
  node a1 (work = 1, output = 0.01)
  node a2 (work = 1, output = 0.01)
  node b1 (work = 1, output = 0.01)
  node b2 (work = 1, output = 0.01)
  edge a1 -> b1
  edge b2 -> a2
}
device d[2]
interconnect host (bandwidth = 1)
minimize bottleneck
constraint colocate a1, a2
constraint colocate b1, b2
"""
BACKWARD = """
graph {
  node f1 (work = 1)
  node f2 (work = 1)
  node f3 (work = 1)
  node b1 (work = 4, part = backward)
  node b3 (work = 4, part = backward)
  node b2 (work = 1, part = backward)
  edge f1 -> f2 -> f3
  edge b1 -> b2 -> b3
}
device d[2]
interconnect host (bandwidth = 1)
minimize bottleneck
constraint colocate b1, b3
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        (TOY, "constraint contiguous", 2.02),
        (TOY, "constraint acyclic", 4.0),
        (TOY, "", 2.02),
        (BACKWARD, "constraint contiguous (parts = forward)", 8.0),
        (BACKWARD, "constraint contiguous", 9.0),
        (BACKWARD, "constraint acyclic (parts = forward)", 8.0),
        (BACKWARD, "constraint acyclic", 9.0),
    ],
)
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_published_toys(text: str, rule: str, value: float, method: str, tmp_path: Path) -> None:
    """Convex sets with a cyclic quotient, and a backward part that is convex only when asked (MATH, sections 2, 8)."""
    path, answer = tmp_path / "toy.mtpp", tmp_path / "answer.json"
    path.write_text(text + rule + "\n")
    assert run(["solve", str(path), "--method", method, "--json", str(answer)]) == 0
    found = json.loads(answer.read_text())
    assert found["status"] == "optimal"
    assert found["objective"]["value"] == pytest.approx(value)


NODES = "node a (work = 1)\nnode b (work = 1)\nnode c (work = 1)\n"
TWO = "device p\ndevice q\n"
SPLIT = TWO + "interconnect shared (bandwidth = 1)\nminimize bottleneck\n"
COUNTED = {
    "an unsupported kind": (
        'node a (work = 1, kind = "conv")\n',
        'device p (unsupported = "conv")\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n',
        "no device can run a: p does not support the kind 'conv'",
    ),
    "a device that cannot run it": (
        NODES,
        SPLIT + 'time "a" on "q" = inf\nconstraint forbid a on p\n',
        "no device is left for a: q cannot run a",
    ),
    "no link": (
        NODES + "edge a -> b\n",
        TWO + "interconnect links\nlink p -> q (bandwidth = 1)\nminimize makespan\n"
        "constraint pin a on q\nconstraint pin b on p\n",
        "no link joins the devices that 'a' may be on to those that 'b' may be on",
    ),
    "too many apart": (
        NODES,
        SPLIT + "constraint separate a, b, c\n",
        "a, b and c are to be on 3 devices; the spec has 2 devices",
    ),
    "too many apart where they may be": (
        NODES,
        SPLIT + "constraint separate a, b\nconstraint forbid a, b on q\n",
        "a and b are to be on 2 devices; they may use 1 device",
    ),
    "together and apart": (
        NODES,
        SPLIT + "constraint separate a, c\nconstraint colocate a, b\nconstraint colocate b, c\n",
        "a and c are to be together and apart",
    ),
    "a sum that is too small": (
        NODES,
        SPLIT + "constraint r: on(a, p) + on(b, p) >= 3\n",
        "the left side of r is at most 2; it must be >= 3",
    ),
    "a sum that is too large": (
        NODES,
        SPLIT + "constraint s: bottleneck <= 9\nconstraint r: on(a, p) + on(a, q) + on(b, p) <= 0.5\n",
        "the left side of r is at least 1; it must be <= 0.5",
    ),
    "batches that do not add up": (
        NODES,
        TWO + "interconnect links (bandwidth = 1)\nmaximize throughput (batch = 6)\nconstraint forbid a on q\n"
        "constraint batch on p in [4]\nconstraint batch on q in [2]\n",
        "no batches of a, one on each of p, add up to 6 inputs",
    ),
    "batches of which several would do": (
        NODES,
        TWO + "interconnect links (bandwidth = 1)\nmaximize throughput (batch = 6)\nconstraint forbid a on q\n"
        "constraint batch on p in [2]\nconstraint batch on q in [4]\n",
        "no batches of a, one on each of p, add up to 6 inputs; 'constraint repeat up to 3' lets a device",
    ),
    "batches of two nodes that do not add up": (
        "node a\nnode b\n",
        TWO + "interconnect links (bandwidth = 1)\nmaximize throughput (batch = 4)\nconstraint repeat up to 2\n"
        "constraint colocate a, b\n"
        + "".join(
            f'time "{v}" on "{d}" at batch {size} = {1 if size == only else "inf"}\n'
            for v, d, only in (("a", "p", 3), ("a", "q", 1), ("b", "p", 1), ("b", "q", 3))
            for size in (1, 2, 3, 4)
        ),
        "no batches of a and b, at most 2 on each of p and q, add up to 4 inputs",
    ),
}


@pytest.mark.parametrize("case", COUNTED)
def test_what_counting_shows(case: str) -> None:
    """The reason says what is impossible, and no plan is there."""
    nodes, rest, reason = COUNTED[case]
    problem = load(f"mtpp 1\ngraph {{\n{nodes}}}\n{rest}")
    contradiction = quick(problem)
    assert contradiction is not None
    assert contradiction.reason.startswith(reason)
    assert optimum(problem) is None
