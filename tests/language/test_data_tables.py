"""Tables of CSV and JSON files: units, look-ups, errors in their place, values given from outside."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import pytest

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.values.params import Recorded
from tests.own_time import within

REST = """
graph {
  node a (work = 2 ms) node b[i in 0..1] (work = 3 ms)
}
device gpu[2]
device cpu
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
"""
CSV = """device,price (USD/h),memory,batch,name,on
gpu, 2.50 ,16 GiB,4,"a ""b"", c",true
gpu[1],3,32 GiB,,x,FALSE
cpu,0.1,0.5 TiB,1,y,true
"""
JSON = """[
  {"device": "gpu", "price (USD/h)": 2.50, "memory": "16 GiB", "batch": 4, "name": "a \\"b\\", c", "on": true},
  {"device": "gpu[1]", "price (USD/h)": 3, "memory": "32 GiB", "name": "x", "on": false},
  {"device": "cpu", "price (USD/h)": 0.1, "memory": "0.5 TiB", "batch": 1, "name": "y", "on": true}
]"""
COLUMNS = """{"device": ["gpu", "gpu[1]", "cpu"], "price [USD/h]": [2.5, 3, 0.1], "batch": [4, null, 1],
 "memory": ["16 GiB", "32 GiB", "0.5 TiB"], "name": ["a \\"b\\", c", "x", "y"], "on": [true, false, true]}"""


def read(folder: Path, text: str, **params: object) -> Problem:
    """Return the problem of a spec in a folder, with a graph and devices behind it."""
    path = folder / "spec.mtpp"
    path.write_text(text + REST, encoding="utf-8")
    return load(path, params)


def errors(folder: Path, text: str, **params: object) -> tuple[Diagnostic, ...]:
    """Return what is wrong with it."""
    with pytest.raises(SpecError) as caught:
        read(folder, text, **params)
    return caught.value.diagnostics


@pytest.mark.parametrize(("name", "content"), [("t.csv", CSV), ("t.json", JSON), ("t.JSON", COLUMNS)])
def test_rows_columns_and_units(tmp_path: Path, name: str, content: str) -> None:
    """CSV and both forms of JSON say the same; numbers are exact; empty cells are errors where they are read."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    checks = [
        't["gpu"].price == 2.5 USD/h and t[0].price == 2.5 USD/h and t[gpu[0]].price == t[0].price',
        "t[gpu[1]].price == 3 USD/h and t[cpu].memory == 512 GiB and t[2].batch == 1",
        't.device == ["gpu", "gpu[1]", "cpu"] and count(t) == 3 and length(t) == 3 and t[0]["device"] == "gpu"',
        "sum(r.price for r in t) == 5.6 USD/h and [r.on for r in t] == [true, false, true]",
        't[0].name == "a \\"b\\", c" and [r.name for r in t if r.on] == [t[0].name, "y"]',
        '[r.batch for r in t if r.device != "gpu[1]"] == [4, 1] and max(t.price) == t[1].price',
    ]
    body = "\n".join(
        f"constraint c{i}: sum(on(a, gpu[0]) for x in 0..0 if {check}) >= 1" for i, check in enumerate(checks)
    )
    problem = read(tmp_path, f'param t: table from "{name}"\n{body}\n')
    assert [row.terms for row in problem.of(c.Linear)] == [((c.On(0, 0), 1.0),)] * len(checks)
    assert problem.origin.params["t"] == str(tmp_path / name)
    assert problem.origin.files[name] == hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    ("cells", "unit"), [("1 kB,0,inf", " B"), ("0.0,2 ms,", " s"), ("0,1 kB,1 ms", ""), ("0,1 kB,2", "")]
)
def test_nothing_needs_no_unit(tmp_path: Path, cells: str, unit: str) -> None:
    """Beside sizes, 0 is 0 B; in a column that mixes units, or has another number without one, cells are text."""
    (tmp_path / "t.csv").write_text("row,size\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells.split(","))))
    zero = next(i for i, cell in enumerate(cells.split(",")) if cell.startswith("0"))
    check = f"t[{zero}].size == 0{unit}" if unit else f't[{zero}].size == "0"'
    rule = f"constraint c: sum(on(a, gpu[0]) for x in 0..0 if {check}) >= 1"
    assert read(tmp_path, f'param t: table from "t.csv"\n{rule}\n').of(c.Linear)


@pytest.mark.parametrize("cell", ["9" * 50_000 + "x", " " * 50_000 + '"x', "1" + " " * 50_000 + "x"])
def test_a_long_cell_is_read_once(tmp_path: Path, cell: str) -> None:
    """No pattern goes back over what it has matched, which of 50,000 digits would take a minute."""
    (tmp_path / "t.csv").write_text(f"row,size{' ' * 50_000}((\n0,{cell}\n")
    with within(1.0, "reading"), suppress(SpecError):
        read(tmp_path, 'param t: table from "t.csv"\n')


def test_an_empty_cell_is_an_error_where_it_is_read(tmp_path: Path) -> None:
    """And the message says where it is."""
    (tmp_path / "t.csv").write_text(CSV, encoding="utf-8")
    (found,) = errors(tmp_path, 'param t: table from "t.csv"\nlet x = t[1].batch\n')
    assert found.message == f"the cell of column 'batch' is empty at {tmp_path / 't.csv'}:3"


def test_another_table_is_given_from_outside(tmp_path: Path) -> None:
    """By the path of a file, from the working folder, or from Python as rows."""
    (tmp_path / "t.csv").write_text("k,v\na,1\n", encoding="utf-8")
    (tmp_path / "u.csv").write_text("k,v\na,2\n", encoding="utf-8")
    text = 'param t: table from "t.csv"\nconstraint x: on(a, cpu) >= t["a"].v - 1\n'
    rows = [[{"k": "a", "v": 2}], ({"k": "a", "v": 2.0, "w": None},), str(tmp_path / "u.csv"), tmp_path / "u.csv"]
    assert [row.rhs for row in read(tmp_path, text).of(c.Linear)] == [0]
    for given in rows:
        assert [row.rhs for row in read(tmp_path, text, t=given).of(c.Linear)] == [1], given
    assert list(read(tmp_path, text, t=tmp_path / "u.csv").origin.files) == ["u.csv"]
    (found,) = errors(tmp_path, "param t: table\n")
    assert found.message == "param 't' has no value: give its file with -D t=….csv"
    (found,) = errors(tmp_path, text, t=3)
    assert found.message == "a table is a file, a list of mappings or a data frame, not a int"


WRONG = [
    ("t.csv", "", 0, "t.csv is empty; the first line of a table names its columns"),
    ("t.csv", "a;b\n1;2\n", 1, "cells are separated by commas"),
    ("t.csv", "a,b\n1\n", 2, "this line has 1 cells; the first line has 2"),
    ("t.csv", 'a,b\n"x,2\n', 2, 'a cell with quotes is written "…"'),
    ("t.csv", "a,a\n1,2\n", 1, "there are two columns 'a'"),
    ("t.csv", "a,\n1,2\n", 1, "column 2 has no name"),
    ("t.csv", "a,time (sec)\nx,2\n", 1, "there is no unit 'sec'; did you mean 's'?"),
    ("t.csv", "a,time (ms)\nx,2\ny,fast\n", 3, "the numbers of this column are in ms; this is a string"),
    ("t.csv", "a,time (ms)\nx,2 s\n", 2, "the numbers of this column are in ms; this is a time"),
    ("t.json", '[{"a": 1,}]', 1, "not JSON"),
    ("t.json", '{"a": 1}', 1, "holds no table"),
    ("t.json", '[{"a": 1},\n {"a": [2]}]', 2, "a cell holds a number, a string, true, false or null"),
    (
        "t.json",
        '[{"a": 1},\n {"t (ms)": 2},\n {"t (ms)": "x"}]',
        3,
        "the numbers of this column are in ms; this is a string",
    ),
    ("t.json", '[{"a": 1},\n {"t (sec)": 2}]', 2, "there is no unit 'sec'"),
    ("t.json", '{"a": [1],\n "b": [1, 2]}', 2, "column 'b' has 2 values, and 'a' has 1"),
    ("t.json", '[{"a": 1, "a": 2}]', 1, "gives 'a' twice"),
]


@pytest.mark.parametrize(("name", "content", "line", "message"), WRONG, ids=[w[3] for w in WRONG])
def test_errors_have_their_place_in_the_file(tmp_path: Path, name: str, content: str, line: int, message: str) -> None:
    """The line of the file, or that of the spec for a file as a whole."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    (found,) = errors(tmp_path, f'param t: table from "{name}"\n')
    assert message in found.message
    assert found.span is not None
    assert found.span.place == (f"{tmp_path / name}:{line}" if line else f"{tmp_path / 'spec.mtpp'}:1")


LOOKED_UP = [
    ('t["gpo"]', "t.csv has no key 'gpo'; did you mean 'gpu'?"),
    ("t[9]", "has no member 9: it has the members 0 to 2"),
    ("t[0].prize", "t.csv has no column 'prize'; did you mean 'price'?"),
    ("t.prize", "t.csv has no column 'prize'"),
    ('t["x"].v', "t.csv has several rows 'x'"),
    ("t[a]", "t.csv has no key 'a'"),
]


@pytest.mark.parametrize(("text", "message"), LOOKED_UP)
def test_what_is_not_there(tmp_path: Path, text: str, message: str) -> None:
    """A row or a column that the table does not have, or a key of two rows."""
    (tmp_path / "t.csv").write_text("k,price,v\ngpu,1,2\nx,1,2\nx,1,2\n", encoding="utf-8")
    (found,) = errors(tmp_path, f'param t: table from "t.csv"\nlet y = {text}\n')
    assert message in found.message


def test_an_answer_holds_params_as_they_can_be_read_again(tmp_path: Path) -> None:
    """Text in lists has quotes, sets have braces, maps their entries; and what the default says is taken from there."""
    text = """
param m = {a: 3 ms, "b c": [1, 2]}
param s = {2, 1}
param names = ["a", "b c"]
param third = 1/3
param flags = [true, false]
constraint c: on(a, cpu) <= (if 3 * third == 1 and "b c" in names and flags[0] and 1 in s then m["b c"][0] else 5)
"""
    problem = read(tmp_path, text)
    params = problem.origin.params
    assert dict(params) == {
        "m": '{"a": 3 ms, "b c": [1, 2]}',
        "s": "{2, 1}",
        "names": '["a", "b c"]',
        "third": 1 / 3,
        "flags": "[true, false]",
    }
    again = read(tmp_path, text, **{name: Recorded(said) for name, said in params.items()})
    assert list(again.of(c.Linear)) == list(problem.of(c.Linear))
    assert [row.rhs for row in again.of(c.Linear)] == [1.0]
    given = {"m": {"a": 1, "b c": (1, 2)}, "s": {1, 2}, "names": ["b c"]}
    assert read(tmp_path, text, **given).origin.params["m"] == '{"a": 1, "b c": [1, 2]}'
