"""The state of the lazy search: the order of the supernodes, the modes of blocks, and where the search stands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.lattice import Small
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import WholeCosts

DONE, BUSY, FULL, FOUND = 0, 1, 2, 3
"""Why the loop returned: all blocks seen; its steps used up; no room for entries or supernodes; a split found."""

SOURCE, MODE, DEPTH, COUNT, STEPS, CUT_SHORT, ENTRY, LAST, MARK, LIMIT, VALUE = range(11)
"""What the numbers of ``Walk.at`` are: position in the sources, mode of the block, depth; entries stored; steps
in all; whether a source was left early; the entry of a split that was found, and the mode of its last block (-1
for none); deaths so far; steps at which this source is left early; largest load of that split."""


class SupernodeArcs(NamedTuple):
    """The order of the supernodes: [n+1] row pointers and the supernodes after each; [n] how many come before."""

    start: Ints
    after: Ints
    before: Ints


def arcs_of(supernodes: OrderedSupernodes) -> SupernodeArcs:
    """Return the arcs of the order."""
    after: list[list[int]] = [[] for _ in range(supernodes.n)]
    before = np.zeros(supernodes.n, np.int64)
    for a, b in supernodes.before:
        after[a].append(b)
        before[b] += 1
    start = np.concatenate(([0], np.cumsum([len(row) for row in after]))).astype(np.int64)
    return SupernodeArcs(start, np.array([b for row in after for b in row], dtype=np.int64), before)


class Modes(NamedTuple):
    """The ways to run a block: [modes] the device type, and on how many of them."""

    kind: Ints
    copies: Ints


def modes_of(costs: WholeCosts) -> Modes:
    """Return all modes."""
    copies = costs.copies
    kinds = np.repeat(np.arange(len(copies)), copies)
    return Modes(kinds, np.concatenate([np.arange(1, most + 1) for most in copies.tolist()]).astype(np.int64))


class LazyWalk(NamedTuple):
    """A depth-first search that can be left and taken up again: its position, and what is known at each depth.

    Attributes:
        at: see ``SOURCE`` and the others.
        place: [n] 0 outside, 1 in the ideal, 2 in the block, 3 dead: in no block of this subtree.
        waiting: [n] how many of the supernodes before it are in neither ideal nor block.
        known, inside, lost: [tensors] how many pins are in the ideal, in the block, dead.
        ready, cursor, end: candidates, and [depths] where the next and the last of a depth are.
        added: [depths] the supernode added.
        dead, deaths: the dead in order, and [depths] how many there were before this depth.
        time, stream, sync, cut, forced: [depths] of the block: time, streamed parameters, exchange of parameters, cost
            of tensors cut, and of those cut whatever is added.
        border, crossed: [depths] of ideal and block together: cost of tensors cut, and of those cut in any case.
        size: [depths] memory of the block.
        weight, gone: [depths, rows] weights of the block and of the dead.
        outside, spent, synced: [rows] weight outside of the ideal; [types] time, and exchange of parameters.
        base: [3] cost of the tensors that the ideal cuts; streamed parameters and supernodes outside.
    """

    at: Ints
    place: Ints
    waiting: Ints
    known: Ints
    inside: Ints
    lost: Ints
    ready: Small
    cursor: Ints
    end: Ints
    added: Ints
    dead: Ints
    deaths: Ints
    time: Ints
    stream: Ints
    sync: Ints
    cut: Ints
    forced: Ints
    border: Ints
    crossed: Ints
    size: Floats
    weight: Floats
    gone: Floats
    outside: Floats
    spent: Ints
    synced: Ints
    base: Ints


def walk_of(costs: WholeCosts, rows: int, ready: int) -> LazyWalk:
    """Return a walk that has not begun, with room for so many candidates."""
    (kinds, n), tensors = costs.time.shape, len(costs.pins)

    def whole(count: int) -> Ints:
        return np.zeros(count, np.int64)

    depths = [whole(n + 2) for _ in range(11)]
    cursor, end, added, deaths, time, stream, sync, cut, forced, border, crossed = depths
    walk = LazyWalk(
        whole(11), whole(n), whole(n), whole(tensors), whole(tensors), whole(tensors), np.zeros(ready, np.int32),
        cursor, end, added, whole(n + 1), deaths, time, stream, sync, cut, forced, border, crossed,
        np.zeros(n + 2), np.zeros((n + 2, rows)), np.zeros((n + 2, rows)), np.zeros(rows),
        whole(kinds), whole(kinds), whole(3),
    )  # fmt: skip
    walk.at[SOURCE], walk.at[MODE], walk.at[DEPTH], walk.at[COUNT] = -1, int(costs.copies.sum()), -1, 1
    return walk
