"""Build the CP-SAT model of one sample: optional intervals on devices, and a literal for every possible transfer.

Imported in the process of CP-SAT alone: ortools and highspy cannot be loaded into one process.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from mtpp_dsl.solvers.backends.cpsat.quotient import ConvexSets, DeviceOrder
from mtpp_dsl.solvers.backends.cpsat.request import INF, Busy, DecisionRow, Request, Solution, Term


class SampleModel:
    """A CP-SAT model of a request whose time windows have been computed.

    Args:
        request: its ``head`` and ``tail`` hold longest paths, and ``duration`` is ``INF`` wherever no task can be.

    Attributes:
        model: the model; its objective is the makespan.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.model: Any = cp_model.CpModel()
        self._where = [np.flatnonzero(row < INF).tolist() for row in request.duration]
        self._on = self._places()
        self._end_of_all = self.model.new_int_var(min(request.at_least, request.cutoff), request.cutoff, "")
        self._start: list[Any] = []
        self._end: list[Any] = []
        self._times()
        self._sent: dict[int, Any] = {}
        self._ports: dict[tuple[str, int], list[tuple[Any, Any]]] = defaultdict(list)
        self._devices()
        for e in range(request.m):
            self._edge(e)
        self._exclusive()
        self._constraints()
        self._parts: list[DeviceOrder | ConvexSets] = [
            *(DeviceOrder(self.model, self._on, *edges, request.k) for edges in request.orders),
            *(ConvexSets(self.model, self._on, convex) for convex in request.convex),
        ]
        self.model.minimize(self._end_of_all)
        if request.hint is not None:
            self._hint(request.hint)

    def _places(self) -> list[dict[int, Any]]:
        """Return a literal for every task and each device that it can be on; colocated tasks share theirs."""
        shared: dict[int, dict[int, Any]] = {}
        for v, where in enumerate(self._where):
            group = int(self.request.together[v])
            if group not in shared:
                one = len(where) == 1
                literals = {d: self.model.new_constant(1) if one else self.model.new_bool_var("") for d in where}
                if not one:
                    self.model.add_exactly_one(literals.values())
                shared[group] = literals
        return [shared[int(group)] for group in self.request.together]

    def _takes(self, v: int) -> Any:
        """Return the duration of a task as an expression."""
        where, duration = self._where[v], self.request.duration[v].tolist()
        if len({duration[d] for d in where}) == 1:
            return duration[where[0]]
        return sum(duration[d] * self._on[v][d] for d in where)

    def _times(self) -> None:
        """Give every task a start and an end within its time window."""
        request, model = self.request, self.model
        followed = set(request.tails.tolist())
        for v, where in enumerate(self._where):
            head, tail, duration = (table[v].tolist() for table in (request.head, request.tail, request.duration))
            last = {d: min(request.cutoff - tail[d] - duration[d], int(request.latest[v])) for d in where}
            start = model.new_int_var(min(head[d] for d in where), max(last.values()), "")
            ends = [head[d] + duration[d] for d in where], [last[d] + duration[d] for d in where]
            end = model.new_int_var(min(ends[0]), max(ends[1]), "")
            model.add(end - start == self._takes(v))
            if len(where) > 1:
                model.add(start >= sum(head[d] * self._on[v][d] for d in where))
                for d in where:
                    model.add(start <= last[d]).only_enforce_if(self._on[v][d])
            if any(tail[d] for d in where) or v not in followed:
                model.add(end + sum(tail[d] * self._on[v][d] for d in where) <= self._end_of_all)
            self._start.append(start)
            self._end.append(end)

    def _devices(self) -> None:
        """Let every device run one task at a time, and the makespan cover the work of each device."""
        for d in range(self.request.k):
            busy = [(v, int(self.request.duration[v, d])) for v, where in enumerate(self._where) if d in where]
            busy = [(v, takes) for v, takes in busy if takes > 0]
            intervals = [
                self.model.new_optional_fixed_size_interval_var(self._start[v], takes, self._on[v][d], "")
                for v, takes in busy
            ]
            if len(busy) > 1:
                self.model.add_no_overlap(intervals)
                aside = self._aside([v for v, _ in busy], d)
                self.model.add(sum(takes * self._on[v][d] for v, takes in busy) + aside <= self._end_of_all)
        for sequence in self.request.sequences:
            for u, v in pairwise(sequence):
                self.model.add(self._start[v] >= self._end[u])

    def _aside(self, tasks: list[int], d: int) -> int:
        """Return the least time before and after any of *tasks* on a device; 0 where only some are bounded."""
        aside = int(self.request.head[tasks, d].min() + self.request.tail[tasks, d].min())
        return aside if aside <= self.request.at_least else 0

    def _edge(self, e: int) -> None:
        """Let the head of an edge wait for its tail, and for the transfer between their devices."""
        request, model = self.request, self.model
        u, v = int(request.tails[e]), int(request.heads[e])
        if request.together[u] == request.together[v]:
            model.add(self._start[v] >= self._end[u])
            return
        table = request.table[request.row[e]].tolist()
        moves = []
        for d in self._where[u]:
            for f in self._where[v]:
                takes = table[d][f]
                least = request.head[u, d] + request.duration[u, d] + takes + request.duration[v, f]
                if least + request.tail[v, f] > request.cutoff:
                    model.add_bool_or(~self._on[u][d], ~self._on[v][f])
                elif takes > 0:
                    moves.append((d, f, takes, self._both(u, d, v, f)))
        if len(moves) > 1:
            model.add_at_most_one(move for _, _, _, move in moves)
        delay = sum(takes * move for _, _, takes, move in moves)
        if not (request.exclusive and moves):
            model.add(self._start[v] >= self._end[u] + delay)
            return
        first = int((request.head[u] + request.duration[u])[self._where[u]].min())
        sent = model.new_int_var(first, request.cutoff, "")
        model.add(sent >= self._end[u])
        model.add(self._start[v] >= sent + delay)
        self._sent[e] = sent
        for d, f, takes, move in moves:
            interval = model.new_optional_fixed_size_interval_var(sent, takes, move, "")
            self._ports["out", d].append((interval, takes * move))
            self._ports["in", f].append((interval, takes * move))

    def _both(self, u: int, d: int, v: int, f: int) -> Any:
        """Return a literal that says that task *u* is on device *d* and *v* on *f*."""
        if len(self._where[u]) == 1:
            return self._on[v][f]
        if len(self._where[v]) == 1:
            return self._on[u][d]
        both = self.model.new_bool_var("")
        self.model.add_bool_or(both, ~self._on[u][d], ~self._on[v][f])
        self.model.add_implication(both, self._on[u][d])
        self.model.add_implication(both, self._on[v][f])
        return both

    def _exclusive(self) -> None:
        """Let every port carry one transfer at a time, outside of its reserved intervals."""
        for port, moves in self._ports.items():
            intervals = [interval for interval, _ in moves]
            intervals += [self._busy(busy) for busy in self.request.busy if (busy.port, busy.device) == port]
            if len(intervals) > 1:
                self.model.add_no_overlap(intervals)
                self.model.add(sum(takes for _, takes in moves) <= self._end_of_all)

    def _busy(self, busy: Busy) -> Any:
        start = self._end_of_all - busy.start if busy.from_end else busy.start
        return self.model.new_fixed_size_interval_var(start, busy.takes, "")

    def _constraints(self) -> None:
        """Add the rows of memory, of conflict sets, and the labelled ones."""
        request = self.request
        for d, room in enumerate(request.capacity.tolist()):
            here = [v for v, where in enumerate(self._where) if d in where and request.size[v] > 0]
            if sum(int(request.size[v]) for v in here) > room:
                self.model.add(sum(int(request.size[v]) * self._on[v][d] for v in here) <= room)
        for tasks in request.apart:
            for d in range(request.k):
                here = [self._on[v][d] for v in tasks if d in self._where[v]]
                if len(here) > 1:
                    self.model.add(sum(here) <= 1)
        for row in request.rows:
            self._row(row)

    def _row(self, row: DecisionRow) -> None:
        total = sum(a * self._decision(term) for term, a in row.terms)
        if row.lower is not None:
            self.model.add(total >= row.lower)
        if row.upper is not None:
            self.model.add(total <= row.upper)

    def _decision(self, term: Term) -> Any:
        match term:
            case ("on", v, d):
                return self._on[v].get(d, 0)
            case ("start", v, _):
                return self._start[v]
            case ("end", v, _):
                return self._end[v]
            case ("makespan", _, _):
                self.model.add_max_equality(self._end_of_all, self._end)
                return self._end_of_all
            case ("used", _, d):
                return self._used(d)
            case _:
                return self._bottleneck()

    def _used(self, d: int) -> Any:
        """Return a literal for: some task is on device *d*."""
        used, here = self.model.new_bool_var(""), [on[d] for on in self._on if d in on]
        self.model.add_bool_or(~used, *here)
        for literal in here:
            self.model.add_implication(literal, used)
        return used

    def _bottleneck(self) -> Any:
        most = self.model.new_int_var(0, self.request.cutoff, "")
        loads = [
            sum(int(self.request.duration[v, d]) * on[d] for v, on in enumerate(self._on) if d in on)
            for d in range(self.request.k)
        ]
        self.model.add_max_equality(most, loads)
        return most

    def _hint(self, hint: Solution) -> None:
        model, hinted = self.model, set()
        for v, on in enumerate(self._on):
            d, start = int(hint.device[v]), int(hint.start[v])
            if d not in on:
                continue
            for f, literal in on.items():
                if len(on) > 1 and literal.index not in hinted:
                    model.add_hint(literal, f == d)
                    hinted.add(literal.index)
            model.add_hint(self._start[v], start)
            model.add_hint(self._end[v], start + int(self.request.duration[v, d]))
        for e, sent in self._sent.items():
            model.add_hint(sent, int(hint.sent[e]))
        for part in self._parts:
            part.hint(hint.device)

    def read(self, value: Any) -> Solution:
        """Return the solution; *value* returns the value of a variable."""
        device = [next(d for d, literal in on.items() if len(on) == 1 or value(literal)) for on in self._on]
        sent = np.zeros(self.request.m, np.int64)
        for e, variable in self._sent.items():
            sent[e] = value(variable)
        return Solution(np.array(device, np.int64), np.array([value(start) for start in self._start], np.int64), sent)
