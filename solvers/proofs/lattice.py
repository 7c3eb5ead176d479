"""Certificates ``ideals``: of a pipeline whose graph has few ideals, all chains of ideals, by the definition alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, InOrder, Linear, Replicate, Used
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.chain_labels import some_chain
from mtpp_dsl.solvers.proofs.goals import ALLOWED, Goal
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.ideal_blocks import GENEROUS, IdealSets, LoadBlocks, ideals_of
from mtpp_dsl.solvers.proofs.kept_together import kept_together
from mtpp_dsl.solvers.proofs.phase_blocks import PhaseBlocks
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, number
from mtpp_dsl.solvers.proofs.stage_blocks import StageBlocks

__all__ = ["IdealsProof"]

MAX_IDEALS = 60_000
MAX_TABLE = 100_000_000
MAX_COUNTS = 4_096
"""Ways to have used some devices of each kind."""


class IdealsProof:
    """``{"target": T}``: no chain of ideals has all blocks below T.

    The devices of an acyclic plan have an order in which what the first of them hold is an ideal: with a node it has
    all that the node needs. So a plan is a chain of ideals, and a device's block is what one ideal has more than the
    one before. Of a training graph these are ideals of the forward part. For every ideal, in the order of size, the
    checker notes which numbers of devices of each kind can hold it with loads below T (tarnawski2020, 5.1.1). If none
    can hold the whole graph, no plan is below T. With ``constraint stages`` over all devices, their order is the given
    one.

    Where used devices have prices, the same with loads up to the bottleneck that a row allows: the least price of
    numbers of devices that can hold the whole graph is T or more.

    Where a cost grows with bottlenecks and latencies, of several phases perhaps, and where stages are replicated, split
    over devices, or keep more the more stages come after them, the checker goes from the last block to the first and
    notes all that blocks so far can take and that nothing dominates, see :mod:`.chain_labels`.

    Loads are work, the tensors that cross the block's border, and streaming; on networks of links, work alone. A block
    whose load as it is computed is below the target by no more than rounding counts as below it. Nodes that some plan
    below the target keeps together, if there is one, are one node: see :func:`.kept_together`.
    """

    name = "ideals"
    summary = "all chains of ideals, where the graph has few (tarnawski2020, 5.1.1)"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.contracts.Checker`."""
        target = number(data, "target")
        if not problem.acyclic:
            raise Refused("only acyclic plans are chains of ideals")
        if problem.staged or any(isinstance(rule, Replicate) for rule in problem.constraints):
            possible = some_chain(StageBlocks(problem, target, limits), limits)
        elif problem.objective.quantity != "bottleneck" and prices_of(problem) is None:
            possible = some_chain(PhaseBlocks(problem, target, limits), limits)
        else:
            possible = _some_counts(problem, target, limits)
        if possible:
            raise Refused(f"a chain of ideals has all blocks below {target!r}")
        return target


def _some_counts(problem: Problem, target: float, limits: Limits) -> bool:
    """Return whether some numbers of devices of each kind can hold the whole graph below the target."""
    prices = None if problem.objective.quantity == "bottleneck" else prices_of(problem)
    rules = [rule for rule in problem.constraints if not isinstance(rule, Linear)]
    asked = problem.asking(Objective("bottleneck"), rules)
    if all(isinstance(one, Bottleneck) for row in problem.of(Linear) for one, _ in row.terms):
        asked = asked.with_constraints([*rules, *kept_together(asked)])  # a plan may use fewer devices then
    reading = ProofReading(asked, work_alone=True)
    most = _most_allowed(problem) if prices is not None else min(target, _most_allowed(problem))
    blocks = _Blocks(reading, most, limits)
    order = next((rule for rule in problem.of(InOrder) if _names_all(rule, problem.k)), None)
    if prices is None and order is not None:
        return _in_order(blocks, reading, range(problem.k) if order.devices is None else order.devices)
    reachable = _in_any_order(blocks, reading)
    counts = [tuple(of_kinds) for of_kinds in np.argwhere(reachable).tolist()]
    index = problem.device_index
    goal = Goal(problem, [[index[name] for name in kind.devices] for kind in reading.kinds])
    nothing = np.zeros((1, sum(goal.widths)))
    kept = (of_kinds for of_kinds in counts if goal.kept(nothing, of_kinds).all())
    if prices is None:
        return any(True for _ in kept)
    return any(goal.below(target, nothing, of_kinds).all() for of_kinds in kept)


def prices_of(problem: Problem) -> dict[str, float] | None:
    """Return what the use of each device costs, by its name; None where something else costs, too."""
    objective = problem.objective
    if not objective.is_linear or objective.sense != "minimize":
        return None
    prices = dict.fromkeys((device.name for device in problem.devices), 0.0)
    for decision, price in objective.terms:
        if not isinstance(decision, Used) or price < 0:
            return None
        prices[problem.devices[decision.device].name] = price
    return prices


def _most_allowed(problem: Problem) -> float:
    """Return a load that no device may exceed, by the rows that limit the bottleneck alone; ``inf`` without one."""
    rows = (row for row in problem.hard_rows if row.sense in ("<=", "==") and len(row.terms) == 1)
    limits = (row.rhs / a for row in rows for decision, a in row.terms if decision == Bottleneck() and a > 0)
    return min((limit * (1 + ALLOWED) for limit in limits if limit > 0), default=inf)


def _names_all(rule: InOrder, k: int) -> bool:
    """Return whether a rule gives an order to all devices."""
    return rule.devices is None or len(set(rule.devices)) == k


class _Blocks:
    """Which devices can hold what one ideal has more than another, at a load below the target.

    Args:
        reading: of the problem.
        target: in the problem's unit of time.
        limits: of time.
    """

    def __init__(self, reading: ProofReading, target: float, limits: Limits) -> None:
        ideals = IdealSets(ideals_of(reading, limits, MAX_IDEALS), len(reading.members))
        self.count, self._limits, self._target = ideals.count, limits, target
        self._blocks = LoadBlocks(reading, ideals)

    def from_(self, i: int, others: int | None = None) -> tuple[Ints, Bools]:
        """Return the larger ideals that one more device may reach, and [larger, kinds] which of them each kind can.

        Only so many *others* may hold the rest, if that is given: it is below the target for each of these together.
        """
        if i % 64 == 0 and self._limits.remaining <= 0:
            raise UsageError(NOT_ENOUGH)
        larger = self._blocks.larger(i, self._target, inf if others is None else others * self._target)
        loads = self._blocks.loads(i, larger)
        return larger, (loads < self._target * (1 + GENEROUS)) & self._blocks.fits(i, larger)


def _in_any_order(blocks: _Blocks, reading: ProofReading) -> Bools:
    """Return [count + 1 of each kind] which numbers of devices can hold the whole graph below the target."""
    counts = tuple(len(kind.devices) + 1 for kind in reading.kinds)
    if np.prod(counts, dtype=np.float64) > MAX_COUNTS:
        raise Refused(f"there are more than {MAX_COUNTS:,} numbers of devices of each kind")
    if blocks.count * np.prod(counts, dtype=np.float64) > MAX_TABLE:
        raise Refused("there are too many ideals beside the numbers of devices of each kind")
    reachable = np.zeros((blocks.count, *counts), np.bool_)  # of each ideal, by which numbers of devices of each kind
    reachable[(0,) * reachable.ndim] = True
    used = np.indices(counts).sum(axis=0)
    k = sum(counts) - len(counts)
    for i in range(blocks.count - 1):
        if not (reachable[i] & (used < k)).any():
            continue
        larger, able = blocks.from_(i, k - 1 - int(used[reachable[i]].min()))
        for q, fits in enumerate(able.T):
            one_more = np.zeros_like(reachable[i])
            given, taken = [slice(None)] * len(counts), [slice(None)] * len(counts)
            given[q], taken[q] = slice(1, None), slice(None, -1)
            one_more[tuple(given)] = reachable[i][tuple(taken)]
            reachable[larger[fits]] |= one_more
    whole: Bools = reachable[-1]
    return whole


def _in_order(blocks: _Blocks, reading: ProofReading, order: Sequence[int]) -> bool:
    """Return whether devices in this order can hold the whole graph below the target; some may stay empty."""
    kind_of = {name: q for q, kind in enumerate(reading.kinds) for name in kind.devices}
    kinds = [kind_of[reading.problem.devices[d].name] for d in order]
    first = np.full(blocks.count, len(kinds) + 1)  # how many devices of the order have to be gone through to hold it
    first[0] = 0
    for i in range(blocks.count - 1):
        if first[i] >= len(kinds):
            continue
        larger, able = blocks.from_(i)
        for place in range(len(kinds) - 1, int(first[i]) - 1, -1):
            reached = larger[able[:, kinds[place]]]
            first[reached] = np.minimum(first[reached], place + 1)
    return bool(first[-1] <= len(kinds))
