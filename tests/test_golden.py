"""The comparison of answers with a record says what is different, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.golden import comparing
from tests.tools.golden.comparing import differences
from tests.tools.golden.running import FOLDER

SOLVED: dict[str, Any] = {
    **dict.fromkeys(comparing.EXACT),
    "kind": "solved",
    "status": "feasible",
    "termination": "complete",
    "method": "heft",
    "cost": (10.0).hex(),
    "bound": (5.0).hex(),
    "bound method": "simple",
    "text": "",
}
LAST_BIT = (10.0 + 2**-49).hex()


@pytest.mark.parametrize(
    ("mark", "change", "count"),
    [
        ({}, {}, 0),
        ({}, {"cost": LAST_BIT}, 1),
        ({}, {"certificate": "0a"}, 1),
        ({}, {"bound method": "anchor", "termination": "gap"}, 2),
        ({}, {"text": "in other words"}, 0),
        ({}, {"kind": "refused"}, 1),
        ({"loose": ["cost", "plan"]}, {"cost": LAST_BIT, "plan": "0a"}, 0),
        ({"loose": ["cost", "plan"]}, {"cost": (10.3).hex()}, 1),
        ({"loose": ["cost", "plan"]}, {"termination": "gap"}, 1),
        ({"timed": True}, {"cost": (10.1).hex(), "bound": (4.95).hex(), "status": "bound"}, 0),
        ({"timed": True}, {"cost": (10.3).hex(), "bound": (4.8).hex()}, 2),
        ({"timed": True}, {"cost": (9.0).hex(), "bound": (6.0).hex()}, 0),
        ({"timed": True}, {"bound": None}, 1),
        ({"steps": True}, {"plan": "0a", "cost": (10.1).hex()}, 0),
        ({"steps": True}, {"status": "optimal"}, 1),
        ({"steps": True, "status": "optimal"}, {"status": "optimal", "cost": LAST_BIT, "bound": None}, 0),
        ({"steps": True, "status": "optimal"}, {"status": "optimal", "cost": (10 + 1e-7).hex()}, 1),
    ],
)
def test_what_differs(mark: dict[str, Any], change: dict[str, Any], count: int) -> None:
    assert len(list(differences({**SOLVED, **mark}, {**SOLVED, **change}))) == count


def test_refusals_differ_in_whether_not_in_what_they_say() -> None:
    refused = {"kind": "refused", "text": "it cannot"}
    assert not list(differences(refused, {"kind": "refused", "text": "It cannot."}))
    assert list(differences(refused, SOLVED))
    assert list(differences(refused, {"kind": "error", "error": "SolverError", "text": ""}))


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    answers = {"a/b heft": SOLVED, "a/b met": {"kind": "refused", "text": "it cannot", "seconds": 0.1}}
    comparing.write(tmp_path / "record.json", answers, {"seed": 1})
    assert comparing.read(tmp_path / "record.json") == (answers, {"seed": 1})


def test_the_record_has_the_problems_that_are_there() -> None:
    answers, _ = comparing.read(FOLDER / "record.json")
    there = {path.relative_to(FOLDER / "problems").with_suffix("").as_posix() for path in FOLDER.rglob("*.mtpp")}
    assert {name.split(" ")[0] for name in answers} == there
