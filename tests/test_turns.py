"""Tests that take long take turns, and what is recorded of them is of tests that are there."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.tree import ROOT
from tests.turns import RAREST, has_turn, recorded, seconds_of


def test_what_is_recorded_is_there() -> None:
    """Each name is that of a test function: if one is renamed, ``python -m tests.tools.durations`` measures anew."""
    functions = defaultdict(set)
    for test in recorded():
        file, _, name = test.partition("::")
        functions[file].add(name.partition("[")[0].rpartition("::")[2])
    for file, names in functions.items():
        nodes = ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        assert names <= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_has_a_turn() -> None:
    """Each has one or more of so many turns in a row; no turn takes much longer than another."""
    assert all(any(has_turn(test, turn) for turn in range(RAREST)) for test in recorded())
    seconds = [taken(turn) for turn in range(60)]
    assert max(seconds) <= 1.6 * min(seconds)
    assert has_turn("tests/test_new.py::test_new", 1)
    assert seconds_of("tests/test_new.py::test_new") == 0


def taken(turn: int) -> float:
    """Return the seconds that a turn takes; of tests that share a fixture, only the first sets it up."""
    rows = {test: row for test, row in recorded().items() if has_turn(test, turn)}
    shared = defaultdict(list)
    for test, row in rows.items():
        shared[test.partition("::")[0] if row.shared else test].append(row.seconds)
    return sum(min(own) + sum(seconds - min(own) for seconds in own) for own in shared.values())


def test_what_shares_a_fixture_has_the_same_turns() -> None:
    turns = defaultdict(set)
    for test, row in recorded().items():
        if row.shared:
            turns[test.partition("::")[0], row.shared].add(tuple(has_turn(test, turn) for turn in range(RAREST)))
    assert len(turns) > 1
    assert all(len(own) == 1 for own in turns.values())
