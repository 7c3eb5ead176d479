"""One run of method ``ideals``: which supernodes to search, and what their splits and bounds mean for the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, Memory, Pin
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import least_bottleneck
from mtpp_dsl.solvers.algorithms.homes.of_problem import path_of
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, ordered_supernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import BlockStep
from mtpp_dsl.solvers.partition.ideals.ideals_search import (
    APART,
    NO_CHAIN_OF_IDEALS,
    UNASKED,
    IdealsSearch,
    Placed,
    as_verified,
    ignore,
)
from mtpp_dsl.solvers.partition.ideals.raise_target import RaisingSearch
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.runtime.reduced import Aside, identity

__all__ = ["FlatRun"]

MAX_QUICK_IDEALS = 20_000
"""So few ideals are searched in seconds."""
MAX_FREE = 8_000
"""With more ideals than this, no more groups that may be anywhere are put in."""
DETAIL = (
    "every chain of ideals has a load of this or more (tarnawski2020, 5.1); loads were added up in whole numbers, "
    "rounded down"
)
FREE = (
    "some colocated groups have no forward node and may be anywhere; plans follow their backward edges, and the "
    "bound counts only what they cost wherever they are"
)
PATH = (
    "every split of the path of nodes has a load of this or more: a dynamic programme over nodes done, devices used "
    "and the next device; loads were added up in whole numbers, rounded down"
)
CROWDED = "the ideals of {n} supernodes take more than {room:,.0f} MB; only those that a search reached were stored"


class FlatRun(IdealsSearch):
    """Solves one problem, with *slices* for first plans."""

    def _prepare(self) -> None:
        contract = Contract()
        self._problem = self._original
        self._lift: Callable[[Plan], Plan] = identity
        if contract.accepts(self._problem) is None:
            self._problem, self._lift = contract.apply(self._problem)
        self._devices = as_verified(device_types(self._problem), self._problem)
        self._supernodes: OrderedSupernodes | None = None

    def _go(self) -> None:
        problem = self._problem
        relaxed = ordered_supernodes(problem, self._devices, "relaxed")
        if not problem.acyclic:
            self._incumbent.note(UNASKED)
        if self._along_path(relaxed):
            return
        if self._sliceable:
            self._slice(self._sliced(moves=0))
            self._pause()
        forward = relaxed if not relaxed.eliminated else ordered_supernodes(problem, self._devices, "forward")
        main = self._search(forward, proves=problem.acyclic and not relaxed.eliminated)
        if main is not None and np.isfinite(main.upper) and self._incumbent.cost > main.upper * (1 + TOLERANCE):
            self._incumbent.note(APART)
            for mode in ("mirrored", "parallel"):
                self._search(ordered_supernodes(problem, self._devices, mode), proves=False)
        if problem.acyclic and relaxed.eliminated:
            self._incumbent.note(FREE)
            self._bound_freely(relaxed)

    @property
    def _sliceable(self) -> bool:
        return self._sliced().accepts(self._problem) is None

    def _sliced(self, **options: int) -> Method:
        """Return the method that slices orders."""
        assert self._slices is not None
        return self._slices(**options)

    def _slice(self, method: Method) -> None:
        """Keep the plan of slicing orders of the nodes, where no nodes have to be together."""
        limits = replace(self._limits, start=None)
        plan = method.solve(self._problem, limits, Aside(self._progress)).plan
        if plan is not None:
            self._incumbent.take(self._lift(plan))

    def _bound_freely(self, supernodes: OrderedSupernodes) -> None:
        """Bound from below with more and more of the groups that may be anywhere, while there are few ideals."""
        keep = 0
        while True:
            search = self._search(supernodes, proves=True)
            few = search is not None and search.ideals <= MAX_FREE and not search.crowded
            if not few or self._closed or not supernodes.eliminated:
                return
            keep += 2
            supernodes = ordered_supernodes(self._problem, self._devices, "relaxed", keep)

    def _along_path(self, supernodes: OrderedSupernodes) -> bool:
        """Solve supernodes that are a path, each device a range of them; return whether nothing is left to do."""
        path = None
        if self._problem.acyclic and not self._problem.graph.backward.any():
            path = path_from(supernodes, self._devices)
        if path is None:
            return False
        chain, order = path
        split = least_bottleneck(chain, upper=self._incumbent.cost, say=self._progress.say, pause=self._pause)
        if split.lower == np.inf:
            self._no_plan(NO_CHAIN_OF_IDEALS, Acyclic, Colocate, Forbid, Memory, Pin, problem=self._problem)
            return True
        if split.device is not None:
            assignment = np.empty(self._problem.graph.n, np.int64)
            for supernode, device in zip(order, split.device.tolist(), strict=True):
                assignment[list(supernodes.members[supernode])] = device
            self._incumbent.take(self._lift(Plan.create(self._problem, assignment)))
        self._raise(min(split.lower, self._incumbent.cost), PATH)
        return self._closed

    def _search(self, supernodes: OrderedSupernodes, *, proves: bool) -> RaisingSearch | None:
        """Search one mode of the problem; None if some supernode fits on no device."""
        if not (np.isfinite(supernodes.time) & (supernodes.memory[:, None] <= self._devices.memory)).any(axis=1).all():
            return None
        self._supernodes = supernodes
        search = RaisingSearch(
            supernodes,
            self._devices,
            most_bytes=self._most_bytes,
            seed=self._limits.seed,
            say=self._progress.say,
            pause=self._pause,
            keep=self._found,
            bounded=self._bounded if proves else ignore,
            improve=self._improve,
            counted=self._counted,
        )
        search.run(
            self._incumbent.cost, self._limits.gap, along_orders=self._incumbent.plan is None or not self._sliceable
        )
        if search.crowded:
            self._incumbent.note(CROWDED.format(n=supernodes.n, room=self._most_bytes / 1e6))
        if search.crowded and not search.done:
            self._termination = "limit"
        if proves and search.done and np.isinf(search.upper):
            self._no_plan(NO_CHAIN_OF_IDEALS, Acyclic, Colocate, Forbid, Memory, Pin, problem=self._problem)
        return search

    def _counted(self, ideals: int) -> None:
        self._few = ideals <= MAX_QUICK_IDEALS

    def _improve(self) -> float:
        """Look for better plans in another way; return the cost of the best."""
        if self._sliceable:
            self._slice(self._sliced())
        return self._incumbent.cost

    def _found(self, steps: Sequence[BlockStep], value: float) -> float:
        """Turn a split into a plan, keep it if it is one, and return what the split costs."""
        supernodes = self._supernodes
        assert supernodes is not None
        assignment, replicas, _ = Placed.on_types(
            self._problem.graph.n, self._devices.members, supernodes.members, steps
        )
        if supernodes.eliminated:
            assignment = settle(self._problem, assignment, supernodes.eliminated, self._pause, replicas)
        plan = self._lift(Plan.create(self._problem, assignment, replicas=replicas))
        self._incumbent.take(plan)
        return value if supernodes.eliminated else max(evaluate(self._original, plan).cost, value)

    def _bounded(self, lower: float) -> None:
        self._raise(lower, DETAIL)


# Supernodes that are a path: each device has a range of them.

MAX_TRANSFERS, MAX_PLACES = 10_000_000, 5_000_000
"""So many numbers say what each device of two pays for each tensor; nodes times sets of used devices times types."""


def path_from(supernodes: OrderedSupernodes, devices: DeviceTypes) -> tuple[NodeChain, list[int]] | None:
    """Return *supernodes* as a chain over all devices, and their order there.

    None where they are no path, a tensor passes by one of them, or loads are no sums: of streams, of replicas. None,
    too, where devices are of so many types that the programme would take much more memory than the search of ideals.
    """
    n, k = supernodes.n, len(devices.of)
    places = n * len(devices.members) * prod(len(members) + 1 for members in devices.members)
    if n * k * k > MAX_TRANSFERS or places > MAX_PLACES:
        return None
    if supernodes.eliminated or (devices.replicas > 1).any():
        return None
    if (supernodes.params.sum() > devices.overflow).any():
        return None
    order = path_of(set(supernodes.before), n)
    if order is None:
        return None
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    cost = np.zeros(n)
    for pins, paid in supernodes.nets:
        ends = np.sort(place[list(pins)])
        if len(ends) != 2 or ends[1] != ends[0] + 1:
            return None
        cost[ends[0]] += paid
    pays = devices.pays[devices.of].astype(np.float64)
    sent = np.broadcast_to(cost[:, None, None] * pays[:, None], (n, k, k))
    received = np.broadcast_to(cost[:, None, None] * pays[None, :], (n, k, k))
    return (
        NodeChain(
            time=supernodes.time[order][:, devices.of],
            memory=supernodes.memory[order],
            room=devices.memory[devices.of],
            sent=np.ascontiguousarray(sent),
            received=np.ascontiguousarray(received),
        ),
        order,
    )


# Moves groups of nodes that no order binds to the devices where they cost least.

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
    missing = np.maximum(costs.memory - costs.workspace - problem.memory_limit, 0.0).sum()
    return float(missing), *sorted(costs.load.tolist(), reverse=True)
