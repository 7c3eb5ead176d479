"""Find modules that are equal up to the names of nodes: results for one hold for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.modules.equal import EqualMember, equal_modules
from mtpp_dsl.solvers.schedule.modules.part import ModuleTasks, Place

__all__ = ["SameModules", "Timetable", "grouped", "timetable"]


@dataclass(frozen=True, eq=False)
class Timetable:
    """Devices and times of the nodes of a module whose inputs are there at 0.

    Attributes:
        device: [s, chunks] of every task; one sample is one chunk.
        start: [s, 1] of every task, or [s, k] of its batches; nan where there is none.
        sent: [e] of transfers; nan where nothing is sent, or links are not exclusive.
    """

    device: Ints
    start: Floats
    sent: Floats

    def place(self, task: int) -> Place:
        """Return the device, or devices, of a task."""
        return tuple(self.device[task].tolist())


@dataclass(frozen=True, eq=False)
class SameModules:
    """The classes of some modules: the first of each, and every module as a member."""

    firsts: tuple[ModuleTasks, ...]
    members: tuple[EqualMember, ...]


def grouped(parts: Sequence[ModuleTasks]) -> SameModules:
    """Return the classes of equal modules."""
    firsts, members = equal_modules(parts, [part.form for part in parts])
    return SameModules(tuple(parts[i] for i in firsts), members)


def timetable(part: ModuleTasks, plan: Plan) -> Timetable:
    """Return the timetable of a plan of the module's problem."""
    if plan.batches is not None:
        chunk = part.problem.batching.chunk
        return Timetable(plan.batches.device[:, ::chunk], plan.batches.start, np.full(len(part.edges), np.nan))
    assert plan.schedule is not None
    return Timetable(plan.assignment[:, None], plan.schedule.start[:, None], plan.schedule.sent)
