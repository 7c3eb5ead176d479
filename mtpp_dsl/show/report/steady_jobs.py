"""List what every input asks of the devices and channels of a pipeline: jobs on one resource each, and their waits.

A stage is a device with its replicas and shards. On ``shared`` and ``host`` its jobs for one input are to read each
tensor from elsewhere, to stream parameters that overflow, to run its nodes, and to write each tensor that is read
elsewhere. On links and trees a tensor is sent by its device, passes each channel of its route, and is received: one
after the other, each on a resource of its own, as if there were buffers between them. Where transfers overlap with work
(``overlap = full``) sending and receiving are resources beside the device.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Literal, TypeAlias

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.stages import ring_time, shard_speedup
from mtpp_dsl.core.plans.transfer_loads import spans, tensor_io
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

JobKind: TypeAlias = Literal["run", "read", "write", "stream", "reserve", "send", "transfer", "receive"]
Resource: TypeAlias = tuple[Literal["device", "sends", "receives", "channel"], int]
"""What a job keeps from others: a device by the number of its lead, what it sends or receives, or a channel."""


@dataclass(frozen=True)
class Job:
    """What one resource does for one input.

    Attributes:
        kind: what it is; "reserve" is the time that ``constraint robust`` keeps for nodes that take longer.
        resource: which one.
        length: how long, for one input that comes to it.
        needs: numbers of earlier jobs, and how long after their ends this one may start at the earliest.
        node: of the tensor that is carried; -1 for none.
        target: device that reads the tensor; -1 for none, or several.
        nodes: those that run.
    """

    kind: JobKind
    resource: Resource
    length: float
    needs: tuple[tuple[int, float], ...] = ()
    node: int = -1
    target: int = -1
    nodes: tuple[int, ...] = ()


def parts_in_order(problem: Problem, device: Ints) -> list[list[int]]:
    """Return the nodes in sets that a device runs at once, such that each set reads of earlier sets alone.

    A set is all nodes of a device where that can be; else those of its forward or backward part; else those that as
    many changes of device come before.
    """
    graph = problem.graph
    changes = np.zeros(graph.n, np.int64)
    before: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        before[v].append(u)
    for v in graph.topological_order:
        changes[v] = max((changes[u] + int(device[u] != device[v]) for u in before[v]), default=0)
    for place in (np.zeros(graph.n, np.int64), graph.backward.astype(np.int64), changes):
        keys = list(zip(device.tolist(), place.tolist(), strict=True))
        members: dict[tuple[int, int], list[int]] = {}
        for v in graph.topological_order:
            members.setdefault(keys[v], []).append(v)
        waits: dict[tuple[int, int], set[tuple[int, int]]] = {key: set() for key in members}
        for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            if keys[u] != keys[v]:
                waits[keys[v]].add(keys[u])
        try:
            return [members[key] for key in TopologicalSorter(waits).static_order()]
        except CycleError:
            continue
    raise AssertionError("sets by the number of changes have a cycle")


class _Listed:
    """Jobs as they are found, each after what it waits for."""

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem, self.plan, self.device = problem, plan, plan.assignment
        self.jobs: list[Job] = []
        self.runs: dict[int, int] = {}
        """The job that runs each node, by node."""
        self.there: dict[tuple[int, int], list[tuple[int, float]]] = {}
        """The jobs after which a tensor is on a device, by node and device, with what comes between."""

    def add(self, job: Job) -> int:
        """List a job, and return its number."""
        self.jobs.append(job)
        return len(self.jobs) - 1

    def waits(self, part: Sequence[int]) -> tuple[tuple[int, float], ...]:
        """Return what a set of nodes waits for."""
        delays: dict[int, float] = {}
        inside = set(part)
        for v in part:
            for u in self.problem.graph.predecessors(v).tolist():
                if u not in inside:
                    local = self.device[u] == self.device[v]
                    for number, delay in [(self.runs[u], 0.0)] if local else self.there[u, int(self.device[v])]:
                        delays[number] = max(delay, delays.get(number, 0.0))
        return tuple(sorted(delays.items()))

    def run(self, part: list[int], length: float, first: float, reserve: float) -> int:
        """List what runs a set of nodes, after *first* is streamed and before *reserve* is kept free."""
        d = int(self.device[part[0]])
        needs = self.waits(part)
        if first > 0:
            needs = ((self.add(Job("stream", ("device", d), first, needs)), 0.0),)
        number = self.add(Job("run", ("device", d), length, needs, nodes=tuple(part)))
        if reserve > 0:
            number = self.add(Job("reserve", ("device", d), reserve, ((number, 0.0),)))
        self.runs |= dict.fromkeys(part, number)
        return number


def jobs_of(problem: Problem, plan: Plan, evaluation: Evaluation) -> list[Job]:
    """Return the jobs of one input, each after those that it waits for; on every device they add up to its load.

    Of a stage with replicas they are those of the replica that the input comes to.

    Raises:
        UsageError: something is sent where no route leads.
    """
    listed = _Listed(problem, plan)
    parts = parts_in_order(problem, plan.assignment)
    last = {int(plan.assignment[part[0]]): i for i, part in enumerate(parts)}
    first = {int(plan.assignment[part[0]]): i for i, part in reversed(list(enumerate(parts)))}
    shards = np.array([plan.shards.get(d, 1) for d in range(problem.k)])
    time, again = _times(problem, plan, shards)
    one_channel = isinstance(problem.interconnect, (Shared, Host))
    carry = _OnChannel(listed) if one_channel else _OnNetwork(listed)
    for i, part in enumerate(parts):
        d = int(plan.assignment[part[0]])
        rounds = len(plan.replicas.get(d, (d,))) // int(shards[d])
        length = float(time[part].sum()) + (again[d] if i == last[d] else 0.0)
        stream = float(evaluation.overflow[d]) * rounds if i == first[d] else 0.0
        reserve = float(evaluation.deviation[d]) * rounds if i == last[d] and evaluation.deviation.size else 0.0
        carry.before(part)
        number = listed.run(part, length, stream, reserve)
        carry.after(part, number)
    return listed.jobs


def _times(problem: Problem, plan: Plan, shards: Ints) -> tuple[Floats, Floats]:
    """Return [n] how long each node runs, and [devices] how long the forward passes that are computed again."""
    graph, device = problem.graph, plan.assignment
    time = problem.time[np.arange(graph.n), device]
    again = np.zeros(problem.k)
    if isinstance(problem.interconnect, (Shared, Host)):
        time = time / shard_speedup(problem, shards)[device] + graph.reduce * ring_time(problem, shards)[device]
        for d in plan.recomputed:
            passes = graph.forward_share > 0
            again[d] = (time * np.where(passes, graph.forward_share, 0.0))[(device == d) & passes].sum()
    return time, again


class _OnChannel:
    """Reading and writing over the one channel of all devices."""

    def __init__(self, listed: _Listed) -> None:
        self.listed = listed
        problem, device = listed.problem, listed.device
        cost = problem.graph.output / problem.channel.bandwidth
        io = tensor_io(problem, device, spans(problem, listed.plan), cost)
        self.writes = dict(zip(io.written.tolist(), io.writes.tolist(), strict=True))
        self.reads = dict(
            zip(zip(io.tensors.tolist(), io.readers.tolist(), strict=True), io.reads.tolist(), strict=True)
        )
        self.written: dict[int, tuple[int, float]] = {}

    def before(self, part: list[int]) -> None:
        """List what the part reads, and no part of its device has read."""
        d, graph = int(self.listed.device[part[0]]), self.listed.problem.graph
        for u in sorted({u for v in part for u in graph.predecessors(v).tolist()}):
            length = self.reads.pop((u, d), None)
            if length is None:
                continue
            needs = (self.written[u],)
            if length > 0:
                needs = ((self.listed.add(Job("read", ("device", d), length, needs, u, d)), 0.0),)
            self.listed.there[u, d] = [*needs]

    def after(self, part: list[int], run: int) -> None:
        """List what the part writes."""
        d = int(self.listed.device[part[0]])
        for u in part:
            if u in self.writes:
                self.written[u] = (run, 0.0)
                if self.writes[u] > 0:
                    self.written[u] = (
                        self.listed.add(Job("write", ("device", d), self.writes[u], ((run, 0.0),), u)),
                        0.0,
                    )


class _OnNetwork:
    """Sending over the channels of links or a tree."""

    def __init__(self, listed: _Listed) -> None:
        self.listed = listed
        problem, device = listed.problem, listed.device
        graph = problem.graph
        self.sizes: dict[int, dict[int, float]] = defaultdict(dict)
        for u, v, size in zip(graph.tails.tolist(), graph.heads.tolist(), graph.sizes.tolist(), strict=True):
            d = int(device[v])
            if device[u] != d:
                self.sizes[u][d] = max(size, self.sizes[u].get(d, 0.0))
        self.full = problem.network.overlap == "full"
        self.incoming: dict[int, list[Job]] = defaultdict(list)

    def before(self, part: list[int]) -> None:
        """List what the part receives and its device does not have yet."""
        d, graph = int(self.listed.device[part[0]]), self.listed.problem.graph
        for u in sorted({u for v in part for u in graph.predecessors(v).tolist() if self.listed.device[u] != d}):
            if (u, d) not in self.listed.there:
                job = next(job for job in self.incoming[d] if job.node == u)
                self.listed.there[u, d] = [(self.listed.add(job), 0.0)] if job.length > 0 else list(job.needs)

    def after(self, part: list[int], run: int) -> None:
        """List what the part sends, and the channels that it passes."""
        net, d = self.listed.problem.network, int(self.listed.device[part[0]])
        for u in part:
            takes = {e: float(net.out_delay[d, e] + size * net.out_inverse[d, e]) for e, size in self.sizes[u].items()}
            if not all(np.isfinite(list(takes.values()))):
                raise UsageError("something is sent where no route leads")
            once = net.send == "once"
            sent = {None: max(takes.values(), default=0.0)} if once else {**takes}
            after = {e: self._send(u, d, -1 if e is None else e, length, run) for e, length in sent.items()}
            passed: dict[tuple[int, int], int] = {}
            for e, size in self.sizes[u].items():
                needs = after[None if once else e]
                for c in net.route[d][e]:
                    needs = ((self._pass(u, d, e, c, once, needs, passed), 0.0),)
                late = float(net.latency[d, e]) if self.full else 0.0
                needs = tuple((number, delay + late) for number, delay in needs)
                length = float(net.in_delay[d, e] + size * net.in_inverse[d, e])
                place: Resource = ("receives" if self.full else "device", e)
                self.incoming[e].append(Job("receive", place, length, needs, u, e))

    def _send(self, u: int, d: int, e: int, length: float, run: int) -> tuple[tuple[int, float], ...]:
        if length <= 0:
            return ((run, 0.0),)
        place: Resource = ("sends" if self.full else "device", d)
        return ((self.listed.add(Job("send", place, length, ((run, 0.0),), u, e)), 0.0),)

    def _pass(
        self,
        u: int,
        d: int,
        e: int,
        c: int,
        once: bool,
        needs: tuple[tuple[int, float], ...],
        passed: dict[tuple[int, int], int],
    ) -> int:
        """List that a tensor passes a channel, where it does not pass it already; return the job."""
        key = (c, -1 if once else e)
        if key not in passed:
            net = self.listed.problem.network
            through = (
                [size for r, size in self.sizes[u].items() if c in net.route[d][r]] if once else [self.sizes[u][e]]
            )
            length = max(through) / float(net.bandwidth[c])
            passed[key] = self.listed.add(Job("transfer", ("channel", c), length, needs, u, -1 if once else e))
        return passed[key]
