"""Put supernodes into an order, and split the order as well as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Contiguous
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.core.views.hypergraph import Supernodes, hypergraph
from mtpp_dsl.solvers.algorithms.ideals.lattice import WORD, chain
from mtpp_dsl.solvers.algorithms.ideals.outside import ROUNDING, Prices, first_bound
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, TrainingOrder, ordered_supernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import SWEEP, Ahead, BlockStep, sweep
from mtpp_dsl.solvers.algorithms.ideals.whole_costs import DeviceStates, WholeCosts, ceiling, states_of, whole_costs
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["UNASKED", "conflicts", "depth_first", "is_ordered", "movable", "split_orders"]

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


# The best split along one order of supernodes: a dynamic programme over a chain of ideals (tarnawski2020, 5.1.2).

FIRST_STEP = 0.01
"""The first target is above the bound by this share; the next by twice that, and so on."""


def depth_first(supernodes: OrderedSupernodes, random: np.random.Generator | None = None) -> Ints:
    """Return [n] a depth-first topological order: of the supernodes that are ready, one that became so last.

    Ties go to the supernode whose first node comes last, as in tarnawski2020's program; with a *random*, to any.
    """
    first = [-min(nodes) for nodes in supernodes.members]
    rank = first if random is None else random.permutation(supernodes.n).tolist()
    after: list[list[int]] = [[] for _ in range(supernodes.n)]
    waiting = [0] * supernodes.n
    for a, b in supernodes.before:
        after[a].append(b)
        waiting[b] += 1
    ready = sorted((v for v in range(supernodes.n) if not waiting[v]), key=lambda v: -rank[v])
    order: list[int] = []
    while ready:
        v = ready.pop()
        order.append(v)
        for w in sorted(after[v], key=lambda w: -rank[w]):
            waiting[w] -= 1
            if not waiting[w]:
                ready.append(w)
    return np.array(order, dtype=np.int64)


def bytes_along(supernodes: OrderedSupernodes, devices: DeviceTypes) -> float:
    """Return how much memory :func:`split_along` takes, about."""
    states = float(np.prod([len(members) + 1.0 for members in devices.members]))
    return (supernodes.n + 1.0) * (8 * (supernodes.n // WORD + 1) + 16 * states)


def prepare(supernodes: OrderedSupernodes, orders: int, say: Callable[[str], None]) -> None:
    """Compile what :func:`split_along` runs, if that pays for so many *orders*."""
    SWEEP.pick(0.5 * orders * supernodes.n**2, say)


def split_along(
    supernodes: OrderedSupernodes,
    devices: DeviceTypes,
    order: Ints,
    say: Callable[[str], None],
    pause: Callable[[], None],
    below: float = np.inf,
) -> Sequence[BlockStep] | None:
    """Return a split of *order* into blocks with the least largest load, or None if none is less than *below*.

    The devices come in whichever order is best; where a block may run on m replicas, it takes m of them and costs
    max(load / m, exchange of weights), PipeDream's recurrence. Without a known split, targets are raised from a bound
    until one is reached.

    Args:
        supernodes: what to place.
        devices: where.
        order: [n] of the supernodes, in keeping with ``before``.
        say: told when code has to be compiled.
        pause: called now and then; may raise.
        below: the cost of a split that is known.
    """
    if not (np.isfinite(supernodes.time) & (supernodes.memory[:, None] <= devices.memory)).any(axis=1).all():
        return None
    lower = first_bound(supernodes, devices)
    if lower >= below:
        return None
    costs, unit, top = whole_costs(supernodes, devices, min(below, ceiling(supernodes, devices)))
    states, lattice = states_of(devices), chain(order)
    ahead = _ahead(order, costs, states, top)
    floor, share, target = int(lower / unit), FIRST_STEP, 0
    while max(target, floor) < top:
        target = min(top, int(floor + share * max(floor, top / 1000)) + 1) if np.isinf(below) else top
        answer = sweep(lattice, costs, states, ahead, target, 0, say, pause)
        if answer is not None:
            return answer[1]
        share *= 2
    return None


def _ahead(order: Ints, costs: WholeCosts, states: DeviceStates, top: int) -> Ahead:
    """Return what is sure to come after every prefix of *order*: see :class:`Ahead`, without going through its bits."""
    prices = Prices(np.where(costs.time < top * costs.copies.max(), costs.time, np.inf).T)
    n, tensors = len(order), len(costs.pins)
    left = np.zeros((n + 1, len(prices.weight)))
    left[:-1] = np.cumsum(prices.weight.T[order][::-1], axis=0)[::-1]
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    pins = np.repeat(place, np.diff(costs.start))
    first, last = np.full(tensors, n), np.zeros(tensors, np.int64)
    np.minimum.at(first, costs.tensor, pins)
    np.maximum.at(last, costs.tensor, pins)
    opened = np.bincount(first + 1, weights=costs.cost, minlength=n + 1)
    closed = np.bincount(last + 1, weights=costs.cost, minlength=n + 1)
    price, cheapest = prices.of_states(costs, states)
    slack = np.asarray(ROUNDING * (prices.weight.sum(axis=1) + costs.cost.sum()), np.float64)
    return Ahead(left, np.cumsum(opened - closed), price, cheapest, slack)


# The supernodes that local search and Scotch place.


def is_ordered(problem: Problem) -> bool:
    """Return whether some constraint requires blocks that can be put into a sequence."""
    return problem.acyclic or problem.contiguous


def movable(problem: Problem, types: DeviceTypes) -> OrderedSupernodes:
    """Return the supernodes of a problem.

    Where blocks must come in a sequence, they are those of the ideals, with the order that binds all parts that the
    problem requires and leaves most supernodes; else they are the classes of colocated nodes, without an order.
    """
    if is_ordered(problem):
        choices = training_orders(problem)
        binding = choices[1:] or choices
        return max((ordered_supernodes(problem, types, mode) for mode in binding), key=lambda supernodes: supernodes.n)
    whole = hypergraph(problem, colocated(problem)).on_types(types)
    return OrderedSupernodes(**{field.name: getattr(whole, field.name) for field in fields(Supernodes)})


def conflicts(problem: Problem, supernodes: OrderedSupernodes) -> list[set[int]]:
    """Return, for each supernode, those that must not be on its device."""
    return hypergraph(problem, supernodes.of).conflicts
