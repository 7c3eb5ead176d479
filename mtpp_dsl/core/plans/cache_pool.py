"""Count how much the caches of a plan hold where every device gets as many blocks as the fullest can hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, fsum

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

ROUNDING = 1e-9
"""A number of blocks that is a whole one but for this share of it is that whole number: sizes are sums of floats."""


@dataclass(frozen=True)
class CachePool:
    """What the caches of a plan hold, by ``constraint cache uniform``.

    Attributes:
        times: how often what the ``cache`` of the nodes is for fits on the fullest device.
        device: the number of that device.
        blocks: that each device has; None where the spec does not say how many tokens the caches are for.
        tokens: in these blocks; None likewise.
    """

    times: float
    device: int
    blocks: int | None = None
    tokens: int | None = None


def cache_pool(problem: Problem, plan: Plan) -> CachePool | None:
    """Return what the caches of *plan* hold; None where nothing is asked of them, or no device limits them.

    With c(d) the sum of the caches of the nodes on d, and w(d) that of the rest of their memory, with the largest of
    their workspaces, the fullest device is the one of the least ``x(d) = (memory(d) - reserve(d) - w(d)) / c(d)``.
    Caches are for T tokens in blocks of b, so each device has ``floor(x T / b)`` blocks, with the least x.
    """
    pool = problem.cache_blocks
    if pool is None:
        return None
    fullest: tuple[Fraction, int] | None = None
    for d, nodes in enumerate(plan.nodes_on(problem.k)):
        caches, memory = ([float(column[v]) for v in nodes] for column in (problem.graph.cache, problem.graph.memory))
        cache = fsum(caches)
        if problem.devices[d].memory is None or not cache:
            continue
        working = max(float(problem.graph.workspace[v]) for v in nodes)
        spare = fsum([problem.devices[d].room, -working, *(-taken for taken in memory), *caches])
        times = Fraction(spare) / Fraction(cache)
        fullest = min(fullest or (times, d), (times, d))
    if fullest is None:
        return None
    times, d = fullest
    if pool.tokens is None:
        return CachePool(float(times), d)
    exact = times * pool.tokens / pool.block
    blocks = floor(exact + max(exact, Fraction(1)) * Fraction(ROUNDING))
    return CachePool(float(times), d, blocks, blocks * pool.block)
