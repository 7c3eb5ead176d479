"""Open a database of results: its tables and their versions, what is refused of others, and what errors mean.

A database may come from anybody. Before anything of it is read, its schema is compared with ours, word by word: a
trigger, a view, a generated column or a foreign table is refused.
"""

from __future__ import annotations

import sqlite3
import stat
import time
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

from mtpp_dsl.core.errors import UsageError

__all__ = ["APPLICATION", "VERSION", "connect", "refused"]

PATIENCE = 30.0
"""Seconds that another process's transaction is waited for."""
LONGEST = 2**28
"""Bytes of the longest text or blob that is read."""

_REASONS = (
    ("readonly", "it is write-protected, or its folder is"),
    ("full", "the disk is full"),
    ("disk i/o error", "the disk is full or failing"),
    ("locked", f"another program has kept it locked for {PATIENCE:.0f} seconds"),
    ("not a database", "it is no SQLite database"),
    ("malformed", "it is damaged; mtpp bench merge NEW.sqlite OLD.sqlite saves what can be read"),
    ("unable to open", "it cannot be opened; its folder may be write-protected"),
    ("too big", "it holds a text that is longer than any that is read"),
    ("no such table", "it is no database of mtpp's"),
    ("utf-8", "it holds text that is no UTF-8"),
)


APPLICATION = int.from_bytes(b"mtpp")
"""``PRAGMA application_id`` of our databases; the command ``file`` shows it."""
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
  key TEXT PRIMARY KEY NOT NULL,
  sweep TEXT NOT NULL, problem TEXT NOT NULL, grp TEXT NOT NULL, spec TEXT NOT NULL, spec_sha256 TEXT NOT NULL,
  params TEXT NOT NULL, scenario TEXT NOT NULL, method TEXT NOT NULL, label TEXT NOT NULL, options TEXT NOT NULL,
  solver TEXT NOT NULL, solver_options TEXT NOT NULL, coarsen TEXT NOT NULL, start TEXT NOT NULL,
  seed INTEGER, time_limit REAL, memory_limit INTEGER, gap_limit REAL, threads INTEGER,
  status TEXT NOT NULL, termination TEXT NOT NULL, objective TEXT NOT NULL, sense TEXT NOT NULL, unit TEXT NOT NULL,
  value REAL, bound REAL, gap REAL, bound_method TEXT NOT NULL, proof TEXT NOT NULL,
  seconds REAL, cpu REAL, total REAL, memory INTEGER, nodes INTEGER, edges INTEGER, devices INTEGER,
  attempts INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, machine TEXT NOT NULL,
  versions TEXT NOT NULL, worker TEXT NOT NULL, error TEXT NOT NULL, log TEXT NOT NULL
)""",
        "CREATE TABLE answers (key TEXT PRIMARY KEY NOT NULL, json NOT NULL)",
        "CREATE TABLE leases (key TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL)",
    ),
)
"""What makes each version of the schema from the one before."""
VERSION = len(MIGRATIONS)


def refused(path: Path, error: Exception) -> UsageError:
    """Return the error that says why a database cannot be used."""
    text = str(error)
    reason = next((meaning for part, meaning in _REASONS if part in text.lower()), "SQLite says")
    return UsageError(f"{path}: {reason} ({text})")


def connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """Open a database of ours, and make it or bring it to this version's tables unless *readonly*.

    Nothing in the file is executed: its schema is ours, word by word, or nothing of it is read.

    Raises:
        UsageError: it cannot be opened, or is none of ours.
    """
    _refuse_odd(path, readonly)
    try:
        connection = _opened(path, readonly)
    except sqlite3.Error as error:
        raise refused(path, error) from error
    try:
        version = refuse_foreign(connection, str(path))
        if readonly and version < VERSION:
            connection = _brought_up(connection, version)
        if not readonly:
            _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise refused(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _brought_up(connection: sqlite3.Connection, version: int) -> sqlite3.Connection:
    """Return a copy in memory of an earlier database, with the tables of this version; the file stays as it is."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.backup(copy)
        migrate(copy, version)
    except BaseException:
        copy.close()
        raise
    finally:
        connection.close()
    return copy


def _refuse_odd(path: Path, readonly: bool) -> None:
    """Refuse what is no regular file, without waiting for a pipe or a device."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        if readonly:
            raise UsageError(f"there is no database {path}") from None
        if not path.absolute().parent.is_dir():
            raise UsageError(f"cannot make the database {path}: there is no folder {path.parent}") from None
    except OSError as error:
        raise UsageError(f"cannot open the database {path}: {error.strerror}") from None
    else:
        if not stat.S_ISREG(kind):
            raise UsageError(f"cannot open the database {path}: it is no regular file")


def _opened(path: Path, readonly: bool) -> sqlite3.Connection:
    """Return a connection to a file; where only reading is possible, it reads the file as it is."""
    place = f"file:{quote(str(path.absolute()))}"
    modes = ["mode=rwc"]
    if readonly and _size(Path(f"{path}-wal")):  # there are rows that are in no other file, and others may be at them
        modes = ["mode=ro"]
    elif readonly:  # who may write clears up behind him, and writes nothing else
        modes = ["mode=rw", "mode=ro", "mode=ro&immutable=1"]
    for mode in modes:
        connection = sqlite3.connect(
            f"{place}?{mode}", timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute(f"PRAGMA query_only = {'ON' if readonly else 'OFF'}")
            connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            if mode == modes[-1]:
                raise
        except BaseException:
            connection.close()
            raise
        else:
            break
    return connection


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables that are missing, where several processes may do so at once, and keep a log of writes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = refuse_foreign(connection, str(path))
        migrate(connection, version)  # which writes the version again where there is nothing else to do, to find out
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait for others here
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous = NORMAL")


def refuse_foreign(connection: sqlite3.Connection, path: str) -> int:
    """Return which version of our schema a database has; 0 for an empty one.

    Raises:
        UsageError: it is the database of something else, of a later version, or its schema is not ours.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    entries = _master(connection)
    if not entries and not application and not version:
        return 0
    if application != APPLICATION:
        raise UsageError(f"{path} is a SQLite database of something else; mtpp bench --db wants one of its own")
    if version > VERSION:
        raise UsageError(
            f"{path} was written by a later mtpp: update mtpp"
            f" (its tables are of version {version}, and this one knows {VERSION})"
        )
    if version < 1:
        raise UsageError(f"{path} says that it is of mtpp, and of no version of its tables")
    expected = _expected(version)
    odd = sorted(entries ^ expected, key=lambda entry: (entry in expected, entry[0] == "index", entry))
    if odd:
        kind, name, _ = odd[0]
        what = f"the {kind} {name!r:.60}" if odd[0] in entries else f"no {kind} {name!r} as mtpp makes it"
        raise UsageError(f"{path} was not written by mtpp alone: it has {what}. Nothing of it was read")
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a database from *version* of the schema to this one, within the transaction that is open."""
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _master(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Return kind, name and text of everything in a schema; no row of a table is looked at."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return frozenset((str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in rows)


@cache
def _expected(version: int) -> frozenset[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statements in MIGRATIONS[:version]:
            for statement in statements:
                connection.execute(statement)
        return _master(connection)
