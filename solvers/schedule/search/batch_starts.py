"""Where searches for schedules of batches start."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem.graph import Ints
from mtpp_dsl.solvers.runtime.incumbent import Ended
from mtpp_dsl.solvers.schedule.list.batch_run import BatchLister
from mtpp_dsl.solvers.schedule.list.uniform_split import alike, alone, parted
from mtpp_dsl.solvers.schedule.state.batch_state import Field
from mtpp_dsl.views.batch_tasks import BatchInstance

__all__ = ["somewhere", "starts"]


def starts(instance: BatchInstance, limits: Limits, progress: Progress) -> list[Plan]:
    """Return list schedules, and schedules with all nodes on the same devices; they may break a constraint."""

    def pause() -> None:
        if progress.stopped or limits.remaining <= 0:
            raise Ended

    rows = [np.full(instance.chunks, d) for d in alone(instance)]
    row = parted(instance)
    found = [alike(instance, row) for row in (*rows, *([] if row is None else [row]))]
    with suppress(Ended):
        lister = BatchLister.of(instance, pause, progress.say)
        plans = [] if isinstance(lister, str) else [lister.schedule(name) for name in ("heft", "greedy")]
        found += [plan for plan in plans if not isinstance(plan, str)]
    return found


def somewhere(field: Field, instance: BatchInstance) -> Ints:
    """Return [classes, chunks] devices that sizes and pins allow, batches as large as can be on the first devices."""
    home = np.zeros((len(field.may), instance.chunks), np.int64)
    for c in range(len(home)):
        left = instance.chunks
        for d in range(instance.k):
            able = np.flatnonzero(field.may[c, d, : left + 1] & field.reach[field.kind[c], d + 1, left::-1])
            home[c, instance.chunks - left : instance.chunks - left + able[-1]] = d
            left -= int(able[-1])
    pinned = (instance.pins >= 0).all(axis=1)
    home[field.group[pinned]] = instance.pins[pinned]
    return home
