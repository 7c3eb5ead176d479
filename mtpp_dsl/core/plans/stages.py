"""The stages of a plan: their order, their groups of devices, what they keep and what they compute again.

A stage is the nodes of one device, which other devices may share as shards and replicas; the device that carries the
nodes in the plan is its lead. How many stages come after a stage is counted along the order of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mtpp_dsl.core.constraints import InOrder
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.in_order import listed_devices
from mtpp_dsl.core.problem.problem import Problem


def shard_speedup(problem: Problem, shards: Ints) -> Floats:
    """Return [devices] what the work of each is divided by, where it is split over so many *shards*."""
    speedup = np.ones(problem.k)
    for d in np.flatnonzero(shards > 1).tolist():
        rule, t = problem.shard[d], int(shards[d])
        speedup[d] = t if rule is None else rule.faster(t)
    return speedup


def ring_time(problem: Problem, shards: Ints) -> Floats:
    """Return [devices] what a byte of an all-reduce takes among *shards*: each passes 2 (t - 1) / t of them on.

    It takes no time on devices that pay for no transfer (``io = free``).
    """
    if not isinstance(problem.interconnect, (Shared, Host)) or not (shards > 1).any():
        return np.zeros(problem.k)
    pays = np.array([isinstance(problem.interconnect, Shared) or device.pays_io for device in problem.devices])
    return np.where(pays, 2 * (shards - 1) / shards, 0.0) / problem.channel.bandwidth


def stages_after(order: Sequence[int] | None, assignment: Ints, k: int) -> Ints:
    """Return [devices] how many devices with nodes come after each in *order*; 0 where there is no order."""
    after = np.zeros(k, np.int64)
    if order is None:
        return after
    busy = np.bincount(assignment, minlength=k) > 0
    behind = 0
    for d in reversed(order):
        after[d] = behind
        behind += int(busy[d])
    return after


@dataclass(frozen=True)
class Keeping:
    """What stages hold and how long they take, by lead: all [devices], for the nodes of an assignment.

    Attributes:
        problem: with a :class:`~mtpp_dsl.constraints.StageMemory`.
        shards: over how many devices the nodes are split.
        state, params, saved: sizes of the nodes, by :class:`~mtpp_dsl.core.problem.graph.Graph`.
        read: size of the tensors that are read from other stages, each once.
    """

    problem: Problem
    shards: Ints
    state: Floats
    params: Floats
    saved: Floats
    read: Floats

    @classmethod
    def of(cls, problem: Problem, assignment: Ints, shards: Mapping[int, int]) -> Keeping:
        """Return what the stages of an assignment hold."""
        graph, k = problem.graph, problem.k
        split = np.array([shards.get(d, 1) for d in range(k)], np.int64)
        crossing = assignment[graph.tails] != assignment[graph.heads]
        pairs = np.unique(graph.tails[crossing] * k + assignment[graph.heads[crossing]])
        state, params, saved = (
            np.bincount(assignment, sizes, k).astype(np.float64) for sizes in (graph.state, graph.params, graph.saved)
        )
        read = np.bincount(pairs % k, graph.output[pairs // k], k).astype(np.float64)
        return cls(problem, split, state, params, saved, read)

    def kept(self, d: int, after: int) -> int:
        """Return how many microbatches the stage of device *d* keeps; 0 where nothing says so."""
        rule = self.problem.stage_memory[d]
        return 0 if rule is None else rule.kept(after)

    def memory(self, d: int, after: int, *, again: bool) -> float:
        """Return what each device of the stage of *d* holds, with so many stages *after* it; *again*: it recomputes."""
        rule = self.problem.stage_memory[d]
        assert rule is not None
        weights = self.state[d] + (rule.versions(after) - 1) * self.params[d]
        kept = rule.kept(after)
        if again:
            return float((weights + self.saved[d]) / self.shards[d] + kept * self.read[d])
        return float((weights + kept * self.saved[d]) / self.shards[d])

    def recomputes(self, d: int, after: int) -> bool | None:
        """Return whether the stage of *d* has to recompute; None where it does not fit at all."""
        rule = self.problem.stage_memory[d]
        if rule is None:
            return False
        for again in {"never": (False,), "always": (True,), "free": (False, True)}[rule.recompute]:
            if self.memory(d, after, again=again) <= self.problem.stage_room[d]:
                return again
        return None

    def settled(self, assignment: Ints, order: Sequence[int] | None) -> frozenset[int]:
        """Return the leads that recompute: those that must, and no other."""
        after = stages_after(order, assignment, self.problem.k)
        recomputing = set()
        for d in np.unique(assignment).tolist():
            again, rule = self.recomputes(d, int(after[d])), self.problem.stage_memory[d]
            if again or (again is None and rule is not None and rule.recompute == "always"):
                recomputing.add(d)
        return frozenset(recomputing)


def _loads(problem: Problem, assignment: Ints, keeping: Keeping) -> Floats:
    """Return [devices] the loads of stages that recompute, on a network that is as fast between groups as inside."""
    graph, k, link = problem.graph, problem.k, problem.channel
    time = problem.time[np.arange(graph.n), assignment] / shard_speedup(problem, keeping.shards)[assignment]
    time += graph.reduce * ring_time(problem, keeping.shards)[assignment]
    crossing = np.unique(graph.tails[assignment[graph.tails] != assignment[graph.heads]])
    written = np.bincount(assignment[crossing], graph.output[crossing], k)
    pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices])
    work = np.bincount(assignment, time * (1 + graph.forward_share), k)
    loads: Floats = np.add(work, np.where(pays, (keeping.read + written) / link.bandwidth, 0.0), dtype=np.float64)
    return loads


def stage_order(
    problem: Problem, assignment: Ints, shards: Mapping[int, int], usual: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Return the order of devices in which stages fit into their memories, with the least largest load.

    What a stage costs grows with the number of stages after it. So the place with most stages after it goes to that
    stage, of those that may come first, which costs least there (Lawler 1973); replicas are counted as one device.
    *usual* is the order to return where the place of a stage makes no difference to what it keeps.
    """
    rules = [rule for rule in problem.stage_memory if rule is not None]
    if usual is None or not rules or rules[0].schedule == "gpipe":
        return usual
    keeping, k = Keeping.of(problem, assignment, shards), problem.k
    busy = np.unique(assignment)
    again = _loads(problem, assignment, keeping)
    pairs = np.unique(assignment[problem.graph.tails] * k + assignment[problem.graph.heads])
    before: dict[int, set[int]] = {d: set() for d in busy.tolist()}
    for pair in pairs[pairs // k != pairs % k].tolist():
        before[pair % k].add(pair // k)
    left, order = set(before), []
    for rule in problem.of(InOrder):
        row = [d for d in listed_devices(rule, k) if d in before]
        for first, then in pairwise(row):
            before[then].add(first)
    while left:

        def cost(d: int, after: int = len(left) - 1) -> tuple[int, float, int]:
            needed = keeping.recomputes(d, after)
            return (2 if needed is None else int(needed), float(again[d]) if needed else 0.0, usual.index(d))

        free = [d for d in left if not before[d] & left]
        if not free:
            return usual
        chosen = min(free, key=cost)
        left.remove(chosen)
        order.append(chosen)
    return (*order, *(d for d in usual if d not in before))
