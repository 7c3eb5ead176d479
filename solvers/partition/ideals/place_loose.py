"""Moves groups of nodes that no order binds to the devices where they cost least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["settle"]

ROUNDS = 4


def settle(
    problem: Problem,
    assignment: Ints,
    groups: Sequence[tuple[int, ...]],
    pause: Callable[[], None],
    replicas: Mapping[int, tuple[int, ...]],
) -> Ints:
    """Return [n] devices in which no move of one of *groups* alone makes the loads, largest first, less.

    Moves go where a neighbour is, or to the device of least load; anywhere while memory is missing. It looks at no
    constraint but where nodes may be, and the limits of memory.

    Args:
        problem: the problem.
        assignment: [n] devices to begin with.
        groups: nodes that go together.
        pause: called now and then; may raise.
        replicas: of the plan.
    """
    assignment = assignment.copy()
    best = _key(problem, assignment, replicas)
    near = [_neighbours(problem, group) for group in groups]
    taken = [d for lead, members in replicas.items() for d in members if d != lead]
    for _ in range(ROUNDS):
        before = best
        for group, others in zip(groups, near, strict=True):
            pause()
            nodes = list(group)
            home = int(assignment[nodes[0]])
            open_to = np.setdiff1d(np.flatnonzero(problem.allowed[nodes].all(axis=0)), taken)
            if best[0] == 0:
                load = evaluate(problem, Plan(assignment, replicas=replicas)).load[open_to]
                lightest = open_to[load == load.min(initial=np.inf)][:1]
                open_to = np.intersect1d(open_to, np.append(assignment[others], lightest))
            for d in open_to.tolist():
                old = assignment[nodes]
                assignment[nodes] = d
                key = _key(problem, assignment, replicas)
                if key < best:
                    best, home = key, d
                else:
                    assignment[nodes] = old
            assignment[nodes] = home
        if best == before:
            break
    return assignment


def _neighbours(problem: Problem, group: Sequence[int]) -> Ints:
    graph = problem.graph
    ends = [array for v in group for array in (graph.successors(v), graph.predecessors(v))]
    return np.setdiff1d(np.concatenate(ends), group)


def _key(problem: Problem, assignment: Ints, replicas: Mapping[int, tuple[int, ...]]) -> tuple[float, ...]:
    """Return what is missing of memory, and the loads from largest to least."""
    costs = evaluate(problem, Plan(assignment, replicas=replicas))
    missing = np.maximum(costs.memory - problem.memory_limit, 0.0).sum()
    return float(missing), *sorted(costs.load.tolist(), reverse=True)
