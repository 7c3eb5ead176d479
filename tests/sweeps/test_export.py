"""Rows for other programs: CSV, Parquet, pandas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.export import export, table_of, to_csv
from mtpp_dsl.sweeps.store.rows import COLUMNS
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome

SECONDS = 0.1 + 0.2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "x.sqlite") as opened:
        opened.put(a_run('a, "b"\nc', params={"k": 2, "rate": "1 GB/s"}, seed=2**40), an_outcome(SECONDS, memory=2**40))
        opened.put(
            a_run("é", params={"k": 4, "fast": True}), an_outcome(None, status="unknown", log=((1.0, None, 2.0),))
        )
        yield opened


def test_csv_reads_back(store: Store, tmp_path: Path) -> None:
    export([*store.rows()], tmp_path / "x.csv")
    first, second = csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text(encoding="utf-8")))
    assert [*first] == [*(name for name in COLUMNS if name != "log"), "param.fast", "param.k", "param.rate"]
    assert first["problem"] == 'a, "b"\nc'
    assert float(first["value"]) == SECONDS
    assert int(first["seed"]) == 2**40
    assert json.loads(first["params"]) == {"k": 2, "rate": "1 GB/s"}
    assert (second["value"], second["param.rate"], second["problem"]) == ("", "", "é")


def test_chosen_columns(store: Store) -> None:
    table = table_of([*store.rows()], ["param.k", "log"])
    assert to_csv(table) == 'param.k,log\n2,[]\n4,"[[1.0, null, 2.0]]"\n'
    with pytest.raises(UsageError, match=r"no column 'param\.j'; did you mean 'param\.k'"):
        table_of([*store.rows()], ["param.j"])


def test_frame_and_parquet_are_alike(store: Store, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = store.frame()
    assert frame["memory"].tolist()[0] == 2**40
    assert str(frame["memory"].dtype) == "Int64"
    assert frame["value"].isna().tolist() == [False, True]
    export([*store.rows()], tmp_path / "x.parquet")
    read = pandas.read_parquet(tmp_path / "x.parquet")
    assert [*read.columns] == [*frame.columns]
    for name in frame.columns:
        assert [*read[name].isna()] == [*frame[name].isna()], name
        assert read[name].dropna().tolist() == frame[name].dropna().tolist(), name
    assert store.frame(["problem"], seed=2**40)["problem"].tolist() == ['a, "b"\nc']


def test_params_of_several_types(store: Store, tmp_path: Path) -> None:
    """A param that is a number here and a text there is text in Parquet, whose columns have one type."""
    parquet = pytest.importorskip("pyarrow.parquet")
    store.put(a_run("z", params={"k": "many"}), an_outcome())
    export([*store.rows()], tmp_path / "x.parquet")
    assert parquet.read_table(tmp_path / "x.parquet")["param.k"].to_pylist() == ["2", "4", "many"]


def test_what_cannot_be_written(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has to end in \.csv or \.parquet"):
        export([*store.rows()], tmp_path / "x.xlsx")
    with pytest.raises(UsageError, match="there is no folder"):
        export([*store.rows()], tmp_path / "none" / "x.csv")


def test_empty_database(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.sqlite") as store:
        assert to_csv(table_of([*store.rows()], ["key", "value"])) == "key,value\n"
        assert store.columns(["key", "value"]) == {"key": [], "value": []}
