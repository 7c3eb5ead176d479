"""Find modules that are equal up to the names of nodes: results for one hold for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.modules.part import Part, Place

__all__ = ["Classes", "Module", "Timetable", "grouped", "timetable"]


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
class Module:
    """A module as one of a class of equal ones.

    Attributes:
        of: number of the class.
        nodes, edges: numbers in the graph of the tasks and edges of the class's first module, as this module has them.
    """

    of: int
    nodes: Ints
    edges: Ints


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of some modules: the first of each, and every module as a member."""

    firsts: tuple[Part, ...]
    members: tuple[Module, ...]


def grouped(parts: Sequence[Part]) -> Classes:
    """Return the classes of equal modules."""
    number: dict[bytes, int] = {}
    firsts: list[Part] = []
    members = []
    for part in parts:
        form = part.form
        if form.key not in number:
            number[form.key] = len(firsts)
            firsts.append(part)
        first = firsts[number[form.key]].form
        nodes, edges = np.empty_like(part.nodes), np.empty_like(part.edges)
        nodes[first.tasks] = part.nodes[form.tasks]
        edges[first.edges] = part.edges[form.edges]
        members.append(Module(number[form.key], nodes, edges))
    return Classes(tuple(firsts), tuple(members))


def timetable(part: Part, plan: Plan) -> Timetable:
    """Return the timetable of a plan of the module's problem."""
    if plan.batches is not None:
        chunk = part.problem.batching.chunk
        return Timetable(plan.batches.device[:, ::chunk], plan.batches.start, np.full(len(part.edges), np.nan))
    assert plan.schedule is not None
    return Timetable(plan.assignment[:, None], plan.schedule.start[:, None], plan.schedule.sent)
