"""Several databases as one: each run once, by its best result."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.merging import merge
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome


def make(path: Path, *given: tuple[str, str, str]) -> Path:
    with Store.open(path) as store:
        for problem, status, ended in given:
            store.put(a_run(problem), an_outcome(status=status, ended=ended, answer=f'"{path.stem}"' * 3000))
    return path


def test_best_of_each_run_stays_in_any_order(tmp_path: Path) -> None:
    sources = [
        make(
            tmp_path / "a",
            ("x", "optimal", "2026-01-01"),
            ("y", "crashed", "2026-01-05"),
            ("z", "unknown", "2026-01-01"),
        ),
        make(
            tmp_path / "b",
            ("x", "killed", "2026-01-09"),
            ("y", "refused", "2026-01-02"),
            ("z", "optimal", "2026-01-02"),
        ),
        make(tmp_path / "c", ("x", "crashed", "2026-01-02"), ("w", "error", "2026-01-01")),
    ]
    for i, order in enumerate(permutations(sources)):
        into = tmp_path / f"into{i}"
        merge(into, order)
        with Store.open(into, readonly=True) as store:
            rows = {row.problem: (row.status, row.ended, store.answer(row.key)[1:2]) for row in store.rows()}
        assert rows == {
            "w": ("error", "2026-01-01", "c"),
            "x": ("optimal", "2026-01-01", "a"),
            "y": ("refused", "2026-01-02", "b"),
            "z": ("optimal", "2026-01-02", "b"),
        }
    (again,) = merge(into, [tmp_path / "a"])
    assert (again.added, again.replaced, again.kept, again.damaged) == (0, 0, 3, 0)


def test_damaged_database_gives_what_it_still_holds(tmp_path: Path) -> None:
    source = tmp_path / "damaged.sqlite"
    with Store.open(source) as store:
        for i in range(300):
            store.put(a_run(f"p{i}"), an_outcome(error="x" * 2000))
    data = bytearray(source.read_bytes())
    page = 4096 * (len(data) // 4096 // 2)
    data[page : page + 4096] = b"\xff" * 4096
    source.write_bytes(data)
    with pytest.raises(UsageError, match="damaged; mtpp bench merge"), Store.open(source, readonly=True) as store:
        list(store.rows())
    (merged,) = merge(tmp_path / "saved.sqlite", [source])
    assert merged.added >= 290
    assert merged.added + merged.damaged == 300
    with Store.open(tmp_path / "saved.sqlite") as store:
        assert len([*store.rows()]) == merged.added


def test_what_cannot_be_merged(tmp_path: Path) -> None:
    path = make(tmp_path / "a", ("x", "optimal", ""))
    with pytest.raises(UsageError, match="into itself"):
        merge(path, [path])
    with pytest.raises(UsageError, match="there is no database"):
        merge(path, [tmp_path / "none"])
    (tmp_path / "text").write_text("key,value\n" * 100)
    with pytest.raises(UsageError, match="no SQLite database"):
        merge(path, [tmp_path / "text"])
