"""Parts of a sweep, and limits in place of its own: what the command line changes of what the file says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.file.sweep import Sweep

__all__ = ["parts_of", "shard_of", "with_time_limit"]

MAX_PARTS = 1_000_000


def with_time_limit(sweep: Sweep, seconds: float | None) -> Sweep:
    """Return a sweep of which every run has this time limit, whatever it says itself; None is no limit.

    Raises:
        UsageError: it is no time that a run may take.
    """
    limit = inf if seconds is None else seconds
    if limit <= 0:
        raise UsageError(f"a run of {limit:g} s does nothing: give it some time")
    return replace(
        sweep,
        settings=replace(sweep.settings, time_limit=limit),
        problems=tuple(replace(p, settings=replace(p.settings, time_limit=limit)) for p in sweep.problems),
        methods=tuple(replace(m, settings=replace(m.settings, time_limit=limit)) for m in sweep.methods),
    )


def parts_of(text: str) -> tuple[int, int]:
    """Return which part of how many a shard is.

    >>> parts_of("3/40")
    (3, 40)

    Raises:
        UsageError: it is none.
    """
    match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text.strip())
    number, count = (int(match[1]), int(match[2])) if match is not None else (0, 0)
    if not 1 <= number <= count <= MAX_PARTS:
        raise UsageError(f"{text!r} is no part of a sweep: write 3/40 for the third of 40")
    return number, count


def shard_of(runs: Sequence[Run], number: int, count: int) -> list[Run]:
    """Return one of *count* parts of a sweep, from 1, in the order of the runs.

    Runs are dealt out by their keys, so that no part gets all runs of a slow method. The parts are disjoint, together
    they are the sweep, and they are the same on every machine.
    """
    dealt = {run.key for run in sorted(runs, key=lambda run: run.key)[number - 1 :: count]}
    return [run for run in runs if run.key in dealt]
