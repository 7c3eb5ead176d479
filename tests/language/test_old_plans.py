"""Earlier plans: what ``import plan`` reads, and what ``moved`` counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.language.lowering.lower import load

SPEC = """
graph { node a[i in 0..<4] (work = 3 - mod(i, 2), output = 1) edge a[i] -> a[i + 1] for i in 0..<3 }
device gpu[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
import plan "old.json"
"""
OLD = {f"a[{i}]": "gpu[0]" for i in range(4)}


def spec(folder: Path, text: str, old: object) -> Path:
    """Write a spec and its earlier plan; return its path."""
    (folder / "old.json").write_text(json.dumps(old))
    (folder / "s.mtpp").write_text(SPEC + text)
    return folder / "s.mtpp"


def test_moved_counts_what_is_elsewhere(tmp_path: Path) -> None:
    """The optimum under a limit of moves is that of all plans in which so few nodes are elsewhere."""
    for most in range(4):
        problem = load(spec(tmp_path, f"constraint few: sum(moved(v) for v in nodes) <= {most}", OLD))
        best = min(cost_of(problem, plan) for plan in plans(problem) if np.count_nonzero(plan.assignment) <= most)
        assert mtpp_dsl.solve(problem, method="exact").cost == pytest.approx(best)
        assert "old.json" in problem.origin.files


def test_answers_are_earlier_plans(tmp_path: Path) -> None:
    """An answer of mtpp is read, its plan alone, and nodes by their devices."""
    path = spec(tmp_path, "", OLD)
    assert run(["solve", str(path), "--json", str(tmp_path / "answer.json"), "-q"]) == 0
    answer = json.loads((tmp_path / "answer.json").read_text())
    assignment = answer["plan"]["assignment"]
    kept = "constraint none: sum(moved(v) for v in nodes) == 0"
    for old in (answer, answer["plan"], assignment):
        result = mtpp_dsl.solve(load(spec(tmp_path, kept, old)), method="exact")
        assert dict(result.plan.items()) == assignment  # type: ignore[union-attr]


def test_plans_of_other_problems(tmp_path: Path) -> None:
    """Nodes that are new have not moved, those of a device that is gone have; a warning says so."""
    old = {"a[0]": "tpu", "a[1]": "gpu[1]", "other": "gpu[0]"}
    problem = load(spec(tmp_path, "constraint few: sum(moved(v) for v in nodes) <= 1", old))
    assert any("places nodes that the graph does not have" in warning for warning in problem.warnings)
    (row,) = problem.constraints
    assert [(decision.node, decision.device, weight) for decision, weight in row.terms] == [(1, 1, -1.0)]  # type: ignore[attr-defined]
    assert row.rhs == -1  # type: ignore[attr-defined]
    assert "does not place all nodes" in load(spec(tmp_path, "", {"a[0]": "gpu[0]"})).warnings[0]
    assert "on devices that there are not" in load(spec(tmp_path, "", {**OLD, "a[0]": "tpu"})).warnings[0]


@pytest.mark.parametrize(("old", "cost"), [({"a[1]": "gpu[0]"}, 0.0), ({"a[0]": "tpu", "a[1]": "gpu[0]"}, 2.0)])
def test_objectives_of_nodes_that_the_plan_says_nothing_of(tmp_path: Path, old: object, cost: float) -> None:
    """What moved counts may be the same for every plan: it is a decision still, which an objective may be made of."""
    problem = load(spec(tmp_path, "minimize moves: 2 * moved(a[0])", old))
    assert mtpp_dsl.solve(problem, method="exact").objectives[1].cost == cost
    with pytest.raises(SpecError, match="not linear"):
        load(spec(tmp_path, "minimize moves: moved(a[0]) * moved(a[1])", old))


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ({"b": "gpu[0]"}, "has a plan of other nodes"),
        ({}, "holds no plan"),
        ([1], "holds no plan"),
        ({"plan": None, "schema": 2}, "holds no plan"),
        ({"schema": 2, "front": []}, "is a front of several answers"),
        ({"assignment": {"a[0]": ["gpu[0]", "gpu[1]"]}}, "does not have node 'a[0]' on one device"),
    ],
)
def test_what_is_no_earlier_plan(tmp_path: Path, old: object, said: str) -> None:
    """A file without a plan of this graph is one error, in its place, and moved adds none."""
    with pytest.raises(SpecError) as caught:
        load(spec(tmp_path, "constraint few: sum(moved(v) for v in nodes) <= 1", old))
    (found,) = caught.value.diagnostics
    assert said in found.message
    assert found.span is not None
    assert found.span.text == '"old.json"'
