"""Small random problems of every kind, with some of their plans by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from tests import networks
from tests.makespans import makespan_problem
from tests.objective_problems import random_case
from tests.staging import random_groups, random_stages
from tests.weighted_problems import random_problem

__all__ = ["KINDS", "every_plan", "problem_of"]

KINDS = ("groups", "links", "makespan", "network", "objectives", "stages", "weighted")


@cache
def problem_of(kind: str, seed: int) -> Problem:
    """Return the problem of a kind for a seed."""
    match kind:
        case "stages":
            return random_stages(seed, n=4)
        case "groups":
            return random_groups(seed)
        case "network":
            return networks.random_problem(Random(seed), n=4)
        case "links":
            return makespan_problem(seed, n=3, k=2, plain=True)
        case "makespan":
            return makespan_problem(seed, n=4, k=2)
        case "objectives":
            return random_case(seed).problem
        case _:
            return random_problem(seed, objectives=1 + seed % 2, most=4)


def every_plan(problem: Problem, most: int) -> Iterator[Plan]:
    """Yield the plans of a problem, of very many the first."""
    return islice(plans(problem), most)
