"""Compute what a plan costs, from the problem alone (archer2024 eq. 1-3, tarnawski2020 section 3, zhang2023 III).

Nothing here knows of models or solvers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.constraints import Decision, On, Used
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.batches import batch_lengths, shipments
from mtpp_dsl.core.plans.decisions import Values
from mtpp_dsl.core.plans.plan import Plan, Planned, plan_of
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.plans.stages import Keeping, ring_time, shard_speedup, stages_after
from mtpp_dsl.core.plans.subgraphs import traffic
from mtpp_dsl.core.plans.transfer_loads import carried, spans, tensor_io
from mtpp_dsl.core.problem.devices import Host, Links, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.plan_rules import synchronises
from mtpp_dsl.core.problem.problem import Problem, check_problem

MIXED = ("work", "input", "output", "overflow", "sync", "load", "forward", "backward", "channels")
"""What the routes of a plan add to by their shares."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Picklable):
    """Costs per device, all [devices], in the problem's units; a replica has its share of the times.

    Attributes:
        work: running time of the device's nodes, with the all-reduces of shards, and the passes that it computes again.
        input, output: time to read tensors made elsewhere, and to write those read elsewhere.
        overflow: time to stream the parameters that do not fit; where they are streamed while the device works, what
            that takes beyond its work.
        memory: what the device's nodes take, as ``constraint memory`` counts it, by stage or not; with *workspace*.
        workspace: the largest workspace of the device's nodes.
        params: size of the parameters of the device's nodes, or of its shard of them.
        sync: time to exchange the parameters with the other replicas, beside everything else.
        deviation: the largest deviations of the device's nodes, as many as ``constraint robust`` counts.
        load: work + input + output + overflow + deviation, or sync where that is more.
        forward, backward: the parts of the load: nodes by their own part, tensors by that of their producer,
            overflow with the forward part (tarnawski2020, 5.3).
        separate: whether the parts count one after the other, as ``parts = separate`` asks.
        iteration: what all microbatches cost, where that is the objective; see
            :class:`~mtpp_dsl.core.problem.objective.Objective`.
        makespan: when the last node or batch ends, where that is the objective; input and output are then the times
            for which tensors arrive and leave; on links that is beside the work, which alone is the load.
        carried: what transfers take, in sum, that the latency counts beside loads: all of those on links and trees.
        alone: [devices] what the latency counts of every device in place of its load: its work, of a split on links or
            a tree; None elsewhere.
        channels: [channels] loads of ``problem.network.channels``, of a split on links or a tree; empty elsewhere.
        used: which devices run any node, by themselves or as replicas.
        linear: the cost of the first objective, without penalties, where it is linear.
        penalties: what each soft row costs, by its label; empty where there is none.
        paid: what is added to the cost of the first objective for soft rows.
        later: the costs of the other objectives, in their order.
        size: the largest term of the cost, where it is a sum of some that may cancel; 0 where it is none.
        phases: the same of each phase alone, by its name; empty where the problem has none.
    """

    work: Floats
    input: Floats
    output: Floats
    overflow: Floats
    memory: Floats
    params: Floats
    sync: Floats
    load: Floats
    forward: Floats
    backward: Floats
    workspace: Floats = field(default_factory=lambda: np.zeros(0))
    deviation: Floats = field(default_factory=lambda: np.zeros(0))
    separate: bool = False
    iteration: float | None = None
    makespan: float | None = None
    carried: float = 0.0
    alone: Floats | None = None
    channels: Floats = field(default_factory=lambda: np.zeros(0))
    used: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    linear: float | None = None
    penalties: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    paid: float = 0.0
    later: tuple[float, ...] = ()
    size: float = 0.0
    phases: Mapping[str, Evaluation] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        return f"Evaluation(cost={self.cost:.6g}, {len(self.load)} devices)"

    @property
    def bottleneck(self) -> float:
        """The largest load of a device, or of a channel."""
        return max(float(self.load.max()), float(self.channels.max(initial=0.0)))

    @property
    def cost(self) -> float:
        """The minimised quantity: bottleneck, sum of two, makespan, iteration, or linear; and what is paid."""
        if self.linear is not None:
            return self.linear + self.paid
        if self.iteration is not None:
            return self.iteration + self.paid
        if self.makespan is not None:
            return self.makespan + self.paid
        if self.separate:
            return float(self.forward.max() + self.backward.max()) + self.paid
        return self.bottleneck + self.paid

    @property
    def costs(self) -> tuple[float, ...]:
        """The costs of all objectives, in their order."""
        return (self.cost, *self.later)

    @property
    def latency(self) -> float:
        """The sum of all loads, and of transfers that are in none; on links and trees of all work and all shipments."""
        return float((self.load if self.alone is None else self.alone).sum()) + self.carried


def evaluate(problem: Problem, plan: Plan | Planned | Mapping[str, object]) -> Evaluation:
    """Return what *plan* costs, which may be given as an answer's JSON, or as ``{node: device}``, too.

    On links and trees see :mod:`mtpp_dsl.core.problem.network`.
    On ``shared`` and ``host`` interconnects a tensor is written once by its producer's device if anybody elsewhere
    reads it, and read once by every other device with a consumer, however many consumers there are. Replicas share
    the time.
    A makespan is read off the schedule; whether that is one, :func:`mtpp_dsl.checks.verification.verify` says.

    Raises:
        UsageError: the objective is a makespan, and the plan has no schedule; or of a batch, and it has no batches.
    """
    check_problem(problem, "evaluate")
    plan = plan_of(problem, plan)
    if problem.objective.batch is not None:
        return _batched(problem, plan)
    if plan.routes:
        return _mixed(problem, plan)
    evaluation = _scheduled(problem, plan) if problem.timed else _split(problem, plan)
    if problem.phases:
        by_phase = {name: _split(phase, plan) for name, phase in problem.each_phase.items()}
        evaluation = replace(evaluation, phases=MappingProxyType(by_phase))
        if problem.prefetches:
            evaluation = _waiting_in_each(problem, evaluation)
    if problem.objective.is_linear or problem.later or problem.soft_rows:
        return _with_objectives(problem, plan, evaluation)
    return evaluation


def _waiting_in_each(problem: Problem, evaluation: Evaluation) -> Evaluation:
    """Return *evaluation* of all phases together with what each phase waits for streamed parameters, by its weight."""
    waits = sum((p.weight * evaluation.phases[p.name].overflow for p in problem.graph.phases), np.zeros(problem.k))
    more = waits - evaluation.overflow
    return replace(evaluation, overflow=waits, load=evaluation.load + more, forward=evaluation.forward + more)


def _mixed(problem: Problem, plan: Plan) -> Evaluation:
    """Return what routes cost together: every time by the shares of the routes, memory once for all of them."""
    shares = [float(route.share) for route in plan.routes]
    parts = [_split(problem, replace(plan, assignment=route.assignment, routes=())) for route in plan.routes]
    on = np.zeros((problem.graph.n, problem.k), np.bool_)
    for route in plan.routes:
        on[np.arange(problem.graph.n), route.assignment] = True
    by_share: dict[str, Any] = {
        name: sum((share * getattr(part, name) for share, part in zip(shares, parts, strict=True)), np.zeros(1))
        for name in MIXED
    }
    return replace(
        parts[0],
        **by_share,
        memory=problem.graph.memory @ on,
        params=problem.graph.params @ on,
        carried=sum(share * part.carried for share, part in zip(shares, parts, strict=True)),
        alone=None if parts[0].alone is None else by_share["work"],
        used=np.asarray(on.any(axis=0)),
    )


def _with_objectives(problem: Problem, plan: Plan, evaluation: Evaluation) -> Evaluation:
    """Return *evaluation* with the costs of all objectives and what soft rows cost."""
    values = Values(
        assignment=plan.assignment,
        load=evaluation.load,
        used=evaluation.used,
        bottleneck=evaluation.bottleneck,
        latency=evaluation.latency,
        makespan=evaluation.makespan,
        schedule=plan.schedule,
        phases={
            name: Values(
                assignment=plan.assignment,
                load=phase.load,
                used=phase.used,
                bottleneck=phase.bottleneck,
                latency=phase.latency,
            )
            for name, phase in evaluation.phases.items()
        },
    )
    penalties = dict.fromkeys((row.label for row in problem.soft_rows), 0.0)
    for row in problem.soft_rows:
        assert row.penalty is not None
        penalties[row.label] += row.penalty * row.violation(values.sum(row.terms))
    paid = sum(penalties.values())
    first, *later = (_cost(objective, evaluation, values) for objective in problem.objectives)
    return replace(
        evaluation,
        linear=first if problem.objective.is_linear else None,
        penalties=MappingProxyType(penalties),
        paid=paid if problem.objective.penalised else 0.0,
        later=tuple(later),
        size=_size(problem, values),
    )


def _size(problem: Problem, values: Values) -> float:
    """Return the largest term of the cost, of an ``on`` or ``used`` whether it is 0 or 1; those of soft rows count."""

    def largest(terms: Iterable[tuple[Decision, float]], constant: float) -> float:
        sizes = (abs(a) * (1.0 if isinstance(x, (On, Used)) else abs(values.of(x))) for x, a in terms)
        return max([abs(constant), *sizes])

    objective = problem.objective
    first = largest(objective.terms, objective.constant) if objective.is_linear else 0.0
    soft = problem.soft_rows if objective.penalised else ()
    return max([first, *((row.penalty or 0.0) * largest(row.terms, row.rhs) for row in soft)])


def _cost(objective: Objective, evaluation: Evaluation, values: Values) -> float:
    """Return what *objective* minimises, without what soft rows cost."""
    if objective.is_linear:
        value = objective.constant + values.sum(objective.terms)
        return 0.0 - value if objective.maximized else value
    if objective.quantity == "makespan":
        assert evaluation.makespan is not None
        return evaluation.makespan
    if objective.quantity == "sum of bottlenecks":
        return float(evaluation.forward.max() + evaluation.backward.max())
    if evaluation.iteration is not None:
        return evaluation.iteration
    return evaluation.bottleneck


def _split(problem: Problem, plan: Plan) -> Evaluation:
    """Return what is known of a plan without a schedule."""
    if problem.networked:
        return _on_network(problem, plan)
    assert isinstance(problem.interconnect, (Shared, Host))
    k, device, graph = problem.k, plan.assignment, problem.graph
    shards = np.array([plan.shards.get(d, 1) for d in range(k)])
    time = problem.time[np.arange(graph.n), device] / shard_speedup(problem, shards)[device]
    time = time + graph.reduce * ring_time(problem, shards)[device]
    passes = graph.forward_share
    again = np.zeros(k)
    for d in plan.recomputed:
        again[d] = _share(time, passes)[device == d].sum()
    work = _per_device(device, time, k) + again
    tensor = graph.output / problem.interconnect.bandwidth
    span = spans(problem, plan)
    reads, writes = _io(problem, device, span, tensor)
    forward, backward = (
        _per_device(device, _share(time, part), k) + sum(_io(problem, device, span, tensor * part))
        for part in (passes, 1.0 - passes)
    )
    params = _per_device(device, graph.params, k) / shards
    lead = plan.leads(k)
    excess = np.maximum(params[lead] - problem.overflow_limit, 0.0)
    share = shards[lead] / np.bincount(lead, minlength=k)[lead]
    busy = np.bincount(device, minlength=k) > 0
    overflow = excess / problem.interconnect.bandwidth * share
    if problem.prefetches:
        overflow = np.maximum(overflow - work[lead] * share, 0.0)
    sync = _sync(problem, plan, span, params)
    deviation, working = _deviation(problem, device), _workspace(problem, device)
    evaluation = Evaluation(
        work=work[lead] * share,
        input=reads[lead] * share,
        output=writes[lead] * share,
        overflow=overflow,
        memory=(_memory(problem, plan, shards) + working)[lead],
        workspace=working[lead],
        params=params[lead],
        sync=sync,
        load=np.maximum((work + reads + writes)[lead] * share + overflow, sync) + deviation,
        deviation=deviation,
        forward=forward[lead] * share + overflow,
        backward=(backward + again)[lead] * share,
        separate=problem.objective.parts == "separate" and not problem.objective.is_iteration,
        used=busy[lead],
    )
    if problem.objective.is_iteration:
        return replace(evaluation, iteration=_iteration(problem.objective, evaluation, np.flatnonzero(busy)))
    return evaluation


def _deviation(problem: Problem, device: Ints) -> Floats:
    """Return the sum of the largest deviations on each device, as many as may occur at once."""
    total = np.zeros(problem.k)
    if problem.robust is not None:
        own = problem.deviation[np.arange(problem.graph.n), device]
        for d in range(problem.k):
            total[d] = np.sort(own[device == d])[::-1][: problem.robust.most].sum()
    return total


def _workspace(problem: Problem, device: Ints) -> Floats:
    """Return the largest workspace of the nodes on each device, 0 where there is none."""
    largest = np.zeros(problem.k)
    np.maximum.at(largest, device, problem.graph.workspace)
    return largest


def _share(time: Floats, part: Floats) -> Floats:
    """Return times by a share of each; nothing of one that is not supported is 0."""
    parts: Floats = np.multiply(time, part, out=np.zeros(len(time)), where=part > 0)
    return parts


def _memory(problem: Problem, plan: Plan, shards: Ints) -> Floats:
    """Return what the nodes of every device take on it and on each of its replicas, by stage where that is asked."""
    memory = _per_device(plan.assignment, problem.graph.memory, problem.k) / shards
    if any(problem.stage_memory):
        keeping = Keeping.of(problem, plan.assignment, plan.shards)
        after = stages_after(plan.order, plan.assignment, problem.k)
        for d in np.unique(plan.assignment).tolist():
            if problem.stage_memory[d] is not None:
                memory[d] = keeping.memory(d, int(after[d]), again=d in plan.recomputed)
    return memory


def _iteration(objective: Objective, evaluation: Evaluation, leads: Ints) -> float:
    """Return what all microbatches cost; a stage whose load is its exchange of weights waits in the backward part."""
    load, forward = evaluation.load[leads], evaluation.forward[leads]
    largest = float(load.max())
    if objective.quantity == "separate iteration":
        largest = float(forward.max() + np.maximum(evaluation.backward[leads], load - forward).max())
    return ((objective.microbatches or 1) - 1) * largest + float(load.sum())


def _without_transfers(problem: Problem, plan: Plan) -> Evaluation:
    """Return what the nodes of a plan take on their devices, where nothing is replicated: their load is their work."""
    k, device, graph = problem.k, plan.assignment, problem.graph
    time, nothing = problem.time[np.arange(graph.n), device], np.zeros(k)
    work, working = _per_device(device, time, k), _workspace(problem, device)
    return Evaluation(
        work=work,
        input=nothing,
        output=nothing,
        overflow=nothing,
        memory=_per_device(device, graph.memory, k) + working,
        workspace=working,
        params=_per_device(device, graph.params, k),
        sync=nothing,
        load=work,
        forward=_per_device(device, np.where(graph.backward, 0.0, time), k),
        backward=_per_device(device, np.where(graph.backward, time, 0.0), k),
        used=np.bincount(device, minlength=k) > 0,
    )


def _on_network(problem: Problem, plan: Plan) -> Evaluation:
    """Return what is known of a split on links or a tree."""
    nodes, sent = _without_transfers(problem, plan), carried(problem, plan.assignment)
    busy = (nodes.work, sent.sends, sent.receives)
    return replace(
        nodes,
        input=sent.receives,
        output=sent.sends,
        load=np.sum(busy, axis=0) if problem.network.overlap == "none" else np.max(busy, axis=0),
        carried=sent.total,
        alone=nodes.work,
        channels=sent.channels,
    )


def _scheduled(problem: Problem, plan: Plan) -> Evaluation:
    """Return what is known of a plan with a schedule."""
    if plan.schedule is None:
        raise UsageError("the plan says where every node runs and not when: it has no makespan")
    nodes = _without_transfers(problem, plan)
    reads, writes = _carried(problem, plan, plan.schedule)
    links = isinstance(problem.interconnect, Links)
    return replace(
        nodes,
        input=reads,
        output=writes,
        load=nodes.work if links else nodes.work + reads + writes,
        makespan=plan.schedule.makespan,
        carried=float(reads.sum()) if links else 0.0,
    )


def _batched(problem: Problem, plan: Plan) -> Evaluation:
    """Return what is known of a plan for a batch."""
    if plan.batches is None:
        raise UsageError("the plan does not say which inputs run where and when: it has no throughput")
    k, graph, batches = problem.k, problem.graph, plan.batches
    sizes = batches.sizes
    takes = batch_lengths(problem, batches.lane_sizes, batches.slots).reshape(graph.n, k, -1).sum(axis=2)
    work = takes.sum(axis=0)
    reads, writes = np.zeros(k), np.zeros(k)
    for move in shipments(problem, batches):
        reads[move.target] += move.end - move.start
        writes[move.source] += move.end - move.start
    params = (graph.params[:, None] * (sizes > 0)).sum(axis=0)
    backward = (takes * graph.backward[:, None]).sum(axis=0)
    return Evaluation(
        work=work,
        input=reads,
        output=writes,
        overflow=np.zeros(k),
        memory=params + ((graph.memory - graph.params)[:, None] * sizes).sum(axis=0),
        params=params,
        sync=np.zeros(k),
        load=work,
        forward=work - backward,
        backward=backward,
        makespan=batches.makespan,
        carried=float(reads.sum()),
        used=sizes.sum(axis=0) > 0,
    )


def _carried(problem: Problem, plan: Plan, schedule: Schedule) -> tuple[Floats, Floats]:
    """Return for how long tensors reach every device, and leave it; those between its own subgraphs count, too."""
    k, device, graph = problem.k, plan.assignment, problem.graph
    if isinstance(problem.interconnect, Links):
        moved = np.flatnonzero(~np.isnan(schedule.sent))
        carried = (schedule.arrived - schedule.sent)[moved]
        return _per_device(device[graph.heads[moved]], carried, k), _per_device(device[graph.tails[moved]], carried, k)
    if schedule.piece is None:
        raise UsageError("the schedule names no subgraphs: it has no latency")
    home, reads, writes = traffic(problem, device, schedule.piece)
    first = np.unique(home, return_index=True)[1]
    return _per_device(device[first], reads, k), _per_device(device[first], writes, k)


def _per_device(device: Ints, weights: Floats, k: int) -> Floats:
    return np.bincount(device, weights=weights, minlength=k).astype(np.float64)


def _io(problem: Problem, device: Ints, span: Ints, cost: Floats) -> tuple[Floats, Floats]:
    """Return what every stage pays to read and to write tensors; they cost more between stages of other groups."""
    io = tensor_io(problem, device, span, cost)
    return _per_device(io.readers, io.reads, problem.k), _per_device(device[io.written], io.writes, problem.k)


def _sync(problem: Problem, plan: Plan, span: Ints, params: Floats) -> Floats:
    """Return what every device takes to exchange weights, per input.

    Of m replicas in a group each passes on 2(m-1)/m of the weights, after 1/m of the inputs (PipeDream); over
    the network a group does so, likewise, for all its stages at once.
    """
    sync, link = np.zeros(problem.k), problem.interconnect
    assert isinstance(link, (Shared, Host))
    exchanging = [
        lead
        for lead in plan.replicas
        if (problem.devices[lead].pays_io or isinstance(link, Shared))
        and (rule := problem.replicate[lead]) is not None
        and synchronises(rule, problem.graph)
    ]
    for lead in exchanging:
        members = list(plan.replicas[lead])
        inside = np.bincount(problem.group[members])
        groups = int((inside > 0).sum())
        m = int(inside.max()) // plan.shards.get(lead, 1)
        time = 2 * (m - 1) * params[lead] / link.bandwidth / (m * groups)
        if link.between is not None:
            together = sum(params[other] for other in exchanging if span[other] == span[lead])
            time = max(time, 2 * (groups - 1) * together / link.between / groups)
        sync[members] = time
    return sync
