"""Which node is in which subgraph of which device, or beside host memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Separate
from mtpp_dsl.core.plans.subgraphs import most_subgraphs, paying
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Bools, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain, impossible


@dataclass(frozen=True)
class Slots:
    """Where nodes can be: subgraphs first, those of one device in the order in which they run, then CPUs.

    Attributes:
        home: [slots] the device of each.
        number: [slots] which of its device's subgraphs each is.
        pieces: how many slots are subgraphs.
        alike: [devices] which device stands for each: of equal ones with ``io = free`` and no limit, the first, unless
            nodes have to be apart.
        classes: devices that can be swapped in every plan.
    """

    home: tuple[int, ...]
    number: tuple[int, ...]
    pieces: int
    alike: tuple[int, ...]
    classes: tuple[tuple[int, ...], ...]

    def of(self, d: int) -> list[int]:
        """Return the slots of a device."""
        return [s for s, home in enumerate(self.home) if home == self.alike[d]]

    @property
    def follows(self) -> list[tuple[int, int]]:
        """The pairs of subgraphs of one device that run one after the other."""
        return [(s, s + 1) for s in range(self.pieces - 1) if self.home[s] == self.home[s + 1]]


def slots_of(problem: Problem, *, merge: bool = True, symmetric: bool = True) -> Slots:
    """Return the slots of a latency problem.

    Args:
        problem: what is asked.
        merge: whether one device may stand for equal ones with ``io = free``, as nothing counts what is on each.
        symmetric: whether equal devices can be swapped.
    """
    most, pays = most_subgraphs(problem), paying(problem)
    pieces = [(d, j) for d in range(problem.k) for j in range(min(int(most[d]), problem.graph.n))]
    alike = list(range(problem.k))
    classes = [members for members in interchangeable(problem) if symmetric]
    for members in classes if merge else ():
        if not pays[members[0]] and np.isinf(problem.memory_limit[members[0]]) and not any(problem.of(Separate)):
            for d in members:
                alike[d] = members[0]
    free = [(d, 0) for d in range(problem.k) if not pays[d] and alike[d] == d]
    every = [*pieces, *free]
    home, number = tuple(d for d, _ in every), tuple(j for _, j in every)
    return Slots(home, number, len(pieces), tuple(alike), tuple(classes))


def in_slots(model: Any, problem: Problem, slots: Slots, may: Bools) -> On:
    """Add one binary per node and slot; returned as ``on(v, d)``, whether a node is on a device.

    Formula: ``sum_s x[v,s] = 1``; ``x[v,s] = 0`` where the node *may* not be on the device of s; for colocated u, v and
    every device d ``sum_{s of d} x[u,s] = sum_{s of d} x[v,s]``: they may be in different subgraphs. Of devices that
    can be swapped, the i-th is not used by the first i nodes of a topological order.
    Source -> target: where a node runs, ``constraint colocate``, ``pin``, ``forbid`` -> binaries ``x`` on ``V × S``.
    Exact. Reference: tarnawski2020, appendix A, as in the published code.
    """
    model.D = pyo.Set(initialize=sorted(set(slots.home)))
    model.S = pyo.RangeSet(0, len(slots.home) - 1)
    model.own = pyo.Set(model.D, initialize={d: slots.of(d) for d in model.D})
    model.x = pyo.Var(model.V, model.S, domain=pyo.Binary)
    constrain(model, "once", model.V, rule=lambda m, v: sum(m.x[v, s] for s in m.S) == 1)
    for v in model.V:
        if not any(may[v, d] for d in slots.home):
            impossible(model, f"nowhere_{v}")
            continue
        for s, d in enumerate(slots.home):
            if not may[v, d]:
                model.x[v, s].fix(0)
    _by_first_use(model, problem, slots)
    groups = colocated(problem)
    first = {int(g): v for v, g in reversed(list(enumerate(groups.tolist())))}
    pairs = [(first[int(g)], v) for v, g in enumerate(groups.tolist()) if first[int(g)] != v]
    model.together = pyo.ConstraintList()
    for u, v in pairs:
        for d in model.D:
            model.together.add(sum(model.x[u, s] for s in model.own[d]) == sum(model.x[v, s] for s in model.own[d]))
    return lambda v, d: sum(model.x[v, s] for s in model.own[d])


def _by_first_use(model: Any, problem: Problem, slots: Slots) -> None:
    order = problem.graph.topological_order.tolist()
    pays = paying(problem)
    for members in slots.classes:
        for i, d in enumerate(members if pays[members[0]] else ()):
            for v in order[:i]:
                for s in slots.of(d):
                    model.x[v, s].fix(0)


def convex_subgraphs(model: Any, graph: Graph, pieces: Sequence[int]) -> None:
    """Make every subgraph contiguous: no path leaves it and comes back.

    Formula: ``z[v,s] >= x[v,s]``; for every edge (u,v) ``z[v,s] <= z[u,s]`` and ``z[v,s] <= x[v,s] - x[u,s] + 1``.
    Source -> target: ``constraint contiguous``, ``subgraphs`` -> continuous ``z`` on V × subgraphs.
    Exact. Reference: tarnawski2020, Figure 3 and appendix A.
    """
    part = model.convex = pyo.Block(concrete=True)
    part.I = pyo.Set(initialize=list(pieces))
    part.E = pyo.Set(initialize=_pairs(graph.tails, graph.heads), dimen=2)
    part.z = pyo.Var(model.V, part.I, bounds=(0, 1))
    constrain(part, "member", model.V, part.I, rule=lambda b, v, s: b.z[v, s] >= model.x[v, s])
    constrain(part, "reaches", part.E, part.I, rule=lambda b, u, v, s: b.z[v, s] <= b.z[u, s])
    constrain(part, "leaves", part.E, part.I, rule=lambda b, u, v, s: b.z[v, s] <= model.x[v, s] - model.x[u, s] + 1)


def _pairs(tails: Ints, heads: Ints) -> list[tuple[int, int]]:
    return list(zip(tails.tolist(), heads.tolist(), strict=True))
