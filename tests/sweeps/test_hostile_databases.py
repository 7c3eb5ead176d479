"""Databases that others made, or that cannot be written: nothing in them is executed, and every reason is said."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store import connection
from mtpp_dsl.sweeps.store import store as database
from mtpp_dsl.sweeps.store.connection import APPLICATION, MIGRATIONS, VERSION
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome
from tests.tree import ROOT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "x.sqlite") as store:
        store.put(a_run(), an_outcome(answer="{}"))
    return tmp_path / "x.sqlite"


@pytest.fixture
def craft(path: Path) -> Iterator[Callable[..., None]]:
    """Give what runs statements on the database as somebody else would."""

    def run(*statements: str, values: tuple[object, ...] = ()) -> None:
        with closing(sqlite3.connect(path)) as other, other:
            for statement in statements:
                other.execute(statement, values)

    return run  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", "the trigger 't'"),
        ("CREATE TEMP TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", None),
        ("CREATE VIEW v AS SELECT load_extension('x')", "the view 'v'"),
        ("CREATE TABLE more (a)", "the table 'more'"),
        ("CREATE INDEX i ON runs (abs(value))", "the index 'i'"),
        ("ALTER TABLE runs ADD COLUMN g AS (hex(zeroblob(1e9)))", "the table 'runs'"),
        ("ALTER TABLE runs ADD COLUMN c CHECK (randomblob(9) > 0)", "the table 'runs'"),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", "the table 'f"),
        ("DROP TABLE answers", "no table 'answers'"),
    ],
)
def test_foreign_schema(path: Path, craft: Callable[..., None], statement: str, named: str | None) -> None:
    craft(statement)
    for readonly in (True, False):
        if named is None:  # gone with the connection that made it
            Store.open(path, readonly=readonly).close()
            continue
        with pytest.raises(UsageError, match=f"not written by mtpp alone: it has {named}.*Nothing of it was read"):
            Store.open(path, readonly=readonly)


def test_view_in_place_of_the_table(path: Path, craft: Callable[..., None]) -> None:
    craft("ALTER TABLE runs RENAME TO hidden", "CREATE VIEW runs AS SELECT * FROM hidden")
    with pytest.raises(UsageError, match="not written by mtpp alone"):
        Store.open(path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("value", "x", "column value: expected a number or nothing, found 'x'"),
        ("value", b"x", "column value: expected a number"),
        ("key", None, None),
        ("nodes", 1.5, "column nodes: expected a whole number"),
        ("problem", 7.0, None),
        ("problem", b"\xff", "column problem: expected a text"),
        ("status", "perfect", "'perfect' is no status"),
        ("params", "[]", "column params: expected an object"),
        ("params", "{", "column params: not JSON"),
        ("log", "[" * 100_000, "column log: not JSON"),
        ("log", '{"a": 1}', "column log: expected a list"),
        ("log", "[[1]]", "column log: expected times"),
        ("log", '[["a", 1, 2]]', "column log: expected times"),
        ("log", "[[null, 1, 2]]", "column log: expected times"),
        ("log", "[[1, NaN, 2]]", "column log: expected times"),
        ("log", "[[1, 2, 1e999]]", "column log: expected times"),
        ("versions", '{"mtpp-dsl": []}', "column versions: expected texts"),
        ("bound", float("inf"), "column bound: expected a finite number"),
        ("seconds", float("-inf"), "column seconds: expected a finite number"),
    ],
)
def test_wrong_types(path: Path, craft: Callable[..., None], column: str, value: object, message: str | None) -> None:
    try:
        craft(f"UPDATE runs SET {column} = ?", values=(value,))
    except sqlite3.IntegrityError:
        assert message is None
        return
    with Store.open(path) as store:
        if message is None:  # SQLite has made a text of it
            assert [row.problem for row in store.rows()] == ["7.0"]
            return
        with pytest.raises(UsageError, match=message):
            list(store.rows())
        with pytest.raises(UsageError, match=message):
            store.columns([column])


def test_text_that_is_no_unicode(path: Path, craft: Callable[..., None]) -> None:
    craft("UPDATE runs SET problem = CAST(x'fffe' AS TEXT)")
    with Store.open(path) as store, pytest.raises(UsageError, match="text that is no UTF-8"):
        list(store.rows())


def test_texts_that_are_too_long(path: Path, craft: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LONGEST", 2**20)
    craft(f'UPDATE runs SET params = \'{{"a": "{"x" * 2**21}"}}\'')
    with Store.open(path) as store, pytest.raises(UsageError, match="longer than any that is read"):
        list(store.rows())


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (zlib.compress(b"a" * (2**20 + 1), 9), "larger than any that is read"),
        (zlib.compress(b"a" * 99)[:-3], "damaged"),
        (b"no zlib", "an answer is damaged"),
        (zlib.compress(b"\xff"), "an answer is damaged"),
        (7, "an answer is 7"),
    ],
    ids=["bomb", "cut", "bytes", "no text", "number"],
)
def test_answers(
    path: Path, craft: Callable[..., None], monkeypatch: pytest.MonkeyPatch, kept: object, message: str
) -> None:
    monkeypatch.setattr(database, "MAX_FILE_BYTES", 2**20)
    craft("UPDATE answers SET json = ?", values=(kept,))
    with Store.open(path) as store, pytest.raises(UsageError, match=message):
        store.answer(a_run().key)


@pytest.mark.parametrize("column", ["problem", "label", "grp"])
def test_a_name_of_a_megabyte(path: Path, craft: Callable[..., None], column: str) -> None:
    craft(f"UPDATE runs SET {column} = ?", values=("x" * 2**20,))
    with (
        Store.open(path, readonly=True) as store,
        pytest.raises(UsageError, match=f"column {column}: expected at most"),
    ):
        store.columns([column])


@pytest.mark.parametrize("until", ["1e308", "'soon'", "x'00'", "9e999"])
def test_leases_that_nobody_could_have(path: Path, craft: Callable[..., None], until: str) -> None:
    craft(f"INSERT INTO leases VALUES ('{a_run('b').key}', 'elsewhere:1:2:3', {until})")
    with Store.open(path) as store:
        assert store.claim([a_run("b").key]) == [a_run("b").key]


def test_databases_of_others(tmp_path: Path) -> None:
    def made(name: str, *statements: str) -> Path:
        with closing(sqlite3.connect(tmp_path / name)) as other, other:
            for statement in statements:
                other.execute(statement)
        return tmp_path / name

    (tmp_path / "text").write_text("mtpp 1\n" * 1000)
    (tmp_path / "cut").write_bytes(b"SQLite format 3\0" + b"\xff" * 3000)
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (made("browser", "CREATE TABLE moz_places (id)"), "a SQLite database of something else"),
        (made("id", f"PRAGMA application_id = {APPLICATION + 1}"), "a SQLite database of something else"),
        (
            made("later", f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION + 1}"),
            "update mtpp",
        ),
        (made("none", f"PRAGMA application_id = {APPLICATION}", "CREATE TABLE runs (a)"), "no version of its tables"),
        (tmp_path / "text", "no SQLite database"),
        (tmp_path / "cut", "no SQLite database"),
        (tmp_path / "pipe", "no regular file"),
        (tmp_path, "no regular file"),
        (tmp_path / "none" / "x.sqlite", "there is no database|cannot open|no folder"),
    ):
        before = path.read_bytes() if path.is_file() else b""
        for readonly in (True, False):
            with pytest.raises(UsageError, match=message):
                Store.open(path, readonly=readonly)
        assert before == (path.read_bytes() if path.is_file() else b""), "it is left as it was"


@pytest.mark.parametrize("readonly", [True, False])
def test_earlier_database(path: Path, monkeypatch: pytest.MonkeyPatch, readonly: bool) -> None:
    """The rows of a database of before are there in the tables of a later version; reading alone leaves it as it is."""
    later = (*MIGRATIONS, ("ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",))
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(connection, "MIGRATIONS", later)
        patch.setattr(connection, "VERSION", len(later))
        with Store.open(path, readonly=readonly) as store:
            assert store._connection.execute("SELECT problem, note FROM runs").fetchall() == [("p", "none")]
            assert [row.problem for row in store.rows()] == ["p"]
            assert store.answer(a_run().key) == "{}"
    connection._expected.cache_clear()
    if readonly:
        assert path.read_bytes() == before
        return
    with pytest.raises(UsageError, match="written by a later mtpp: update mtpp"):
        Store.open(path)


def test_every_version_is_brought_to_this_one(tmp_path: Path) -> None:
    """A database of each version before is opened with its rows, and then is as one that was made anew."""
    with Store.open(tmp_path / "new") as store:
        expected = {*store._connection.execute("SELECT name, sql FROM sqlite_master")}
    for version in range(1, VERSION + 1):
        path = tmp_path / f"{version}"
        with closing(sqlite3.connect(path)) as other, other:
            for statement in (each for statements in MIGRATIONS[:version] for each in statements):
                other.execute(statement)
            other.execute(f"PRAGMA application_id = {APPLICATION}")
            other.execute(f"PRAGMA user_version = {version}")
        with Store.open(path) as store:
            assert {*store._connection.execute("SELECT name, sql FROM sqlite_master")} == expected
            assert len(store) == 0


FULL = """
import resource, sys
from mtpp_dsl.errors import UsageError
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import a_run, an_outcome
with Store.open(sys.argv[1]) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    done = 0
    try:
        for i in range(10_000):
            store.put(a_run(f"p{i}"), an_outcome(error="x" * 3000))
            done += 1
    except UsageError as error:
        print(done, error)
"""


def test_full_disk(tmp_path: Path) -> None:
    """The row that does not fit is refused with the reason; those before it are whole, and the next start goes on."""
    path = tmp_path / "x.sqlite"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, cwd=ROOT, check=True)
    number, _, reason = done.stdout.partition(" ")
    assert "the disk is full" in reason, done.stdout + done.stderr
    with Store.open(path) as store:
        assert len([*store.rows()]) == int(number) > 10
        assert store.put(a_run("more"), an_outcome())


READ_ONLY = """
import os, sys
from mtpp_dsl.errors import UsageError
from mtpp_dsl.sweeps.store.store import Store
Store.open(sys.argv[1], readonly=True).close()  # imports what nobody may read
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
with Store.open(sys.argv[1], readonly=True) as store:
    print(len(store))
try:
    Store.open(sys.argv[1])
except UsageError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of POSIX")
def test_write_protected_database(tmp_path: Path, path: Path) -> None:
    """It can be read, also in a folder that cannot be written, and whoever wants to write is told why not, at once."""
    place = tmp_path / "folder"
    place.mkdir()
    path.rename(place / path.name)
    (place / path.name).chmod(0o444)
    place.chmod(0o555)
    folders = [folder for folder in place.parents if folder.stat().st_uid == os.getuid() and folder != Path("/")]
    modes = {folder: folder.stat().st_mode for folder in folders}
    try:
        for folder in folders:
            folder.chmod(modes[folder] | 0o055)
        command = [sys.executable, "-c", READ_ONLY, place / path.name]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    finally:
        for folder, mode in modes.items():
            folder.chmod(mode)
        place.chmod(0o755)
    assert done.returncode == 0, done.stderr
    number, reason = done.stdout.splitlines()
    assert number == "1"
    assert "write-protected" in reason


def test_locked_database(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    with Store.open(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match="another program has kept it locked"):
            store.put(a_run("b"), an_outcome())
        other.execute("ROLLBACK")
        assert store.put(a_run("b"), an_outcome())
