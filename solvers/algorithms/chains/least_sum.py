"""The least sum of priced loads of a chain over devices with links from each to each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain, typed
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import traced
from mtpp_dsl.solvers.algorithms.chains.stages_kernel import CHEAPEST

__all__ = ["least_sum"]


def least_sum(
    chain: NodeChain,
    price: Floats,
    sending: Floats | None = None,
    receiving: Floats | None = None,
    *,
    say: Callable[[str], None] | None = None,
) -> tuple[float, Ints] | None:
    """Return the least sum of prices times loads of any split, and one that has it; None where there is no split.

    Each device holds one range of nodes, or none. Sums are in floating point, with their rounding.

    Args:
        chain: what is split, and over which devices; whether transfers overlap work is not read.
        price: [devices] what a unit of work costs on each, at least 0.
        sending: [devices] the same for sending; *price*, where it is not given.
        receiving: the same for receiving.
        say: told when code has to be compiled.
    """
    sending = price if sending is None else sending
    receiving = price if receiving is None else receiving
    types = typed(chain, price, sending, receiving)
    first = [group[0] for group in types.members]
    n, kinds = types.time.shape
    may = np.isfinite(types.time)
    ahead = np.zeros((kinds, n + 1))
    np.cumsum((np.where(may, types.time, 0.0) * price[first]).T, axis=1, out=ahead[:, 1:])
    begins = np.zeros((kinds, n + 1), np.int64)
    np.maximum.accumulate(np.where(may, 0, np.arange(1, n + 1)[:, None]).T, axis=1, out=begins[:, 1:])
    with np.errstate(invalid="ignore"):
        closing = types.sent * sending[first][:, None] + types.received * receiving[first]
    closing[np.isinf(types.sent) | np.isinf(types.received)] = np.inf
    into = np.full((types.states, kinds, n), np.inf)
    origin = np.empty((types.states, kinds, n, 2), np.int64)
    answer = np.zeros(3, np.int64)
    held = np.concatenate([[0.0], np.cumsum(types.memory)])
    run = CHEAPEST.pick(10 * into.size * kinds, say)
    best = run(
        ahead, begins, held, types.room, closing, types.stride, types.left, into, origin, np.empty(n, np.int64), answer
    )
    if best == np.inf:
        return None
    return float(best), types.devices(traced(types, origin, answer), n)
