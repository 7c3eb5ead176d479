"""Derive what is true of every acyclic plan whose loads are all at most a known cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Forbid,
    InOrder,
    Linear,
    Memory,
    Pin,
    Robust,
    Separate,
)
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, Net
from mtpp_dsl.models.facts.graph_facts import CutNetwork, between, reach
from mtpp_dsl.models.facts.user_rows import PASSED


@dataclass(frozen=True, eq=False)
class RelaxedInstance:
    """An acyclic problem, and what no load of its plans is above.

    Attributes:
        k: how many blocks there may be.
        cost: of a plan, so that no load of the best is more.
        work: [nodes] the least that each takes on any device, in the unit of *cost*.
        edges: between nodes, without a cycle.
        nets: what every block pays that holds some and not all pins; the producer comes first.
        needs: [kinds, nodes] other things, of each of which a block has room for 1.
    """

    k: int
    cost: float
    work: Floats
    edges: Sequence[tuple[int, int]]
    nets: Sequence[Net]
    needs: Floats


def _asked_of(problem: Problem, view: Hypergraph, nets: Sequence[Net], unit: float, cost: float) -> RelaxedInstance:
    """Return *problem*, which is acyclic over a graph without a backward part, in a model's *unit*.

    Devices may differ: a block has at most the room of the largest. Nodes need hard memory; and where parameters are
    streamed, a load of at most U is ``work + params / B`` of at most ``U + limit / B`` (archer2024, eq. 2).

    Args:
        problem: what is asked.
        view: its nodes.
        nets: in the model's unit; left out where some device does not pay.
        unit: of the model's costs.
        cost: of a plan of the problem, in the problem's unit.
    """
    graph = problem.graph
    work = view.least_work / unit
    needs: list[Floats] = []
    room = float(problem.memory_limit.max())
    if 0 < room < np.inf:
        needs.append(view.memory / (room * (1 + PASSED)))
    kept = float(problem.overflow_limit.max())
    if kept < np.inf:
        per_size = 1.0 / (problem.channel.bandwidth * unit)
        both = 0.0 * work if problem.prefetches else work  # streamed while the device works, it has the time to itself
        needs.append((both + view.params * per_size) / (cost / unit + kept * per_size))
    paying = isinstance(problem.interconnect, Shared) or all(device.pays_io for device in problem.devices)
    return RelaxedInstance(
        k=problem.k,
        cost=cost / unit,
        work=work,
        edges=view.edges(graph.tails, graph.heads),
        nets=tuple(nets) if paying else (),
        needs=np.array(needs).reshape(-1, view.n),
    )


MAX_NODES = 2000
"""For graphs of more nodes models do without: pairs are too many."""

MAX_CUT = 600
"""For graphs of more nodes sums have to do: two minimum cuts per node, and more, take longer than they are worth."""

ROUNDS = 4
"""Nodes found apart make nets dearer, which tells more nodes apart; so often."""


@dataclass(frozen=True, eq=False)
class BlockFacts:
    """What holds of the blocks 0..k-1 of such a plan, numbered in an order of its quotient graph.

    Attributes:
        asked: what the facts are for.
        earliest, latest: [nodes] bounds of the block of each.
        after: [nodes, nodes] whether a path leads from one to the other.
        distance: [nodes, nodes] how many blocks the second is after the first, at least, where a path leads to it.
        cliques: for every net pins of which no two are in one block; the producer alone where none are known apart.
        split: [nets] whether no block holds all pins.
    """

    asked: RelaxedInstance
    earliest: Ints
    latest: Ints
    after: Bools
    distance: Ints
    cliques: tuple[tuple[int, ...], ...]
    split: Bools


HOLD_FOR = ("bottleneck", "sum of bottlenecks")
"""Objectives below whose cost every load stays."""

HOLD_BESIDE = (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    CustomConstraint,
    Forbid,
    InOrder,
    Linear,
    Memory,
    Pin,
    Robust,
    Separate,
)
"""Constraints beside which the facts hold: they rule plans out, or add to loads, and change nothing else."""


def facts_hold(problem: Problem) -> bool:
    """Return whether the facts hold of the plans of *problem*, by its objective and its constraints.

    They rest on this: each load is at least the work and the nets of its block, and at most the cost.
    """
    return problem.objective.quantity in HOLD_FOR and all(isinstance(c, HOLD_BESIDE) for c in problem.constraints)


def facts_below(
    problem: Problem, view: Hypergraph, nets: Sequence[Net], unit: float, cost: float | None
) -> BlockFacts | None:
    """Return what is known of the plans that cost at most *cost*; None if no cost is, or pairs of nodes are too many.

    Args:
        problem: acyclic over a graph without a backward part.
        view: its nodes.
        nets: in the model's unit.
        unit: of the model's costs.
        cost: of a plan, in the problem's unit.
    """
    if not cost or view.n > MAX_NODES:
        return None
    return _facts_of(_asked_of(problem, view, nets, unit, cost))


def _facts_of(asked: RelaxedInstance) -> BlockFacts:
    """Return what is known; ``cl`` of nodes are they and all on paths between them, which their block holds too.

    * Two nodes are apart if some need of ``cl{u,v}``, or the least cost of a block that holds it, a minimum cut, is
      more than a block may have.
    * A net of which no block holds all pins is split: every block that holds some pins pays, and so does, by itself,
      each of a clique of pins apart. What members of cliques pay thus adds to their work.
    * The blocks from that of u to that of v hold ``cl{u,v}``, and the first blocks up to that of v all that comes
      before v: they are as many as that takes.

    Sums of floats are taken to exceed a capacity by a margin only, and cuts are rounded down.
    """
    state = _State(asked)
    while state.rounds < ROUNDS and state.tell_apart():
        pass
    return state.facts()


class _State:
    """The pairs and nets known to be apart, and what follows for loads."""

    def __init__(self, asked: RelaxedInstance) -> None:
        self.asked = asked
        self.n = len(asked.work)
        self.after = reach(self.n, asked.edges)
        self.apart = np.zeros((self.n, self.n), np.bool_)
        self.split = np.zeros(len(asked.nets), np.bool_)
        self.cliques = [net.pins[:1] for net in asked.nets]
        self.pairs = sorted({pair for net in asked.nets for pair in combinations(sorted(net.pins), 2)})
        self.pins = np.zeros((len(asked.nets), self.n), np.float32)
        for u, net in enumerate(asked.nets):
            self.pins[u, list(net.pins)] = 1.0
        self.costs = np.array([net.cost for net in asked.nets])
        self.rounds = 0

    @property
    def work(self) -> Floats:
        """[nodes] the work of each, and what it pays for the nets of whose cliques it is."""
        work = self.asked.work.copy()
        for u in np.flatnonzero(self.split):
            work[list(self.cliques[u])] += self.costs[u]
        return work

    @property
    def loads(self) -> Floats:
        """[kinds, nodes] what nodes add to a block, which has room for 1 of each kind."""
        return np.vstack([self.work / self.asked.cost, self.asked.needs])

    def tell_apart(self) -> bool:
        """Find more nodes and nets apart; return whether any was."""
        self.rounds += 1
        known = self._known()
        self.between = [between(self.after, load) for load in self.loads]
        for total in self.between:
            self.apart |= total > ABOVE
        if self.n <= MAX_CUT:
            self._cut_pairs()
        self._spread()
        for u, net in enumerate(self.asked.nets):
            clique = _clique(net.pins, self.apart)
            if len(clique) > 1:
                self.cliques[u], self.split[u] = clique, True
        if self.n <= MAX_CUT:
            self._cut_nets()
        return self._known() > known

    def _known(self) -> int:
        return int(self.apart.sum()) + int(self.split.sum()) + sum(map(len, self.cliques))

    def _cut_pairs(self) -> None:
        """Set pins of one net apart whose cheapest block is too dear."""
        network = _cost_of_block(self.asked, self.split)
        for u, v in self.pairs:
            if not self.apart[u, v] and self._dear([u, v], network):
                self.apart[u, v] = self.apart[v, u] = True

    def _spread(self) -> None:
        """Set apart what lies around nodes that are, on paths."""
        np.fill_diagonal(self.apart, val=False)
        around = self.after.astype(np.float32) + np.eye(self.n, dtype=np.float32)
        ordered: Bools = around @ (self.apart & self.after).astype(np.float32) @ around > 0
        self.apart |= ordered | ordered.T

    def _cut_nets(self) -> None:
        """Split the nets of whose pins the cheapest block is too dear."""
        network = _cost_of_block(self.asked, self.split)
        for u, net in enumerate(self.asked.nets):
            self.split[u] = self.split[u] or (len(net.pins) > 2 and self._dear(list(net.pins), network))

    def _dear(self, pins: list[int], network: CutNetwork) -> bool:
        """Return whether every block that holds *pins* costs too much: that of their closure alone, to begin with."""
        block = np.zeros(self.n, np.bool_)
        block |= self.after[pins].any(axis=0) & self.after[:, pins].any(axis=1)
        block[pins] = True
        inside = self.pins @ block.astype(np.float32)
        paid = (inside > 0) & (self.split | (inside < self.pins.sum(axis=1)))
        if self.asked.work[block].sum() + self.costs[paid].sum() <= self.asked.cost:
            return False
        return network.least(np.flatnonzero(block).tolist()) > self.asked.cost * ABOVE

    def facts(self) -> BlockFacts:
        """Return windows and distances, each made as tight as the others allow."""
        distance = self.apart.astype(np.int64)
        for total in self.between:
            distance = np.maximum(distance, _further(total))
        distance = np.where(self.after, distance, 0)
        earliest, latest = self._windows()
        _tighten(earliest, latest, distance, self.after)
        return BlockFacts(self.asked, earliest, latest, self.after, distance, tuple(self.cliques), self.split)

    def _windows(self) -> tuple[Ints, Ints]:
        """Return [nodes] bounds of blocks: by sums over what comes before or after, and by minimum cuts."""
        most = self.asked.k - 1
        earliest, latest = np.zeros(self.n, np.int64), np.full(self.n, most, np.int64)
        for load in self.loads:
            earliest = np.maximum(earliest, _further(load + load @ self.after))
            latest = np.minimum(latest, most - _further(load + self.after @ load))
        if self.n <= MAX_CUT and not self.split.all():
            first, last = (network(self.asked, self.work, self.split) for network in (_cost_of_first, _cost_of_last))
            before, behind = (
                np.array([network.least([v]) for v in range(self.n)]) / self.asked.cost for network in (first, last)
            )
            earliest, latest = np.maximum(earliest, _further(before)), np.minimum(latest, most - _further(behind))
        return earliest, latest


def _further(load: Floats) -> Ints:
    """Return how many blocks beyond a first one *load* takes, in capacities of a block."""
    further: Ints = np.maximum(np.ceil(load / ABOVE) - 1, 0).astype(np.int64)
    return further


def _clique(pins: Sequence[int], apart: Bools) -> tuple[int, ...]:
    """Return pins of which every two are apart: each in turn that is apart from all before, most apart first."""
    degree = apart[np.ix_(pins, pins)].sum(axis=1)
    chosen: list[int] = []
    for i in np.argsort(-degree, kind="stable").tolist():
        if apart[pins[i], chosen].all():
            chosen.append(pins[i])
    return tuple(chosen)


def _tighten(earliest: Ints, latest: Ints, distance: Ints, after: Bools) -> None:
    """Carry windows along distances until nothing changes."""
    endless = np.iinfo(np.int64).max
    while True:
        least = np.where(after, earliest[:, None] + distance, 0).max(axis=0, initial=0)
        most = np.where(after, latest[None, :] - distance, endless).min(axis=1, initial=endless)
        if (least <= earliest).all() and (most >= latest).all():
            return
        np.maximum(earliest, least, out=earliest)
        np.minimum(latest, most, out=latest)


# Bound what blocks cost at least that hold given nodes, as minimum cuts.

ABOVE = 1 + 1e-9
"""Sums are rounded: only what exceeds a capacity by this factor does so."""

INF = float("inf")


def _cost_of_block(asked: RelaxedInstance, split: Bools) -> CutNetwork:
    """Return the network of the cost of one block: its work, the nets that it cuts, and split ones that it touches."""
    network = CutNetwork(len(asked.work), 2 * asked.cost)
    for v, work in enumerate(asked.work.tolist()):
        network.weight(v, work)
    for net, apart in zip(asked.nets, split.tolist(), strict=True):
        if apart:
            some = network.vertex()
            network.weight(some, net.cost)
            for v in net.pins:
                network.arc(v, some, INF)
        elif len(net.pins) == 2:
            network.arc(net.pins[0], net.pins[1], net.cost)
            network.arc(net.pins[1], net.pins[0], net.cost)
        else:
            some, every = network.vertex(), network.vertex()
            network.arc(some, every, net.cost)
            for v in net.pins:
                network.arc(v, some, INF)
                network.arc(every, v, INF)
    return network


def _cost_of_first(asked: RelaxedInstance, work: Floats, split: Bools) -> CutNetwork:
    """Return the network of what the first blocks of a plan cost together, at least, by the nodes that they hold.

    With each node all before it is held. Of a net that is not split, the producer's block pays if a consumer is beyond.

    Args:
        asked: of whom.
        work: [nodes] with what they pay for split nets in any case.
        split: [nets] counted in *work*.
    """
    return _cost_of_end(asked, work, split, last=False)


def _cost_of_last(asked: RelaxedInstance, work: Floats, split: Bools) -> CutNetwork:
    """Return the network of what the last blocks cost together: some consumer's block pays for a producer before."""
    return _cost_of_end(asked, work, split, last=True)


def _cost_of_end(asked: RelaxedInstance, work: Floats, split: Bools, *, last: bool) -> CutNetwork:
    """Return the network of one end of a plan; that of the last blocks has all arcs the other way round."""
    network = CutNetwork(len(work), 2 * asked.k * asked.cost)

    def arc(tail: int, head: int, cost: float) -> None:
        network.arc(*((head, tail) if last else (tail, head)), cost)

    for v, cost in enumerate(work.tolist()):
        network.weight(v, cost)
    for u, v in asked.edges:
        arc(v, u, INF)
    for net, apart in zip(asked.nets, split.tolist(), strict=True):
        if not apart:
            producer, *consumers = net.pins
            all_held = network.vertex()
            arc(producer, all_held, net.cost)
            for v in consumers:
                arc(all_held, v, INF)
    return network
