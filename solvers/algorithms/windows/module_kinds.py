"""Find modules between cut nodes that nothing but their names tells apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from mtpp_dsl.core.base.compiling import inputs
from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule, modules
from mtpp_dsl.solvers.algorithms.windows.earliest_starts import DirectedNet, class_time, net_of, reversed_net

__all__ = ["ModuleKind", "ModuleKinds", "joined"]

MAX_MODULES = 4_000
"""Of more, several in a row are taken as one: what a module costs by itself would be most of the time."""


@dataclass(frozen=True, eq=False)
class ModuleKinds:
    """The modules of a makespan on links, in their order, and the kind of each.

    Attributes:
        modules: from the first nodes to the last.
        kinds: what they are; of equal ones there is one.
        number: [modules] the kind of each.
    """

    modules: Sequence[CutModule]
    kinds: Sequence[ModuleKind]
    number: Sequence[int]

    @classmethod
    def of(
        cls,
        problem: Problem,
        pause: Callable[[], None],
        *,
        kept: Bools | None = None,
        edges: Bools | None = None,
        bound: bool = True,
    ) -> ModuleKinds:
        """Return those of *problem*.

        Args:
            problem: a makespan on links.
            pause: called often; raises to end.
            kept: [n] nodes to look at; None for all.
            edges: [m] edges to look at; None for all.
            bound: whether nodes that must, or must not, share a device stay in one module; a bound does not need that.
        """
        together = [c.nodes for c in problem.constraints if bound and isinstance(c, (Colocate, Separate))]
        parts = joined(modules(problem.graph, kept=kept, edges=edges, bound=together))
        net, time = net_of(problem), class_time(problem)
        numbers: dict[bytes, int] = {}
        kinds: list[ModuleKind] = []
        number: list[int] = []
        for module in parts:
            pause()
            kind = ModuleKind.of(module, net, time)
            number.append(numbers.setdefault(kind.key, len(kinds)))
            kinds += [kind] if number[-1] == len(kinds) else []
        return cls(parts, kinds, number)

    @property
    def largest(self) -> int:
        """Return how many nodes the largest module has, with its ends."""
        return max((len(kind.time) for kind in self.kinds), default=0)


@dataclass(frozen=True, eq=False)
class ModuleKind:
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
    def of(cls, module: CutModule, net: DirectedNet, time: Floats) -> ModuleKind:
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
    def back(self) -> ModuleKind:
        """The same with time turned round: the exit, with its time, is where it begins."""
        return ModuleKind(reversed_net(self.net), self.time, self.exit, self.entry)

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
