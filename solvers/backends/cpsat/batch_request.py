"""What CP-SAT is asked about batches, and what it answers: whole numbers, of a whole problem or a module alike."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.problem.graph import Bools, Ints
from mtpp_dsl.views.symmetry import Ranking

__all__ = ["BatchRequest", "BatchSolution"]


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """Where every chunk runs, and when every batch.

    Attributes:
        device: [n, chunks].
        start: [n, k] of the batch of a task on a device; of no use where there is none.
    """

    device: Ints
    start: Ints


@dataclass(frozen=True, eq=False)
class BatchRequest:
    """Tasks whose chunks are to be spread over devices, in at most one batch of a task on each.

    Attributes:
        duration: [n, k, chunks + 1] of a batch of so many chunks; ``NEVER`` where it may not run, 0 for none.
        alone: [n, k, chunks + 1] whether no other batch may run beside that one on its device.
        tails, heads: [m] of the edges.
        row, fixed, growing: [m], [rows, k, k] twice: edge e takes ``fixed[row[e], d, f]`` from d to f, ``NEVER`` where
            no way leads, and ``growing[row[e], d, f]`` for every chunk that both batches have; zero within a device.
        barrier: whether all batches of a task end before any batch of a task that reads it starts.
        cutoff: the answer is to end by then; also what everything is pruned by.
        at_least: what is known that no answer can end before.
        weights, share: [n] what a task takes of every device that runs a batch of it, and for every chunk beside.
        capacity: [k] what devices hold; ``NEVER`` without a limit.
        together: [n] class of every task; those of a class run every chunk on the same device.
        apart: lists of tasks of which no two may run a chunk on the same device.
        pins: [n, chunks] where chunks have to run; -1 where that is free.
        ranks: which devices do at least as much as which others; their batches are of the same durations.
        head, tail: [n, k] a batch does not start before on that device, and the end of everything is no sooner after
            its end.
        hint: where to look first; need not be feasible.
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
