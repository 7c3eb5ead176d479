"""Build the CP-SAT model of a batch: optional intervals by size, a literal for every two batches that share a chunk.

Imported in the process of CP-SAT alone: ortools and highspy cannot be loaded into one process.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest, BatchSolution
from mtpp_dsl.solvers.backends.cpsat.batch_split import BatchSpread, classes_of_chunks
from mtpp_dsl.solvers.backends.cpsat.request import INF


class BatchModel:
    """A CP-SAT model of a batched request whose time windows have been computed.

    A batch that is absent from the solution has length 0, and nothing waits for it.

    Args:
        request: its ``head`` and ``tail`` hold longest paths, and ``duration`` is ``INF`` wherever no batch can be.

    Attributes:
        model: the model; its objective is the makespan.
    """

    def __init__(self, request: BatchRequest) -> None:
        self.request = request
        self.model: Any = cp_model.CpModel()
        self._spreads = self._spread()
        self._end_of_all = self.model.new_int_var(min(request.at_least, request.cutoff), request.cutoff, "")
        self._start: list[dict[int, Any]] = []
        self._end: list[dict[int, Any]] = []
        self._takes = [{d: self._length(v, d) for d in spread.sizes} for v, spread in enumerate(self._spreads)]
        self._both: list[tuple[Any, list[tuple[Any, Any, int]]]] = []
        self._last: dict[int, Any] = {}
        self._times()
        self._devices()
        for e in range(request.m):
            self._edge(e)
        if request.barrier:
            self._barrier()
        self._constraints()
        self._order_chunks()
        self.model.minimize(self._end_of_all)
        if request.hint is not None:
            self._hint(request.hint)

    def _spread(self) -> list[BatchSpread]:
        """Return literals for how the chunks of every task are split; colocated tasks share theirs."""
        request = self.request
        shared: dict[int, BatchSpread] = {}
        for group in np.unique(request.together).tolist():
            members = np.flatnonzero(request.together == group)
            menu = request.duration[members].max(axis=0) < INF
            shared[group] = BatchSpread(self.model, menu, request.pins[members].max(axis=0))
        return [shared[group] for group in request.together.tolist()]

    def _length(self, v: int, d: int) -> Any:
        """Return the duration of the batch of a task on a device as an expression; 0 if there is no batch."""
        duration = self.request.duration[v, d].tolist()
        return sum(duration[p] * there for p, there in self._spreads[v].sizes[d].items())

    def _times(self) -> None:
        """Give every batch a start and an end within its time window."""
        request, model = self.request, self.model
        for v, spread in enumerate(self._spreads):
            starts: dict[int, Any] = {}
            ends: dict[int, Any] = {}
            for d, menu in spread.sizes.items():
                head, tail = int(request.head[v, d]), int(request.tail[v, d])
                least = min(int(request.duration[v, d, p]) for p in menu)
                first = head if spread.certain else 0
                start = model.new_int_var(first, request.cutoff - tail - least, "")
                end = model.new_int_var(first, request.cutoff - tail, "")
                model.add(end - start == self._takes[v][d])
                if head > first:
                    model.add(start >= head * spread.here[d])
                model.add(end + tail * spread.here[d] <= self._end_of_all)
                starts[d], ends[d] = start, end
            self._start.append(starts)
            self._end.append(ends)

    def _devices(self) -> None:
        """Let every device run one batch at a time, and the makespan cover the work of each device."""
        request, model = self.request, self.model
        for device in range(request.k // request.slots):
            busy = [
                (v, d)
                for d in request.lanes(device)
                for v, spread in enumerate(self._spreads)
                if d in spread.sizes and request.alone[v, d].any()
            ]
            intervals = [
                model.new_optional_fixed_size_interval_var(self._start[v][d], int(request.duration[v, d, p]), there, "")
                for v, d in busy
                for p, there in self._spreads[v].sizes[d].items()
                if request.alone[v, d, p]
            ]
            if len(busy) > 1:
                model.add_no_overlap(intervals)
                work = sum(self._takes[v][d] for v, d in busy)
                aside = min(self._aside([v for v, lane in busy if lane == d], d) for d in {d for _, d in busy})
                model.add(work + aside <= self._end_of_all)
            self._number(device)

    def _number(self, device: int) -> None:
        """Number the batches of a task on a device: from the first lane, and by time if all of them take some."""
        for v, spread in enumerate(self._spreads):
            for d, later in pairwise(self.request.lanes(device)):
                if d not in spread.sizes or later not in spread.sizes:
                    continue
                self.model.add_implication(spread.here[later], spread.here[d])
                if all(self.request.alone[v, lane, p] for lane in (d, later) for p in spread.sizes[lane]):
                    self.model.add(self._start[v][later] >= self._end[v][d]).only_enforce_if(spread.here[later])

    def _aside(self, tasks: list[int], d: int) -> int:
        """Return the least time before and after any of *tasks* on a device; 0 where only some are bounded."""
        aside = int(self.request.head[tasks, d].min() + self.request.tail[tasks, d].min())
        return aside if aside <= self.request.at_least else 0

    def _edge(self, e: int) -> None:
        """Let a batch wait for every batch that it shares a chunk with, and for the transfer between devices."""
        request, model = self.request, self.model
        u, v = int(request.tails[e]), int(request.heads[e])
        before, after = self._spreads[u], self._spreads[v]
        if before is after:
            for d in before.sizes:
                model.add(self._start[v][d] >= self._end[u][d])
            return
        fixed, growing = (table[request.row[e]].tolist() for table in (request.fixed, request.growing))
        shares: dict[tuple[int, int], Any] = {}
        for d in before.sizes:
            for f in after.sizes:
                moves = self._moves(e, d, f, fixed[d][f], growing[d][f])
                if moves is not None:
                    shares[d, f] = moves
        for d in before.sizes:
            model.add_bool_or(~before.here[d], *(both for (one, _), both in shares.items() if one == d))
        for f in after.sizes:
            model.add_bool_or(~after.here[f], *(both for (_, other), both in shares.items() if other == f))

    def _moves(self, e: int, d: int, f: int, fixed: int, growing: int) -> Any:
        """Return a literal that two batches of an edge, on two devices, share a chunk; None if they never do."""
        request, model = self.request, self.model
        u, v = int(request.tails[e]), int(request.heads[e])
        before, after = self._spreads[u], self._spreads[v]
        pairs = before.pairs(after, d, f)
        least = request.head[u, d] + fixed + growing + request.tail[v, f]
        least += sum(
            min(int(request.duration[w, g, p]) for p in self._spreads[w].sizes[g]) for w, g in ((u, d), (v, f))
        )
        if least > request.cutoff:
            for one, other, _ in pairs:
                model.add_bool_or(~one, ~other)
            return None
        if not pairs:
            return None
        both = before.both(after, d, f)
        if both is None:
            both = model.new_bool_var("")
            self._both.append((both, pairs))
            model.add_implication(both, before.here[d])
            model.add_implication(both, after.here[f])
            for one, other, _ in pairs:
                model.add_bool_or(both, ~one, ~other)
        carried = fixed
        if growing and len(pairs) == 1:
            carried += growing * pairs[0][2]
        elif growing:
            carried += growing * sum(times * self._and(one, other) for one, other, times in pairs)
        model.add(self._start[v][f] >= self._end[u][d] + carried).only_enforce_if(both)
        return both

    def _and(self, one: Any, other: Any) -> Any:
        """Return a literal that is true if both are true."""
        both = self.model.new_bool_var("")
        self.model.add_bool_or(both, ~one, ~other)
        self._both.append((both, [(one, other, 1)]))
        return both

    def _barrier(self) -> None:
        """Let every batch of a task wait for all batches of its predecessors (ghannane2023, 3.3 as published)."""
        request, model = self.request, self.model
        for u in sorted(set(request.tails.tolist())):
            self._last[u] = model.new_int_var(0, request.cutoff, "")
            for d in self._spreads[u].sizes:
                model.add(self._last[u] >= self._end[u][d])
        for u, v in zip(request.tails.tolist(), request.heads.tolist(), strict=True):
            for f, here in self._spreads[v].here.items():
                model.add(self._start[v][f] >= self._last[u]).only_enforce_if(here)

    def _constraints(self) -> None:
        """Add the rows of memory, of conflict sets, and of the order of identical devices."""
        request, model = self.request, self.model
        for device in range(request.k // request.slots):
            self._memory(device, int(request.capacity[device * request.slots]))
        for tasks in request.apart:
            for chunk in range(request.chunks):
                for device in range(request.k // request.slots):
                    there = [literal for v in tasks for literal in self._on(v, chunk, device)]
                    if len(there) > 1:
                        model.add_at_most_one(there)
        for tasks in request.united:
            for chunk in range(request.chunks):
                for device in range(request.k // request.slots):
                    for one, other in pairwise(tasks):
                        model.add(sum(self._on(one, chunk, device)) == sum(self._on(other, chunk, device)))
        for by, more, less in request.ranks:
            model.add(sum(self._does(by, d) for d in more) >= sum(self._does(by, d) for d in less))

    def _on(self, v: int, chunk: int, device: int) -> list[Any]:
        """Return literals of which one is true if a chunk of a task is on a device."""
        there = self._spreads[v].on[chunk]
        return [there[d] for d in self.request.lanes(device) if d in there]

    def _memory(self, device: int, room: int) -> None:
        """Let the parameters, once for each task there, and the chunks of all lanes of a device fit into its memory."""
        request, model = self.request, self.model
        here = {v: [d for d in request.lanes(device) if d in spread.sizes] for v, spread in enumerate(self._spreads)}
        here = {v: some for v, some in here.items() if some}
        most = {
            v: int(request.weights[v])
            + int(request.share[v]) * min(request.chunks, sum(max(self._spreads[v].sizes[d]) for d in some))
            for v, some in here.items()
        }
        if sum(most.values()) <= room:
            return
        on_device: list[Any] = []
        for v, some in here.items():
            spread, there = self._spreads[v], self._spreads[v].here[some[0]]
            if len(some) > 1:
                there = model.new_bool_var("")
                for d in some:
                    model.add_implication(spread.here[d], there)
            on_device.append(
                int(request.weights[v]) * there + int(request.share[v]) * sum(spread.count(d) for d in some)
            )
        model.add(sum(on_device) <= room)

    def _does(self, by: str, d: int) -> Any:
        """Return the work of a device as an expression, by a measure of :mod:`mtpp_dsl.core.views.symmetry`."""
        match by:
            case "tasks":
                return sum(spread.here.get(d, 0) for spread in self._spreads)
            case "batches":
                return sum(spread.count(d) for spread in self._spreads if d in spread.sizes)
            case _:
                return sum(takes[d] for takes in self._takes if d in takes)

    def _order_chunks(self) -> None:
        """Break the symmetry of chunks without different pins: order them by the device that runs them of one task.

        Renaming chunks changes nothing but their names, so it changes the work of no device.
        """
        first = self._telling()
        if first is None:
            return
        for chunks in classes_of_chunks(self.request.pins):
            for one, other in pairwise(chunks):
                for d, there in first.on[other].items():
                    lesser = [literal for f, literal in first.on[one].items() if f <= d]
                    self.model.add_bool_or(~there, *lesser)

    def _telling(self) -> BatchSpread | None:
        """Return the split with the most ways to divide the chunks; None if there is none."""
        free = [spread for spread in dict.fromkeys(self._spreads) if spread.parts]
        return max(free, key=lambda spread: sum(map(len, spread.sizes.values())), default=None)

    def _hint(self, hint: BatchSolution) -> None:
        """Give CP-SAT a hint, with the chunks in the order that the symmetry breaking asks for."""
        model, first = self.model, self._telling()
        device = hint.device.copy()
        if first is not None:
            by = hint.device[next(v for v, spread in enumerate(self._spreads) if spread is first)]
            for chunks in classes_of_chunks(self.request.pins):
                device[:, chunks] = hint.device[:, chunks][:, np.argsort(by[chunks], kind="stable")]
        hints: dict[int, bool] = {}
        ends = [0]
        for v, spread in enumerate(self._spreads):
            sizes = np.bincount(device[v], minlength=self.request.k).tolist()
            for literal, value in spread.values(device[v].tolist(), sizes):
                if literal.index not in hints:
                    hints[literal.index] = value
                    model.add_hint(literal, value)
            last = 0
            for d, menu in spread.sizes.items():
                there = sizes[d] in menu
                start = int(hint.start[v, d]) if there else 0
                end = start + (int(self.request.duration[v, d, sizes[d]]) if there else 0)
                model.add_hint(self._start[v][d], start)
                model.add_hint(self._end[v][d], end)
                last = max(last, end)
            if v in self._last:
                model.add_hint(self._last[v], last)
            ends.append(last)
        for both, pairs in self._both:
            model.add_hint(
                both, any(hints.get(one.index, True) and hints.get(other.index, True) for one, other, _ in pairs)
            )
        model.add_hint(self._end_of_all, max(ends))

    def read(self, value: Any) -> BatchSolution:
        """Return the solution; *value* returns the value of a variable."""
        device = [spread.read(value) for spread in self._spreads]
        start = np.zeros((self.request.n, self.request.k), np.int64)
        for v, starts in enumerate(self._start):
            for d, variable in starts.items():
                start[v, d] = value(variable)
        return BatchSolution(np.array(device, np.int64).reshape(self.request.n, self.request.chunks), start)
