"""Write what the tensors of a plan take of the network: of every pair of devices, and of every channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.plans.batches import shipments
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.view import View


@dataclass(frozen=True)
class Carrying:
    """What a channel, or a pair of devices, carries.

    Attributes:
        size: of the tensors, for one input, or in the whole schedule of a batch.
        tensors: how many; 0 where they are not counted.
        time: for how long it is busy; None where that is not a matter of the pair.
    """

    size: float
    tensors: int = 0
    time: float | None = None


def tensor_size(problem: Problem, size: float) -> str:
    """Return the size of tensors for people: in their own unit, which that of memories may differ from."""
    return format_quantity(size, problem.graph.size_unit, decimal=problem.origin.decimal)


def pairs(problem: Problem, plan: Plan) -> dict[tuple[int, int], Carrying]:
    """Return what is sent from one device to another: every tensor once per reading device.

    In a schedule on links every edge is sent by itself. Replicas count as the first of their stage. Routes count by
    their shares.
    """
    if plan.batches is not None:
        return _of_batches(problem, plan)
    by_edge = plan.schedule is not None and isinstance(problem.interconnect, Links)
    amounts: dict[tuple[int, int], tuple[float, int]] = {}
    ways = [(1.0, plan.assignment)] if not plan.routes else [(float(r.share), r.assignment) for r in plan.routes]
    for share, where in ways:
        for (d, e), (size, tensors) in _sent(problem, where, by_edge=by_edge).items():
            before = amounts.get((d, e), (0.0, 0))
            amounts[d, e] = before[0] + share * size, before[1] + tensors
    times = _busy(problem, plan) if by_edge else {}
    return {pair: Carrying(size, tensors, times.get(pair)) for pair, (size, tensors) in amounts.items()}


def _sent(problem: Problem, where: Ints, *, by_edge: bool) -> dict[tuple[int, int], tuple[float, int]]:
    """Return size and number of the tensors that an assignment sends between each two devices."""
    graph, k = problem.graph, problem.k
    crossing = np.flatnonzero(where[graph.tails] != where[graph.heads])
    reader = where[graph.heads[crossing]]
    own = problem.interconnect.keyword in ("links", "tree")
    sizes = graph.sizes[crossing] if own else graph.output[graph.tails[crossing]]
    if not by_edge:
        key, inverse = np.unique(graph.tails[crossing] * k + reader, return_inverse=True)
        largest = np.zeros(len(key))
        np.maximum.at(largest, inverse, sizes)
        sender, reader, sizes = where[key // k], key % k, largest
    else:
        sender = where[graph.tails[crossing]]
    amounts: dict[tuple[int, int], tuple[float, int]] = {}
    for d, e, size in zip(sender.tolist(), reader.tolist(), sizes.tolist(), strict=True):
        before = amounts.get((d, e), (0.0, 0))
        amounts[d, e] = before[0] + size, before[1] + 1
    return amounts


def _busy(problem: Problem, plan: Plan) -> dict[tuple[int, int], float]:
    """Return for how long transfers take every link of a schedule, in sum."""
    assert plan.schedule is not None
    times: dict[tuple[int, int], float] = {}
    graph, where = problem.graph, plan.assignment
    for e in np.flatnonzero(~np.isnan(plan.schedule.sent)).tolist():
        pair = int(where[graph.tails[e]]), int(where[graph.heads[e]])
        times[pair] = times.get(pair, 0.0) + float(plan.schedule.arrived[e] - plan.schedule.sent[e])
    return times


def _of_batches(problem: Problem, plan: Plan) -> dict[tuple[int, int], Carrying]:
    assert plan.batches is not None
    carrying: dict[tuple[int, int], Carrying] = {}
    for move in shipments(problem, plan.batches):
        before = carrying.get((move.source, move.target), Carrying(0.0, 0, 0.0))
        size = before.size + float(problem.graph.sizes[move.edge]) * move.size
        carrying[move.source, move.target] = Carrying(
            size, before.tensors + move.size, (before.time or 0.0) + move.end - move.start
        )
    return carrying


def channels(view: View) -> dict[str, Carrying]:
    """Return what every channel of links or a tree carries, by its name; {} where channels are no matter."""
    problem, evaluation = view.problem, view.evaluation
    if not problem.networked or evaluation is None or not len(evaluation.channels):
        return {}
    net = problem.network
    return {
        name: Carrying(float(load * rate), time=float(load))
        for name, load, rate in zip(net.channels, evaluation.channels, net.bandwidth, strict=True)
    }


def bottleneck(view: View) -> float:
    """Return what a channel is compared with: the bottleneck, or the makespan; 0 without a plan."""
    evaluation = view.evaluation
    if evaluation is None:
        return 0.0
    return evaluation.makespan if evaluation.makespan is not None else evaluation.bottleneck
