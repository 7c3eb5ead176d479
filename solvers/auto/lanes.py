"""What auto runs at the same time, and in which order where it has one core."""

from __future__ import annotations

from mtpp_dsl.contracts import Method
from mtpp_dsl.problem import Problem
from mtpp_dsl.solvers.annealing.method import Annealing
from mtpp_dsl.solvers.bounds.configuration import Configuration
from mtpp_dsl.solvers.combinatorial.slicegraph import SliceGraph
from mtpp_dsl.solvers.ideals.method import Ideals
from mtpp_dsl.solvers.portfolio.lane import Task

__all__ = ["lanes"]

IDEALS_SHARE = 0.4
TURN = 0.4
"""Of the time left, on one core, until it is the other's turn."""
AROUND = 6


def lanes(problem: Problem, cores: int) -> list[list[Task]]:
    """Return lanes of tasks, at most as many as there are cores: searches, proofs, then what else may help.

    On one core search and proof take turns.
    """
    searches = _accepting(problem, Annealing(), SliceGraph())[:1]
    proofs = _accepting(problem, Configuration())
    both = _accepting(problem, Ideals())
    if cores == 1:
        turns = [Task(method, TURN) for _ in range(AROUND) for method in (*searches, *proofs)]
        return [[*(Task(method, IDEALS_SHARE) for method in both), *turns]]
    search = [Task(method) for method in searches]
    proof = [*(Task(method, IDEALS_SHARE) for method in both if cores == 2), *(Task(method) for method in proofs)]
    more = [[Task(method)] for method in both]
    more += [[Task(method, seed=seed)] for seed in range(1, cores) for method in searches]
    return [lane for lane in (search, proof, *more) if lane][:cores]


def _accepting(problem: Problem, *methods: Method) -> list[Method]:
    return [method for method in methods if method.accepts(problem) is None]
