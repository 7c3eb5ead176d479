"""The best single pipeline of a chain: a plan of copies that takes next to no time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.plan_rules import is_chain
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import least_bottleneck
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance, by_devices, instance_of

MAX_SINGLE = 5_000_000
"""Numbers of devices used of each type, times types and nodes, in the programme over them."""
GOOD = 0.1
"""A gap at which a pipeline is a first plan: to close it takes several times as long, or compiled code."""


def single_pipeline(
    problem: Problem,
    instance: ChainInstance,
    *,
    gap: float = 0.0,
    say: Callable[[str], None] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> tuple[Plan | None, float]:
    """Return the best single pipeline, None if there is none or it takes too long, and a bound on any.

    Args:
        problem: with copies.
        instance: of it.
        gap: relative, at which it is good enough.
        say: told when code has to be compiled.
        pause: raises where the time is up.
    """
    if np.prod(instance.count + 1.0) * instance.types * instance.n > MAX_SINGLE:
        return None, 0.0
    split = least_bottleneck(by_devices(instance), gap=gap, say=say, pause=pause)
    if split.device is None:
        return None, split.lower
    place = np.empty(instance.n, np.int64)
    place[instance.order] = split.device
    return Plan.create(problem, place), split.lower


def first_pipeline(problem: Problem) -> Plan | None:
    """Return a good single pipeline of a problem whose graph is a chain, None where there is none."""
    return single_pipeline(problem, instance_of(problem), gap=GOOD)[0] if is_chain(problem.graph) else None
