"""A chain of nodes and the devices that it is split over, as arrays; and which of the devices are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class NodeChain:
    """Nodes 0..n-1, each of which hands a tensor to the next, and devices that may hold one range of them each.

    The load of a device is its work, what it sends and what it receives: their sum, or, where transfers *overlap* work,
    the largest of the three. With *half* duplex sending and receiving add up there, too.

    Attributes:
        time: [n, devices] running times; ``inf`` where a node may not be.
        memory: [n] what the nodes take.
        room: [devices] what those of a device may take together.
        sent, received: [n, devices, devices] what the device of node j pays for sending its tensor to that of node
            j + 1, and what that one pays for it; ``inf`` where nothing leads there. The last row is not read.
        overlap: whether transfers run beside work.
        half: [devices] whether one that overlaps them sends and receives one after the other; None for no device.
        in_line: whether data only ever go on to a later device, so that none can be used twice.
    """

    time: Floats
    memory: Floats
    room: Floats
    sent: Floats
    received: Floats
    overlap: bool = False
    half: Bools | None = None
    in_line: bool = False

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.time)

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.time.shape[1])

    @property
    def halves(self) -> Bools:
        """[devices] whether sending and receiving add up where transfers overlap work."""
        return np.zeros(self.k, np.bool_) if self.half is None else self.half

    def loads(self, device: Ints) -> Floats:
        """Return [devices] the loads of a split that gives each node a device, each device one range of nodes."""
        work, out, into = np.zeros(self.k), np.zeros(self.k), np.zeros(self.k)
        np.add.at(work, device, self.time[np.arange(self.n), device])
        ends = np.flatnonzero(device[:-1] != device[1:])
        np.add.at(out, device[ends], self.sent[ends, device[ends], device[ends + 1]])
        np.add.at(into, device[ends + 1], self.received[ends, device[ends], device[ends + 1]])
        if not self.overlap:
            return work + out + into
        return np.maximum(work, np.where(self.halves, out + into, np.maximum(out, into)))


@dataclass(frozen=True, eq=False)
class Typed:
    """A chain with one column for every type of devices.

    Attributes:
        members: the devices of each type. They are equal in all that enters a load, to one another and to all others.
        stride: [types] what one device of the type adds to the number of a state; states number the counts used.
        left: [states, types] how many devices of each type are unused.
        time, memory, room, sent, received, halves: as of :class:`NodeChain`, by types.
    """

    members: tuple[tuple[int, ...], ...]
    stride: Ints
    left: Ints
    time: Floats
    memory: Floats
    room: Floats
    sent: Floats
    received: Floats
    halves: Bools

    @property
    def states(self) -> int:
        """How many ways there are to have used some devices of each type."""
        return len(self.left)

    def devices(self, steps: list[tuple[int, int, int]], n: int) -> Ints:
        """Return [n] devices for stages (first node, node after the last, type): the first unused one of each type."""
        free = [list(group) for group in self.members]
        device = np.empty(n, np.int64)
        for begin, end, kind in steps:
            device[begin:end] = free[kind].pop(0)
        return device


def typed(chain: NodeChain) -> Typed:
    """Return the chain by types of devices.

    Two devices are equal if exchanging their names changes nothing: not the times or the room of any node, nor a
    transfer to or from any device.
    """
    k = chain.k
    if chain.in_line:
        return _one_of_each(chain)
    links = np.concatenate([chain.sent[:-1], chain.received[:-1]])
    members: list[list[int]] = []
    for d in range(k):
        for group in members:
            if _equal(chain, links, group[0], d):
                group.append(d)
                break
        else:
            members.append([d])
    first = [group[0] for group in members]
    second = [group[min(1, len(group) - 1)] for group in members]
    counts = np.array([len(group) for group in members], np.int64)
    stride = np.concatenate([[1], np.cumprod(counts[:-1] + 1)]).astype(np.int64)
    used = np.arange(int(np.prod(counts + 1)))[:, None] // stride % (counts + 1)

    def between(cost: Floats) -> Floats:
        pairs = np.ascontiguousarray(cost[:, first][:, :, first])
        pairs[:, range(len(first)), range(len(first))] = cost[:, first, second]
        return pairs

    return Typed(
        members=tuple(map(tuple, members)),
        stride=stride,
        left=counts - used,
        time=np.ascontiguousarray(chain.time[:, first]),
        memory=chain.memory,
        room=chain.room[first],
        sent=between(chain.sent),
        received=between(chain.received),
        halves=chain.halves[first],
    )


def _one_of_each(chain: NodeChain) -> Typed:
    """Return a chain over devices in line, each a type: there is one state, as transfers alone tell what is left."""
    return Typed(
        members=tuple((d,) for d in range(chain.k)),
        stride=np.zeros(chain.k, np.int64),
        left=np.ones((1, chain.k), np.int64),
        time=np.ascontiguousarray(chain.time),
        memory=chain.memory,
        room=chain.room,
        sent=np.ascontiguousarray(chain.sent),
        received=np.ascontiguousarray(chain.received),
        halves=chain.halves,
    )


def _equal(chain: NodeChain, links: Floats, d: int, e: int) -> bool:
    """Return whether devices *d* and *e* may be exchanged."""
    if chain.room[d] != chain.room[e] or chain.halves[d] != chain.halves[e]:
        return False
    if not np.array_equal(chain.time[:, d], chain.time[:, e]):
        return False
    others: Bools = np.ones(chain.k, np.bool_)
    others[[d, e]] = False
    return bool(
        np.array_equal(links[:, d, e], links[:, e, d])
        and np.array_equal(links[:, d, others], links[:, e, others])
        and np.array_equal(links[:, others, d], links[:, others, e])
    )
