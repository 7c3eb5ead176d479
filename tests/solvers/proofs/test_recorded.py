"""Recorded certificates prove what they proved, and that is no more than the optimum: the checkers alone, no solver.

``python -m tests.tools.certificates`` records them anew: small ones that take the checkers through most of their
branches, at the largest targets that they prove and beyond, and with fields changed. Those that tell a small fault in a
checker from the checker as it is are recorded by ``python -m tests.tools.mutants.telling``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem

RECORD = Path(__file__).parent / "recorded.jsonl"
FOR_FAULTS = Path(__file__).parent / "recorded_for_faults.jsonl"
RECORDS = [json.loads(line) for path in (RECORD, FOR_FAULTS) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def problem_of(spec: str) -> Problem:
    return mtpp_dsl.load(spec)


def proves(kind: str, problem: Problem, data: Mapping[str, Any]) -> float:
    try:
        return float(registry.load(registry.PROOFS, kind)().prove(problem, data, Limits(time=60.0)))
    except UsageError:
        return 0.0


@pytest.mark.parametrize("number", range(len(RECORDS)), ids=lambda i: f"{RECORDS[i]['kind']}-{i}")
def test_they_prove_what_they_proved(number: int) -> None:
    record = RECORDS[number]
    for data, value in record["cases"]:
        assert record["optimum"] is None or value <= record["optimum"] * (1 + 1e-9)
        assert proves(record["kind"], problem_of(record["spec"]), data) == pytest.approx(value, rel=2e-13, abs=0.0)


def test_each_kind_is_recorded() -> None:
    assert {record["kind"] for record in RECORDS} == set(registry.available(registry.PROOFS))


def out_of_time(record: Mapping[str, Any]) -> bool:
    """Return whether a certificate that proves something is left unchecked where no time is left, and for that."""
    data = next((data for data, value in record["cases"] if value > 0), None)
    if data is None:
        return False
    try:
        registry.load(registry.PROOFS, record["kind"])().prove(problem_of(record["spec"]), data, Limits(time=0.0))
    except UsageError as error:
        return "time" in str(error)
    return False


@pytest.mark.parametrize(
    "kind", ["batches", "count", "cuts", "halves", "ideals", "leaves", "path-hull", "routes", "windows"]
)
def test_they_look_at_the_clock(kind: str) -> None:
    assert any(out_of_time(record) for record in RECORDS if record["kind"] == kind)


class Little(Limits):
    """Limits with some time left, however long it takes."""

    @property
    def remaining(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    "kind", ["anchors", "batches", "count", "cuts", "halves", "ideals", "path-hull", "routes", "series", "windows"]
)
def test_a_little_time_is_time(kind: str) -> None:
    """The first and the last two certificates of a kind that prove something prove it when half a second is left."""
    proofs = [(r["spec"], data, value) for r in RECORDS if r["kind"] == kind for data, value in r["cases"] if value > 0]
    for spec, data, value in [*proofs[:2], *proofs[-2:]]:
        checker = registry.load(registry.PROOFS, kind)()
        assert checker.prove(problem_of(spec), data, Little()) == pytest.approx(value, rel=2e-13, abs=0.0)
