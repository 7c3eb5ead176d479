"""Make problems of others: with two of the objectives, under the limits of a runtime, with one more device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.errors import PluginError, Refused, UsageError, nearest
from mtpp_dsl.core.problem.devices import Device, Interconnect, Links, Tree
from mtpp_dsl.core.problem.graph import Graph, frozen
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.objective_rules import settled_objectives
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.spec_origin import Targeted

NAMED = ("bottleneck", "makespan", "latency")
"""Objectives that a front may be asked for where the spec does not state them."""


def with_objectives(problem: Problem, names: Sequence[str]) -> Problem:
    """Return *problem* with two of its objectives, by their labels or names, in this order and without tolerances.

    Raises:
        UsageError: not two names, or no objective of such a name.
    """
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"a front is of two objectives, such as bottleneck,cost; not of {', '.join(names) or 'none'}")
    stated = {objective.called: objective for objective in problem.objectives}
    objectives = []
    for name in names:
        if name not in stated and name not in NAMED:
            known = [*stated, *(other for other in NAMED if other not in stated)]
            near = nearest(name, known)
            label = f"; label one: minimize {name}: …" if name.isidentifier() and not near else ""
            raise UsageError(f"the spec has no objective {name!r}{near}{label}")
        objectives.append(replace(stated.get(name) or Objective(name), within=0.0))
    settled, _ = settled_objectives(objectives, problem.graph, problem.k, problem.interconnect, problem.constraints)
    return replace(problem, objective=settled[0], later=settled[1:])


UNUSED_MEMORY = "[MTPP-W401]"
"""The code of the warning that no constraint uses a memory."""
ADDED = ("constraints", "warnings")
"""What targets may add to."""


def targeted(problem: Problem, name: str, restrict: Callable[[Problem], Problem]) -> Problem:
    """Return *problem* under the limits of the target *name*, which is to add constraints and change nothing else.

    A problem that is for another runtime is for this one instead.

    Raises:
        UsageError: *restrict* says what the runtime cannot do.
        PluginError: *restrict* took a constraint away, or changed something else.
    """
    problem = free_of(problem)
    limited = restrict(problem)
    same = all(
        getattr(limited, one.name) is getattr(problem, one.name) for one in fields(problem) if one.name not in ADDED
    )
    if not same or limited.constraints[: len(problem.constraints)] != problem.constraints:
        raise PluginError(f"target {name!r} changes more of a problem than that it adds constraints")
    warnings = limited.warnings
    if any(isinstance(rule, Memory) for rule in limited.constraints[len(problem.constraints) :]):
        warnings = tuple(warning for warning in warnings if UNUSED_MEMORY not in warning)  # it is used now
    return replace(limited, warnings=warnings, target=Targeted(name, problem.constraints))


def free_of(problem: Problem) -> Problem:
    """Return *problem* without the constraints of its target."""
    if problem.target is None:
        return problem
    return replace(problem, constraints=problem.target.stated, target=None)


T = TypeVar("T")


def new_name(devices: Sequence[Device], like: int) -> str:
    """Return a name for another device of a family: ``gpu[4]`` after ``gpu[3]``, ``cpu_2`` beside ``cpu``."""
    name, taken = devices[like].name, {device.name for device in devices}
    indexed = re.fullmatch(r"(.*)\[(\d+)\]", name, re.DOTALL)
    numbers = range(int(indexed[2]) + 1 if indexed else 2, len(taken) + 10**6)
    made = (f"{indexed[1]}[{i}]" if indexed else f"{name}_{i}" for i in numbers)
    return next(candidate for candidate in made if candidate not in taken)


@dataclass(frozen=True)
class OneMore:
    """A device that is to be added to those of a problem.

    Attributes:
        like: the number of the device that it is like.
        peers: the numbers of all devices that are alike, *like* among them.
        name: of the new one.
        place: its number: behind those of its family.
    """

    like: int
    peers: tuple[int, ...]
    name: str
    place: int

    @classmethod
    def beside(cls, devices: Sequence[Device], like: int, peers: Sequence[int]) -> OneMore:
        """Return what another device like *like* is called, and where it stands."""
        families = [device.name.partition("[")[0] for device in devices]
        last = max(p for p in peers if families[p] == families[like])
        return cls(like, tuple(peers), new_name(devices, like), last + 1)

    def grown(
        self, graph: Graph, devices: Sequence[Device], joined: Interconnect
    ) -> tuple[Graph, tuple[Device, ...], Interconnect]:
        """Return the parts of the problem with the new device.

        It has the other one's times, memory, group, and links. To devices that are alike it is joined as the other one
        is.

        Raises:
            Refused: nothing says what would join it to the others.
        """
        old = devices[self.like]
        new = (*devices[: self.place], replace(old, name=self.name), *devices[self.place :])
        return _tables(graph, old.name, self.name), new, self._joined(devices, joined)

    def _joined(self, devices: Sequence[Device], joined: Interconnect) -> Interconnect:
        k, like = len(devices), self.like
        order = [*range(self.place), k, *range(self.place, k)]
        if isinstance(joined, Tree):
            columns = {
                what: _inserted(getattr(joined, what), like, order) for what in ("parents", "uplink", "latency", "half")
            }
            return replace(joined, **columns)
        if not isinstance(joined, Links):
            return joined
        twin = self._twin(devices, joined)
        tables = {"bandwidth": joined.bandwidth, "latency": joined.latency}
        if joined.transfers is not None:
            tables["transfers"] = joined.transfers
        return replace(joined, **{what: _grown(table, like, twin, order) for what, table in tables.items()})

    def _twin(self, devices: Sequence[Device], joined: Links) -> tuple[int, int]:
        """Return two devices that are joined as the new one is to the one that it is like."""
        others = [p for p in self.peers if p != self.like]
        near = [p for p in others if devices[p].group == devices[self.like].group] or others
        if near:
            return self.like, max(near, key=lambda p: (joined.bandwidth[self.like, p], p))
        pairs = [(d, e) for d in range(len(devices)) for e in range(len(devices)) if d != e]
        first = next(iter(pairs), None)
        if first is not None and joined.transfers is None:
            bandwidths = {float(joined.bandwidth[pair]) for pair in pairs}
            if len(bandwidths) == len({float(joined.latency[pair]) for pair in pairs}) == 1:
                return first
        name = devices[self.like].name
        raise Refused(f"there is one device such as {name}, so that nothing says what would join it to another one")


def _tables(graph: Graph, old: str, new: str) -> Graph:
    """Return the graph with the tables of device *old*, by its name, for device *new*, too."""
    tables = {
        what: _also(getattr(graph, what), old, new) for what in ("times", "device_times", "batch_times", "time_sources")
    }
    phases = tuple(replace(phase, graph=_tables(phase.graph, old, new)) for phase in graph.phases)
    return replace(graph, phases=phases, **tables)  # type: ignore[arg-type]


def _also(table: Mapping[str, T], old: str, new: str) -> Mapping[str, T]:
    return MappingProxyType({**table, new: table[old]}) if old in table else table


def _inserted(column: Any, like: int, order: Sequence[int]) -> Any:
    """Return a column of devices and then switches with a row for the new device."""
    k = len(order) - 1
    devices = np.concatenate((column[:k], column[like : like + 1]))[list(order)]
    return frozen(np.concatenate((devices, column[k:])), column.dtype.type)


def _grown(table: Any, like: int, twin: tuple[int, int], order: Sequence[int]) -> Any:
    """Return a table over pairs of devices, its last two axes, with a row and a column as those of *like*."""
    k = len(order) - 1
    rows = np.concatenate((table, table[..., like : like + 1, :]), axis=-2)
    wide = np.concatenate((rows, rows[..., :, like : like + 1]), axis=-1)
    wide[..., k, like] = table[..., twin[1], twin[0]]
    wide[..., like, k] = table[..., twin[0], twin[1]]
    wide[..., k, k] = table[..., like, like]
    return frozen(wide[..., list(order), :][..., list(order)], np.float64)
