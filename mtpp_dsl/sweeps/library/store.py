"""The records of a library in its folder, and how a better one takes the place of the old."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.record import BestKnown, read_records, records_text

RECORDS, PLANS, CERTIFICATES = "best.csv", "plans", "certificates"


@dataclass(frozen=True)
class Finder:
    """Who found an answer: the method with its solver, mtpp's version, the seed, the seconds it ran, and the day."""

    by: str
    version: str = ""
    seed: int | None = None
    seconds: float | None = None
    date: str = ""


@dataclass(frozen=True)
class RecordChange:
    """What an answer has made of a record.

    Attributes:
        before, after: the record; the same where nothing is better.
        plan: the text of a plan that is better; None if it is not.
        certificate: of a bound that is better or better founded, "" where it has none; None if it is not.
    """

    before: BestKnown
    after: BestKnown
    plan: str | None = None
    certificate: str | None = None

    @property
    def better(self) -> bool:
        """Whether plan or bound are better than what was known."""
        return self.plan is not None or self.certificate is not None


class Records:
    """The records of a library, and the files of its plans and certificates.

    Attributes:
        folder: of the library.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> dict[str, BestKnown]:
        """Return the records by name.

        Raises:
            UsageError: the table cannot be read.
        """
        return read_records(self.folder / RECORDS)

    def plan(self, name: str) -> str | None:
        """Return the text of the stored plan of a problem; None if it is not stored."""
        return files.read_text_of(self.folder / PLANS, name)

    def certificate(self, name: str) -> str | None:
        """Return the text of the stored certificate of a problem's bound; None if it is not stored."""
        return files.read_text_of(self.folder / CERTIFICATES, name)

    def mend(self) -> None:
        """Finish or undo what a process that was killed left half written. Nothing that was recorded is lost."""
        with self._locked():
            records = self.read()
            for part, sha256 in ((PLANS, "plan_sha256"), (CERTIFICATES, "certificate_sha256")):
                for name in files.unsettled(self.folder / part):
                    files.settle(self.folder / part, name, getattr(records.get(name, BestKnown(name)), sha256))

    def take(self, name: str, judge: Callable[[BestKnown], RecordChange]) -> RecordChange:
        """Let *judge* say what becomes of a record, and write it; no other process writes meanwhile.

        The record is read anew, so that several processes may improve a library at a time. New files are written
        first, then the table, and then the new files take the place of the old.

        Raises:
            UsageError: it cannot be written; the library is as it was.
        """
        with self._locked():
            records = self.read()
            change = judge(records.get(name, BestKnown(name)))
            if change.after == change.before and not change.better:
                return change
            try:
                for part, text in ((PLANS, change.plan), (CERTIFICATES, change.certificate)):
                    if text and not files.write(self.folder / part, name, text) and part == CERTIFICATES:
                        # nobody could prove the bound again from what is stored
                        change = replace(change, after=replace(change.after, proof="checked", certificate_sha256=""))
                write_text(self.folder / RECORDS, records_text({**records, name: change.after}.values()))
            except OSError as error:
                raise UsageError(f"cannot write the library {self.folder}: {error.strerror or error}") from None
            files.settle(self.folder / PLANS, name, change.after.plan_sha256)
            files.settle(self.folder / CERTIFICATES, name, change.after.certificate_sha256)
            return change

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from writing to the library; where the system cannot, do without."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover
            yield
            return
        try:
            handle = os.open(self.folder, os.O_RDONLY)
        except OSError as error:
            raise UsageError(f"cannot open the library {self.folder}: {error.strerror or error}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
