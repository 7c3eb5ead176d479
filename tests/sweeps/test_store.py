"""The database of results: what is put is there, each run once, whoever else has the file open."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store import leases
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import Store
from tests.own_time import within
from tests.sweeps.rows import a_run, an_outcome
from tests.tree import ROOT


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "results.sqlite") as opened:
        yield opened


def test_row_holds_run_and_outcome(store: Store) -> None:
    run = a_run("é", params={"k": 2, "rate": "1 GB/s"}, options={"channels": 1}, gap=0.01, group="regal", seed=3)
    outcome = an_outcome(
        2.5, bound=2.0, gap=0.2, log=((0.1, 3.0, None), (0.2, 2.5, 2.0)), versions={"highspy": "1"}, memory=2**40
    )
    assert store.put(run, outcome)
    (row,) = store.rows()
    assert isinstance(row, RunRow)
    for name in {each.name for each in fields(Run)} - {"folder", "data"}:
        column = {"group": "grp", "gap": "gap_limit"}.get(name, name)
        assert getattr(row, column) == getattr(run, name), name
    for name in ("status", "value", "bound", "gap", "seconds", "versions", "memory", "error", "attempts"):
        assert getattr(row, name) == getattr(outcome, name), name
    assert row.log == [[0.1, 3.0, None], [0.2, 2.5, 2.0]]
    assert store.columns(["value", "params"]) == {"value": [2.5], "params": [{"k": 2, "rate": "1 GB/s"}]}


@pytest.mark.parametrize("answer", ["{}", "é" * 100_000, None])
def test_answer_is_kept_whole(store: Store, answer: str | None) -> None:
    store.put(a_run(), an_outcome(answer=answer))
    assert store.answer(a_run().key) == answer
    assert store.path.stat().st_size < 60_000


def test_rows_stay_when_the_store_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a ?#%.sqlite"
    with Store.open(path) as store:
        store.put(a_run("a"), an_outcome())
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with Store.open(path, readonly=True) as store:
        assert [row.problem for row in store.rows()] == ["a"]
        with pytest.raises(UsageError, match="open for reading only"):
            store.put(a_run("b"), an_outcome())
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with Store.open(path) as store:
        assert [run.problem for run in store.pending([a_run("a"), a_run("b"), a_run("b")])] == ["b"]


def test_rows_are_chosen_by_columns(store: Store) -> None:
    for seed in range(3):
        for method in ("heft", "etf"):
            store.put(a_run(seed=seed, method=method), an_outcome(float(seed)))
    assert store.columns(["value"], method="etf", seed=[1, 2]) == {"value": [1.0, 2.0]}
    assert [row.seed for row in store.rows(method="heft")] == [0, 1, 2]
    assert store.columns(["value"], method="none") == {"value": []}
    assert len(store) == 6
    with pytest.raises(UsageError, match="no column 'metod'; did you mean 'method'"):
        store.columns(["metod"])
    with pytest.raises(UsageError, match="no column"):
        list(store.rows(**{"1=1; --": 0}))


def test_retry_replaces_the_row_when_it_is_done(store: Store) -> None:
    run, other = a_run("a"), a_run("b")
    store.put(run, an_outcome(None, status="crashed", error="signal 11", answer="{}"))
    store.put(other, an_outcome(None, status="refused"))
    assert store.pending([run, other]) == []
    assert store.pending([run, other], retry=["crashed"]) == [run]
    assert store.claim([run.key, other.key]) == [run.key]
    assert store.columns(["status"], problem="a") == {"status": ["crashed"]}, "it stays until there is another"
    store.put(run, an_outcome(1.0, attempts=2))
    assert store.columns(["status", "attempts"], problem="a") == {"status": ["feasible"], "attempts": [3]}
    assert store.answer(run.key) is None


def test_run_of_a_changed_spec_is_not_done(store: Store) -> None:
    store.put(a_run(), an_outcome(None, status="changed"))
    assert store.done() == set()
    assert store.pending([a_run()]) == [a_run()]


def test_two_stores_share_the_runs(store: Store) -> None:
    runs = [a_run(seed=seed) for seed in range(6)]
    with Store.open(store.path) as other:
        assert store.pending(runs) == other.pending(runs) == runs
        keys = [run.key for run in runs]
        assert store.claim(keys, most=2) == keys[:2]
        assert other.claim(keys, most=2) == keys[2:4]
        assert store.elsewhere() == {*keys[2:4]}
        assert store.put(runs[0], an_outcome())
        assert other.claim(keys) == keys[2:], "neither what is done nor what the first is at"
        other.release(keys[4:5])
        assert store.claim(keys) == [keys[1], keys[4]]
        store.release()
    assert store.elsewhere() == set()
    assert store.claim(keys) == keys[1:]


def test_run_that_another_has_retried_is_not_retried_again(store: Store) -> None:
    store.put(a_run(), an_outcome(None, status="crashed"))
    with Store.open(store.path) as other:
        for each in (store, other):
            assert each.pending([a_run()], retry=["crashed"])
        assert other.claim([a_run().key])
        other.put(a_run(), an_outcome(None, status="crashed"))
        assert store.claim([a_run().key]) == []


def test_lease_that_ran_out_is_anybodys(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run()
    with Store.open(store.path) as other:
        assert store.claim([run.key], seconds=60)
        assert other.claim([run.key]) == []
        store.renew(seconds=-1)
        assert other.claim([run.key]) == [run.key]
        assert other.put(run, an_outcome(1.0))
        assert not store.put(run, an_outcome(2.0)), "it came too late"
    assert store.columns(["value", "attempts"]) == {"value": [1.0], "attempts": [1]}
    now = time.time()
    assert leases.holds("elsewhere:1:2:3", now + 60, now)
    assert not leases.holds("elsewhere:1:2:3", now + 1e9, now), "a clock that is wrong holds nobody up"


def test_database_that_was_removed_takes_no_more_rows(store: Store) -> None:
    store.put(a_run("a"), an_outcome())
    kept = store.path.rename(store.path.with_name("moved"))
    for _ in range(2):
        with pytest.raises(UsageError, match="moved, replaced or removed"):
            store.put(a_run("b"), an_outcome())
        store.path.write_bytes(kept.read_bytes())
    store.path.unlink()
    kept.rename(store.path)
    assert store.put(a_run("b"), an_outcome())


DIES = """
import os, signal, sys
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run
print(*Store.open(sys.argv[1]).claim([a_run().key]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="elsewhere nobody tells when a process began")
def test_leases_of_a_process_that_was_killed_are_free_at_once(store: Store) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIES, store.path], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.split() == [a_run().key], done.stderr
    assert store.elsewhere() == set()
    assert store.claim([a_run().key]) == [a_run().key]


@pytest.mark.long
def test_ten_thousand_rows_are_read_at_once(store: Store) -> None:
    """Columns of 10,000 rows take some hundredths of a second, all of them with their logs less than a second."""
    store.put(a_run(), an_outcome(log=tuple((float(i), 1.0, None) for i in range(5))))
    (row,) = store.rows()
    store.copy((replace(row, key=f"{i:064}", seed=i, params={"k": i}), None) for i in range(10_000))
    with within(0.5, "columns"):
        columns = store.columns(["problem", "label", "seed", "status", "value", "bound", "seconds", "params"])
    with within(2, "rows"):
        rows = [*store.rows()]
    assert len(columns["params"]) == len(rows) == 10_001
