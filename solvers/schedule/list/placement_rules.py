"""Where nodes may go together: classes of colocated nodes, memory, nodes held apart, devices without a link."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance

ROUNDING = 1e-9
"""Relative: what sums of memory may be above a limit by their rounding alone."""


class PlacementRules(NamedTuple):
    """What a placement of classes must keep to.

    Attributes:
        group: [n] class of each node.
        need: [classes] memory of each. limit: [k] what a device holds.
        may: [classes, k] where all nodes of a class can run.
        work: [classes, k] running time of all nodes of a class.
        offsets, near, kind, leads: class c is bound to ``near[offsets[c]:offsets[c + 1]]``; of c and another x on
            devices d and f, ``joined[kind, d, f]`` must hold where c *leads*, else ``joined[kind, f, d]``.
        joined: [kinds, k, k] whether an edge can be carried; of the last kind, whether devices differ.
    """

    group: Ints
    need: Floats
    limit: Floats
    may: Bools
    work: Floats
    offsets: Ints
    near: Ints
    kind: Ints
    leads: Bools
    joined: Bools


class Hold(NamedTuple):
    """A placement of all classes that keeps to the rules, of which some are settled for good: there is a way on.

    Attributes:
        home: [classes] device of each; -1 while it has none.
        fixed: [classes] whether that is settled.
        used: [k] memory taken.
        first, after, before: [k], [classes], [classes] lists of the classes on each device that are not settled.
        mark: [classes] number of the last attempt that moved the class; the last entry is the number of attempts.
        moved, whence: [classes] what an attempt has moved, and from where; ``shifts`` [1] how many.
    """

    home: Ints
    fixed: Bools
    used: Floats
    first: Ints
    after: Ints
    before: Ints
    mark: Ints
    moved: Ints
    whence: Ints
    shifts: Ints

    @classmethod
    def empty(cls, classes: int, k: int) -> Hold:
        """Return one in which no class has a home."""
        none = np.full(classes, -1, np.int64)
        return cls(
            home=none.copy(),
            fixed=np.zeros(classes, np.bool_),
            used=np.zeros(k),
            first=np.full(k, -1, np.int64),
            after=none.copy(),
            before=none.copy(),
            mark=np.zeros(classes + 1, np.int64),
            moved=none.copy(),
            whence=none.copy(),
            shifts=np.zeros(1, np.int64),
        )


def rules(instance: ScheduleInstance) -> PlacementRules:
    """Return the rules of *instance*."""
    supernodes = instance.supernodes
    work = supernodes.total(instance.time)
    may = np.isfinite(work)
    joined, first, second, kind = _bonds(instance)
    may[first[first == second]] = False  # colocated nodes of one conflict set
    ends = np.concatenate([first, second])
    order = np.argsort(ends, kind="stable")
    return PlacementRules(
        group=np.array(instance.together, np.int64),
        need=supernodes.total(instance.memory),
        limit=instance.limit * (1 + ROUNDING),
        may=may,
        work=work,
        offsets=np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=supernodes.n)))).astype(np.int64),
        near=np.concatenate([second, first])[order],
        kind=np.concatenate([kind, kind])[order],
        leads=np.repeat([True, False], len(first))[order],
        joined=joined,
    )


def _bonds(instance: ScheduleInstance) -> tuple[Bools, Ints, Ints, Ints]:
    """Return which pairs of devices each kind of bond allows, and the pairs of supernodes bound by which kind."""
    graph, group, transfers = instance.graph, instance.together, instance.transfers
    finite: Bools = np.asarray(np.isfinite(transfers.latency + transfers.table))
    carried = finite | np.eye(instance.k, dtype=np.bool_)
    joined = np.concatenate([carried, ~np.eye(instance.k, dtype=np.bool_)[None]])
    sure: Bools = np.asarray(carried.all(axis=(1, 2)))
    hard = ~sure[transfers.row] & (group[graph.tails] != group[graph.heads])
    pairs = [(group[graph.tails[hard]], group[graph.heads[hard]], transfers.row[hard])]
    for members in map(np.array, instance.supernodes.conflict_sets):
        one, other = np.triu_indices(len(members), 1)
        pairs.append((members[one], members[other], np.full(len(one), len(carried))))
    first, second, kind = (np.concatenate(columns).astype(np.int64) for columns in zip(*pairs, strict=True))
    bonds = np.unique(np.stack([first, second, kind]), axis=1)
    return joined, bonds[0], bonds[1], bonds[2]
