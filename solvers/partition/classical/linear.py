"""One run of a method that puts supernodes of nodes into an order, and splits the order as well as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Contiguous
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.progress import Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, TrainingOrder, ordered_supernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import BlockStep
from mtpp_dsl.solvers.partition.classical.along import bytes_along, depth_first, prepare, split_along
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["UNASKED", "split_orders", "training_orders"]

MAX_BYTES = 1e9
UNASKED = "{} looks only at plans whose quotient graph is acyclic, which the problem does not ask"


def training_orders(problem: Problem) -> tuple[TrainingOrder, ...]:
    """Return in which orders the supernodes may come, the first choice first; the others bind the backward part too."""
    asked = {c.parts for c in problem.of(Acyclic)} | {c.parts for c in problem.of(Contiguous)}
    return ("forward", "mirrored", "parallel") if problem.graph.backward.any() and "both" in asked else ("forward",)


def split_orders(
    name: str,
    problem: Problem,
    limits: Limits,
    progress: Progress,
    *,
    orders: int,
    contract: Callable[[OrderedSupernodes], OrderedSupernodes],
) -> Result:
    """Return the best plan along depth-first orders.

    Args:
        name: of the method.
        problem: what is asked.
        limits: when to stop, and the seed of the ties in the orders after the first.
        progress: told of plans.
        orders: how many to split.
        contract: makes some supernodes one before they are ordered.
    """
    incumbent, devices = Incumbent(name, problem, limits, progress), device_types(problem)
    if not problem.acyclic:
        incumbent.note(UNASKED.format(name))
    termination: Termination | None = None
    try:
        for mode in training_orders(problem):
            incumbent.pause()
            supernodes = contract(ordered_supernodes(problem, devices, mode))
            if bytes_along(supernodes, devices) > MAX_BYTES:
                incumbent.note(f"a split of {supernodes.n} supernodes takes more than {MAX_BYTES / 1e6:,.0f} MB")
                termination = "limit"
                break
            prepare(supernodes, orders, progress.say)
            for order in _orders(supernodes, orders, limits.seed):
                incumbent.pause()
                steps = split_along(supernodes, devices, order, progress.say, incumbent.pause, incumbent.cost)
                if steps is not None:
                    incumbent.take(plan_of(problem, supernodes, devices, steps))
            if incumbent.plan is not None and not incumbent.broken:
                break
    except SearchEnded:
        pass
    else:
        if incumbent.plan is None and termination is None:
            incumbent.note("no split of the orders tried is a plan; this does not prove that there is none")
            if incumbent.broken:
                incumbent.note(f"the best split found is no plan: {incumbent.broken}")
    return incumbent.result(termination)


def _orders(supernodes: OrderedSupernodes, count: int, seed: int) -> Iterator[Ints]:
    """Yield the depth-first order, then others with random ties, each once."""
    random = np.random.default_rng(seed)
    seen: set[bytes] = set()
    for i in range(count):
        order = depth_first(supernodes, random if i else None)
        if order.tobytes() not in seen:
            seen.add(order.tobytes())
            yield order


def plan_of(problem: Problem, supernodes: OrderedSupernodes, devices: DeviceTypes, steps: Sequence[BlockStep]) -> Plan:
    """Return the plan that puts each block on a device of its kind, or on several as replicas."""
    free = [list(members) for members in devices.members]
    assignment = np.zeros(problem.graph.n, np.int64)
    replicas: dict[int, tuple[int, ...]] = {}
    for block, kind, copies in steps:
        lead, *others = (free[kind].pop(0) for _ in range(copies))
        assignment[[v for c in block for v in supernodes.members[c]]] = lead
        if others:
            replicas[lead] = (lead, *others)
    return Plan.create(problem, assignment, replicas=replicas)
