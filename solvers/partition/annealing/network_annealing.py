"""Anneal splits on links and trees, with an order of the devices and without."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import quotient_order
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.homes.of_problem import shipping_of
from mtpp_dsl.solvers.algorithms.homes.shipping import Shipping
from mtpp_dsl.solvers.algorithms.slicing.linear_split import linear_split, lines_of, orders_of
from mtpp_dsl.solvers.partition.annealing.annealing_run import AnnealingRun, chunks, falling

__all__ = ["MOVE", "anneal_on_network"]

CHUNK = 500
HOT, COLD = 0.1, 1e-4
"""First and last temperature, as shares of the cost of the plan to begin with."""
LINES = 3
POWERS = (8.0, 16.0, 32.0)
LARGE = 1e6
"""What is not allowed takes, in the same shares; it is never moved there."""


def anneal_on_network(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Return the best split found by moving one supernode at a time; rounds get longer until some find nothing.

    Args:
        problem: on links or a tree.
        limits: when to stop, and where to start.
        progress: told of plans.
        patience: rounds without a better plan after which it ends.
        moves: of the first round, per supernode and device.
    """
    return _NetworkRun(problem, limits, progress, patience, moves).result()


class _NetworkRun(AnnealingRun):
    """Solves one problem."""

    tells_of_none = False

    def _prepare(self) -> Ints:
        self._shipping, supernode = shipping_of(self._problem, ordered=self._problem.acyclic)
        self._random = np.random.default_rng(self._limits.seed)
        self._allowed = [np.flatnonzero(np.isfinite(row)) for row in self._shipping.time]
        return supernode

    def _begin(self) -> bool:
        return self._shipping.n > 0 and all(len(row) for row in self._allowed)

    def _anneal(self) -> None:
        shipping = self._shipping
        self._starts = _Starts(shipping, self._allowed, self._limits.seed, ordered=self._problem.acyclic)
        steps = max(CHUNK, self._moves * shipping.n * shipping.k // 10)
        self._one_after_another(steps, self._round, longer=True)

    def _round(self, turn: int, steps: int) -> None:
        """Anneal once, from the best split in every other turn."""
        plan, known, shipping = self._incumbent.plan, self._incumbent.cost, self._shipping
        device = self._starts.start(None if plan is None else np.array(plan.assignment[self._first]), turn)
        scale = known if 0 < known < np.inf else float(shipping.time[np.isfinite(shipping.time)].sum()) or 1.0
        costs = _costs(shipping, scale, ordered=self._problem.acyclic)
        run, power = MOVE.pick(steps), POWERS[turn % len(POWERS)]
        best, least = device.copy(), np.inf
        for begin, _ in chunks(steps, CHUNK, lambda: self._incumbent.done):
            temperature = falling(HOT, COLD, begin / steps)
            rank = _rank(costs, device, self._random)
            split = _split(costs, device, rank)  # anew, so that rounding does not add up
            least = run(self._random.random((CHUNK, 3)), temperature, power, costs, split, best, least)
            device = split.device
        if least < np.inf:  # some split was within the memories
            self._incumbent.take(self._plan_of(best))


class _Starts:
    """Splits to begin rounds with.

    Args:
        shipping: the supernodes.
        allowed: the devices of each.
        seed: of random ones.
        ordered: whether devices are in an order.
    """

    def __init__(self, shipping: Shipping, allowed: list[Ints], seed: int, *, ordered: bool) -> None:
        self._shipping, self._allowed, self._ordered = shipping, allowed, ordered
        self._random = np.random.default_rng(seed)
        self._orders = orders_of(shipping, seed) if ordered else None

    def start(self, best: Ints | None, turn: int) -> Ints:
        """Return [n] devices: the *best* split in every other turn, sometimes with two devices exchanged."""
        if best is not None and turn % 2 == 0:
            return self._exchanged(best) if self._ordered and turn % 4 == 2 else best
        if self._orders is None:
            return np.array([self._random.choice(row) for row in self._allowed], np.int64)
        order, shipping = next(self._orders), self._shipping
        for line in lines_of(shipping, self._random, LINES + turn):
            split = linear_split(shipping.time, shipping.memory, shipping.room, order, line.tolist())
            if split is not None and self._random.random() < 0.5:
                return split
        if best is not None:
            return self._exchanged(best)
        everywhere = np.isfinite(self._shipping.time).sum(axis=0)
        return np.full(self._shipping.n, everywhere.argmax(), np.int64)

    def _exchanged(self, best: Ints) -> Ints:
        """Return the split with all nodes of two devices exchanged, or *best* where these may not take them."""
        k = self._shipping.k
        d, e = self._random.permutation(k)[:2].tolist() if k > 1 else (0, 0)
        swap = np.arange(k)
        swap[d], swap[e] = e, d
        device = np.asarray(swap[best], np.int64)
        return device if np.isfinite(self._shipping.time[np.arange(len(best)), device]).all() else best


def _rank(costs: NetworkCosts, device: Ints, random: np.random.Generator) -> Ints:
    """Return [k] the places of the devices in a random order that what they read allows."""
    k = costs.time.shape[1]
    tails = np.repeat(np.arange(len(device)), np.diff(costs.after_at))
    name = random.permutation(k)  # among those free to come next the lowest number comes first
    line = quotient_order(np.arange(k), name[device[tails]], name[device[costs.after]], k)
    rank = np.zeros(k, np.int64)
    if line is not None:
        rank[list(line)] = np.arange(k)
    return rank[name]


def _costs(shipping: Shipping, scale: float, *, ordered: bool = False) -> NetworkCosts:
    """Return the costs as shares of *scale*."""
    touched: list[list[int]] = [[] for _ in range(shipping.n)]
    for t, (p, readers) in enumerate(zip(shipping.producer.tolist(), shipping.readers, strict=True)):
        for v in {p, *readers}:
            touched[v].append(t)
    ways = [way for row in shipping.routes for way in row]

    pairs = np.array(shipping.before if ordered else (), np.int64).reshape(-1, 2)
    before_at, before = _rows(pairs[:, 1], pairs[:, 0], shipping.n)
    after_at, after = _rows(pairs[:, 0], pairs[:, 1], shipping.n)

    def shares(values: Floats) -> Floats:
        return np.ascontiguousarray(np.minimum(values / scale, LARGE))

    return NetworkCosts(
        time=shares(shipping.time),
        memory=shipping.memory,
        room=shipping.room,
        first=np.concatenate([[0], np.cumsum([len(row) for row in touched])]).astype(np.int64),
        tensor=np.array([t for row in touched for t in row], np.int64),
        producer=shipping.producer.astype(np.int64),
        sent=shares(shipping.sent),
        received=shares(shipping.received),
        route=np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64),
        channel=np.array([c for way in ways for c in way], np.int64),
        carried=shares(shipping.carried),
        mode=np.where(shipping.half, 2, 1) if shipping.overlap else np.zeros(shipping.k, np.int64),
        serial=int(shipping.serial),
        before_at=before_at,
        before=before,
        after_at=after_at,
        after=after,
    )


def _rows(key: Ints, value: Ints, n: int) -> tuple[Ints, Ints]:
    """Return [n + 1] row pointers into the values, sorted by their keys."""
    at = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n))]).astype(np.int64)
    return at, np.asarray(value[np.argsort(key, kind="stable")], np.int64)


def _split(costs: NetworkCosts, device: Ints, rank: Ints | None = None) -> NetworkSplit:
    """Return a split with its sums."""
    n, k = costs.time.shape
    tensors, channels = len(costs.producer), costs.carried.shape[1]
    count = np.zeros((tensors, k), np.int64)
    for v in range(n):
        for t in costs.tensor[costs.first[v] : costs.first[v + 1]].tolist():
            if costs.producer[t] != v:
                count[t, device[v]] += 1
    out, into, busy = np.zeros(k), np.zeros(k), np.zeros(channels)
    for t in range(tensors):
        d = int(device[costs.producer[t]])
        there = [e for e in np.flatnonzero(count[t]).tolist() if e != d]
        sent = [float(costs.sent[t, d, e]) for e in there]
        out[d] += sum(sent) if costs.serial else max(sent, default=0.0)
        passed: list[int] = []
        for e in there:
            into[e] += costs.received[t, d, e]
            passed += costs.channel[costs.route[d * k + e] : costs.route[d * k + e + 1]].tolist()
        for c in passed if costs.serial else set(passed):
            busy[c] += costs.carried[t, c]
    return NetworkSplit(
        device=np.array(device, np.int64),
        readers=count,
        work=np.bincount(device, costs.time[np.arange(n), device], k).astype(np.float64),
        out=out,
        into=into,
        used=np.bincount(device, costs.memory, k).astype(np.float64),
        busy=busy,
        seen=np.zeros(max(1, channels), np.int64),
        rank=np.zeros(k, np.int64) if rank is None else rank,
    )


# The innermost loop of annealing on networks: a supernode moves, and its tensors are charged anew.

STEPS_A_SECOND = 4e4


class NetworkCosts(NamedTuple):
    """What splits cost; times are shares of the cost of the plan to begin with.

    Attributes:
        time: [n, devices]; what is not allowed is large.
        memory: [n], and [devices] ``room``.
        room: see above.
        first: [n + 1] row pointers into ``tensor``, the tensors that each supernode makes or reads.
        tensor: see above.
        producer: [tensors].
        sent: [tensors, devices, devices].
        received: [tensors, devices, devices].
        route: [devices * devices + 1] row pointers into ``channel``, the shared channels of each pair.
        channel: see above.
        carried: [tensors, channels].
        mode: [devices] 0: work, sending and receiving add up; 1: they overlap; 2: the last two add up.
        serial: 1 if a tensor is sent to one reading device after the other, else 0.
        before_at: [n + 1] row pointers into ``before``, what has to be on the device of each or an earlier one.
        before: see above; ``after_at`` and ``after`` likewise: on its device or a later one. Empty without an order.
        after_at: see above.
        after: see above.
    """

    time: Floats
    memory: Floats
    room: Floats
    first: Ints
    tensor: Ints
    producer: Ints
    sent: Floats
    received: Floats
    route: Ints
    channel: Ints
    carried: Floats
    mode: Ints
    serial: int
    before_at: Ints
    before: Ints
    after_at: Ints
    after: Ints


class NetworkSplit(NamedTuple):
    """A split and its sums.

    Attributes:
        device: [n].
        readers: [tensors, devices] how many readers are where.
        work: [devices]; ``out``, ``into``, ``held`` likewise: sending, receiving, memory.
        out: see above.
        into: see above.
        used: see above.
        busy: [channels].
        seen: [channels] scratch.
        rank: [k] the place of each device in an order that moves keep.
    """

    device: Ints
    readers: Ints
    work: Floats
    out: Floats
    into: Floats
    used: Floats
    busy: Floats
    seen: Ints
    rank: Ints


def _move(
    draws: Floats, temperature: float, power: float, costs: NetworkCosts, split: NetworkSplit, best: Ints, least: float
) -> float:
    """Try a move for every row of *draws*; return the least peak met without a memory exceeded, whose split is *best*.

    The energy is the sum of the loads of devices and channels, raised to a power, and what is charged for memory.
    """
    n, k = costs.time.shape
    channels = len(split.busy)
    before = -1.0
    for r in range(len(draws) + 1):
        v = 0 if r == 0 else min(n - 1, int(draws[r - 1, 0] * n))  # at first nothing moves: what is there counts
        a = split.device[v]
        b = a if r == 0 else min(k - 1, int(draws[r - 1, 1] * k))
        if r > 0 and (a == b or costs.time[v, b] > 1e5):
            continue
        # In the order of the devices, what is read must come from an earlier device or the same, what reads be on a
        # later one.
        fits = True
        for y in range(costs.before_at[v], costs.before_at[v + 1]):
            fits = fits and split.rank[split.device[costs.before[y]]] <= split.rank[b]
        for y in range(costs.after_at[v], costs.after_at[v + 1]):
            fits = fits and split.rank[split.device[costs.after[y]]] >= split.rank[b]
        if not fits and r > 0:
            continue
        # Do the move, and look at the energy; if it is not accepted, the second turn does it backwards.
        for turn in range(2):
            source, target = (a, b) if turn == 0 else (b, a)
            if source != target:
                for half in range(2):
                    # Take off what the tensors at v cost where it was, then move it, then add what they cost where it
                    # is.
                    sign = -1.0 if half == 0 else 1.0
                    for y in range(costs.first[v], costs.first[v + 1]):
                        t = costs.tensor[y]
                        if half == 1 and costs.producer[t] != v:
                            split.readers[t, source] -= 1
                            split.readers[t, target] += 1
                    if half == 1:
                        split.device[v] = target
                        split.work[source] -= costs.time[v, source]
                        split.work[target] += costs.time[v, target]
                        split.used[source] -= costs.memory[v]
                        split.used[target] += costs.memory[v]
                    for y in range(costs.first[v], costs.first[v + 1]):
                        t = costs.tensor[y]
                        d = split.device[costs.producer[t]]
                        # A tensor goes from its maker's device to every other device with a reader: both ends pay, and
                        # the channels on the way are busy, for each receiver or once.
                        most, total = 0.0, 0.0
                        split.seen[:] = 0
                        for e in range(k):
                            if e == d or split.readers[t, e] == 0:
                                continue
                            most = max(most, costs.sent[t, d, e])
                            total += costs.sent[t, d, e]
                            split.into[e] += sign * costs.received[t, d, e]
                            for z in range(costs.route[d * k + e], costs.route[d * k + e + 1]):
                                c = costs.channel[z]
                                if costs.serial == 1 or split.seen[c] == 0:
                                    split.busy[c] += sign * costs.carried[t, c]
                                    split.seen[c] = 1
                        split.out[d] += sign * (total if costs.serial == 1 else most)
            # The energy: the norm of all loads for a large power, which is near the largest load, and a charge for
            # memory.
            peak, energy, over = 0.0, 0.0, 0.0
            for d in range(k):
                if costs.mode[d] == 0:
                    load = split.work[d] + split.out[d] + split.into[d]
                elif costs.mode[d] == 1:
                    load = max(split.work[d], split.out[d], split.into[d])
                else:
                    load = max(split.work[d], split.out[d] + split.into[d])
                peak = max(peak, load)
                energy += min(max(load, 0.0), 1e3) ** power
                if split.used[d] > costs.room[d]:
                    over += 1.0 + (split.used[d] - costs.room[d]) / (costs.room[d] + 1e-300)
            for c in range(channels):
                peak = max(peak, split.busy[c])
                energy += min(max(split.busy[c], 0.0), 1e3) ** power
            energy = energy ** (1.0 / power) + 10.0 * over
            # The best split is kept if no memory is exceeded.
            if over == 0.0 and peak < least:
                least = peak
                best[:] = split.device
            # The rule of Metropolis: the second turn is kept as it is.
            if before < 0 or energy <= before or turn == 1:
                before = energy
                break
            if draws[r - 1, 2] < 2.718281828459045 ** max(-700.0, (before - energy) / temperature):
                before = energy
                break
    return least


MOVE = Kernel(_move, STEPS_A_SECOND)
