"""Opening a database of results, safely, and what its errors mean."""

from __future__ import annotations

import sqlite3
import stat
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.store.schema import VERSION, guard, migrate, refuse_foreign

__all__ = ["connect", "refused"]

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
    ("not authorized", "it asks for what no database of mtpp's does"),
    ("prohibited", "it asks for what no database of mtpp's does"),
    ("utf-8", "it holds text that is no UTF-8"),
)


MAX_COPIED = 512 * 2**20
"""Bytes of an earlier database up to which it is read by way of a copy in memory."""


def refused(path: Path, error: Exception) -> UsageError:
    """Return the error that says why a database cannot be used."""
    text = str(error)
    reason = next((said for part, said in _REASONS if part in text.lower()), "SQLite says")
    return UsageError(f"{path}: {reason} ({text})")


def connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """Open a database of ours, and make it or bring it to this version's tables unless *readonly*.

    Nothing in the file is executed: see :mod:`mtpp_dsl.sweeps.store.schema`.

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
            _refuse_copying(path)
            connection = _brought_up(connection, version)
        if not readonly:
            _prepare(connection, path)
        guard(connection)
    except sqlite3.Error as error:
        connection.close()
        raise refused(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_copying(path: Path) -> None:
    """Refuse an earlier database that is too large for a copy in memory.

    Raises:
        UsageError: it is.
    """
    size = path.stat().st_size
    if size > MAX_COPIED:
        raise UsageError(
            f"{path} is of an earlier version, and with {size >> 20:,} MiB too large for a copy in memory; "
            f"'mtpp bench SWEEP --db {path}' brings the file itself to this version"
        )


def _brought_up(connection: sqlite3.Connection, version: int) -> sqlite3.Connection:
    """Return a copy in memory of an earlier database, with the tables of this version; the file stays as it is."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.backup(copy)
        copy.execute("PRAGMA trusted_schema = OFF")
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
    """Return a connection that takes nothing of the file on trust; where only reading is possible, read it as it is."""
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
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA mmap_size = 0")
            connection.execute(f"PRAGMA query_only = {'ON' if readonly else 'OFF'}")
            if hasattr(connection, "setconfig"):  # from Python 3.12 on
                connection.setconfig(1010, True)  # SQLITE_DBCONFIG_DEFENSIVE
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
