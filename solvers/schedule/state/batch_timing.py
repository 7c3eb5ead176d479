"""Batches of chunks in an order, timed, and chunks of a supernode moved: compiled parts of the searches."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.state.batch_state import BITS, STRIDE, BatchField, BatchState

__all__ = ["Trial", "clashes", "keep", "move_row", "shared", "timing", "trial_of"]


class Trial(NamedTuple):
    """Room for a schedule that is tried, as of :class:`BatchState`.

    Attributes:
        source: batches in the order asked for, from the place where it begins to differ.
        order: in the order in which they are timed: every batch behind those that it needs.
        when: [n k] number of the trial that timed each batch last. number: [1] of trials.
        stack: batches that wait for others.
        end, free, peak, lacking: as of the state.
        cost: [1] the last end. wanting: [1] batches that get inputs without a link.
    """

    source: Ints
    order: Ints
    when: Ints
    number: Ints
    stack: Ints
    end: Floats
    free: Floats
    peak: Floats
    lacking: Ints
    cost: Floats
    wanting: Ints


def trial_of(field: BatchField, state: BatchState) -> Trial:
    """Return room for trials of a state."""
    n = len(field.group)
    return Trial(
        source=np.zeros(len(state.order), np.int64),
        order=np.zeros(len(state.order), np.int64),
        when=np.zeros(len(state.place), np.int64),
        number=np.zeros(1, np.int64),
        stack=np.zeros(n + 1, np.int64),
        end=np.zeros(len(state.place)),
        free=np.zeros_like(state.free),
        peak=np.zeros_like(state.peak),
        lacking=np.zeros_like(state.lacking),
        cost=np.full(1, np.inf),
        wanting=np.zeros(1, np.int64),
    )


def shared(state: BatchState, a: int, d: int, c: int, f: int) -> int:
    """Return how many chunks the batches of supernode *a* on *d* and of supernode *c* on *f* share."""
    count = 0
    for w in range(state.mask.shape[2]):
        both = state.mask[a, d, w] & state.mask[c, f, w]
        while both:
            both &= both - 1
            count += 1
    return count


def meet(state: BatchState, a: int, d: int, c: int, f: int) -> bool:
    """Return whether the batches of supernode *a* on *d* and of supernode *c* on *f* share a chunk."""
    both = 0
    for w in range(state.mask.shape[2]):
        both |= state.mask[a, d, w] & state.mask[c, f, w]
    return bool(both != 0)


def timing(
    field: BatchField, state: BatchState, trial: Trial, begin: int, length: int, allowed: float, toll: float
) -> bool:
    """Time ``trial.source[begin:length]`` behind the first *begin* batches of the state; return whether it is allowed.

    Each batch starts as soon as its inputs have arrived and its device is free, as in
    :func:`mtpp_dsl.core.plans.batches.timed`; one that takes no time waits for no device. A batch whose inputs are not
    there yet is preceded by those that make them. *begin* is a multiple of ``STRIDE``; a batch that gets inputs where
    no link leads costs *toll*. It ends as soon as the least time from a batch to the end is more than *allowed*.
    """
    k = field.time.shape[1]
    trial.number[0] += 1
    number = trial.number[0]
    free = state.free[begin // STRIDE].copy()
    peak = state.peak[begin // STRIDE]
    wanting = state.lacking[begin // STRIDE]
    done = begin
    # Take batches in the order asked for. What a batch needs and has not been timed goes before it, by a stack.
    for i in range(begin, length):
        if trial.when[trial.source[i]] == number:
            continue
        trial.stack[0] = trial.source[i]
        top = 0
        while top >= 0:
            # The batch on top: when its inputs have arrived, or the first of them that is still to be timed.
            x = trial.stack[top]
            v, f = x // k, x % k
            c = field.group[v]
            ready, waits, missing = 0.0, -1, 0
            for j in range(field.offsets_in[v], field.offsets_in[v + 1]):
                e = field.entering[j]
                u = field.tails[e]
                a = field.group[u]
                for t in range(state.actives[a]):
                    d = state.active[a, t]
                    if not meet(state, a, d, c, f):
                        continue
                    y = u * k + d
                    # An input was timed in this trial, or stands before the change, or is waited for.
                    if trial.when[y] == number:
                        at = trial.end[y]
                    elif 0 <= state.place[y] < begin:
                        at = state.end[y]
                    else:
                        waits = y
                        break
                    if d != f:
                        carry = field.fixed[field.row[e], d, f]
                        if carry == inf:
                            missing = 1
                            carry = 0.0
                        elif field.per_input:
                            carry += shared(state, a, d, c, f) * field.growing[field.row[e], d, f]
                        at += carry
                    ready = max(ready, at)
                # Put what is waited for on top, and come back later.
                if waits >= 0:
                    break
            if waits >= 0:
                top += 1
                trial.stack[top] = waits
                continue
            # Time the batch. At each stride the state is saved, so that later trials can begin there.
            top -= 1
            if done % STRIDE == 0:
                trial.free[done // STRIDE] = free
                trial.peak[done // STRIDE] = peak
                trial.lacking[done // STRIDE] = wanting
            takes = field.time[v, f, state.size[c, f]]
            if takes > 0:
                ready = max(ready, free[f]) + takes
                free[f] = ready
            trial.end[x] = ready
            trial.when[x] = number
            trial.order[done] = x
            done += 1
            peak = max(peak, ready)
            wanting += missing
            # The least cost from here on is more than is allowed: stop.
            if ready + field.tail[v, f] + toll * wanting > allowed * (1 + 1e-12):
                return False
    trial.cost[0] = peak
    trial.wanting[0] = wanting
    return bool(peak + toll * wanting <= allowed)


def keep(state: BatchState, trial: Trial, begin: int, length: int) -> None:
    """Make the schedule that was timed last that of the state; batches it does not have must be without a place."""
    for i in range(begin, length):
        x = trial.order[i]
        state.order[i] = x
        state.place[x] = i
        state.end[x] = trial.end[x]
    state.length[0] = length
    first, last = begin // STRIDE, (length + STRIDE - 1) // STRIDE
    state.free[first:last] = trial.free[first:last]
    state.peak[first:last] = trial.peak[first:last]
    state.lacking[first:last] = trial.lacking[first:last]


def clashes(field: BatchField, state: BatchState, c: int) -> int:
    """Return how many chunks supernode *c* runs where a supernode that is held apart from it runs them."""
    count = 0
    for j in range(field.apart_at[c], field.apart_at[c + 1]):
        for i in range(state.home.shape[1]):
            if state.home[c, i] == state.home[field.apart[j], i]:
                count += 1
    return count


def move_row(field: BatchField, state: BatchState, c: int, row: Ints) -> None:
    """Put the chunks of supernode *c* on the devices of *row*; the order is left as it is."""
    k = field.time.shape[1]
    state.clash[0] -= clashes(field, state, c)
    for t in range(state.actives[c]):
        d = state.active[c, t]
        state.used[d] -= field.weights[c] + field.share[c] * state.size[c, d]
        state.size[c, d] = 0
        for w in range(state.mask.shape[2]):
            state.mask[c, d, w] = 0
    for i in range(len(row)):
        d = row[i]
        state.home[c, i] = d
        state.size[c, d] += 1
        state.mask[c, d, i // BITS] |= 1 << (i % BITS)
    count = 0
    for d in range(k):
        if state.size[c, d] > 0:
            state.active[c, count] = d
            count += 1
            state.used[d] += field.weights[c] + field.share[c] * state.size[c, d]
    state.actives[c] = count
    state.clash[0] += clashes(field, state, c)
