"""Requests about batches and their solutions, in whole numbers, for a whole problem or one module of it."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.views.symmetry import Ranking


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """A solution: the device of every chunk, and the start of every batch.

    Attributes:
        device: [n, chunks].
        start: [n, k] of the batch of a task on a device; meaningless where there is none.
    """

    device: Ints
    start: Ints


@dataclass(frozen=True, eq=False)
class BatchRequest:
    """Tasks whose chunks are to be split over devices, with at most one batch of a task on each device.

    Under ``constraint repeat`` what is called a device here is a lane of one (:mod:`mtpp_dsl.core.views.lanes`): lanes
    ``d * slots`` and following are those of device d, which runs one batch at a time.

    Attributes:
        duration: [n, k, chunks + 1] of a batch of so many chunks; ``INF`` where it may not run, 0 for none.
        alone: [n, k, chunks + 1] whether no other batch may run beside that one on its device.
        tails, heads: [m] of the edges.
        row, fixed, growing: [m], [rows, k, k] twice: a transfer of edge e from d to f takes ``fixed[row[e], d, f]``
            (``INF`` without a path), and ``growing[row[e], d, f]`` for every chunk that both batches have; zero
            within a device.
        barrier: whether all batches of a task end before any batch of a task that reads it starts.
        cutoff: solutions have to end by then; everything is pruned by it.
        at_least: a lower bound on the makespan.
        weights, share: [n] memory of a task on every device that runs a batch of it, and for every chunk there.
        capacity: [k] memory of devices, of lanes that of their device; ``INF`` without a limit.
        together: [n] colocation class of every task; tasks of a class run every chunk on the same device.
        apart: conflict sets: lists of tasks of which no two may run a chunk on the same device.
        pins: [n, chunks] the device that a chunk has to run on; -1 for any.
        ranks: which devices do at least as much as which others; their batches have the same durations.
        head, tail: [n, k] the earliest start of a batch on a device, and the least time from its end to the makespan.
        hint: where the search looks first; need not be feasible.
        slots: lanes of a device.
        united: lists of tasks that run every chunk on the same device, in any of its lanes.
    """

    duration: Ints
    alone: Bools
    tails: Ints
    heads: Ints
    row: Ints
    fixed: Ints
    growing: Ints
    barrier: bool
    cutoff: int
    at_least: int
    weights: Ints
    share: Ints
    capacity: Ints
    together: Ints
    apart: tuple[tuple[int, ...], ...]
    pins: Ints
    ranks: tuple[Ranking, ...]
    head: Ints
    tail: Ints
    hint: BatchSolution | None
    slots: int = 1
    united: tuple[tuple[int, ...], ...] = ()

    def lanes(self, device: int) -> range:
        """Return the lanes of a device."""
        return range(device * self.slots, (device + 1) * self.slots)

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.duration)

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.tails)

    @property
    def k(self) -> int:
        """Number of devices."""
        return int(self.duration.shape[1])

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self.duration.shape[2]) - 1
