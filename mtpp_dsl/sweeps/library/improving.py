"""Improving a library: answers of runs, and of others, that are better than what is known take its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import MtppError, VerificationError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.library.collection import Library, spec_sha256
from mtpp_dsl.sweeps.library.offer import Offer
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.store import Finder, RecordChange
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.store import Store

__all__ = ["EVIDENCE", "Improver", "offered"]

EVIDENCE = "evidence"
"""Folder of a library for answers that contradict what is known: never to be committed, always to be reported."""


def offered(
    library: Library, name: str, answer: Mapping[str, Any], found: Finder, *, proofs: bool = True
) -> RecordChange:
    """Check an answer to a problem of a library from scratch, and write what is better of it.

    Args:
        library: that the problem is in.
        name: of the problem.
        answer: JSON of ``mtpp solve --json``, or a plan alone.
        found: who found it.
        proofs: whether a bound without a certificate counts.

    Raises:
        VerificationError: the answer is wrong, or contradicts what is known.
        UsageError: the problem or the library cannot be read, or the library cannot be written.
    """
    run = library.runs[name]
    base = BestKnown(name, group=run.group, spec_sha256=spec_sha256(run))
    offer = Offer.of(library.problem(name), base, answer, proofs=proofs)
    return library.records.take(name, lambda record: offer.against(record, found))


@dataclass
class Improver:
    """A watcher of a sweep that offers each outcome to a library.

    Attributes:
        library: that is improved.
        say: is told a line for each record that has become better, and for each answer that is wrong.
        watcher: is told of runs, too: what shows their progress.
        better: names of problems whose record has become better.
        wrong: what contradicted itself or what is known; each is a bug.
    """

    library: Library
    say: Callable[[str], None]
    watcher: Any = None
    better: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def began(self, run: Run) -> None:
        """Hear that a worker has taken a run."""
        if self.watcher is not None:
            self.watcher.began(run)

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Hear what came of a run, and offer it."""
        if self.watcher is not None:
            self.watcher.ended(run, outcome)
        if outcome.status == "error" and "VerificationError" in outcome.error:
            self._report(run, outcome.error, None)
        if outcome.answer is not None and self.promises(run.problem, outcome.value, outcome.bound):
            self.offer(run, outcome.answer, outcome)

    def promises(self, name: str, value: float | None, bound: float | None) -> bool:
        """Return whether an answer with these figures may be better than what is known, or contradicts it."""
        record = self.library.records.read().get(name, BestKnown(name))
        if value is not None and (record.value is None or record.beats(value, record.value)):
            return True
        if value is not None and record.later and not record.beats(record.value or value, value):
            return True
        if bound is None:
            return False
        return record.bound is None or record.raises(bound, record.bound) or record.proof == "trusted"

    def harvest(self, store: Store, runs: Sequence[Run]) -> None:
        """Offer what a database already holds of *runs*: a process that was killed may not have done so."""
        by_key = {run.key: run for run in runs}
        columns = store.columns(["key", "value", "bound", "seconds", "ended", "versions"])
        for key, value, bound, seconds, ended, versions in zip(*columns.values(), strict=True):
            run = by_key.get(key)
            answer = store.answer(key) if run is not None and self.promises(run.problem, value, bound) else None
            if run is not None and answer is not None:
                self.offer(run, answer, RunOutcome("feasible", seconds=seconds, ended=ended, versions=versions))

    def offer(self, run: Run, answer: str, outcome: RunOutcome) -> None:
        """Offer the answer of a run."""
        data = json.loads(answer)
        solver = data.get("solver")
        found = Finder(
            f"{run.label} ({solver})" if solver else run.label,
            version=outcome.versions.get("mtpp-dsl", ""),
            seed=run.seed,
            seconds=None if outcome.seconds is None else round(outcome.seconds, 2),
            date=outcome.ended[:10],
        )
        try:
            change = offered(self.library, run.problem, data, found)
        except VerificationError as error:
            self._report(run, str(error), answer)
            return
        except MtppError as error:
            self.say(f"{run.problem}: {error}")
            return
        if change.better:
            self.better.add(run.problem)
            self.say(told(change))

    def _report(self, run: Run, error: str, answer: str | None) -> None:
        """Keep the evidence of an answer that is wrong, and say so."""
        folder = self.library.records.folder / EVIDENCE
        place = ""
        if answer is not None:
            folder.mkdir(exist_ok=True)
            path = Path(folder / f"{run.problem}-{run.key[:12]}.json")
            write_text(path, answer)
            place = f"; the answer is in {path}"
        line = f"{run.problem} by {run.label}: {error}{place}"
        self.wrong.append(line)
        self.say(f"WRONG: {line}")


def told(change: RecordChange) -> str:
    """Return a line about what has become better."""
    before, after = change.before, change.after
    parts = []
    if change.plan is not None:
        parts.append(f"value {_step(before.value, after.value, after.unit)} by {after.found_by}")
    if change.certificate is not None:
        parts.append(f"bound {_step(before.bound, after.bound, after.unit)} by {after.bound_by}, {after.proof}")
    gap = "" if after.gap is None else f"; gap {100 * after.gap:.3g} %"
    return f"{after.name}: {', '.join(parts)}{gap}"


def _step(before: float | None, after: float | None, unit: str) -> str:
    """Return two values with their unit; in base units with nine digits where five show no difference."""
    shown = ["none" if value is None else format_quantity(value, unit) for value in (before, after)]
    if shown[0] == shown[1]:
        shown = ["none" if value is None else f"{value:.9g} {unit}".rstrip() for value in (before, after)]
    return " -> ".join(shown)
