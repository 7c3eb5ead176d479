"""The tables of a database of results, their versions, and what is refused of a file that others made.

A database may come from anybody. Before anything of it is read, its schema is compared with ours, word by word: a
trigger, a view, a generated column or a foreign table is refused. What SQLite may then do for us is a short list
(:func:`guard`): no other file is attached, no extension loaded, and no function called beside a few.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from mtpp_dsl.core.errors import UsageError

__all__ = ["APPLICATION", "VERSION", "guard", "migrate", "refuse_foreign"]

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

_ACTIONS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_TRANSACTION,
}
_FUNCTIONS = {"coalesce", "count", "max"}


def guard(connection: sqlite3.Connection) -> None:
    """Let a connection do nothing but read and write rows, and nothing at all on behalf of a trigger or view."""

    def allowed(action: int, _: str | None, name: str | None, __: str | None, within: str | None) -> int:
        if within is not None:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_OK if name in _FUNCTIONS else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in _ACTIONS else sqlite3.SQLITE_DENY

    connection.set_authorizer(allowed)


def refuse_foreign(connection: sqlite3.Connection, path: str) -> int:
    """Return which version of our schema a database has; 0 for an empty one.

    Raises:
        UsageError: it is the database of something else, of a later version, or its schema is not ours.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    found = _master(connection)
    if not found and not application and not version:
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
    odd = sorted(found ^ expected, key=lambda entry: (entry in expected, entry[0] == "index", entry))
    if odd:
        kind, name, _ = odd[0]
        what = f"the {kind} {name!r:.60}" if odd[0] in found else f"no {kind} {name!r} as mtpp makes it"
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
