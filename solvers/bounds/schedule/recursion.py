"""The recursion of ghannane2023, 3.3.2, for batches and for one sample, with the premises that it needs.

For a boundary between modules let S be the nodes behind it that read something from before it, and A the nodes
before it from which a path leads to one of S. Let OPT_b(A) be the least makespan of A for b chunks, and D(t) what
depends on t. Then

    OPT_n(V) >= OPT_b(A) + min over n_1 + ... + n_|S| = n - b + 1 of max over t in S of OPT_n_t(D(t)).

Proof. Order the chunks by when the last node of A ends for them. When that happens for the b-th, b chunks have passed
A, which takes OPT_b(A) at least. For it and each of the n - b behind it, some node of A ends then or later; it leads to
some t in S, and all of D(t) runs that chunk later still. So every one of n - b + 1 chunks is counted for some t, and
D(t) runs those counted for it after the b-th chunk has passed.

The recursion needs that fewer chunks take no longer. So times are replaced by the least time of any larger batch, and
all smaller sizes are allowed (:func:`mtpp_dsl.solvers.bounds.schedule.part_work.monotone`), which excludes no schedule.
With b = n = 1 this is the first inequality of the thesis; it has all nodes before the boundary in place of A, and is
wrong where some of them lead nowhere. With |S| = 1 it is the thesis's refinement by b, which is wrong with more
channels. The second inequality is the first one of the reversed problem. Lower bounds stand in place of optima.
"""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF
from mtpp_dsl.solvers.backends.cpsat.time_windows import lists, ordered
from mtpp_dsl.solvers.bounds.schedule.module_heads import HeadsSide
from mtpp_dsl.solvers.bounds.schedule.part_work import rounded

CELLS = 5e7
"""Nodes times channels of which it is noted whether one reaches the other, at the most."""


class _Direction:
    """The recursion in one direction: what comes after the channels.

    Args:
        side: heads of the reversed problem: its ``end`` is how long before the makespan a node starts.
        cost: [n, chunks + 1] work of so many chunks of every node.
        module: [n] of the problem itself.
        inputs: the nodes behind boundaries that read something from before them.
        behind: [n, inputs] which nodes depend on which inputs.
    """

    def __init__(self, side: HeadsSide, cost: Floats, module: Ints, inputs: Ints, behind: Bools) -> None:
        self.inputs, self.behind = inputs, behind
        self._module = module
        rest = np.minimum(side.end[inputs].min(axis=1), INF).astype(np.float64)
        self.least = np.maximum(behind.T.astype(np.float64) @ np.minimum(cost, INF), rest[:, None])
        self.least[:, 0] = 0.0
        self.least = np.maximum.accumulate(self.least, axis=1)

    def rest(self, targets: Ints) -> Floats:
        """Return [chunks] the least time after 1, 2, ... chunks have to pass some of the inputs, whichever is best."""
        return np.sort(self.least[targets, 1:].ravel())[: self.least.shape[1] - 1]


class Recursion:
    """The inequality at every boundary, in both directions, nested.

    Args:
        forward, backward: heads of the problem, and of the reversed problem.
        cost: [n, chunks + 1] work of so many chunks of every node, at prices of devices that add up to 1: of times that
            are monotone.
    """

    def __init__(self, forward: HeadsSide, backward: HeadsSide, cost: Floats) -> None:
        asked, module = forward.asked, forward.module
        crossing = module[asked.tails] != module[asked.heads]
        self._tails, self._heads = asked.tails[crossing], asked.heads[crossing]
        self._forward, self._backward, self._module = forward, backward, module
        self._cost = np.minimum(cost, INF)
        self._inputs, self._outputs = np.unique(self._heads), np.unique(self._tails)
        self.small = asked.n * (len(self._inputs) + len(self._outputs)) <= CELLS
        if self.small:
            self._behind = _reached(asked.n, self._inputs, asked.tails, asked.heads)
            self._before = _reached(asked.n, self._outputs, asked.heads, asked.tails)

    def units(self) -> int:
        """Return a lower bound on the makespan in units; raise the heads of channels by what is found."""
        if not (self.small and len(self._inputs)):
            return 0
        after = _Direction(self._backward, self._cost, self._module, self._inputs, self._behind)
        before = _Direction(self._forward, self._cost, self._module, self._outputs, self._before)
        last = int(self._module.max())
        self._nest(after, self._tails, self._heads, self._module, before.behind, self._outputs)
        self._nest(before, self._heads, self._tails, last - self._module, after.behind, self._inputs)
        self._backward.raise_ends(self._inputs, _units(after.least[:, 1], len(self._module)))
        self._forward.raise_ends(self._outputs, _units(before.least[:, 1], len(self._module)))
        best = 0.0
        for i in range(last):
            best = max(best, self._across(i, after, before))
        return rounded(best, len(self._module))

    def _nest(self, way: _Direction, tails: Ints, heads: Ints, module: Ints, leads: Bools, exits: Ints) -> None:
        """Raise the times after the inputs, from the last module to the first."""
        for i in range(int(module.max()), -1, -1):
            cross = (module[tails] <= i) & (module[heads] > i)
            targets = np.unique(np.searchsorted(way.inputs, heads[cross]))
            leading = leads[:, np.unique(np.searchsorted(exits, tails[cross]))].any(axis=1) & (module <= i)
            for x in np.flatnonzero(module[way.inputs] == i).tolist():
                part = leading & way.behind[:, x]
                mine = targets[way.behind[way.inputs[targets], x]]
                if len(mine):
                    joined = _joined(self._cost[part].sum(axis=0)[1:], way.rest(mine))
                    way.least[x, 1:] = np.maximum.accumulate(np.maximum(way.least[x, 1:], joined))

    def _across(self, i: int, after: _Direction, before: _Direction) -> float:
        """Return the value of the inequality at the boundary after module *i*, of the problem or of its reverse."""
        cross = (self._module[self._tails] <= i) & (self._module[self._heads] > i)
        targets = np.searchsorted(after.inputs, self._heads[cross])
        exits = np.searchsorted(before.inputs, self._tails[cross])
        here: Bools = np.asarray(self._module <= i, np.bool_)
        beyond: Bools = np.logical_not(here)
        return max(self._sum(targets, exits, after, before, here), self._sum(exits, targets, before, after, beyond))

    def _sum(self, targets: Ints, exits: Ints, after: _Direction, before: _Direction, here: Bools) -> float:
        targets, exits = np.unique(targets), np.unique(exits)
        if not len(targets):
            return 0.0
        part = before.behind[:, exits].any(axis=1) & here
        first = np.maximum(self._cost[part].sum(axis=0), before.least[exits].max(axis=0))
        return float(_joined(first[1:], after.rest(targets))[-1])


def _units(sums: Floats, terms: int) -> Ints:
    return np.array([rounded(value, terms) for value in sums.tolist()], np.int64)


def _joined(first: Floats, rest: Floats) -> Floats:
    """Return [chunks] for n = 1, 2, ... the most of ``first(b) + rest(n - b + 1)`` over b."""
    joined = np.full(len(first), -np.inf)
    for b, most in enumerate(np.maximum.accumulate(first).tolist()):
        joined[b:] = np.maximum(joined[b:], most + rest[: len(rest) - b])
    return joined


def _reached(n: int, sources: Ints, tails: Ints, heads: Ints) -> Bools:
    """Return [n, sources] which nodes are reached from which, themselves among them."""
    reached = np.zeros((n, len(sources)), np.bool_)
    reached[sources, np.arange(len(sources))] = True
    into = lists(n, heads)
    for v in ordered(n, tails, heads):
        if len(into[v]):
            reached[v] |= reached[tails[into[v]]].any(axis=0)
    return reached
