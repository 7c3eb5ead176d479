"""What --only and --retry choose, and what is said where they choose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.outcome import FAILED, STATUSES
from mtpp_dsl.sweeps.store.selection import chosen, statuses
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome

RUNS = [
    a_run("regal-k2", params={"k": 2, "fast": True}, method="heft", label="heft", group="regal"),
    a_run("regal-k4", params={"k": 4, "fast": False}, method="heft", label="heft", group="regal"),
    a_run("a=b[0]", params={"k": 8}, method="milp-split", label="milp-split (1)", seed=3),
]


@pytest.mark.parametrize(
    ("only", "which"),
    [
        ([], [0, 1, 2]),
        (["regal-*"], [0, 1]),
        (["group=regal", "k=4"], [1]),
        (["k=2,8"], [0, 2]),
        (["label=milp-split (1)"], [2]),
        (["method=milp*", "seed=3"], [2]),
        (["fast=true"], [0]),
        (["a=b[0]"], [2]),
        ([f"key={RUNS[1].key[:12]}*"], [1]),
    ],
)
def test_only(only: list[str], which: list[int]) -> None:
    assert chosen(RUNS, only) == [RUNS[i] for i in which]


@pytest.mark.parametrize("only", ["started=2026-01-02*", "spec_sha256=b*"])
def test_rows_of_a_spec_as_it_is_now(only: str, tmp_path: Path) -> None:
    """After a spec has been changed, its old rows can be left out."""
    with Store.open(tmp_path / "a.sqlite") as store:
        for seed, sha, day in ((0, "a", 1), (1, "b", 2)):
            store.put(a_run(seed=seed, spec_sha256=sha), an_outcome(started=f"2026-01-0{day}T00:00:00"))
        assert [row.seed for row in chosen([*store.rows()], [only])] == [1]


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("method=hft", "no run is left; there are heft, milp-split; did you mean 'heft'"),
        ("metod=heft", "there is no field 'metod'; did you mean 'method'"),
        ("status=optimal", "there is no field 'status'"),
        ("regal-k3", "no run is left; there are a=b.*did you mean 'regal-k4'"),
    ],
)
def test_only_that_fits_nothing(only: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen(RUNS, [only])


def test_only_of_rows(tmp_path: Path) -> None:
    with Store.open(tmp_path / "x.sqlite") as store:
        for run, status in zip(RUNS, ("optimal", "crashed", "killed"), strict=True):
            store.put(run, an_outcome(status=status))
        rows = chosen([*store.rows()], ["status=crashed,killed", "group=regal"])
    assert [row.problem for row in rows] == ["regal-k4"]


def test_retry() -> None:
    assert statuses("failed") == FAILED
    assert statuses("all") == STATUSES
    assert statuses("failed, unknown") == FAILED | {"unknown"}
    with pytest.raises(UsageError, match=r"no such status, only failed.*; did you mean 'crashed'"):
        statuses("crashd")
