"""Measure each signature of a model once, and make a profile of all its operators."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_bytes
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.profile import Profile, Timing, timing_of
from mtpp_dsl.runtimes.execution.clocks import TimeSpread

Tell = Callable[[int, int, str], None]
"""Called with how many signatures are done, how many there are, and which one comes now."""


@dataclass(frozen=True)
class MeasuringJob:
    """An operator to be measured.

    Attributes:
        name: of the operator.
        op: what is called.
        key: its signature: operators with the same key are measured once.
        measure: measures it.
    """

    name: str
    op: str
    key: str
    measure: Callable[[], TimeSpread]


def profile_of_jobs(
    jobs: Sequence[MeasuringJob],
    model: Model,
    device: str,
    symbols: Mapping[str, int],
    machine: Mapping[str, Any],
    journal_path: Path,
    tell: Tell,
) -> tuple[Profile, Journal]:
    """Measure what the journal does not have yet; return the profile, and the journal to close once it is written.

    Raises:
        UsageError: the journal is of another machine, model or setting; an operator cannot be run.
    """
    conditions = {
        "machine": dict(machine),
        "model": model.source.name,
        "sha256": model.source.sha256,
        "symbols": dict(symbols),
        "device": device,
    }
    journal = Journal(journal_path, conditions)
    first = {job.key: job for job in reversed(jobs)}
    todo = [job for job in jobs if first[job.key] is job and job.key not in journal.known]
    done = len(first) - len(todo)
    for job in todo:
        tell(done, len(first), job.key)
        measured = job.measure()
        journal.add(
            job.key, Timing(measured.median, measured.low, measured.high, measured.runs, job.op, measured.processor)
        )
        done += 1
    profile = Profile(
        device=device,
        signatures={key: journal.known[key] for key in dict.fromkeys(job.key for job in jobs)},
        operators={job.name: job.key for job in jobs},
        machine=machine,
        model={"name": model.source.name, "sha256": model.source.sha256},
        symbols=symbols,
    )
    return profile, journal


class Journal:
    """A file of measured signatures; the first line says under which conditions they were measured.

    Attributes:
        path: of the file.
        known: the times that it had when it was opened, and those added since.
    """

    def __init__(self, path: Path, conditions: Mapping[str, Any]) -> None:
        """Open a journal, or begin one.

        Raises:
            UsageError: there is one of other conditions, or the file is none.
        """
        self.path = path
        self.known: dict[str, Timing] = {}
        head = json.dumps({"journal": 1, "conditions": conditions}, sort_keys=True)
        kept = self._read(head) if path.exists() else 0
        if not kept:
            path.write_text(f"{head}\n", encoding="utf-8")
        else:
            os.truncate(path, kept)

    def _read(self, head: str) -> int:
        """Read what is there; return how many bytes of it are whole lines."""
        data = read_bytes(self.path)
        lines = data.splitlines(keepends=True)
        if not lines or not lines[0].endswith(b"\n"):
            return 0
        if lines[0].decode("utf-8", "replace").rstrip("\n") != head:
            raise UsageError(
                f"{self.path} holds times of another machine, model or setting: delete it to begin anew, or call mtpp "
                "profile as before to go on"
            )
        kept = len(lines[0])
        for line in lines[1:]:
            try:
                row = json.loads(line)
                self.known[row["key"]] = timing_of(row, str(self.path))
            except (UsageError, ValueError, KeyError, TypeError):
                break  # a line that was being written when the process ended
            if not line.endswith(b"\n"):
                del self.known[row["key"]]
                break
            kept += len(line)
        return kept

    def add(self, key: str, timing: Timing) -> None:
        """Keep a time, through to the disk."""
        row = {"key": key} | timing.row()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
            file.flush()
            os.fsync(file.fileno())
        self.known[key] = timing

    def close(self) -> None:
        """Delete the file: everything is in the profile."""
        self.path.unlink(missing_ok=True)
