"""Random specs in the language's own text: what is read, answered and proved, against an evaluator of its own."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import mtpp_dsl
from tests.amount import part
from tests.tools.fuzzer.families import FAMILIES, make
from tests.tools.fuzzer.instance import Rule
from tests.tools.fuzzer.optimum import optimum
from tests.tools.fuzzer.reading import differences
from tests.tools.fuzzer.shrinking import plainly, shrunk
from tests.tools.fuzzer.trial import QUICK, try_instance, wrong
from tests.tree import ROOT

COUNT = 200
BLOCK = 25
SECONDS = 10.0
"""No answer takes as long; a machine that is busy must not turn one into another."""


@pytest.mark.parametrize("first", range(0, part(COUNT, 8), BLOCK))
@pytest.mark.parametrize("family", FAMILIES)
def test_specs(family: str, first: int, tmp_path: Path) -> None:
    """Each instance is read as it is meant, and answered by one method, in turns; nothing is wrong."""
    wrongs, answers, unread = [], 0, 0
    for seed in range(first, first + BLOCK):
        trial = try_instance(make(family, seed), [QUICK[family][seed % len(QUICK[family])]], tmp_path, SECONDS)
        wrongs += [f"{family} {seed} {method}: {what}" for method, what in trial.failures]
        answers += len(trial.answers)
        unread += bool(trial.unread)
    assert not wrongs, "\n".join(
        [*wrongs, f"again: python -m tests.tools.fuzzer {family} --seed {wrongs[0].split()[1]}"]
    )
    assert answers > BLOCK / 4
    assert unread < BLOCK / 10


def test_every_feature_is_written() -> None:
    """A few hundred specs have all that the tool is for."""
    found: set[str] = set().union(*(make(family, seed).features for family in FAMILIES for seed in range(COUNT)))
    assert found >= {
        "replicate", "groups", "include", "import", "graph from file", "times from", "time", "param", "-D", "let",
        "time per pair", "family", "family formula", "comprehension", "set by condition", "override", "labelled row",
        "forall", "memory", "reserve", "overflow", "colocate", "separate", "pin", "acyclic", "contiguous", "subgraphs",
        "exclusive links", "break symmetry", "parts = separate", "unsupported", "speed", "io free", "batch sizes",
    }  # fmt: skip
    assert any({"replicate", "groups"} <= make("shared", seed).features for seed in range(COUNT))


def test_nothing_of_the_project_decides() -> None:
    """The tool imports the project's reader, its solve and its errors, and nothing that evaluates."""
    folder = ROOT / "tests" / "tools" / "fuzzer"
    names = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
            names |= {node.module or ""} if isinstance(node, ast.ImportFrom) else set()
    assert {name for name in names if name.startswith("mtpp_dsl")} == {"mtpp_dsl", "mtpp_dsl.errors"}
    assert not any(name.startswith("tests.") and not name.startswith("tests.tools.fuzzer") for name in names)


def a_feasible(family: str, seed: int, folder: Path) -> tuple:
    """Return an instance with a plan, from a seed on, the problem that it is read as, and its optimum."""
    while True:
        inst = make(family, seed)
        seed += 1
        best = optimum(inst)
        usual = inst.k > 1 and inst.edges and not inst.rows and not inst.of("Replicate") and inst.between is None
        if best is not None and best > 0 and usual:
            return inst, mtpp_dsl.load(inst.written(folder), **inst.defines), best


METHOD = {"shared": "auto", "host": "auto", "links": "moirai", "latency": "latency", "batch": "batched"}


@pytest.mark.parametrize("family", FAMILIES)
def test_wrong_answers_are_found(family: str, tmp_path: Path) -> None:
    """A bound above the optimum, a cost that is too low, a false "optimal" and a false "infeasible" are each told."""
    inst, problem, best = a_feasible(family, 7, tmp_path)
    result = mtpp_dsl.solve(problem, METHOD[family], time_limit=SECONDS)
    assert not list(wrong(inst, problem, result, "", best))
    assert result.bound is not None
    high = replace(result, bound=replace(result.bound, cost=best * 1.01))
    assert any("above the optimum" in what for what in wrong(inst, problem, high, "", best))
    assert any("the optimum is" in what for what in wrong(inst, problem, result, "", best * 1.01))
    assert any("optimal" in what for what in wrong(inst, problem, result, "", best * 0.99))
    none = SimpleNamespace(status="infeasible", infeasibility=SimpleNamespace(reason=""), bound=None, plan=None)
    assert list(wrong(inst, problem, none, "", best))
    assert not list(wrong(inst, problem, none, "", None))


@pytest.mark.parametrize("family", FAMILIES)
def test_wrong_readings_are_found(family: str, tmp_path: Path) -> None:
    """A node, an edge, a device or a constraint that is read as another one is told."""
    inst, problem, _ = a_feasible(family, 7, tmp_path)
    assert not list(differences(inst, problem))
    for change in (
        lambda other: setattr(other.nodes[0], "work", other.nodes[0].work + 1),
        lambda other: setattr(other.nodes[-1], "kind", "other"),
        lambda other: other.edges.popitem(),
        lambda other: setattr(other.devices[0], "reserve", other.devices[0].reserve + 1),
        lambda other: setattr(other.devices[0], "speed", other.devices[0].speed * 2),
        lambda other: other.rules.append(Rule("Separate", nodes=(0, 1), devices=(0,))),
    ):
        other = copy.deepcopy(inst)
        change(other)
        assert list(differences(other, problem))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_failures_are_made_small(family: str, tmp_path: Path) -> None:
    """An instance written plainly is read as the same, with its optimum; what a failure does not need is left out."""
    made = [make(family, seed) for seed in range(25)]
    made = [inst for inst in made if inst.carried is None and not any(node.times for node in inst.nodes)]
    for inst in made:
        trial = try_instance(plainly(inst), [], tmp_path, SECONDS)
        assert not trial.failures
        assert trial.unread or trial.best == optimum(inst)
    small = shrunk(made[-1], lambda other: any(node.work > 0 for node in other.nodes))
    assert small is not None
    assert (small.n, small.rules, small.rows) == (1, [], [])
