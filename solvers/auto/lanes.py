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

TURN = 0.4
"""Of the time left, on one core, until it is the other's turn."""
AROUND = 6
SEARCH_SHARE = 0.2
"""Of the time, what a search for plans has where a search of everything is sure to get far."""
FEW_DEVICES, FEW_NODES = 4, 62
"""It is in graphs of so few nodes, or with so few devices."""


def lanes(problem: Problem, cores: int) -> list[list[Task]]:
    """Return lanes of tasks, at most as many as there are cores: searches, proofs, then what else may help.

    A search for plans ends when it finds nothing better; what searches everything takes its place. On one core they
    take turns.
    """
    plans = _accepting(problem, Annealing(), SliceGraph())[:1]
    whole = _accepting(problem, Branching(), Ideals())[:1]
    bounds = _accepting(problem, Configuration())
    if cores == 1:
        turns = [Task(method, TURN) for _ in range(AROUND) for method in (*plans, *bounds)]
        return [[*(Task(method, TURN) for method in (*plans, *whole)), *turns]]
    far = whole and (problem.k <= FEW_DEVICES or problem.graph.n <= FEW_NODES)
    first = [Task(method, SEARCH_SHARE if far and cores == 2 else 1.0) for method in plans]
    first += [Task(method) for method in whole if cores == 2]
    second = [Task(method) for method in bounds]
    more = [[Task(method)] for method in whole]
    more += [[Task(method, seed=seed)] for seed in range(1, cores) for method in plans]
    return [lane for lane in (first, second, *more) if lane][:cores]


def _accepting(problem: Problem, *methods: Method) -> list[Method]:
    return [method for method in methods if method.accepts(problem) is None]
