"""Bound makespans on links by modules between cut nodes, equal ones once: method ``series-bound``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.base.compiling import inputs
from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result, Termination
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule, modules
from mtpp_dsl.solvers.algorithms.windows.climbing import ROUNDING, no_way
from mtpp_dsl.solvers.algorithms.windows.earliest_starts import EARLIEST, DirectedNet, class_time, net_of, reversed_net
from mtpp_dsl.solvers.algorithms.windows.tighten import TimeUp

__all__ = ["series"]

NAME = "series-bound"
COUNTS = (4, 16, 64, 256)
"""How many nodes count where edges meet, in turn."""
MAX_MODULES = 4_000
"""Of more, several in a row are taken as one: what a module costs by itself would be most of the time."""
CHUNK = 20_000
"""Nodes, times those that count before each, between two looks at the clock."""


def series(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the bound of a chain of modules; if stopped early, of the largest count of nodes that was gone through.

    Everything in a module, transfers too, happens after the cut node before it has ended and before the one behind it
    starts. So with ``T_j(a, b)`` no more than the least time from the end of its entry on device a to the end of its
    exit on b, no schedule is shorter than the shortest way through all modules over the devices of the cut nodes.
    ``T_j(a, b)`` is when the exit can end at the earliest on b, if the entry ends on a at 0; see
    :func:`mtpp_dsl.solvers.algorithms.windows.earliest_starts.earliest`.
    """
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(NAME, limits, "infeasible", infeasibility=impossible)

    def pause() -> None:
        if progress.ended(limits) is not None:
            raise TimeUp

    best: Bound | None = None
    termination: Termination = "complete"
    try:
        chain = _Chain(problem, pause, progress.say)
        for most in COUNTS:
            cost = chain.shortest(most)
            if cost == inf:
                return no_way(problem, NAME, limits, progress)
            bound = _bound(problem, cost, chain)
            best = bound if best is None or bound.cost > best.cost else best
            progress.report_bound(best)
            incumbent = progress.incumbent
            if incumbent is not None and best.cost >= incumbent * (1 - limits.gap):
                termination = "gap"
                break
            if most >= chain.largest:
                break
    except TimeUp:
        termination = progress.ended(limits) or "time_limit"
    if best is None:
        best = Bound(0.0, NAME, "checked", "mtpp", "no time is negative")
    return progress.result(NAME, limits, termination, bound=best)


def _bound(problem: Problem, cost: float, chain: _Chain) -> Bound:
    """Return the bound behind a length, less the possible rounding error of its sums."""
    count, kinds = len(chain.modules), len(chain.kinds)
    detail = f"the shortest way through {count} modules of {kinds} kinds, of up to {chain.largest} nodes"
    return Bound(cost * (1 - ROUNDING * (1 + problem.graph.n / 1e3)), NAME, "checked", "mtpp", detail)


class _Chain:
    """The modules of a problem, and what is known of the time of each.

    Args:
        problem: a makespan on links.
        pause: called often; raises to end.
        say: told when code has to be compiled.
    """

    def __init__(self, problem: Problem, pause: Callable[[], None], say: Callable[[str], None]) -> None:
        together = [c.nodes for c in problem.constraints if isinstance(c, (Colocate, Separate))]
        self.modules = joined(modules(problem.graph, bound=together))
        self._pause, self._say = pause, say
        self._net, self._time = net_of(problem), class_time(problem)
        self._alike = interchangeable(problem)
        numbers: dict[bytes, int] = {}
        self.kinds: list[_Kind] = []
        self._kind_of: list[int] = []
        for module in self.modules:
            pause()
            kind = _Kind.of(module, self._net, self._time)
            number = numbers.setdefault(kind.key, len(self.kinds))
            self.kinds += [kind] if number == len(self.kinds) else []
            self._kind_of.append(number)
        self._tables = [np.zeros((problem.k, problem.k)) for _ in self.kinds]

    @property
    def largest(self) -> int:
        """Return how many nodes the largest module has, with its ends."""
        return max((len(kind.time) for kind in self.kinds), default=0)

    def shortest(self, most: int) -> float:
        """Return the length of the shortest way, with up to *most* nodes where edges meet; ``inf`` if there is none."""
        for kind, table in zip(self.kinds, self._tables, strict=True):
            np.maximum(table, self._times(kind, most), out=table)
        reached = np.zeros(self._time.shape[1])
        for number in self._kind_of:
            table = self._tables[number]
            reached = (reached[:, None] + table).min(axis=0)
        return float(reached.min())

    def _times(self, kind: _Kind, most: int) -> Floats:
        """Return [k, k] the least times of a module from each device of its entry to each of its exit.

        Without an entry all rows are equal, and without an exit all columns. Of devices that can be swapped one is the
        entry's: with another in its place, the two are swapped at the exit as well.
        """
        table = self._rows(kind, most)
        if not kind.net.exclusive or kind.entry is None or kind.exit is None:
            return table
        return np.maximum(table, self._rows(kind.back, most).T)  # what leaves the entry's device takes turns as well

    def _rows(self, kind: _Kind, most: int) -> Floats:
        """Return the same as the heads of the exit alone show it."""
        k = kind.time.shape[1]
        table = np.empty((k, k))
        if kind.entry is None:
            table[:] = kind.earliest(None, most, self._pause, self._say)
            return table
        for first, *others in self._alike:
            table[first] = kind.earliest(first, most, self._pause, self._say)
            for other in others:
                table[other] = table[first]
                table[other, [first, other]] = table[first, [other, first]]
        return table


@dataclass(frozen=True, eq=False)
class _Kind:
    """Modules that nothing but their names tells apart.

    Attributes:
        net: the graph of one, its nodes in their order.
        time: [nodes, k] running times, in the order of the net; of the entry 0 where it may be.
        entry, exit: places of the ends; None where there is none.
    """

    net: DirectedNet
    time: Floats
    entry: int | None
    exit: int | None

    @classmethod
    def of(cls, module: CutModule, net: DirectedNet, time: Floats) -> _Kind:
        """Return the kind of *module* of a graph."""
        members = np.array(module.members, np.int64)
        place = np.argsort(members, kind="stable")
        edges = np.array(module.edges, np.int64)
        tails, heads = (_places(members, place, end[edges]) for end in (net.tail, net.head))
        order = np.lexsort((edges, heads, tails))
        edges, tails, heads = edges[order], tails[order], heads[order]
        own = np.array(time[members])
        if module.entry != NONE:
            own[0] = np.where(np.isfinite(own[0]), 0.0, inf)
        count = len(members)
        _, group = np.unique(net.group[members], return_inverse=True)
        _, first = np.unique(group, return_index=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        local = DirectedNet(
            order=np.arange(count),
            place=np.arange(count),
            before_at=_offsets(heads, count),
            before=np.argsort(heads, kind="stable"),
            after_at=_offsets(tails, count),
            after=np.arange(len(edges)),
            tail=tails,
            head=heads,
            group=rank[group],
            latency=net.latency,
            inverse=net.inverse,
            size=net.size[edges],
            row=net.row[edges],
            table=net.table,
            exclusive=net.exclusive,
        )
        first_place, last_place = None if module.entry == NONE else 0, None if module.exit == NONE else count - 1
        return cls(inputs(local), own, first_place, last_place)

    @cached_property
    def back(self) -> _Kind:
        """The same with time turned round: the exit, with its time, is where it begins."""
        return _Kind(reversed_net(self.net), self.time, self.exit, self.entry)

    @cached_property
    def key(self) -> bytes:
        """Return what is equal for modules of one kind, and differs between kinds."""
        ends = f"{len(self.time)} {self.entry} {self.exit} {len(self.net.tail)}".encode()
        arrays: Sequence[Ints | Floats] = (
            self.net.tail,
            self.net.head,
            self.net.group,
            self.net.row,
            self.net.size,
            self.time,
        )
        return b"|".join([ends, *(np.ascontiguousarray(array).tobytes() for array in arrays)])

    def earliest(self, device: int | None, most: int, pause: Callable[[], None], say: Callable[[str], None]) -> Floats:
        """Return [k] when the exit can end on each device if the entry, on *device*, starts at 0.

        Without an exit it is when the last node can end, the same for all. ``inf`` where there is no way.
        """
        n, k = self.time.shape
        time = self.time
        if device is not None:
            time = time.copy()
            time[self.entry, np.arange(k) != device] = inf
        start, since, weight = np.zeros((n, k)), np.full((n, k), np.nan), np.zeros((n, k, k + 1))
        run = EARLIEST.pick(len(self.net.tail) * k * k * most, say)
        step = max(1, CHUNK // (1 + most))
        for first in range(0, n, step):
            pause()
            run(self.net, time, first, min(n, first + step), most, start, since, weight)
        end = start + time
        if self.exit is None:
            return np.full(k, end.min(axis=1).max(initial=0.0))
        ends: Floats = end[self.exit]
        return ends


def joined(parts: Sequence[CutModule]) -> Sequence[CutModule]:
    """Return modules, several in a row as one where there would be more than :data:`MAX_MODULES`."""
    step = -(-len(parts) // MAX_MODULES)
    if step <= 1:
        return parts
    rows = [parts[first : first + step] for first in range(0, len(parts), step)]
    return [
        CutModule(
            row[0].entry,
            row[-1].exit,
            tuple(v for part in row for v in (part.nodes if part is row[-1] else (*part.nodes, part.exit))),
            tuple(e for part in row for e in part.edges),
        )
        for row in rows
    ]


def _places(members: Ints, place: Ints, nodes: Ints) -> Ints:
    """Return where *nodes* are in *members*, of which *place* is the order by number."""
    places: Ints = place[np.searchsorted(members, nodes, sorter=place)]
    return places


def _offsets(ends: Ints, count: int) -> Ints:
    """Return [count + 1] where the edges of each node begin, in the order of the nodes."""
    return np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=count)))).astype(np.int64)
