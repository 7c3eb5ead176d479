"""The database of a sweep's results: one SQLite file, a row a run, the whole answers beside them."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from mtpp_dsl.core.base.files import MAX_FILE_BYTES
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.connection import connect, refused
from mtpp_dsl.sweeps.store.leases import LEASE_SECONDS, holds, owner
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.rows import COLUMNS, RunRow, checked_columns, decoded, row_of, sql_of

__all__ = ["RunOutcome", "RunRow", "Store"]

AT_ONCE = 1000
"""So many rows are read at a time."""
NEVER_DONE = frozenset({"changed"})
"""A row of this status is no result of its run: the run is begun again when it is asked for again."""

_PUT = f"INSERT OR REPLACE INTO runs ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"


class Store:
    """The results of sweeps in one SQLite file.

    Every :meth:`put` is one transaction: if this process is killed at any moment, there are the rows that were put and
    no half of another. Several processes may share a file; :meth:`claim` gives each run to one of them. The methods may
    be called from several threads.

    Attributes:
        path: of the file.
        readonly: whether it is only read.
        owner: what this store's leases are known by.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, readonly: bool) -> None:
        self.path, self.readonly, self.owner = path, readonly, owner()
        self._connection = connection
        self._lock = RLock()
        self._seen: dict[str, int] = {}
        self._place = path.absolute()  # which a change of the folder does not move
        self._file = _identity(self._place)

    @classmethod
    def open(cls, path: Path | str, readonly: bool = False) -> Store:
        """Open a database, and make it if it is not there; bring an older one to the tables of this version.

        Args:
            path: of the file.
            readonly: only read, and never make it.

        Raises:
            UsageError: it cannot be read or written, is no database of mtpp's, or one of a later version.
        """
        return cls(connect(Path(path), readonly), Path(path), readonly)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is leased, and close the file."""
        with suppress(UsageError):
            if not self.readonly:
                self.release()
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()

    def __len__(self) -> int:
        return int(self._read("SELECT count(*) FROM runs")[0][0])

    def put(self, run: Run, outcome: RunOutcome) -> bool:
        """Record the result of a run, in place of what there was of it, and end its lease.

        Returns:
            False, and nothing is recorded, if another process has recorded the run since it was claimed here: its
            lease had run out, or it had not been claimed.

        Raises:
            UsageError: it cannot be written; the database is as it was.
        """
        with self._transaction() as run_sql:
            before = self._attempts(run.key)
            if before > self._seen.get(run.key, before if self._leased_here(run.key) else 0):
                return False
            run_sql(_PUT, row_of(run, outcome, before))
            self._put_answer(run_sql, run.key, outcome.answer)
            run_sql("DELETE FROM leases WHERE key = ?", (run.key,))
            self._seen.pop(run.key, None)
        return True

    def done(self) -> set[str]:
        """Return the keys of the runs that have a result."""
        where, values = _where({"status": NEVER_DONE})
        undone = {key for (key,) in self._read(f"SELECT key FROM runs{where}", values)}
        return {key for (key,) in self._read("SELECT key FROM runs")} - undone

    def pending(self, runs: Iterable[Run], retry: Collection[str] = ()) -> list[Run]:
        """Return the runs that are to be done: those without a result, and those whose status is one of *retry*.

        What is known of them is remembered: :meth:`claim` gives out none that another process has done since then.
        """
        again = {*retry} | NEVER_DONE
        known = {
            key: (status, attempts) for key, status, attempts in self._read("SELECT key, status, attempts FROM runs")
        }
        todo = {run.key: run for run in runs if run.key not in known or known[run.key][0] in again}
        self._seen = {key: int(known[key][1]) if key in known else 0 for key in todo}
        return [*todo.values()]

    def claim(self, keys: Iterable[str], most: int | None = None, seconds: float = LEASE_SECONDS) -> list[str]:
        """Lease the first *most* of *keys* that are free, all if it is None, and return them.

        A run is free if it is not leased, and if it has no more results than when :meth:`pending` was called.
        """
        now, taken = time.time(), list[str]()
        with self._transaction() as run_sql:
            for key in keys:
                if most is not None and len(taken) >= most:
                    break
                if self._attempts(key) > self._seen.get(key, 0) or self._taken(key, now):
                    continue
                run_sql("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (key, self.owner, now + seconds))
                taken.append(key)
        return taken

    def renew(self, seconds: float = LEASE_SECONDS) -> None:
        """Hold what is leased for *seconds* from now on; call it in half that time, at the latest."""
        with self._transaction() as run_sql:
            run_sql("UPDATE leases SET until = ? WHERE owner = ?", (time.time() + seconds, self.owner))

    def release(self, keys: Iterable[str] | None = None) -> None:
        """Give back the leases on *keys*, all that are held if it is None."""
        with self._transaction() as run_sql:
            if keys is None:
                run_sql("DELETE FROM leases WHERE owner = ?", (self.owner,))
            for key in keys or ():
                run_sql("DELETE FROM leases WHERE key = ? AND owner = ?", (key, self.owner))

    def elsewhere(self) -> set[str]:
        """Return the keys of the runs that other processes are at."""
        now = time.time()
        rows = self._read("SELECT key, owner, until FROM leases")
        return {key for key, name, until in rows if name != self.owner and holds(name, until, now)}

    def columns(self, names: Sequence[str], **where: object) -> dict[str, list[Any]]:
        """Return some columns, each a list with an entry a row.

        Args:
            names: of the columns.
            where: what columns are to be, a value or a collection of values: ``method="heft", seed=[0, 1]``.

        Raises:
            UsageError: there is no such column, or one holds what it must not.
        """
        checked, (clause, values) = checked_columns(names), _where(where)
        rows = self._read(f"SELECT {', '.join(checked) or 'key'} FROM runs{clause} ORDER BY rowid", values)
        entries = zip(*rows, strict=True) if rows else ([] for _ in checked)
        return {name: decoded(name, entry, self._refuse) for name, entry in zip(checked, entries, strict=bool(checked))}

    def rows(self, *, logs: bool = True, **where: Any) -> Iterator[RunRow]:
        """Yield the rows, in the order in which they were recorded.

        Args:
            logs: read the logs, too, which are most of a row; they are empty otherwise.
            where: as of :meth:`columns`.
        """
        last = -1
        while page := self.page(last, logs=logs, **where):
            last = page[-1][0]
            yield from (row for _, row in page)

    def page(self, after: int, *, most: int = AT_ONCE, logs: bool = True, **where: Any) -> list[tuple[int, RunRow]]:
        """Return the next *most* rows after the one of number *after*, each with its number; see :meth:`rows`."""
        clause, values = _where(where, "rowid > ?")
        wanted = ", ".join(name if logs or name != "log" else "'[]'" for name in COLUMNS)
        select = f"SELECT rowid, {wanted} FROM runs{clause} ORDER BY rowid LIMIT ?"
        records = self._read(select, (after, *values, most))
        if not records:
            return []
        numbers, *entries = zip(*records, strict=True)
        lists = [decoded(name, entry, self._refuse) for name, entry in zip(COLUMNS, entries, strict=True)]
        return [*zip(numbers, map(RunRow, *lists), strict=True)]

    def frame(self, columns: Sequence[str] = (), **where: Any) -> Any:
        """Return the rows as a table of pandas; *columns* as of :func:`mtpp_dsl.sweeps.store.export.table_of`.

        Raises:
            UsageError: pandas is not installed; there is no such column.
        """
        from mtpp_dsl.sweeps.store.export import frame

        return frame([*self.rows(logs="log" in columns, **where)], columns)

    def last(self) -> int:
        """Return the number of the last row; -1 without one."""
        return int(self._read("SELECT coalesce(max(rowid), -1) FROM runs")[0][0])

    def copy(self, rows: Iterable[tuple[RunRow, str | None]]) -> None:
        """Record rows of another database with their answers, in place of what there is of these runs; all or none."""
        with self._transaction() as run_sql:
            for row, answer in rows:
                run_sql(_PUT, sql_of(row))
                self._put_answer(run_sql, row.key, answer)

    def set_proof(self, key: str, bound: float, proof: str) -> bool:
        """Record how well the bound of a run is founded; return False, and record nothing, if it has another by now."""
        with self._transaction() as run_sql:
            changed = run_sql("UPDATE runs SET proof = ? WHERE key = ? AND bound = ?", (proof, key, bound)).rowcount
        return bool(changed)

    def answer(self, key: str) -> str | None:
        """Return the whole JSON answer of a run as text; None if there is none.

        Raises:
            UsageError: it is damaged, or larger than 128 MB.
        """
        rows = self._read("SELECT json FROM answers WHERE key = ?", (key,))
        return unpacked(rows[0][0], self._refuse) if rows else None

    def _put_answer(self, run_sql: Any, key: str, answer: str | None) -> None:
        if answer is None:
            run_sql("DELETE FROM answers WHERE key = ?", (key,))
        else:
            run_sql("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, packed(answer)))

    def _attempts(self, key: str) -> int:
        rows = self._read("SELECT attempts FROM runs WHERE key = ?", (key,))
        return int(rows[0][0]) if rows else 0

    def _leased_here(self, key: str) -> bool:
        return self._read("SELECT owner FROM leases WHERE key = ?", (key,)) == [(self.owner,)]

    def _taken(self, key: str, now: float) -> bool:
        """Return whether another process holds a lease on *key*."""
        rows = self._read("SELECT owner, until FROM leases WHERE key = ?", (key,))
        return any(name != self.owner and holds(name, until, now) for name, until in rows)

    def _read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except (sqlite3.Error, OverflowError) as error:
                raise refused(self.path, error) from error

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Give what runs a statement, within a transaction that is whole or has not been."""
        if self.readonly:
            raise UsageError(f"{self.path} is open for reading only")
        if _identity(self._place) != self._file:  # SQLite would go on writing to a file that has been removed
            raise UsageError(
                f"{self.path} is no longer the database that was opened: it was moved, replaced or removed"
            )
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except (sqlite3.Error, OverflowError) as error:
                raise refused(self.path, error) from error
            finally:
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")

    def _refuse(self, problem: str) -> UsageError:
        return UsageError(f"{self.path} was not written by mtpp alone: {problem}")


def _where(where: Mapping[str, object], first: str = "") -> tuple[str, list[Any]]:
    """Return the condition of a query, and its values."""
    checked_columns([*where])
    parts, values = [first] if first else [], list[Any]()
    for name, wanted in where.items():
        among = [*wanted] if isinstance(wanted, Collection) and not isinstance(wanted, str) else [wanted]
        parts.append(f"{name} IN ({', '.join('?' for _ in among)})")
        values += among
    return f" WHERE {' AND '.join(parts)}" if parts else "", values


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another of the same name; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


# Define how whole answers are kept in a database.

SMALL = 4096
"""An answer of more bytes is kept compressed."""


def packed(answer: str) -> str | bytes:
    """Return an answer as it is kept: compressed where it is large."""
    data = answer.encode("utf-8", "replace")
    return zlib.compress(data) if len(data) > SMALL else data.decode()


def unpacked(kept: object, refuse: Callable[[str], Exception]) -> str:
    """Return an answer as it was; a small file that would unpack to a huge one is not unpacked."""
    if isinstance(kept, str):
        return kept
    if not isinstance(kept, bytes):
        raise refuse(f"an answer is {kept!r:.60}")
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(kept, MAX_FILE_BYTES)
        if not unpacking.eof:
            raise refuse("an answer is damaged, or larger than any that is read")
        return data.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise refuse(f"an answer is damaged: {error}") from error
