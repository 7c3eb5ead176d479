"""Count again, in plain Python and in fractions, what the caches of a plan hold: by tokens, block by block."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

EXCUSED = Fraction(1, 10**9)
"""Of a device's memory: sums of sizes that are no whole numbers of bytes are rounded."""


def held_by_caches(problem: Problem, plan: Plan) -> tuple[Fraction, set[int]] | None:
    """Return how often what the caches are for fits on every device, and the devices where it fits least often.

    None where no constraint asks for it, or no device with a limited memory has a cache.
    """
    if not any(isinstance(rule, Memory) and rule.pool is not None for rule in problem.constraints):
        return None
    often: dict[int, Fraction] = {}
    for d, device in enumerate(problem.devices):
        nodes = [v for v in range(problem.graph.n) if int(plan.assignment[v]) == d]
        cache = sum(Fraction(float(problem.graph.cache[v])) for v in nodes)
        if device.memory is None or not cache:
            continue
        free = Fraction(Decimal(repr(float(device.memory)))) - Fraction(Decimal(repr(float(device.reserve))))
        free -= sum(Fraction(float(problem.graph.memory[v])) for v in nodes)
        free -= max(Fraction(float(problem.graph.workspace[v])) for v in nodes)
        often[d] = 1 + free / cache
    if not often:
        return None
    least: Fraction = min(often.values())
    return least, {d for d, times in often.items() if times <= least * (1 + EXCUSED)}


def whole_blocks(times: Fraction, tokens: int, block: int) -> set[int]:
    """Return the numbers of blocks that fit, where caches for *tokens* fit so often; two where rounding decides."""
    exact = times * tokens / block
    slack = EXCUSED * max(exact, Fraction(1))
    return {int(number // 1) for number in (exact, exact + 2 * slack)}
