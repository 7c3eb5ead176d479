"""Modules that have one graph, whatever their times: an order of one of them is tried in the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import CutModule
from mtpp_dsl.solvers.algorithms.windows.earliest_starts import class_time, net_of
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKind
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.schedule.lifted.classes import class_graph
from mtpp_dsl.solvers.schedule.lifted.module_search import ModuleSchedule, ModuleSearch
from mtpp_dsl.solvers.schedule.modules.canonical import canonical
from mtpp_dsl.solvers.schedule.modules.piece import piece_of

__all__ = ["Ends", "FamilyMember", "ModuleFamily", "module_families"]

Ends = tuple[int | None, int | None]
"""Devices of the entry and of the exit of a module; None where there is none."""
SMALLEST, LARGEST = 8, 400
"""Nodes of modules that are looked at."""
LONG, SHORT, FIRST = 4_000_000, 2_000_000, 300_000
"""Nodes and edges that are timed in a search of one module, after an order was moved to it, and before that."""
HOT, WARM = (0.02, 0.01, 0.04, 0.003), 0.003
"""First temperatures of searches, in turn, and of those from an order that was moved, as shares of the length."""
DRIVE = 2.0
"""How much the work of the busiest device counts: modules that take what it runs without a break are helped so."""
CLOSER = 1e-9
"""Relative: by how much a schedule is shorter, at least."""


@dataclass(eq=False)
class FamilyMember:
    """One module of a family.

    Attributes:
        module: its nodes and edges.
        search: for schedules of it.
        tasks: [nodes] its nodes in the order that all modules of the family have.
        best: the best schedule known for devices of its ends.
    """

    module: CutModule
    search: ModuleSearch
    tasks: Ints
    best: dict[Ends, ModuleSchedule] = field(default_factory=dict)

    def keep(self, ends: Ends, schedule: ModuleSchedule | None) -> bool:
        """Keep a schedule if it is the best; return whether it is."""
        known = self.best.get(ends)
        if schedule is None or (known is not None and schedule.length >= known.length * (1 - CLOSER)):
            return False
        self.best[ends] = schedule
        return True

    def steps(self, work: int) -> int:
        """Return the moves of which so much *work* is the timing."""
        return work // (len(self.search.kind.time) + len(self.search.kind.net.tail))


class ModuleFamily:
    """Modules of one graph, and the search for good orders of them.

    Args:
        members: the modules.
        seed: of everything random.
        ended: says whether to stop.
    """

    def __init__(self, members: Sequence[FamilyMember], seed: int, ended: Callable[[], bool]) -> None:
        self.members, self._seed, self._ended = members, seed, ended
        self._turns = 0

    @property
    def size(self) -> int:
        """How many nodes all members have."""
        return sum(len(member.tasks) for member in self.members)

    def turn(self, ends: Sequence[Ends]) -> list[int]:
        """Search once for a schedule of one member, and try its order in all others if it is better.

        Args:
            ends: of every member.

        Returns:
            the members that have better schedules now.
        """
        number, count = self._turns, len(self.members)
        self._turns += 1
        i, again = number % count, number // count
        member = self.members[i]
        known, steps = member.best[ends[i]], member.steps(LONG)
        hot, seed = HOT[again % len(HOT)] * known.length, self._seed + number
        device, key = (known.device, known.key) if again % 2 else (self._together(member, ends[i]), None)
        found = member.search.schedule(
            ends[i], device, key, steps=steps, hot=hot, seed=seed, drive=DRIVE, ended=self._ended
        )
        if not member.keep(ends[i], found):
            return []
        others = [j for j in range(count) if j != i and not self._ended()]
        return [i, *(j for j in others if self._moved(i, j, ends))]

    def _together(self, member: FamilyMember, ends: Ends) -> Ints:
        """Return [nodes] the device of an end for all, or the fastest one where a node cannot be there."""
        time = member.search.kind.time
        first, last = ends
        device = last if last is not None else first
        wanted = int(time.sum(axis=0).argmin()) if device is None else device
        return np.where(np.isfinite(time[:, wanted]), wanted, time.argmin(axis=1))

    def _moved(self, of: int, to: int, ends: Sequence[Ends]) -> bool:
        """Try the order of one member in another; return whether that has a better schedule now."""
        one, other = self.members[of], self.members[to]
        schedule = one.best[ends[of]]
        device, key = np.empty_like(schedule.device), np.empty_like(schedule.key)
        device[other.tasks], key[other.tasks] = schedule.device[one.tasks], schedule.key[one.tasks]
        better = False
        for work in (FIRST, SHORT):
            found = other.search.schedule(
                ends[to], device, key, steps=other.steps(work), hot=WARM * schedule.length, ended=self._ended
            )
            if found is None or not other.keep(ends[to], found):
                break
            better, device, key = True, found.device, found.key
        return better

    def know(self, i: int, ends: Ends, device: Ints, start: Floats) -> None:
        """Take what a plan does with a member as a schedule of it, if nothing is known."""
        member = self.members[i]
        if ends not in member.best:
            found = member.search.schedule(ends, device, -start)
            member.keep(ends, found or member.search.schedule(ends, self._together(member, ends)))


def module_families(
    problem: Problem, modules: Sequence[CutModule], say: Callable[[str], None], ended: Callable[[], bool], seed: int
) -> list[ModuleFamily]:
    """Return the families of *modules*, those with most nodes first.

    Args:
        problem: a makespan on links.
        modules: of its graph.
        say: told when code has to be compiled.
        ended: says whether to stop.
        seed: of everything random.
    """
    whole, net, time = lower(problem), net_of(problem), class_time(problem)
    groups: dict[bytes, list[FamilyMember]] = {}
    for module in modules:
        if not SMALLEST <= len(module.members) <= LARGEST or ended():
            continue
        form = canonical(piece_of(whole, module, exclusive=whole.instance.exclusive), weights=False)
        kind = ModuleKind.of(module, net, time)
        search = ModuleSearch(kind, class_graph(kind), say, class_graph(_without_times(kind)))
        groups.setdefault(form.key, []).append(FamilyMember(module, search, form.tasks))
    families = [ModuleFamily(members, seed, ended) for members in groups.values() if len(members) > 1]
    return sorted(families, key=lambda family: -family.size)


def _without_times(kind: ModuleKind) -> ModuleKind:
    """Return a module of the same graph in which everything takes the same: its classes are those of the graph."""
    time, net = np.where(np.isfinite(kind.time), 1.0, np.inf), kind.net
    return replace(kind, time=time, net=net._replace(size=np.ones_like(net.size), row=np.zeros_like(net.row)))
