"""All ideals of a partial order, and the steps between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes

WORD = 60
"""OrderedSupernodes per word of a bit set: whole numbers of 64 bits with room for the sign."""

CHUNK = 20_000
IDEALS_A_SECOND, MEASURED_A_SECOND = 2e4, 2e4
USUAL = 50
"""Supernodes of the graphs that these paces are of; in larger graphs an ideal takes longer."""


Small: TypeAlias = NDArray[np.int32]


class Lattice(NamedTuple):
    """Ideals in order of size, the empty one first and the full one last, and what can be added to each.

    Attributes:
        bits: [ideals, words] the supernodes in each; see ``word`` and ``bit``.
        start: [ideals+1] row pointers into ``above`` and ``node``.
        above: the ideals of one supernode more.
        node: the supernode that is added.
        word, bit: [n] where each supernode is in ``bits``.
    """

    bits: Ints
    start: Ints
    above: Small
    node: Small
    word: Ints
    bit: Ints

    @property
    def size(self) -> int:
        """Number of ideals."""
        return len(self.start) - 1


class WholeNets(Protocol):
    """Nets in whole numbers: see :class:`mtpp_dsl.solvers.algorithms.ideals.whole_costs.WholeCosts`."""

    @property
    def start(self) -> Ints:
        """[n + 1] row pointers into ``tensor``."""

    @property
    def tensor(self) -> Ints:
        """The nets at each supernode."""

    @property
    def cost(self) -> Ints:
        """[nets] cost."""

    @property
    def pins(self) -> Ints:
        """[nets] number of pins."""


def places(n: int) -> tuple[Ints, Ints]:
    """Return [n] the word and the bit of each supernode in a bit set."""
    place = np.arange(n)
    return place // WORD, np.left_shift(np.int64(1), place % WORD)


def chain(order: Ints) -> Lattice:
    """Return the prefixes of an order as a lattice."""
    n = len(order)
    word, bit = places(n)
    bits = np.zeros((n + 1, max(1, -(-n // WORD))), np.int64)
    for i, v in enumerate(order.tolist()):
        bits[i + 1] = bits[i]
        bits[i + 1, word[v]] |= bit[v]
    start = np.minimum(np.arange(n + 2), n)
    return Lattice(bits, start, np.arange(1, n + 1, dtype=np.int32), order.astype(np.int32), word, bit)


def lattice_of(
    supernodes: OrderedSupernodes, most_bytes: float, say: Callable[[str], None], pause: Callable[[], None]
) -> Lattice | None:
    """Return all ideals of the order of *supernodes*, or None if they would take more than *most_bytes*.

    Args:
        supernodes: the supernodes.
        most_bytes: of memory.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
    """
    n = supernodes.n
    word, bit = places(n)
    width = max(1, -(-n // WORD))
    before = np.zeros((n, width), np.int64)
    for a, b in supernodes.before:
        before[b, word[a]] |= bit[a]
    keys = np.random.default_rng(0).integers(1, 2**62, size=n, dtype=np.int64)
    store = _Store(width, n)
    grow = GROW.pick((n + 1) * (n / USUAL), say)  # how many ideals there are is not known, but that there are n + 1
    done, count, steps = 0, 1, 0
    while done < count:
        if not store.make_room(count + n, steps + n, most_bytes):
            return None
        portion = max(1, min(CHUNK, GROW.portion(CHUNK * n) * USUAL // max(1, n)))
        done, count, steps = grow(
            done, count, steps, done + portion, before, word, bit, keys,
            store.bits, store.hashes, store.table, store.start, store.above, store.node,
        )  # fmt: skip
        pause()
    start = np.append(store.start[:count], steps)
    return Lattice(store.bits[:count].copy(), start, store.above[:steps].copy(), store.node[:steps].copy(), word, bit)


class _Store:
    """Arrays that are doubled when they are full."""

    def __init__(self, width: int, n: int) -> None:
        room = max(64, 2 * n)
        self.bits: Ints = np.zeros((room, width), np.int64)
        self.hashes: Ints = np.zeros(room, np.int64)
        self.start: Ints = np.zeros(room, np.int64)
        self.above: Small = np.zeros(4 * room, np.int32)
        self.node: Small = np.zeros(4 * room, np.int32)
        self.table: Small = np.full(_power(4 * room), -1, np.int32)
        self.table[0] = 0

    def make_room(self, ideals: int, steps: int, most_bytes: float) -> bool:
        """Make room for so many ideals and steps, or return False if that takes more than *most_bytes*."""
        if self._bytes(ideals > len(self.hashes), steps > len(self.above)) > most_bytes:
            return False
        if ideals > len(self.hashes):
            self.bits, self.hashes, self.start = (_double(a) for a in (self.bits, self.hashes, self.start))
            self._rehash(len(self.hashes))
        if steps > len(self.above):
            self.above, self.node = _double(self.above), _double(self.node)
        return True

    def _bytes(self, more_ideals: bool, more_steps: bool) -> int:
        """Return what the arrays take after doubling, the old ones beside the new."""
        ideals = sum(array.nbytes for array in (self.bits, self.hashes, self.start, self.table))
        steps = self.above.nbytes + self.node.nbytes
        return ideals * (3 if more_ideals else 1) + steps * (3 if more_steps else 1)

    def _rehash(self, room: int) -> None:
        filled = self.table[self.table >= 0]
        self.table = np.full(_power(4 * room), -1, np.int32)
        free, mask = self.table, len(self.table) - 1
        left, place = filled, self.hashes[filled] & mask
        while left.size:  # every round places one of those that want the same place
            taken = free[place] >= 0
            free[place[~taken]] = left[~taken]
            waits = free[place] != left
            left, place = left[waits], (place[waits] + 1) & mask


def _power(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _double(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate((array, np.zeros_like(array)))


def _grow(
    done: int, count: int, steps: int, until: int, before: Ints, word: Ints, bit: Ints, keys: Ints,
    bits: Ints, hashes: Ints, table: Small, start: Ints, above: Small, node: Small,
) -> tuple[int, int, int]:  # fmt: skip
    """Find what can be added to the ideals from *done* on, while there is room; return done, count, steps."""
    n, width = before.shape
    mask = len(table) - 1
    while done < count and done < until and count + n <= len(hashes) and steps + n <= len(above):
        start[done] = steps
        for v in range(n):
            if bits[done, word[v]] & bit[v]:
                continue
            ready = True
            for q in range(width):
                if before[v, q] & ~bits[done, q]:
                    ready = False
                    break
            if not ready:
                continue
            key = hashes[done] ^ keys[v]
            place = key & mask
            child = -1
            while table[place] >= 0:
                other = table[place]
                if hashes[other] == key:
                    same = True
                    for q in range(width):
                        mine = bits[done, q]
                        if q == word[v]:
                            mine |= bit[v]
                        if bits[other, q] != mine:
                            same = False
                            break
                    if same:
                        child = other
                        break
                place = (place + 1) & mask
            if child < 0:
                child = count
                bits[child] = bits[done]
                bits[child, word[v]] |= bit[v]
                hashes[child] = key
                table[place] = child
                count += 1
            above[steps] = child
            node[steps] = v
            steps += 1
        done += 1
    return done, count, steps


GROW = Kernel(_grow, IDEALS_A_SECOND)


def measure(lattice: Lattice, costs: WholeNets, weights: Floats, say: Callable[[str], None]) -> tuple[Floats, Floats]:
    """Return [ideals, rows] what is left outside of each ideal, by each row of *weights*, and [ideals] its cut.

    The cut of an ideal is the cost of the tensors with a pin inside and a pin outside.
    """
    left = np.zeros((lattice.size, len(weights)))
    cut = np.zeros(lattice.size)
    run = MEASURE.pick(lattice.size, say)
    run(lattice.bits, lattice.start, lattice.above, lattice.node, lattice.word, lattice.bit, weights,
        costs.start, costs.tensor, costs.cost, costs.pins, left, cut)  # fmt: skip
    return left, cut


def _measure(
    bits: Ints, start: Ints, above: Small, node: Small, word: Ints, bit: Ints, weights: Floats,
    tensors: Ints, tensor: Ints, cost: Ints, pins: Ints, left: Floats, cut: Floats,
) -> None:  # fmt: skip
    """Fill *left* and *cut*."""
    rows, n = weights.shape
    for p in range(rows):
        for v in range(n):
            left[0, p] += weights[p, v]
    inside = np.zeros(len(pins), np.int64)
    for i in range(len(start) - 1):
        for e in range(start[i], start[i + 1]):
            for p in range(rows):
                left[above[e], p] = left[i, p] - weights[p, node[e]]
        inside[:] = 0
        for v in range(n):
            if bits[i, word[v]] & bit[v]:
                for y in range(tensors[v], tensors[v + 1]):
                    inside[tensor[y]] += 1
        for t in range(len(pins)):
            if 0 < inside[t] < pins[t]:
                cut[i] += cost[t]


MEASURE = Kernel(_measure, MEASURED_A_SECOND)
