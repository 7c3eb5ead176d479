"""Runs and outcomes for the tests of the store, and of what reads it."""

from __future__ import annotations

import hashlib
from typing import Any

from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import RunOutcome


def a_run(problem: str = "p", **others: Any) -> Run:
    """Return a run; its key is the hash of what is given."""
    given = {"problem": problem, **others}
    key = hashlib.sha256(repr(sorted(given.items())).encode()).hexdigest()
    first = {"sweep": "test", "spec": "p.mtpp", "spec_sha256": "0" * 64, "method": "heft", "label": "heft"}
    return Run(key=key, **{**first, **given})


def an_outcome(value: float | None = 1.5, **others: Any) -> RunOutcome:
    """Return an outcome: a plan of this value, its bound and its time."""
    given: dict[str, Any] = {"status": "feasible", "value": value, "sense": "minimize", "seconds": 0.5, **others}
    return RunOutcome(**given)
