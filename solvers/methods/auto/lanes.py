"""Decide what auto runs at the same time, and in which order where it has one core."""

from __future__ import annotations

from collections.abc import Container, Sequence

from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.annealing import Annealing
from mtpp_dsl.solvers.methods.auto.policy import BOUNDS_FIRST, TURNS
from mtpp_dsl.solvers.methods.bounds import Configuration
from mtpp_dsl.solvers.methods.branching import Branching
from mtpp_dsl.solvers.methods.diving import Diving
from mtpp_dsl.solvers.methods.orders import Orders
from mtpp_dsl.solvers.methods.partition import Ideals, SliceGraph
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask

WHOLE = 2.0
"""How long the turn of what searches everything is, beside those of searches and bounds."""
FEW_DEVICES, FEW_NODES = 4, 62
"""With so few devices, or in graphs of so few nodes, a search of everything gets far."""
BEFORE_ORDERS, IDEALS_BEFORE_ORDERS = 0.1, 0.25
"""Of the time on one core, what a search for plans has before that of orders of unequal devices, and what all ideals
have of the rest."""
MANY_NODES = 400
"""In larger graphs ideals that were not few at first are not searched beside the orders of unequal devices."""
BEFORE_DIVING, SHARE_OF_BOUND, SHARE_OF_DIVING = 0.15, 0.35, 0.6
"""Where tables give the heaviest sets: what a search by moves has before splits are made of them; and on one core what
the bound has of the rest before, and they of what is left then."""
SHARE = 0.4
"""Of the time, what a search for plans has before a second proof takes its core."""


def lanes(
    problem: Problem,
    cores: int,
    *,
    ideals: bool = True,
    narrow: bool = False,
    searched: Container[str] = frozenset(),
    bounds_first: bool = False,
) -> list[list[LaneTask]]:
    """Return lanes of tasks, at most as many as there are cores.

    With two, the first searches for plans and the second bounds. Where the devices stand in an order, what searches
    everything comes first, if the problem is small; else the search for plans gives way to it, or to a second bound,
    which goes by small steps. With more they have lanes of their own, and the rest search with other seeds. On one core
    they take turns: the second is longer, searches have another seed in it, and bounds go on from what is known.

    Args:
        problem: what is asked.
        cores: how many processes may run.
        ideals: False where all ideals were searched before.
        narrow: whether tables give the heaviest sets of devices.
        searched: names of the searches for plans that the first seed was given to before.
        bounds_first: whether bounds have most of the time on one core, in one turn.
    """
    ordered = problem.acyclic or problem.contiguous
    plans = _accepting(problem, Annealing(), SliceGraph())[:1]
    bounds = _accepting(problem, Configuration())
    ordered = ordered and not any(problem.of(Linear))  # without the rows nothing searches everything
    branching = _accepting(problem, Branching()) if ordered else []
    orders = [Orders()] if by_orders(problem) else []
    seed = 1 if any(method.name in searched for method in plans) else 0
    whole = branching or (_accepting(problem, Ideals()) if ordered and ideals else [])
    if orders:
        return _with_orders(problem, orders[0], plans, whole, bounds, seed, cores)
    if narrow and bounds and not whole and Diving().accepts(problem) is None:
        return _with_diving(plans, bounds[0], seed, cores)
    if cores == 1:
        return _in_turn(plans, whole, bounds, seed, BOUNDS_FIRST if bounds_first else TURNS)
    sure = [Configuration(step=0.15, share=0.25)] if branching and bounds else []
    far = bool(branching) and (problem.k <= FEW_DEVICES or problem.graph.n <= FEW_NODES)
    if cores == 2 and whole:
        first = [*whole, *plans, *sure] if far else [*plans, *(sure or whole)]
        lane = [LaneTask(method, SHARE, seed=seed) if method in plans else LaneTask(method) for method in first]
        groups = [lane, [*map(LaneTask, bounds)]]
    else:
        searches = [LaneTask(method, seed=seed + number) for number in range(cores) for method in plans]
        groups = [[task] for task in (*searches[:1], *map(LaneTask, (*bounds, *whole, *sure)), *searches[1:])]
    return [lane for lane in groups if lane][:cores]


def by_orders(problem: Problem) -> bool:
    """Return whether the search of orders is expected to get furthest: devices differ, and memories may be short."""
    memory = problem.memory_limit
    differ = bool((memory != memory[0]).any() or (problem.time != problem.time[:, :1]).any())
    short = bool((memory < problem.graph.memory.sum()).any())
    return differ and short and not any(problem.of(Linear)) and Orders().accepts(problem) is None


def _with_orders(
    problem: Problem,
    orders: Method,
    plans: list[Method],
    whole: list[Method],
    bounds: list[Method],
    seed: int,
    cores: int,
) -> list[list[LaneTask]]:
    """Return lanes in which most of the time is for the search of orders, which finds plans and proves bounds."""
    later = whole if problem.graph.n <= MANY_NODES else []
    if cores == 1:
        turns = [LaneTask(method, BEFORE_ORDERS, seed=seed) for method in plans]
        return [[*turns, *(LaneTask(method, IDEALS_BEFORE_ORDERS) for method in later), LaneTask(orders)]]
    searching = [*(LaneTask(method, SHARE if later else 1.0, seed=seed) for method in plans), *map(LaneTask, later)]
    return [lane for lane in ([LaneTask(orders), *map(LaneTask, bounds)], searching) if lane]


def _with_diving(plans: list[Method], bound: Method, seed: int, cores: int) -> list[list[LaneTask]]:
    """Return lanes in which splits are made of sets for the weights of a bound, after a search by moves."""
    first = [LaneTask(method, BEFORE_DIVING, seed=seed) for method in plans]
    if cores == 1:
        return [[*first, LaneTask(bound, SHARE_OF_BOUND), LaneTask(Diving(), SHARE_OF_DIVING), LaneTask(bound)]]
    more = [[LaneTask(method, seed=seed + number)] for number in range(1, cores - 1) for method in plans]
    return [
        [*first, LaneTask(Diving()), *(LaneTask(method, seed=seed + 1) for method in plans)],
        [LaneTask(bound)],
        *more,
    ]


def _in_turn(
    plans: list[Method], whole: list[Method], bounds: list[Method], seed: int, lengths: Sequence[tuple[float, float]]
) -> list[list[LaneTask]]:
    """Return one lane: a turn of each, with one of what searches everything between, then another; see *lengths*."""
    turns: list[tuple[float, Method, int]] = []
    for number, (searching, bounding) in enumerate(lengths):
        turns += [(searching, method, seed + number) for method in plans]
        turns += [(WHOLE, method, 0) for method in whole if number == 0]
        turns += [(bounding, method, 0) for method in bounds if bounding]
    left = [sum(weight for weight, *_ in turns[i:]) for i in range(len(turns))]
    lane = [LaneTask(method, weight / rest, seed=own) for (weight, method, own), rest in zip(turns, left, strict=True)]
    return [lane] if lane else []


def _accepting(problem: Problem, *methods: Method) -> list[Method]:
    return [method for method in methods if method.accepts(problem) is None]
