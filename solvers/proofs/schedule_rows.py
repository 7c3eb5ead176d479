"""The rows of schedules on links that end before a target."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Contiguous, Memory, Separate
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.convex_rows import add_convex
from mtpp_dsl.solvers.proofs.proof_reading import barred_nodes, colocation_class, reach_of, refuse_copies
from mtpp_dsl.solvers.proofs.rows import Rows, Sum, Units

__all__ = ["schedule_rows"]

MAX_NODES = 150
ROUNDING = 1e-12
"""Relative: by so much sums of sizes may be rounded."""


def schedule_rows(problem: Problem, target: float) -> Rows:
    """Return rows that every schedule keeps to that ends before the target.

    ``on(v, d)``: node v is on device d. ``start(v)``: in units. ``way(e, d, f)``: edge e leads from d to f. A node
    starts after what it reads has run and arrived. Of two nodes that no path joins, one runs before the other where
    both are on one device. What a node waits for, and what waits for it, run one after the other on every device,
    before and after it. That links carry one tensor at a time is left out, and so are labelled rows.

    Raises:
        Refused: it is no makespan on links, or there are too many rows.
    """
    if problem.objective.quantity != "makespan" or problem.objective.batch is not None:
        raise Refused("these rows are about the makespan of one sample")
    if not isinstance(problem.interconnect, Links):
        raise Refused("these rows are about links")
    refuse_copies(problem)
    if problem.graph.n > MAX_NODES:
        raise Refused(f"the graph has more than {MAX_NODES} nodes")
    return _ScheduleRows(problem, target).rows


class _ScheduleRows:
    """Adds the rows one kind after another."""

    def __init__(self, problem: Problem, target: float) -> None:
        self.rows, self._problem, self._units = Rows(), problem, Units(target)
        rows, graph = self.rows, problem.graph
        self._nodes, self._devices = range(graph.n), range(problem.k)
        self._edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
        self._home = colocation_class(problem)
        on: dict[int, list[Sum]] = {
            g: [{rows.variable(f"{graph.names[g]} on {d}"): 1} for d in self._devices] for g in sorted({*self._home})
        }
        self._on: list[list[Sum]] = [on[g] for g in self._home]
        self._start: list[Sum] = [{rows.variable(f"start of {v}", self._units.limit): 1} for v in self._nodes]
        self._reach = reach_of(graph)
        self._assign(sorted(on))
        self._memory()
        for d in self._devices:
            if _convex(problem, d):
                add_convex(rows, f"device {d}", [on_devices[d] for on_devices in self._on], self._edges)
        for e, (u, v) in enumerate(self._edges):
            self._arrives(e, u, v)
        for v in self._nodes:
            self._between(v)
        for v in self._nodes:
            for u in range(v):
                if not self._reach[u, v] and not self._reach[v, u]:
                    self._disjoint(u, v)

    def _time(self, v: int, d: int) -> int:
        time = float(self._problem.time[v, d])
        return self._units.used(time) if time < inf else 0

    def _takes(self, v: int) -> list[tuple[int, Sum]]:
        """Return what a node takes, as a sum."""
        return [(self._time(v, d), self._on[v][d]) for d in self._devices]

    def _assign(self, groups: Sequence[int]) -> None:
        """Add that each group is on one device, which may run it."""
        rows, time = self.rows, self._problem.time
        for g in groups:
            rows.equal(f"{g} on one device", [(1, part) for part in self._on[g]], 1)
        for d in self._devices:
            barred = barred_nodes(self._problem, d)
            closed = {self._home[v] for v in self._nodes if v in barred or time[v, d] == inf}
            for g in sorted(closed):
                rows.add(f"{g} not on {d}", [(1, self._on[g][d])], 0)
            for constraint in self._problem.of(Separate):
                apart = sorted({self._home[v] for v in constraint.nodes})
                rows.add(f"apart on {d}", [(1, self._on[g][d]) for g in apart], 1)

    def _memory(self) -> None:
        problem = self._problem
        for d in sorted({d for rule in problem.of(Memory) for d in rule.devices or self._devices}):
            device = problem.devices[d]
            if device.memory is not None and device.room > 0:
                units = Units(device.room * (1 + TOLERANCE) * (1 + ROUNDING))
                needs = [(units.used(float(problem.graph.memory[v])), self._on[v][d]) for v in self._nodes]
                self.rows.add(f"memory of {d}", needs, units.limit)

    def _arrives(self, e: int, u: int, v: int) -> None:
        """Add that a node starts after the input of an edge has run and arrived."""
        rows = self.rows
        if self._home[u] == self._home[v]:
            waits = self._takes(u)
        else:
            carries = self._problem.transfers.of(e)
            waits = []
            ways: list[list[Sum]] = [
                [{rows.variable(f"edge {e} from {d} to {f}"): 1} for f in self._devices] for d in self._devices
            ]
            for d in self._devices:
                rows.equal(f"edge {e} from {d}", [*((1, way) for way in ways[d]), (-1, self._on[u][d])], 0)
                rows.equal(f"edge {e} to {d}", [*((1, ways[f][d]) for f in self._devices), (-1, self._on[v][d])], 0)
                for f in self._devices:
                    late = 0.0 if d == f else float(carries[d, f])
                    if late == inf:
                        rows.add(f"no way from {d} to {f}", [(1, ways[d][f])], 0)
                    else:
                        waits.append((self._time(u, d) + self._units.used(late), ways[d][f]))
        rows.add(f"{u} before {v}", [(1, self._start[u]), *waits, (-1, self._start[v])], 0)

    def _between(self, v: int) -> None:
        """Add that a node ends in time, with all that waits for it, and starts after all that it waits for."""
        rows, limit = self.rows, self._units.limit
        ended = [(1, self._start[v]), *self._takes(v)]
        rows.add(f"end of {v}", ended, limit, costs=limit)
        for d in self._devices:
            after = [(self._time(w, d), self._on[w][d]) for w in self._nodes if self._reach[v, w]]
            before = [(self._time(w, d), self._on[w][d]) for w in self._nodes if self._reach[w, v]]
            if after:
                rows.add(f"after {v} on {d}", [*ended, *after], limit, costs=limit)
            if before:
                rows.add(f"before {v} on {d}", [*before, (-1, self._start[v])], 0)
            if v == 0:
                whole = [(self._time(w, d), self._on[w][d]) for w in self._nodes]
                rows.add(f"work of {d}", whole, limit, costs=limit)

    def _disjoint(self, u: int, v: int) -> None:
        """Add that of two nodes on one device one runs first."""
        rows, limit = self.rows, self._units.limit
        shared = [d for d in self._devices if self._time(u, d) and self._time(v, d)]
        if not shared:
            return
        first = {rows.variable(f"{u} before {v}"): 1}
        for d in shared:
            both = [(limit, self._on[u][d]), (limit, self._on[v][d])]
            lead = [(1, self._start[u]), (self._time(u, d), self._on[u][d]), (-1, self._start[v])]
            lag = [(1, self._start[v]), (self._time(v, d), self._on[v][d]), (-1, self._start[u])]
            rows.add(f"{u} before {v} on {d}", [*lead, *both, (limit, first)], 3 * limit)
            rows.add(f"{v} before {u} on {d}", [*lag, *both, (-limit, first)], 2 * limit)


def _convex(problem: Problem, d: int) -> bool:
    """Return whether the nodes of a device must be convex; of graphs with a backward part that is left out."""
    if problem.graph.backward.any():
        return False
    return problem.acyclic or any(rule.devices is None or d in rule.devices for rule in problem.of(Contiguous))
