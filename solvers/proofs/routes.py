"""Certificates ``routes``: prices of devices at which no single route is cheap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import fsum, inf, prod
from typing import Any

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Copies,
    Forbid,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.plan_rules import is_chain
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import named_numbers

ROUNDING = 1e-11
KNOWN = (Acyclic, BreakSymmetry, Colocate, Contiguous, Copies, Forbid, Memory, Pin, Separate)
MAX_ENTRIES = 25_000_000
"""Numbers of devices used of each type, times types and places, where devices are counted."""


class Routes:
    """``{"prices": {device: p}}``: no shares of routes have a period below the least sum of p * load of any route.

    For shares x of routes a, the sum of x * p * load is at most the period times the sum of p, whatever devices hold.
    Of a chain the least sum is found over numbers of devices used of each type (a device has one stage of a route,
    under ``acyclic``), places where stages begin, and the memory of each device for one route. Devices that nothing
    tells apart are of one type; where the numbers are too many, devices may come again. Of other graphs every node
    counts by itself at the device where p * time is least, and no transfer counts.
    """

    name = "routes"
    summary = "prices of devices at which no single route is cheaper than the bound"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the bound; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        if problem.objective.quantity != "bottleneck" or problem.objective.batch is not None:
            raise Refused(
                "certificates of routes are about bottlenecks: certificates are about loads on shared and host"
                " interconnects, links and trees"
            )
        reason = _no_routes(problem)
        if reason is not None:
            raise Refused(f"certificates of routes are for 'constraint copies', and {reason}")
        other = next((c for c in problem.constraints if not isinstance(c, KNOWN)), None)
        if other is not None:
            raise Refused(f"what 'constraint {other.keyword}' means for routes is not known")
        prices = named_numbers(data, "prices")
        unknown = next((name for name in prices if name not in problem.device_index), None)
        if unknown is not None:
            raise Refused(f"the certificate names {unknown!r}, which is no device")
        price = np.array([prices.get(device.name, 0.0) for device in problem.devices])
        if (price < 0).any() or not price.sum() > 0 or not np.isfinite(price).all():
            raise Refused("the certificate gives no device a price, or one below zero")
        total = fsum(price.tolist())
        work = np.where(problem.allowed, price * np.where(problem.allowed, problem.time, 0.0), inf)
        if not is_chain(problem.graph):
            return fsum(work.min(axis=1).tolist()) / total * (1 - ROUNDING)
        return _cheapest(problem, price, work, limits) / total * (1 - ROUNDING)


def _no_routes(problem: Problem) -> str | None:
    """Return why loads or stages of the problem are not those that the programme adds up, or None.

    With ``copies`` devices of a network send, receive and work one after the other. A backward part may return to a
    device under ``acyclic``, and phases have loads of their own.
    """
    if not any(problem.of(Copies)):
        return "there is none"
    if problem.graph.backward.any():
        return "there is a backward part"
    return "there are phases" if problem.graph.phases else None


def _cheapest(problem: Problem, price: Floats, work: Floats, limits: Limits) -> float:
    """Return the least priced sum of any route of a chain."""
    order, n = list(_along(problem)), problem.graph.n
    handed = _handed(problem, price, order)
    types = _types(price, work, problem.memory_limit, handed)
    first, second = [group[0] for group in types], [group[-1] for group in types]
    between = handed[:, first][:, :, first]
    between[:, range(len(types)), range(len(types))] = handed[:, first, second]
    alone = [q for q, group in enumerate(types) if len(group) == 1]
    between[:, alone, alone] = inf
    work = work[order][:, first]
    barred = _barred(work, problem.graph.memory[order], problem.memory_limit[first])
    ahead = np.vstack([np.zeros(len(types)), np.cumsum(np.where(np.isfinite(work), work, 0.0), axis=0)])
    count = [len(group) for group in types]
    again = not any(problem.of(Acyclic)) and all(c.devices is not None for c in problem.of(Contiguous))
    states = prod(size + 1 for size in count)
    if again or states * len(types) * (n + 1) > MAX_ENTRIES:
        return _returning(ahead, barred, between)
    entered = np.full((states, len(types), n + 1), inf)
    entered[0, :, 0] = 0.0
    best = inf
    for number, used in enumerate(product(*(range(size + 1) for size in count))):
        if limits.remaining <= 0:
            raise UsageError("the time was not enough to check the bound over all numbers of devices")
        for d, size in enumerate(count):
            if used[d] == size or not np.isfinite(entered[number, d]).any():
                continue
            ended = ((entered[number, d] - ahead[:, d])[:, None] + barred[d]).min(axis=0) + ahead[:, d]
            best = min(best, float(ended[n]))
            new = number + prod(other + 1 for other in count[d + 1 :])
            for e, most in enumerate(count):
                if used[e] + (d == e) < most:
                    entered[new, e, 1:n] = np.minimum(entered[new, e, 1:n], ended[1:n] + between[: n - 1, d, e])
    return best


def _types(price: Floats, work: Floats, room: Floats, handed: Floats) -> list[list[int]]:
    """Return devices that nothing tells apart: neither prices, nor work, nor memory, nor transfers with any device."""
    types: list[list[int]] = []
    for d in range(len(price)):
        for group in types:
            e = group[0]
            others = np.delete(np.arange(len(price)), [d, e])
            if (
                price[d] == price[e]
                and room[d] == room[e]
                and np.array_equal(work[:, d], work[:, e])
                and np.array_equal(handed[:, d, others], handed[:, e, others])
                and np.array_equal(handed[:, others, d], handed[:, others, e])
                and np.array_equal(handed[:, d, e], handed[:, e, d])
            ):
                group.append(d)
                break
        else:
            types.append([d])
    return types


def _returning(ahead: Floats, barred: Floats, between: Floats) -> float:
    """Return the same where a route may come back to a device, or use more devices of a type than there are."""
    n, types = ahead.shape[0] - 1, ahead.shape[1]
    entered = np.full((types, n + 1), inf)
    entered[:, 0] = 0.0
    best = inf
    for end in range(1, n + 1):
        ended = np.array([(entered[d] - ahead[:, d] + barred[d][:, end]).min() + ahead[end, d] for d in range(types)])
        if end == n:
            best = float(ended.min())
        else:
            entered[:, end] = (ended[:, None] + between[end - 1]).min(axis=0)
    return best


def _along(problem: Problem) -> Iterator[int]:
    """Yield the nodes of a chain from its begin."""
    after = dict(zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True))
    v = next(iter(set(range(problem.graph.n)) - set(after.values())))
    for _ in range(problem.graph.n):
        yield v
        v = after.get(v, v)


def _barred(work: Floats, memory: Floats, room: Floats) -> Floats:
    """Return [types, n + 1, n + 1] 0 where a stage may go from one place to before another, else infinity."""
    n, types = work.shape
    sums = np.concatenate([[0.0], np.cumsum(memory)])
    takes = sums[None, :] - sums[:, None]
    slack = ROUNDING * sums[-1]
    place = np.arange(n + 1)
    toll = np.full((types, n + 1, n + 1), inf)
    for d in range(types):
        closed = np.concatenate([[0], np.cumsum(np.isinf(work[:, d]))])
        may = (place[None, :] > place[:, None]) & (closed[None, :] == closed[:, None])
        may &= takes <= room[d] * (1 + TOLERANCE) + slack
        toll[d][may] = 0.0
    return toll


def _handed(problem: Problem, price: Floats, order: list[int]) -> Floats:
    """Return [n, k, k] the priced transfer behind each place."""
    link, k = problem.interconnect, problem.k
    if isinstance(link, (Shared, Host)):
        rate = np.full((k, k), float(link.bandwidth))
        if link.between is not None:
            names = [device.group for device in problem.devices]
            rate = np.array([[link.bandwidth if a == b else link.between for b in names] for a in names])
        pays = np.array([price[d] if isinstance(link, Shared) or problem.devices[d].pays_io else 0.0 for d in range(k)])
        both = (pays[:, None] + pays) / rate
        return np.asarray(problem.graph.output[order][:, None, None] * both)
    net = problem.network
    size = np.zeros(problem.graph.n)
    size[problem.graph.tails] = problem.graph.sizes
    wide = size[order][:, None, None]
    there = net.rate > 0
    sends = price[:, None] * (np.where(there, net.out_delay, 0.0) + wide * net.out_inverse)
    takes = price * (np.where(there, net.in_delay, 0.0) + wide * net.in_inverse)
    return np.where(there[None], sends + takes, inf)
