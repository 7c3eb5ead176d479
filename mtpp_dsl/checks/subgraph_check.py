"""The independent check of latencies by subgraphs: plain Python, from the definitions (tarnawski2020, section 4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf, isnan

from mtpp_dsl.core.constraints import Contiguous, Subgraphs
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Shared
from mtpp_dsl.core.problem.problem import Problem

SLACK = 1e-9
"""What the times of a schedule may be off by, as a share of its makespan: they are sums of many numbers."""


def broken_subgraphs(problem: Problem, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield (what, message) for everything that the schedule of *plan* by subgraphs breaks.

    Every node runs for its time. Each subgraph is contiguous; no two wait for each other; a device runs no more of them
    than it may, one after another; each has all that it reads in memory before it reads it, runs its nodes one by one
    after it has read, and what it makes is there when it has written. Nodes on devices with ``io = free`` start
    when what they read is there.
    """
    schedule = plan.schedule
    if schedule is None or schedule.piece is None:
        yield "schedule", "the plan says where nodes run, not when" if schedule is None else "no subgraphs are named"
        return
    names, devices = problem.graph.names, problem.devices
    pays = [isinstance(problem.interconnect, Shared) or device.pays_io for device in devices]
    device, piece = [int(d) for d in plan.assignment], [int(p) for p in schedule.piece]
    start, end = schedule.start.tolist(), schedule.end.tolist()
    slack = SLACK * max([0.0, *end])
    for v, d in enumerate(device):
        takes = float(problem.time[v, d])
        if takes == inf:
            yield "support", f"{devices[d].name} cannot run {names[v]}"
            return
        if start[v] < -slack or not abs(end[v] - start[v] - takes) <= slack:
            yield "schedule", f"{names[v]} takes {takes:.6g}, and is given {start[v]:.6g} to {end[v]:.6g}"
    if any(not isnan(x) for x in (*schedule.sent.tolist(), *schedule.arrived.tolist())):
        yield "schedule", "tensors go by way of the memory, and an edge has a transfer of its own"
    runs = _Runs(problem, device, piece, pays)
    yield from runs.shapes(names)
    yield from _times(problem, runs, start, end, slack)


class _Runs:
    """The subgraphs of a plan, as (device, number); a node where ``io = free`` is one by itself, (-1, node)."""

    def __init__(self, problem: Problem, device: list[int], piece: list[int], pays: list[bool]) -> None:
        self.problem = problem
        self.of = [(d, piece[v]) if pays[d] else (-1, v) for v, d in enumerate(device)]
        self.members: dict[tuple[int, int], list[int]] = defaultdict(list)
        for v, run in enumerate(self.of):
            self.members[run].append(v)
        self.edges = list(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True))
        self.read: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.written: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.before: dict[tuple[int, int], set[tuple[int, int]]] = {run: set() for run in self.members}
        self.after: list[list[int]] = [[] for _ in device]
        for u, v in self.edges:
            self.after[u].append(v)
            if self.of[u] != self.of[v]:
                self.read[self.of[v]].add(u)
                self.written[self.of[u]].add(u)
                self.before[self.of[v]].add(self.of[u])
        self.queues: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for run in sorted(self.members):
            if run[0] >= 0:
                self.queues[run[0]].append(run)

    def name(self, run: tuple[int, int]) -> str:
        if run[0] < 0:
            return self.problem.graph.names[run[1]]
        return f"subgraph {run[1]} of {self.problem.devices[run[0]].name}"

    def reads(self, run: tuple[int, int]) -> float:
        return self._carried(self.read[run]) if run[0] >= 0 else 0.0

    def writes(self, run: tuple[int, int]) -> float:
        return self._carried(self.written[run]) if run[0] >= 0 else 0.0

    def _carried(self, tensors: Iterable[int]) -> float:
        link = self.problem.channel
        return sum(float(self.problem.graph.output[u]) / link.bandwidth for u in sorted(tensors))

    def shapes(self, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the subgraphs, whenever they run."""
        for d, queue in self.queues.items():
            for rule, most in _rules(self.problem, d):
                if len(queue) > most:
                    yield rule, f"{self.problem.devices[d].name} runs {len(queue)} subgraphs of at most {most}"
            for run in queue:
                back = self._back(set(self.members[run]))
                if back is not None:
                    yield "subgraphs", f"{self.name(run)} is left and entered again, at {names[back]}"
        stuck = self._stuck()
        if stuck:
            yield "subgraphs", f"{' and '.join(self.name(run) for run in sorted(stuck)[:3])} wait for each other"

    def _back(self, inside: set[int]) -> int | None:
        """Return a node of a set that a path enters that has left it."""
        walk = [v for u in inside for v in self.after[u] if v not in inside]
        seen = set(walk)
        while walk:
            for v in self.after[walk.pop()]:
                if v in inside:
                    return v
                if v not in seen:
                    seen.add(v)
                    walk.append(v)
        return None

    def _stuck(self) -> set[tuple[int, int]]:
        """Return the subgraphs that wait for themselves, by way of tensors and of the order on each device."""
        waits = {run: set(before) for run, before in self.before.items()}
        for queue in self.queues.values():
            for one, other in pairwise(queue):
                waits[other].add(one)
        after: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for run, before in waits.items():
            for one in before:
                after[one].append(run)
        free = [run for run, before in waits.items() if not before]
        while free:
            done = free.pop()
            del waits[done]
            for run in after[done]:
                waits[run].discard(done)
                if not waits[run]:
                    free.append(run)
        return set(waits)


def _rules(problem: Problem, d: int) -> Iterator[tuple[str, int]]:
    """Yield the constraints that say how many subgraphs a device may run, and the number."""
    rules = [r for r in problem.of(Subgraphs) if r.devices is None or d in r.devices]
    yield from ((str(rule), rule.most) for rule in rules)
    if not rules:
        yield from ((str(c), 1) for c in problem.of(Contiguous) if c.devices is None or d in c.devices)


def _times(
    problem: Problem, runs: _Runs, start: list[float], end: list[float], slack: float
) -> Iterator[tuple[str, str]]:
    """Yield what starts too early."""
    names = problem.graph.names
    began = {run: min(start[v] for v in nodes) - runs.reads(run) for run, nodes in runs.members.items()}
    over = {run: max(end[v] for v in nodes) + runs.writes(run) for run, nodes in runs.members.items()}
    for run, before in runs.before.items():
        late = max(before, key=lambda one: over[one], default=None)
        if late is not None and began[run] < over[late] - slack:
            yield (
                "precedence",
                f"{runs.name(run)} starts at {began[run]:.6g}, {runs.name(late)} ends at {over[late]:.6g}",
            )
        if began[run] < -slack:
            yield "schedule", f"{runs.name(run)} starts to read at {began[run]:.6g}"
    for u, v in runs.edges:
        if runs.of[u] == runs.of[v] and start[v] < end[u] - slack:
            yield "precedence", f"{names[v]} starts at {start[v]:.6g}, {names[u]} ends at {end[u]:.6g}"
    for queue in runs.queues.values():
        for run in queue:
            busy = sorted((start[v], end[v], names[v]) for v in runs.members[run] if end[v] - start[v] > slack)
            for (_, until, one), (after, _, other) in pairwise(busy):
                if after < until - slack:
                    yield "schedule", f"{one} and {other} run at once in {runs.name(run)}"
        for one_run, next_run in pairwise(queue):
            if began[next_run] < over[one_run] - slack:
                message = f"{runs.name(next_run)} starts at {began[next_run]:.6g}"
                yield "schedule", f"{message}, {runs.name(one_run)} ends at {over[one_run]:.6g}"


def subgraph_loads(problem: Problem, device: list[int], piece: list[int]) -> list[float]:
    """Return the load of every device: the work of its nodes, and what its subgraphs take to read and to write.

    Args:
        problem: what is asked.
        device: [n] of every node.
        piece: [n] number of its subgraph there.
    """
    total = [reads + writes for reads, writes in subgraph_traffic(problem, device, piece)]
    for v, d in enumerate(device):
        total[d] += float(problem.time[v, d])
    return total


def subgraph_traffic(problem: Problem, device: list[int], piece: list[int]) -> list[tuple[float, float]]:
    """Return what the subgraphs of every device take to read, and to write; arguments as :func:`subgraph_loads`."""
    pays = [isinstance(problem.interconnect, Shared) or one.pays_io for one in problem.devices]
    runs = _Runs(problem, device, piece, pays)
    reads, writes = [0.0] * problem.k, [0.0] * problem.k
    for run in runs.members:
        if run[0] >= 0:
            reads[run[0]] += runs.reads(run)
            writes[run[0]] += runs.writes(run)
    return list(zip(reads, writes, strict=True))
