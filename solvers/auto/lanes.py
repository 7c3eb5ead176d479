"""What auto runs at the same time, and in which order where it has one core."""

from __future__ import annotations

from mtpp_dsl.contracts import Method
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.bounds.configuration import Configuration
from mtpp_dsl.solvers.branching.method import Branching
from mtpp_dsl.solvers.combinatorial.slicegraph import SliceGraph
from mtpp_dsl.solvers.ideals.method import Ideals
from mtpp_dsl.solvers.portfolio.lane import Task

__all__ = ["lanes"]

TURN, AROUND = 0.4, 6
"""Of the time left, on one core, until it is the other's turn; and how often."""
FEW_DEVICES, FEW_NODES = 4, 62
"""With so few devices, or in graphs of so few nodes, a search of everything gets far."""
SHARE = 0.4
"""Of the time, what a search for plans has before a second proof takes its core."""


def lanes(problem: Problem, cores: int, *, ideals: bool = True) -> list[list[Task]]:
    """Return lanes of tasks, at most as many as there are cores; without *ideals* where these were searched before.

    With two, the first searches for plans and the second bounds. Where the devices stand in an order, what searches
    everything comes first, if the problem is small; else the search for plans gives way to it, or to a second bound,
    which goes by small steps. With more they have lanes of their own, and the rest search with other seeds. On one core
    they take turns.
    """
    ordered = problem.acyclic or problem.contiguous
    plans = _accepting(problem, Annealing(), SliceGraph())[:1]
    bounds = _accepting(problem, Configuration())
    branching = _accepting(problem, Branching()) if ordered else []
    whole = branching or (_accepting(problem, Ideals()) if ordered and ideals else [])
    if cores == 1:
        turns = [Task(method, TURN) for _ in range(AROUND) for method in (*plans, *bounds)]
        return [[*(Task(method, TURN) for method in (*plans, *whole)), *turns]]
    sure = [Configuration(step=0.15, share=0.25)] if branching and bounds else []
    far = bool(branching) and (problem.k <= FEW_DEVICES or problem.graph.n <= FEW_NODES)
    if cores == 2 and whole:
        first = [*whole, *plans, *sure] if far else [*plans, *(sure or whole)]
        found = [[Task(method, SHARE if method in plans else 1.0) for method in first], [*map(Task, bounds)]]
    else:
        seeds = [Task(method, seed=seed) for seed in range(1, cores) for method in plans]
        found = [[task] for task in (*map(Task, (*plans, *bounds, *whole, *sure)), *seeds)]
    return [lane for lane in found if lane][:cores]


def _accepting(problem: Problem, *methods: Method) -> list[Method]:
    return [method for method in methods if method.accepts(problem) is None]
