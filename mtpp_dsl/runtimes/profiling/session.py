"""Measure each signature of a model once, and make a profile of all its operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.profile import Profile, Timing
from mtpp_dsl.runtimes.execution.timing import TimeSpread
from mtpp_dsl.runtimes.profiling.journal import Journal

__all__ = ["MeasuringJob", "Tell", "profile_of_jobs"]

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
        found = job.measure()
        journal.add(job.key, Timing(found.median, found.low, found.high, found.runs, job.op, found.processor))
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
