"""Other devices for the chunks of a supernode: the draws of the searches, compiled parts."""

from __future__ import annotations

from typing import NamedTuple

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField, BatchState

__all__ = ["ALIKE", "ROWS", "SWAPPED", "ChunkShares", "Draws", "aligned", "draw", "fits", "neighbour", "spread_of"]

ALIKE, MOVED, SWAPPED = 0, 1, 2
"""How a new row came about: of its own, by moving every chunk from one device to another, by exchanging two devices."""


class Draws(NamedTuple):
    """Numbers uniform in [0, 1), and [1] how many of them are used up."""

    values: Floats
    at: Ints


class ChunkShares(NamedTuple):
    """Cumulated shares of the ways to draw a row, up to 1.

    Attributes:
        whole: all chunks on one device.
        moved: a batch to another device, or into the batch there.
        parted: some chunks of a batch to another device.
        copied: the row of a neighbour.
        swapped: two devices exchanged.
        turned: the same sizes, chunks as a neighbour has them; beyond it: any sizes.
    """

    whole: float
    moved: float
    parted: float
    copied: float
    swapped: float
    turned: float


def uniform(draws: Draws) -> float:
    """Return the next number."""
    value = draws.values[draws.at[0]]
    draws.at[0] += 1
    return float(value)


def below(draws: Draws, most: int) -> int:
    """Return a whole number from 0 to *most* - 1."""
    return int(uniform(draws) * most)


def fits(field: BatchField, c: int, row: Ints, size: Ints) -> bool:
    """Return whether supernode *c* may have the batches of a row; *size* is room for their sizes, and gets them."""
    size[:] = 0
    for d in row:
        size[d] += 1
    able = True
    for d in range(len(size)):
        able = able and field.may[c, d, size[d]]
    return bool(able)


def neighbour(field: BatchField, c: int, draws: Draws) -> int:
    """Return the supernode at the other end of some edge of supernode *c*; -1 if the node drawn has none."""
    first, last = field.members_at[c], field.members_at[c + 1]
    v = field.members[first + below(draws, last - first)]
    into = field.offsets_in[v + 1] - field.offsets_in[v]
    degree = into + field.offsets[v + 1] - field.offsets[v]
    if degree == 0:
        return -1
    i = below(draws, degree)
    if i < into:
        return int(field.group[field.tails[field.entering[field.offsets_in[v] + i]]])
    return int(field.group[field.heads[field.offsets[v] + i - into]])


def aligned(size: Ints, like: Ints, row: Ints) -> None:
    """Write a row of given sizes with as many chunks as can be where *like* has them, the others by number."""
    left = size.copy()
    for i in range(len(row)):
        d = like[i]
        row[i] = -1
        if left[d] > 0:
            left[d] -= 1
            row[i] = d
    d = 0
    for i in range(len(row)):
        if row[i] < 0:
            while left[d] == 0:
                d += 1
            left[d] -= 1
            row[i] = d


def spread_of(field: BatchField, c: int, draws: Draws, size: Ints) -> None:
    """Write sizes of batches that supernode *c* may have, all chunks together, device by device at random."""
    k = len(size)
    left = field.may.shape[2] - 1
    kind = field.kind[c]
    for d in range(k):
        count = 0
        for p in range(left + 1):
            if field.may[c, d, p] and field.reach[kind, d + 1, left - p]:
                count += 1
        pick = below(draws, count)
        for p in range(left + 1):
            if field.may[c, d, p] and field.reach[kind, d + 1, left - p]:
                if pick == 0:
                    size[d] = p
                    left -= p
                    break
                pick -= 1


def part(field: BatchField, state: BatchState, c: int, d: int, f: int, like: Ints, draws: Draws, row: Ints) -> bool:
    """Move some chunks of supernode *c* from *d* to *f*, first those *like* has there; return whether sizes allow."""
    here, there = state.size[c, d], state.size[c, f]
    moves = 0
    if here < 2:
        return False
    start = below(draws, here - 1)
    for i in range(here - 1):
        p = 1 + (start + i) % (here - 1)
        if field.may[c, d, here - p] and field.may[c, f, there + p]:
            moves = p
            break
    left = moves
    for i in range(len(row)):
        if left > 0 and row[i] == d and like[i] == f:
            row[i] = f
            left -= 1
    ending = uniform(draws) < 0.5
    for j in range(len(row)):
        i = len(row) - 1 - j if ending else j
        if left > 0 and row[i] == d:
            row[i] = f
            left -= 1
    return moves > 0


def draw(
    field: BatchField, state: BatchState, c: int, draws: Draws, shares: ChunkShares, row: Ints, size: Ints, pair: Ints
) -> int:
    """Write another row for supernode *c*; return how it came about, -1 if nothing came of it.

    *pair* gets the two devices of ``MOVED`` and ``SWAPPED``; *size* is room.
    """
    k = len(size)
    row[:] = state.home[c]
    which = uniform(draws)
    d = state.active[c, below(draws, state.actives[c])]
    f = below(draws, k)
    near = neighbour(field, c, draws)
    pair[0], pair[1] = d, f
    if which < shares.swapped and which >= shares.copied:
        if d == f:
            return -1
        for i in range(len(row)):
            if row[i] == d:
                row[i] = f
            elif row[i] == f:
                row[i] = d
        return SWAPPED if fits(field, c, row, size) else -1
    if which < shares.whole:
        row[:] = f
        return ALIKE if fits(field, c, row, size) else -1
    if which < shares.moved:
        if near >= 0 and uniform(draws) < 0.5:
            f = state.active[near, below(draws, state.actives[near])]
            pair[1] = f
        for i in range(len(row)):
            if row[i] == d:
                row[i] = f
        return MOVED if d != f and fits(field, c, row, size) else -1
    if which < shares.parted:
        like = state.home[near if near >= 0 else c]
        return ALIKE if d != f and part(field, state, c, d, f, like, draws, row) else -1
    like = state.home[near if near >= 0 else c]
    if which < shares.copied:
        row[:] = like
        return ALIKE if fits(field, c, row, size) else -1
    size[:] = state.size[c]
    if which >= shares.turned:
        spread_of(field, c, draws, size)
    aligned(size, like, row)
    return ALIKE


ROWS = (uniform, below, fits, neighbour, aligned, spread_of, part, draw)
"""In an order in which each calls those before it."""
