"""List schedulers of batches: nodes in turn, each on the spread of its chunks that is best by a rule; compiled."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.list.chunk_splits import best_sizes, by_arrival, least_memory, menus
from mtpp_dsl.solvers.schedule.list.placing import IdleLines, book, fit
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField

__all__ = ["LIST", "PlacedBatches", "SpreadRule", "nothing_placed"]

STEPS_A_SECOND = 4e4


class SpreadRule(NamedTuple):
    """What makes a spread better than another: least first.

    Attributes:
        work: whether the sum of the times of the batches comes first, and then when the last one ends; else the
            other way round.
        insert: whether a batch may run before others that its device has been given.
        thrift: whether only spreads count that take no more memory than any.
    """

    work: bool
    insert: bool
    thrift: bool = False


class PlacedBatches(NamedTuple):
    """The batches placed so far, and arrays to work in.

    Attributes:
        home: [classes, chunks] devices; -1 while a class has none. used: [k] memory taken.
        least: [classes] memory that any spread of a class takes at least. rest: [1] of those without devices together.
        start, end: [n, k] of batches.
        offsets, menu: the spreads of every kind of class; see
        :func:`mtpp_dsl.solvers.schedule.list.chunk_splits.menus`.
        arrival: [chunks, k] when the inputs of a chunk can be on a device. pairs: [k, k] of zeros. ready: [k].
        row, best: [chunks] a spread that is tried, and the best one. size: [k].
        failed: [1] the node for which no spread was found, -1 while there is none.
    """

    home: Ints
    used: Floats
    least: Floats
    rest: Floats
    start: Floats
    end: Floats
    offsets: Ints
    menu: Ints
    arrival: Floats
    pairs: Ints
    ready: Floats
    row: Ints
    best: Ints
    size: Ints
    failed: Ints


def nothing_placed(field: BatchField, given: Ints) -> PlacedBatches:
    """Return batches of which only *given* classes are placed: [classes, chunks] devices, -1 elsewhere."""
    n, k, most = field.time.shape
    offsets, menu = menus(field)
    placed = given[:, 0] >= 0
    used = np.zeros(k)
    for c in np.flatnonzero(placed).tolist():
        size = np.bincount(given[c], minlength=k)
        used += field.weights[c] * (size > 0) + field.share[c] * size
    least = least_memory(field)
    return PlacedBatches(
        home=given.copy(),
        used=used,
        least=least,
        rest=np.array([least[~placed].sum()]),
        start=np.zeros((n, k)),
        end=np.zeros((n, k)),
        offsets=offsets,
        menu=menu,
        arrival=np.zeros((most - 1, k)),
        pairs=np.zeros((k, k), np.int64),
        ready=np.zeros(k),
        row=np.zeros(most - 1, np.int64),
        best=np.zeros(most - 1, np.int64),
        size=np.zeros(k, np.int64),
        failed=np.full(1, -1),
    )


def arrivals(field: BatchField, placed: PlacedBatches, v: int) -> None:
    """Write when what each chunk of node *v* needs can be on each device, sent by itself.

    ``inf`` where the chunks of its class may not be, for links that are missing or classes that are held apart.
    """
    k = field.time.shape[1]
    chunks = len(placed.row)
    placed.arrival[:] = 0.0
    for j in range(field.offsets_in[v], field.offsets_in[v + 1]):
        e = field.entering[j]
        u = field.tails[e]
        for i in range(chunks):
            d = placed.home[field.group[u], i]
            for f in range(k if d >= 0 else 0):
                at = placed.end[u, d]
                if f != d:
                    at += field.fixed[field.row[e], d, f] + field.growing[field.row[e], d, f]
                placed.arrival[i, f] = max(placed.arrival[i, f], at)
    c = field.group[v]
    for m in range(field.members_at[c], field.members_at[c + 1]):
        w = field.members[m]
        into = field.offsets_in[w + 1] - field.offsets_in[w]
        for j in range(into + field.offsets[w + 1] - field.offsets[w]):
            e = field.entering[field.offsets_in[w] + j] if j < into else field.offsets[w] + j - into
            a = field.group[field.tails[e] if j < into else field.heads[e]]
            for i in range(chunks if a != c and placed.home[a, 0] >= 0 else 0):
                d = placed.home[a, i]
                for f in range(k):
                    if field.fixed[field.row[e], d if j < into else f, f if j < into else d] == inf:
                        placed.arrival[i, f] = inf
    for j in range(field.apart_at[c], field.apart_at[c + 1]):
        for i in range(chunks):
            if placed.home[field.apart[j], i] >= 0:
                placed.arrival[i, placed.home[field.apart[j], i]] = inf


def score(
    field: BatchField, placed: PlacedBatches, idle: IdleLines, v: int, row: Ints, rule: SpreadRule
) -> tuple[float, float]:
    """Return when the last batch of node *v* ends with a row, and the sum of their times; ``inf`` if it may not be.

    They are ``inf``, too, if the row takes memory that all others together need. The other nodes of its class are taken
    to run after it on each device. Starts and ends are written to *placed*.
    """
    k = field.time.shape[1]
    c = field.group[v]
    placed.size[:] = 0
    placed.ready[:] = 0.0
    for i in range(len(row)):
        if placed.arrival[i, row[i]] == inf:
            return inf, inf
        placed.size[row[i]] += 1
    fresh = placed.home[c, 0] < 0
    room, taken = 0.0, 0.0
    for d in range(k):
        need = field.weights[c] + field.share[c] * placed.size[d] if fresh and placed.size[d] > 0 else 0.0
        if not field.may[c, d, placed.size[d]] or (need > 0 and placed.used[d] + need > field.limit[d]):
            return inf, inf
        taken += need
        room += max(0.0, field.limit[d] - placed.used[d] - need)
    if fresh and room < (placed.rest[0] - placed.least[c]) * (1 - 1e-9):
        return inf, inf
    if rule.thrift and taken > placed.least[c] * (1 + 1e-9):
        return inf, inf
    for j in range(field.offsets_in[v], field.offsets_in[v + 1]):
        e = field.entering[j]
        u = field.tails[e]
        if placed.home[field.group[u], 0] < 0:
            continue
        for i in range(len(row)):
            placed.pairs[placed.home[field.group[u], i], row[i]] += 1
        for i in range(len(row)):
            d, f = placed.home[field.group[u], i], row[i]
            if placed.pairs[d, f] > 0:
                at = placed.end[u, d]
                if d != f:
                    at += field.fixed[field.row[e], d, f] + placed.pairs[d, f] * field.growing[field.row[e], d, f]
                placed.ready[f] = max(placed.ready[f], at)
                placed.pairs[d, f] = 0
    last, work = 0.0, 0.0
    for d in range(k):
        if placed.size[d] == 0:
            continue
        at, takes = placed.ready[d], field.time[v, d, placed.size[d]]
        if takes > 0:
            at = fit(idle, d, at, takes) if rule.insert else max(at, idle.free[d])
        placed.start[v, d] = at
        placed.end[v, d] = at + takes
        beside = 0.0
        for j in range(field.members_at[c], field.members_at[c + 1]):
            beside += field.time[field.members[j], d, placed.size[d]]
        work += beside
        last = max(last, at + beside)
    return last, work


def fill(field: BatchField, placed: PlacedBatches, idle: IdleLines, v: int, rule: SpreadRule) -> bool:
    """Write sizes of batches of node *v* that are good by *rule* if its inputs arrive where that is earliest."""
    k, most = field.time.shape[1:]
    c = field.group[v]
    cost = np.full((k, most), np.inf)
    for d in range(k):
        cost[d, 0] = 0.0
        soonest = np.sort(placed.arrival[:, d])
        for p in range(1, most):
            if not field.may[c, d, p] or placed.used[d] + field.weights[c] + field.share[c] * p > field.limit[d]:
                continue
            beside = 0.0
            for j in range(field.members_at[c], field.members_at[c + 1]):
                beside += field.time[field.members[j], d, p]
            cost[d, p] = beside if rule.work else max(soonest[p - 1], idle.free[d]) + beside
    return best_sizes(cost, rule.work, placed.size)


def consider(
    field: BatchField, placed: PlacedBatches, idle: IdleLines, v: int, rule: SpreadRule, row: Ints, known: Floats
) -> None:
    """Keep a row as the best if it is better than the one of the scores *known*, which it then replaces."""
    last, work = score(field, placed, idle, v, row, rule)
    first, second = (work, last) if rule.work else (last, work)
    if first < known[0] or (first == known[0] and second < known[1]):
        known[0], known[1] = first, second
        placed.best[:] = row


def choose(field: BatchField, placed: PlacedBatches, idle: IdleLines, v: int, rule: SpreadRule) -> bool:
    """Write the best row for node *v*, the first of its class; return whether there is one.

    Considered are all spreads, where there are few; all chunks on one device; the rows of what it reads; and sizes that
    are best by the rule for the times at which devices are free. Chunks go where their inputs arrive first.
    """
    k = field.time.shape[1]
    c = field.group[v]
    known = np.full(2, np.inf)
    farthest = np.zeros(len(placed.row))
    for i in range(len(placed.row)):
        farthest[i] = placed.arrival[i].min() - min(placed.arrival[i].max(), 1e300)
    chosen = np.argsort(farthest, kind="mergesort")
    for d in range(k):
        placed.row[:] = d
        consider(field, placed, idle, v, rule, placed.row, known)
    for j in range(field.offsets_in[v], field.offsets_in[v + 1]):
        placed.row[:] = placed.home[field.group[field.tails[field.entering[j]]]]
        if placed.row[0] >= 0:
            consider(field, placed, idle, v, rule, placed.row, known)
    if fill(field, placed, idle, v, rule) and by_arrival(placed.size, placed.arrival, chosen, placed.row):
        consider(field, placed, idle, v, rule, placed.row, known)
    for s in range(placed.offsets[field.kind[c]], placed.offsets[field.kind[c] + 1]):
        if by_arrival(placed.menu[s], placed.arrival, chosen, placed.row):
            consider(field, placed, idle, v, rule, placed.row, known)
    return bool(known[0] < inf)


def _place(
    field: BatchField,
    placed: PlacedBatches,
    idle: IdleLines,
    rule: SpreadRule,
    order: Ints,
    early: int,
    first: int,
    last: int,
) -> int:
    """Place ``order[first:last]``; return the next place, less than *last* if ``idle`` is full or a node has no spread.

    Of the first *early* nodes in the order only the devices are chosen, before anything runs.
    """
    k = field.time.shape[1]
    for i in range(first, last):
        v = order[i]
        c = field.group[v]
        if idle.spans.max() + 2 >= idle.since.shape[1]:
            return i
        arrivals(field, placed, v)
        if placed.home[c, 0] >= 0:
            placed.best[:] = placed.home[c]
            able = score(field, placed, idle, v, placed.best, rule)[0] < inf
        else:
            able = choose(field, placed, idle, v, rule)
        if not able:
            placed.failed[0] = v
            return i
        score(field, placed, idle, v, placed.best, rule)
        fresh = placed.home[c, 0] < 0
        placed.rest[0] -= placed.least[c] if fresh else 0.0
        placed.home[c] = placed.best
        for d in range(k):
            if fresh and placed.size[d] > 0:
                placed.used[d] += field.weights[c] + field.share[c] * placed.size[d]
            if i >= early and placed.size[d] > 0 and placed.end[v, d] > placed.start[v, d]:
                if rule.insert:
                    book(idle, d, placed.start[v, d], placed.end[v, d])
                idle.free[d] = max(idle.free[d], placed.end[v, d])
            if i < early:
                placed.start[v, d] = placed.end[v, d] = 0.0
    return last


PARTS = (fit, book, best_sizes, by_arrival, arrivals, score, fill, consider, choose)

LIST = Kernel(_place, STEPS_A_SECOND, *PARTS)
