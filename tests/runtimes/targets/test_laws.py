"""Tests that every target keeps to the contract, and that the suite finds one that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.targets import Files, Split, Stamp
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.node_tables import Csv
from mtpp_dsl.solving import testing
from tests.runtimes.targets.splits import forms, target_of


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", forms())
def test_targets_keep_to_the_contract(name: str) -> None:
    testing.check_target(target_of(name))


class Takes(Csv):
    def restrict(self, problem: Problem) -> Problem:
        return problem.with_constraints([])


class Silent(Csv):
    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        (text,) = super().export(problem, plan, stamp).values()
        assert isinstance(text, str)
        return {"plan.csv": "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))}


class Elsewhere(Csv):
    def read(self, source: Path | str, problem: Problem) -> Split:
        return Split(tuple(reversed(super().read(source, problem).assignment)))


class Picky(Csv):
    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        if plan.assignment[0] != 0:
            raise UsageError("not this one")
        return super().export(problem, plan, stamp)


class Folder(Csv):
    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        return {f"../{name}": content for name, content in super().export(problem, plan, stamp).items()}


class Gullible(Csv):
    def read(self, source: Path | str, problem: Problem) -> Split:
        try:
            return super().read(source, problem)
        except UsageError:
            return Split((0,) * problem.graph.n)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Silent, "no file says what it was made from"),
        (Elsewhere, "for another split"),
        (Picky, "refuses a plan that the constraints of restrict"),
        (Folder, "no folders in them"),
        (Gullible, "it is taken for a split"),
    ],
)
def test_the_suite_finds_what_is_wrong(kind: Callable[[], Csv], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        testing.check_target(kind())


def test_a_target_that_takes_constraints_away_is_refused() -> None:
    from mtpp_dsl.core.errors import PluginError
    from mtpp_dsl.core.problem.variants import targeted
    from mtpp_dsl.solving.plugins.laws import stacks

    problem = next(iter(stacks().values())).with_constraints([Acyclic()])
    with pytest.raises(PluginError, match="changes more of a problem than that it adds constraints"):
        targeted(problem, "takes", Takes().restrict)
