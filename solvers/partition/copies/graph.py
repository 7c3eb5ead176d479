"""Find routes of a graph that is no chain: chains of its ideals, on ``shared`` and ``host``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Contiguous, Copies, Forbid, Memory, Pin
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.copies.instance import Route
from mtpp_dsl.solvers.partition.copies.pipelines import PipelineSets, best_sets, fewer
from mtpp_dsl.solvers.partition.copies.pricing import CountedPricer
from mtpp_dsl.solvers.partition.copies.states import CopiesStates, states_of

__all__ = ["GraphPricer", "graph_instance", "no_graph", "side_by_side"]

KEPT = (Acyclic, BreakSymmetry, Contiguous, Copies, Forbid, Memory, Pin)
MAX_NODES, MAX_IDEALS, MAX_STAGES = 500, 3_000, 400_000
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class GraphInstance:
    """Arrays of a problem: ideals, and stages that lead from one to another; devices by types, as of a chain.

    Attributes:
        members: the devices of each type.
        time, memory, room: as of a chain.
        ideals: [ideals, n] the nodes of each ideal, the empty one first.
        first: [ideals + 1] first stage that ends at each ideal.
        low, high: [stages] the ideals between which a stage lies.
        load: [stages, types] what a device pays for a stage.
        end: [stages, types] whether the device may have it.
        ordered: always.
        channels: none.
    """

    members: tuple[tuple[int, ...], ...]
    time: Floats
    memory: Floats
    room: Floats
    ideals: Bools
    first: Ints
    low: Ints
    high: Ints
    load: Floats
    end: Bools
    ordered: bool = True
    channels: int = 0

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.memory)

    @property
    def types(self) -> int:
        """Number of types."""
        return len(self.members)

    @cached_property
    def count(self) -> Ints:
        """[types] number of devices."""
        return np.array([len(group) for group in self.members], np.int64)

    def divided(self, kind: int, first: int) -> GraphInstance:
        """Return the instance in which so many devices of a type are one of their own, and the others the next."""
        pick = [*range(kind + 1), *range(kind, self.types)]
        group = self.members[kind]
        members = (*self.members[:kind], group[:first], group[first:], *self.members[kind + 1 :])
        return replace(
            self,
            members=members,
            time=self.time[:, pick],
            room=self.room[pick],
            load=self.load[:, pick],
            end=self.end[:, pick],
        )

    def stage(self, low: int, high: int) -> int:
        """Return the stage between two ideals."""
        begin, stop = self.first[high], self.first[high + 1]
        return int(begin + np.searchsorted(self.low[begin:stop], low))

    def nodes(self, low: int, high: int) -> Ints:
        """Return the nodes of a stage."""
        return np.flatnonzero(self.ideals[high] & ~self.ideals[low])

    def may(self, end: Bools, low: int, high: int, kind: int) -> bool:
        """Return whether a device of a type may have this stage."""
        return bool(end[self.stage(low, high), kind])

    def keeps(self, end: Bools, route: Route) -> bool:
        """Return whether every device may have its stage of a route, and there are as many devices."""
        return all(self.may(end, *stage) for stage in route) and bool((self.visits(route) <= self.count).all())

    def visits(self, route: Route) -> Ints:
        """Return [types] how many stages of a route each type has."""
        return np.bincount([kind for _, _, kind in route], minlength=self.types)

    def used(self, route: Route) -> Floats:
        """Return [n, types] how often each type runs each node."""
        on = np.zeros((self.n, self.types))
        for low, high, kind in route:
            on[self.nodes(low, high), kind] += 1.0
        return on

    def stage_loads(self, route: Route) -> Floats:
        """Return [stages] what the device of each stage of a route is loaded with."""
        return np.array([self.load[self.stage(low, high), kind] for low, high, kind in route])

    def channel_loads(self, _: Route) -> Floats:
        """Return nothing: there are no channels."""
        return np.zeros(self.channels)

    def loads(self, route: Route) -> Floats:
        """Return [types] the loads of one route, of the devices of a type on average."""
        kinds = [kind for _, _, kind in route]
        return np.bincount(kinds, weights=self.stage_loads(route), minlength=self.types) / self.count

    def holding(self, choice: Ints) -> GraphInstance:
        """Return the instance under decisions on what devices hold; see the chain's."""
        end = self.end.copy()
        for d in range(self.types):
            sure, never = choice[:, d] == 1, choice[:, d] == 0
            free = float(self.room[d] - self.memory[sure].sum())
            needs = self.ideals @ np.where(sure, 0.0, self.memory)
            end[:, d] &= needs[self.high] - needs[self.low] <= free * (1 + SLACK)
            barred = self.ideals @ never.astype(np.int64)
            end[:, d] &= barred[self.high] == barred[self.low]
        return replace(self, end=end)


def no_graph(problem: Problem) -> str | None:
    """Return why *problem* has no such arrays, or None; the number of ideals is seen later."""
    if not isinstance(problem.interconnect, (Shared, Host)) or problem.hierarchical:
        return "copies needs a graph that is a chain of nodes on links, trees, and between groups of devices"
    if not problem.acyclic:
        return "copies goes through ideals of a graph that is no chain: say 'constraint acyclic'"
    other = next((c for c in problem.constraints if not isinstance(c, KEPT)), None)
    if other is not None:
        return f"copies does not support constraint {other} in a graph that is no chain"
    if problem.graph.n > MAX_NODES:
        return f"copies goes through ideals of graphs of up to {MAX_NODES} nodes where they are no chains"
    return None if _ideals(problem) is not None else f"the graph is no chain, and has more than {MAX_IDEALS:,} ideals"


def _ideals(problem: Problem) -> Bools | None:
    """Return [ideals, n] all sets of nodes with all that their nodes read, by size; None if they are too many."""
    graph = problem.graph
    before = [frozenset(graph.predecessors(v).tolist()) for v in range(graph.n)]
    level: set[frozenset[int]] = {frozenset()}
    sets = [frozenset[int]()]
    for _ in range(graph.n):
        level = {ideal | {v} for ideal in level for v in range(graph.n) if v not in ideal and before[v] <= ideal}
        sets += sorted(level, key=sorted)
        if len(sets) > MAX_IDEALS:
            return None
    members = np.zeros((len(sets), graph.n), np.bool_)
    for i, ideal in enumerate(sets):
        members[i, list(ideal)] = True
    return members


def graph_instance(problem: Problem) -> GraphInstance:
    """Return the arrays of a problem that :func:`no_graph` has nothing against.

    Raises:
        Refused: there are more than MAX_STAGES stages.
    """
    graph, link = problem.graph, problem.channel
    ideals = _ideals(problem)
    assert ideals is not None
    every = np.where(problem.allowed, problem.time, inf)
    pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices])
    members = _types(every, problem.memory_limit, pays)
    kinds = [group[0] for group in members]
    time, pays = every[:, kinds], pays[kinds]
    room = problem.memory_limit[kinds] * (1 + TOLERANCE)
    tensor = problem.tensor_time
    reads = np.zeros((graph.n, graph.n), np.int64)
    np.add.at(reads, (graph.heads, graph.tails), 1)
    read = ideals.astype(np.int64) @ reads  # [ideals, tensors] readers inside
    all_read = reads.sum(axis=0)
    work = ideals @ np.where(np.isfinite(time), time, 0.0)
    closed = ideals.astype(np.int64) @ np.isinf(time)
    memory = ideals @ graph.memory
    first, low, high, load, may = [0, 0], [], [], [], []
    for end in range(1, len(ideals)):
        inside = np.flatnonzero(~(ideals[:end] & ~ideals[end]).any(axis=1))
        carried = ((read[end] > read[inside]) & ideals[inside]) @ tensor
        carried += (~ideals[inside] & (ideals[end] & (read[end] < all_read))) @ tensor
        low.append(inside)
        high.append(np.full(len(inside), end))
        load.append(work[end] - work[inside] + np.where(pays, carried[:, None], 0.0))
        fits = memory[end] - memory[inside] <= room[:, None] * (1 + SLACK)
        may.append((closed[end] == closed[inside]) & fits.T)
        first.append(first[-1] + len(inside))
        if first[-1] > MAX_STAGES:
            raise Refused(f"copies goes through {MAX_STAGES:,} stages at most; the ideals of this graph give more")
    return GraphInstance(
        members=members,
        time=time,
        memory=graph.memory,
        room=room,
        ideals=ideals,
        first=np.array(first, np.int64),
        low=np.concatenate(low),
        high=np.concatenate(high),
        load=np.concatenate(load),
        end=np.concatenate(may),
    )


def _types(time: Floats, room: Floats, pays: Bools) -> tuple[tuple[int, ...], ...]:
    """Return the devices of each type: equal in times, memory, and whether they pay for tensors."""
    groups: dict[tuple[bytes, float, bool], list[int]] = {}
    for d in range(time.shape[1]):
        groups.setdefault((time[:, d].tobytes(), float(room[d]), bool(pays[d])), []).append(d)
    return tuple(map(tuple, groups.values()))


class GraphPricer(CountedPricer):
    """Finds cheapest routes over ideals; see :class:`mtpp_dsl.solvers.partition.copies.pricing.Pricer`."""

    def prepare(self, counted: Ints) -> None:
        """Number the states that count these types."""
        self._states = states_of(self.instance.count, counted)

    def entries(self, states: int) -> int:
        """Return how many entries a table has."""
        return states * len(self.instance.ideals)

    def relaxed(self, price: Floats, end: Any) -> tuple[float, Route | None]:
        """Return the least sum of price times load of any route, and the route."""
        best, origin, kind = _programme(self.instance, self._states, self.instance.load * price, end, False, self.say)
        state = int(best[-1].argmin())
        if np.isinf(best[-1, state]):
            return inf, None
        return float(best[-1, state]), _traced(self.instance, self._states, origin, kind, state)


def side_by_side(
    instance: GraphInstance, most: int, worth: Floats, say: Callable[[str], None] | None = None
) -> PipelineSets | None:
    """Return the best *most* or fewer pipelines on disjoint devices; see :func:`pipelines` of chains."""

    def steps(limits: Ints) -> float:
        size = float(np.prod(limits + 1.0))
        return max(instance.end.size, 500.0 * len(instance.ideals)) * size

    counted = np.minimum(instance.count, instance.n)
    limits = fewer(counted, steps)
    if limits is None:
        return None
    states = states_of(limits)
    best, origin, kind = _programme(instance, states, instance.load, instance.end, True, say)
    complete = bool((limits == counted).all())

    def route(state: int) -> Route:
        return _traced(instance, states, origin, kind, state)

    return best_sets(instance.count, states, best[-1], most, worth, route, complete, say)


def _programme(
    instance: GraphInstance,
    states: CopiesStates,
    load: Floats,
    end: Bools,
    largest: bool,
    say: Callable[[str], None] | None,
) -> tuple[Floats, Ints, Ints]:
    best = np.full((len(instance.ideals), len(states.count)), inf)
    best[0, 0] = 0.0
    origin, kind = np.zeros(best.shape, np.int64), np.zeros(best.shape, np.int64)
    run = ALONG.pick(float(end.size) * best.shape[1], say)
    run(instance.first, instance.low, load, end, states.after, best, origin, kind, largest)
    return best, origin, kind


def _traced(instance: GraphInstance, states: CopiesStates, origin: Ints, kind: Ints, state: int) -> Route:
    """Return the chain of stages that ends with all nodes and these devices."""
    stages = []
    at = len(instance.ideals) - 1
    while at:
        stage, d = int(origin[at, state]), int(kind[at, state])
        stages.append((int(instance.low[stage]), at, d))
        at, state = int(instance.low[stage]), state - int(states.stride[d])
    return tuple(stages[::-1])


# The innermost loops of the programmes over ideals and devices used.

STEPS_A_SECOND = 1e6


def _along(
    first: Ints, low: Ints, load: Floats, may: Bools, after: Ints, best: Floats, origin: Ints, kind: Ints,
    largest: bool,
) -> None:  # fmt: skip
    """Find the least sum, or largest, of the loads of chains of stages, by the last ideal and the devices used.

    Args:
        first: [ideals + 1] the first stage that ends at each ideal; ideals come after those inside them.
        low: [stages] the ideal at which each stage begins.
        load: [stages, types] what a device pays for a stage.
        may: [stages, types] whether it may have the stage.
        after: [states, types] the state with one more device of a type used; -1 where there is none left.
        best: [ideals, states] to be filled with infinity but for the empty ideal and no device.
        origin: [ideals, states] stage of the last step.
        kind: [ideals, states] its type.
        largest: whether the largest load counts, not the sum.
    """
    ideals, states = best.shape
    types = load.shape[1]
    inf = float("inf")
    for end in range(1, ideals):
        for s in range(first[end], first[end + 1]):
            begin = low[s]
            for d in range(types):
                if not may[s, d]:
                    continue
                cost = load[s, d]
                for used in range(states):
                    before = best[begin, used]
                    new = after[used, d]
                    if before == inf or new < 0:
                        continue
                    value = max(before, cost) if largest else before + cost
                    if value < best[end, new]:
                        best[end, new] = value
                        origin[end, new] = s
                        kind[end, new] = d


ALONG = Kernel(_along, STEPS_A_SECOND)
