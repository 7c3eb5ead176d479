"""Faults that are put into checkers and scopes are those that the list of kinds says, and each compiles."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from tests.tools.mutants.__main__ import LIST
from tests.tools.mutants.changes import Mutant, changed_tree, faults_in, mutants, mutants_of
from tests.tools.mutants.covering import last_line
from tests.tools.mutants.places import scope_files, whole_files
from tests.tools.mutants.verdicts import Verdicts
from tests.tree import ROOT

TEXT = '''
def broken(used: float, room: float, names: list[str], most: int = 3) -> bool:
    """Return whether 1 < 2."""
    for name in names:
        if not name:
            continue
    if used > room * 1e-9 and max(names):
        raise ValueError(f"{used + room}")
    return used + 1 >= room
'''
EXPECTED = {
    "not name -> True",
    "not name -> False",
    "not name -> name",
    "continue -> break",
    "used > room * 1e-09 and max(names) -> True",
    "used > room * 1e-09 and max(names) -> False",
    "used > room * 1e-09 and max(names) -> used > room * 1e-09 or max(names)",
    "used > room * 1e-09 -> used >= room * 1e-09",
    "used > room * 1e-09 -> used <= room * 1e-09",
    "room * 1e-09 -> room / 1e-09",
    "max -> min",
    "raise ValueError(f'{used + room}') -> pass",
    "return used + 1 >= room -> return None",
    "used + 1 >= room -> used + 1 > room",
    "used + 1 >= room -> used + 1 < room",
    "used + 1 -> used - 1",
    "1 -> 2",
}


def test_kinds() -> None:
    """Docstrings, annotations, defaults, texts of errors and tolerances stay as they are."""
    assert {f"{mutant.before} -> {mutant.after}" for mutant in faults_in(ast.parse(TEXT), "text.py")} == EXPECTED


def test_scopes() -> None:
    """Each claim of a scope is left out, or its flag is turned."""
    tree = ast.parse("SCOPE = Scope(objectives=('makespan', 'batch'), checked=KINDS, soft=True)")
    changes = {f"{mutant.before} -> {mutant.after}" for mutant in faults_in(tree, "text.py", in_scopes=True)}
    assert changes == {
        "'makespan' -> left out",
        "'batch' -> left out",
        "checked=KINDS -> left out",
        "soft=True -> soft=False",
    }


@pytest.mark.parametrize("path", [whole_files()[0], scope_files()[0]], ids=lambda path: path.stem)
def test_files(path: object) -> None:
    """The faults of our own files are there, differ in their names, and give code that compiles."""
    own = [mutant for mutant in mutants() if ROOT / mutant.path == path]
    assert own
    assert len({mutant.name for mutant in own}) == len(own)
    for mutant in own[:: max(1, len(own) // 10)]:
        with changed_tree(mutant) as tree:
            compile(tree, mutant.path, "exec")


def test_known_ones_are_there() -> None:
    """What is listed as a fault that changes nothing is one that can be put in, and has a reason."""
    known = tomllib.loads(LIST.read_text(encoding="utf-8"))
    assert known.keys() <= {mutant.name for mutant in mutants()}
    assert all(len(reason) > 20 for reason in known.values())


def test_one_that_is_gone() -> None:
    """A fault that a file no longer has is not put anywhere."""
    gone = Mutant(mutants_of(whole_files()[0])[0].path, 1, "nowhere", "1", "2", False)
    with pytest.raises(LookupError, match="nowhere"), changed_tree(gone):
        pass


def test_lines_of_a_statement() -> None:
    """The lines whose tests a fault needs are those of its statement."""
    tree = ast.parse("def f():\n    if a:\n        return (b +\n            c)\n    return d\n")
    assert [last_line(tree, line) for line in (2, 3, 5)] == [2, 4, 5]


def test_verdicts_are_kept(tmp_path: Path) -> None:
    """The last verdict on a fault counts, for the same fault alone."""
    one, other = mutants_of(whole_files()[0])[:2]
    for verdict in ("survived", "killed"):
        Verdicts(tmp_path / "verdicts.jsonl").keep(one, verdict)
    kept = Verdicts(tmp_path / "verdicts.jsonl")
    assert (kept.of(one), kept.of(other)) == ("killed", None)
