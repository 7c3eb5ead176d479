"""Find routes of a graph that is no chain: chains of its ideals, on ``shared`` and ``host``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Contiguous, Copies, Forbid, Memory, Pin
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.partition.copies.pipelines import Pipelines, best_sets

__all__ = ["GraphPricer", "graph_instance", "no_graph", "side_by_side"]

KEPT = (Acyclic, BreakSymmetry, Contiguous, Copies, Forbid, Memory, Pin)
MAX_DEVICES, MAX_NODES, MAX_IDEALS, MAX_STAGES = 8, 500, 3_000, 400_000
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class GraphInstance:
    """Arrays of a problem: ideals, and stages that lead from one to another.

    Attributes:
        order: [n] the nodes themselves.
        time, memory, room: as of a chain.
        ideals: [ideals, n] the nodes of each ideal, the empty one first.
        first: [ideals + 1] first stage that ends at each ideal.
        low, high: [stages] the ideals between which a stage lies.
        load: [stages, k] what a device pays for a stage.
        end: [stages, k] whether the device may have it.
        nets: cost and [pins] of every tensor that is read.
        pays: [k] whether a device pays for tensors.
        carried: no channels.
        ordered: always.
    """

    order: Ints
    time: Floats
    memory: Floats
    room: Floats
    ideals: Bools
    first: Ints
    low: Ints
    high: Ints
    load: Floats
    end: Bools
    nets: tuple[tuple[float, Ints], ...]
    pays: Bools
    carried: Floats
    ordered: bool = True

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.memory)

    @property
    def k(self) -> int:
        """Number of devices."""
        return len(self.room)

    def loads(self, device: Ints) -> Floats:
        """Return [k] the loads of one route."""
        load = np.zeros(self.k)
        np.add.at(load, device, self.time[np.arange(self.n), device])
        for cost, pins in self.nets:
            where = np.unique(device[pins])
            if len(where) > 1:
                load[where[self.pays[where]]] += cost
        return load

    def keeps(self, end: Bools, device: Ints) -> bool:
        """Return whether every device may have its stage of a route."""
        for d in np.unique(device).tolist():
            stage = self.stage_of(device == d, d)
            if stage is None or not end[stage, d]:
                return False
        return True

    def stage_of(self, nodes: Bools, d: int) -> int | None:
        """Return a stage with exactly these nodes on a device; all with the same nodes are alike, but for transfers."""
        size = self.ideals[self.high].sum(axis=1) - self.ideals[self.low].sum(axis=1)
        for s in np.flatnonzero((size == nodes.sum()) & np.isfinite(self.load[:, d])).tolist():
            if np.array_equal(self.ideals[self.high[s]] & ~self.ideals[self.low[s]], nodes):
                return s
        return None

    def holding(self, choice: Ints) -> GraphInstance:
        """Return the instance under decisions on what devices hold; see the chain's."""
        end = self.end.copy()
        for d in range(self.k):
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
    if problem.k > MAX_DEVICES:
        return f"copies goes through sets of {MAX_DEVICES} devices at most where the graph is no chain"
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
    graph, link, k = problem.graph, problem.channel, problem.k
    ideals = _ideals(problem)
    assert ideals is not None
    time = np.where(problem.allowed, problem.time, inf)
    room = problem.memory_limit * (1 + TOLERANCE)
    pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices])
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
    nets = tuple(
        (float(tensor[u]), np.append(graph.successors(u), u)) for u in range(graph.n) if all_read[u] and tensor[u] > 0
    )
    return GraphInstance(
        order=np.arange(graph.n),
        time=time,
        memory=graph.memory,
        room=room,
        ideals=ideals,
        first=np.array(first, np.int64),
        low=np.concatenate(low),
        high=np.concatenate(high),
        load=np.concatenate(load),
        end=np.concatenate(may),
        nets=nets,
        pays=pays,
        carried=np.zeros((0, graph.n, k, k)),
    )


class GraphPricer:
    """Finds cheapest routes; see :class:`mtpp_dsl.solvers.partition.copies.pricing.Pricer`."""

    def __init__(self, instance: GraphInstance, say: Callable[[str], None] | None = None) -> None:
        self.instance = instance
        self._say = say

    def cheapest(self, price: Floats, end: Bools) -> tuple[float, Ints | None]:
        """Return the least sum of price times load of any route, and the route."""
        best, origin, device = _programme(self.instance, self.instance.load * price, end, False, self._say)
        used = int(best[-1].argmin())
        if np.isinf(best[-1, used]):
            return inf, None
        return float(best[-1, used]), _traced(self.instance, origin, device, used)


def side_by_side(instance: GraphInstance, most: int, say: Callable[[str], None] | None = None) -> Pipelines:
    """Return the best *most* or fewer pipelines on disjoint devices; see :func:`pipelines` of chains."""
    best, origin, device = _programme(instance, instance.load, instance.end, True, say)
    sets = np.arange(1 << instance.k)
    count = sets[:, None] >> np.arange(instance.k) & 1
    chosen = best_sets(count, best[-1], most, lambda used: _traced(instance, origin, device, used))
    alone = int(best[-1].argmin())
    return chosen if np.isinf(best[-1, alone]) else replace(chosen, single=_traced(instance, origin, device, alone))


def _programme(
    instance: GraphInstance, load: Floats, end: Bools, largest: bool, say: Callable[[str], None] | None
) -> tuple[Floats, Ints, Ints]:
    best = np.full((len(instance.ideals), 1 << instance.k), inf)
    best[0, 0] = 0.0
    origin, device = np.zeros(best.shape, np.int64), np.zeros(best.shape, np.int64)
    run = ALONG.pick(float(end.size) * best.shape[1], say)
    run(instance.first, instance.low, load, end, best, origin, device, largest)
    return best, origin, device


def _traced(instance: GraphInstance, origin: Ints, device: Ints, used: int) -> Ints:
    """Return the assignment of a chain of stages that ends with all nodes and these devices."""
    route = np.empty(instance.n, np.int64)
    at = len(instance.ideals) - 1
    while at:
        stage, d = int(origin[at, used]), int(device[at, used])
        route[instance.ideals[at] & ~instance.ideals[instance.low[stage]]] = d
        at, used = int(instance.low[stage]), used & ~(1 << d)
    return route


# The innermost loops of the programmes over ideals and sets of devices.

STEPS_A_SECOND = 1e6


def _along(
    first: Ints, low: Ints, load: Floats, may: Bools, best: Floats, origin: Ints, device: Ints, largest: bool,
) -> None:  # fmt: skip
    """Find the least sum, or largest, of the loads of chains of stages, by the last ideal and the devices used.

    Args:
        first: [ideals + 1] the first stage that ends at each ideal; ideals come after those inside them.
        low: [stages] the ideal at which each stage begins.
        load: [stages, k] what a device pays for a stage.
        may: [stages, k] whether it may have the stage.
        best: [ideals, sets] to be filled with infinity but for the empty ideal and no device.
        origin: [ideals, sets] stage of the last step.
        device: [ideals, sets] its device.
        largest: whether the largest load counts, not the sum.
    """
    ideals, sets = best.shape
    k = load.shape[1]
    inf = float("inf")
    for end in range(1, ideals):
        for s in range(first[end], first[end + 1]):
            begin = low[s]
            for d in range(k):
                if not may[s, d]:
                    continue
                bit = 1 << d
                cost = load[s, d]
                for used in range(sets):
                    before = best[begin, used]
                    if before == inf or used & bit:
                        continue
                    value = max(before, cost) if largest else before + cost
                    if value < best[end, used | bit]:
                        best[end, used | bit] = value
                        origin[end, used | bit] = s
                        device[end, used | bit] = d


ALONG = Kernel(_along, STEPS_A_SECOND)
