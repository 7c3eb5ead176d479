"""Episodes: a policy visits the nodes in order and gives each a device; a list schedule says what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.schedule.learning.policy import (
    PAIR_FEATURES,
    Policy,
    node_features,
    probabilities,
    relative_times,
    scale_of,
)
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward_ranks


@dataclass(frozen=True)
class Episodes:
    """What some episodes side by side have seen and done, for b episodes, and s nodes that were free to choose.

    Attributes:
        nodes: [s] the nodes that chose a device, of each supernode the first.
        seen: [b, s, k, pair features].
        chances: [b, s, k] the probability of each device.
        chosen: [b, s] devices.
        home: [b, n] device asked for, of every node.
    """

    nodes: Ints
    seen: Floats
    chances: Floats
    chosen: Ints
    home: Ints


class Course:
    """One problem to learn on.

    Nodes come in the order of their upward ranks. The first of a supernode chooses for all of them.

    Args:
        lister: of the problem; it makes the schedules, and its ``pause`` is called at every node of an episode.
    """

    def __init__(self, lister: Lister) -> None:
        self.lister = lister
        instance = lister.instance
        graph = instance.graph
        self.order = in_order(graph, upward_ranks(instance))
        self.features = node_features(instance)
        self._group = lister.rules.group
        self._times = np.where(np.isfinite(instance.time), instance.time, 0.0)
        self._relative = relative_times(instance.time)
        self._fastest = (self._relative <= self._relative.min(axis=1, keepdims=True)).astype(np.float64)
        self._scale = scale_of(instance)
        first = np.full(int(self._group.max(initial=-1)) + 1, -1, np.int64)
        for v in self.order[::-1].tolist():
            first[self._group[v]] = v
        may = lister.rules.may
        self._leads: Bools = np.zeros(instance.n, np.bool_)
        self._leads[first[may.sum(axis=1) > 1]] = True
        self._only = may.argmax(axis=1)
        transfers, same = instance.transfers, np.arange(instance.k)
        self._latency = _finite(transfers.latency)
        self._inverse = _finite(transfers.inverse)
        self._latency[same, same] = self._inverse[same, same] = 0.0
        self._table = _finite(transfers.table)
        self._table[:, same, same] = 0.0

    @property
    def choices(self) -> int:
        """How many nodes choose."""
        return int(self._leads.sum())

    def run(self, policy: Policy, draws: Floats | None, count: int = 1) -> Episodes:
        """Return *count* episodes side by side.

        Args:
            policy: that places nodes.
            draws: [count, choices] uniform in [0, 1), one for each choice; None always takes the most probable device.
            count: of episodes.
        """
        lister, instance = self.lister, self.lister.instance
        rules, k = lister.rules, instance.k
        hidden = self.features @ policy.node + policy.bias
        home = np.full((count, len(rules.need)), -1, np.int64)
        end, free, used = np.zeros((count, instance.n)), np.zeros((count, k)), np.zeros((count, k))
        seen = np.zeros((count, self.choices, k, len(PAIR_FEATURES)))
        chances, chosen = np.zeros((count, self.choices, k)), np.zeros((count, self.choices), np.int64)
        nodes, every = np.zeros(self.choices, np.int64), np.arange(count)
        at = 0
        for v in self.order.tolist():
            lister.pause()
            c = self._group[v]
            ready, inputs = self._ready(v, home, end, k)
            starts = np.maximum(ready, free)
            ends = starts + self._times[v]
            if self._leads[v]:
                room = (used + rules.need[c] <= rules.limit) & rules.may[c]
                allowed = np.where(room.any(axis=1, keepdims=True), room, rules.may[c])
                seen[:, at] = self._seen(v, ready, ends, free, used, inputs, allowed)
                scores = np.tanh(hidden[v] + seen[:, at] @ policy.pair) @ policy.out
                chances[:, at] = probabilities(scores, allowed)
                if draws is None:
                    took = chances[:, at].argmax(axis=1)
                else:
                    took = (chances[:, at].cumsum(axis=1) <= draws[:, at, None]).sum(axis=1).clip(max=k - 1)
                    took = np.where(chances[every, at, took] > 0, took, chances[:, at].argmax(axis=1))
                nodes[at], chosen[:, at], home[:, c] = v, took, took
                at += 1
            elif home[0, c] < 0:
                home[:, c] = self._only[c]
            d = home[:, c]
            end[:, v] = ends[every, d]
            free[every, d] = ends[every, d]
            used[every, d] += instance.memory[v]
        return Episodes(nodes, seen, chances, chosen, home[:, self._group])

    def plan(self, home: Ints) -> Plan:
        """Return the list schedule with every node on the device of *home* [n], where memory and constraints let it."""
        tier = np.ones((len(home), self.lister.instance.k))
        tier[np.arange(len(home)), home] = 0.0
        return self.lister.in_turn(self.order, tier=tier)

    def _ready(self, v: int, home: Ints, end: Floats, k: int) -> tuple[Floats, Floats]:
        """Return [count, k] when all inputs of a node can be on each device, and the share of them that is there."""
        instance = self.lister.instance
        graph, transfers = instance.graph, instance.transfers
        edges = graph.by_head[graph.offsets_in[v] : graph.offsets_in[v + 1]]
        if not len(edges):
            return np.zeros((len(home), k)), np.zeros((len(home), k))
        tails = graph.tails[edges]
        there = home[:, self._group[tails]]
        size = transfers.size[edges][None, :, None]
        carry = self._latency[there] + size * self._inverse[there] + self._table[transfers.row[edges][None, :], there]
        ready: Floats = (end[:, tails, None] + carry).max(axis=1)
        here = there[:, :, None] == np.arange(k)
        weight = transfers.size[edges] + 1e-300
        share: Floats = (here * weight[None, :, None]).sum(axis=1) / weight.sum()
        return ready, share

    def _seen(
        self, v: int, ready: Floats, ends: Floats, free: Floats, used: Floats, inputs: Floats, allowed: Bools
    ) -> Floats:
        """Return [count, k, pair features]; see :data:`PAIR_FEATURES`."""
        rules, scale = self.lister.rules, self._scale
        wait = (ready - free) / scale
        mean = free.mean(axis=1, keepdims=True)
        least = np.where(allowed, ends, np.inf).min(axis=1, keepdims=True)
        filled = np.clip((used + rules.need[self._group[v]]) / np.maximum(rules.limit, 1e-300), 0.0, 2.0)
        columns = (
            np.broadcast_to(self._relative[v], ends.shape),
            np.log1p(np.maximum(ends - least, 0.0) / scale),
            np.sign(wait) * np.log1p(np.abs(wait)),
            (free - mean) / (mean + scale),
            inputs,
            filled,
            np.broadcast_to(self._fastest[v], ends.shape),
        )
        return np.stack(columns, axis=2)


def _finite(values: Floats) -> Floats:
    """Return a copy in which what no link can carry takes longer than anything else does together, and is finite."""
    known = np.isfinite(values)
    most = float(np.where(known, values, 0.0).max(initial=0.0))
    finite: Floats = np.where(known, values, 1e3 * most + 1.0)
    return finite
