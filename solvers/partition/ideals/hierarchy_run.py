"""Method ``ideals`` on a hierarchy of devices: the programme on two levels, and bounds from one level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Forbid, Memory, Pin
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.plan_rules import is_chain
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import least_bottleneck
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, lattice_of
from mtpp_dsl.solvers.algorithms.ideals.lattice import chain as prefixes
from mtpp_dsl.solvers.algorithms.ideals.outside import Prices
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes, TrainingOrder, ordered_supernodes
from mtpp_dsl.solvers.partition.ideals.flat_run import FlatRun
from mtpp_dsl.solvers.partition.ideals.group_level import groups_as_devices, within_groups
from mtpp_dsl.solvers.partition.ideals.ideals_search import APART, UNASKED, IdealsSearch, along, as_verified, pieces
from mtpp_dsl.solvers.partition.ideals.nest import Nest, choices_of, group_types, nest_of, one_level
from mtpp_dsl.solvers.partition.ideals.two_levels import ROUNDING, GroupStep, TooLongError, nested
from mtpp_dsl.solvers.runtime.reduced import Aside

__all__ = ["MAX_IDEALS", "NestedRun"]

MAX_IDEALS = 50_000
"""With more ideals than this, only the prefixes of some orders are gone through."""
FEW_IDEALS = 1_000
"""With no more than this the search is near its end; where nothing is proved, more are not gone through."""
LABEL_BYTES = 40
"""Taken for each ideal and each number of groups, or devices in a group, that are used."""
ORDERS = 8
MAX_PIECES = 200
"""Orders of more supernodes than this are cut into so many pieces."""
NEAR = (1.05, 1.3, 2.0)
ONE_LEVEL_SHARE = 0.3
GROUPS_SHARE = 0.3
FIRST_STEP = 0.02
ROUNDS = 3
"""Groups of nodes that were left out of a search are put where they cost least so many times, one after the other."""
DETAIL = "every split on two levels has a load of this or more (the programme of PipeDream, over ideals)"
WITHOUT = "; with the bandwidth inside a group everywhere, and no exchange of weights"
GROUPS_DETAIL = (
    "the devices of a group have on average this load or more in some group of every split (the programme over ideals, "
    "with a device for each group)"
)
MANY = "the supernodes have more than {most:,} ideals: the plan is the best along some orders"
LONG = "there are too many ideals for targets this far above the bound of one level: the plan is the best found"
ENTERED = (
    "data may enter a group more than once, but where the graph is no chain, ideals looks at plans that enter each "
    "once, and its bound is that of one level"
)
OF_CHAIN = "every chain of stages has a load of this or more, with the bandwidth between each pair of devices"
FREE = (
    "some colocated groups have no forward node; the bound counts only what they cost wherever they are, and plans are "
    "the best without them, or follow their backward edges"
)


class NestedRun(IdealsSearch):
    """Solves one problem on a hierarchy; the optimum on one level tells of clashes, and bounds it."""

    looks_for_clashes = False

    def _prepare(self) -> None:
        problem = self._original
        link = problem.interconnect
        assert isinstance(link, (Shared, Host))
        self._flat = replace(problem, interconnect=replace(link, between=None))
        self._devices = as_verified(device_types(self._flat), problem)
        self._types = group_types(problem, self._devices)
        self._choices = choices_of(self._types, self._devices)
        self._guide: Plan | None = None

    def _go(self) -> None:
        self._on_one_level()
        if self._infeasibility is not None:
            return
        if self._original.groups_free and self._as_chain():
            return
        self._on_groups()
        orphans = bool(ordered_supernodes(self._flat, self._devices, "relaxed").eliminated)
        proves = self._original.acyclic and not orphans and not self._original.groups_free
        if self._original.groups_free:
            self._incumbent.note(ENTERED)
        if not self._original.acyclic:
            self._incumbent.note(UNASKED)
        elif orphans:
            self._incumbent.note(FREE)
        best = self._search("forward", proves=proves)
        if orphans and self._original.acyclic and not self._original.groups_free:
            self._bound_freely()
        if np.isfinite(best) and self._incumbent.cost > best * (1 + TOLERANCE):
            self._incumbent.note(APART)
            for mode in ("mirrored", "parallel"):
                self._search(mode, proves=False)

    def _as_chain(self) -> bool:
        """Where the graph is a chain, find the best split by links between pairs of devices, and return True."""
        instance = chain_with_groups(self._original)
        if instance is None:
            return False
        split = least_bottleneck(
            instance, upper=self._incumbent.cost, gap=self._limits.gap, say=self._progress.say, pause=self._pause
        )
        if split.device is not None:
            back = np.empty_like(split.device)
            back[list(self._original.graph.topological_order)] = split.device
            self._incumbent.take(Plan.create(self._original, back))
        lower = min(split.lower, self._incumbent.cost)
        if np.isfinite(lower):
            self._raise(lower, OF_CHAIN)
        return True

    def _on_one_level(self) -> None:
        """Bound by the optimum on one level."""
        result = self._solve_flat(one_level(self._original), ONE_LEVEL_SHARE)
        self._infeasibility = result.infeasibility
        self._guide = result.plan
        if result.bound is not None:
            self._raise(result.bound.cost, result.bound.detail + WITHOUT)

    def _on_groups(self) -> None:
        """Bound by the optimum with a device for each group, and follow its plan with the groups' own devices."""
        level = groups_as_devices(self._original)
        if self._closed or level is None:
            return
        result = self._solve_flat(level, GROUPS_SHARE)
        if result.bound is not None:
            self._raise(result.bound.cost * (1 - ROUNDING), GROUPS_DETAIL)
        if result.plan is None or self._closed:
            return
        inside = self._solve_flat(within_groups(self._original, result.plan), GROUPS_SHARE)
        if inside.plan is not None:
            plan = Plan.create(self._original, inside.plan.assignment)
            self._guide = plan if self._incumbent.take(plan) else self._guide

    def _solve_flat(self, problem: Problem, share: float) -> Result:
        """Solve a problem on one level within a share of the time that is left."""
        limits = self._limits.within(share * self._limits.remaining, start=None)
        run = FlatRun(
            problem, limits, Aside(self._progress), self._most_bytes, self._patience.remaining, slices=self._slices
        )
        result = run.result()
        self._pause()
        return result

    def _search(self, mode: TrainingOrder, *, proves: bool) -> float:
        """Search one mode of the problem; return the cost of the best split, ``inf`` if none was found."""
        supernodes = ordered_supernodes(self._flat, self._devices, mode, absorb=False)
        best = self._along_orders(supernodes)
        if self._closed:
            return min(best, self._incumbent.cost)
        nest = nest_of(self._original, self._devices, supernodes)
        most = self._most_ideals if proves else min(FEW_IDEALS, self._most_ideals)
        lattice = lattice_of(supernodes, most * 8.0 * supernodes.n, self._progress.say, self._pause)
        if lattice is None or lattice.size > most:
            self._give_up(MANY.format(most=most))
            return best
        self._few = lattice.size <= FEW_IDEALS
        if not self._few and np.isinf(min(best, self._incumbent.cost)):
            self._give_up(LONG)
            return best
        try:
            return self._prove(lattice, supernodes, nest, best, proves=proves)
        except TooLongError:
            self._give_up(LONG)
            return min(best, self._incumbent.cost)

    def _bound_freely(self) -> None:
        """Bound by the optimum without the colocated groups that have no forward node; put these into its plans."""
        supernodes = ordered_supernodes(self._flat, self._devices, "relaxed", absorb=False)
        lattice = lattice_of(supernodes, self._most_ideals * 8.0 * supernodes.n, self._progress.say, self._pause)
        if self._closed or lattice is None or lattice.size > self._most_ideals:
            return
        try:
            self._prove(lattice, supernodes, nest_of(self._original, self._devices, supernodes), np.inf, proves=True)
        except TooLongError:
            self._give_up(LONG)

    @property
    def _most_ideals(self) -> int:
        """How many ideals there may be, by the memory that their labels take."""
        groups = np.prod([len(kind.groups) + 1 for kind in self._types])
        labels = groups + max(len(choice.used) for choice in self._choices)
        return min(MAX_IDEALS, max(FEW_IDEALS, int(self._most_bytes / (LABEL_BYTES * labels))))

    def _along_orders(self, supernodes: OrderedSupernodes) -> float:
        """Find the best splits of some orders, cut into pieces; return the cost of the best, ``inf`` for none.

        The first order is that of the best plan on one level.
        """
        guide = None if self._guide is None else along(supernodes, self._guide, self._original.k)
        best = np.inf
        for order in chain(() if guide is None else (guide,), islice(self._orders(supernodes), ORDERS)):
            if self._closed:
                break
            coarse = pieces(supernodes, order, MAX_PIECES)
            nest = nest_of(self._original, self._devices, coarse)
            for target in self._targets(min(best, self._incumbent.cost)):
                cost = self._try(prefixes(np.arange(coarse.n)), coarse, nest, target)
                best = min(best, cost)
                if np.isfinite(cost):
                    break
        return best

    def _targets(self, top: float) -> Iterator[float]:
        """Yield targets on the way to *top*: a low one is quickly refuted, and quick to reach."""
        lower = 0.0 if self._incumbent.bound is None else self._incumbent.bound.cost
        yield from (factor * lower for factor in NEAR if 0 < factor * lower < top)
        yield top

    def _prove(
        self, lattice: Lattice, supernodes: OrderedSupernodes, nest: Nest, best: float, *, proves: bool
    ) -> float:
        """Raise the target until there is a split below it, or until no better one can be."""
        lower = 0.0 if self._incumbent.bound is None else self._incumbent.bound.cost
        share = FIRST_STEP
        top = min(best, self._incumbent.cost) if proves else best
        while not self._closed:
            target = min(top, lower * (1 + share)) if np.isfinite(top) and lower > 0 else top
            cost = self._try(lattice, supernodes, nest, target)
            best = min(best, cost)
            if proves:
                proved = min(cost, target) * (1 - ROUNDING)
                if np.isinf(proved):
                    self._no_plan("no chain of ideals fits on the groups of devices; all were tried")
                    break
                self._raise(proved, DETAIL)
            if cost < target or target >= top:
                break
            lower, share = target, 2 * share
        return best

    def _try(self, lattice: Lattice, supernodes: OrderedSupernodes, nest: Nest, target: float) -> float:
        """Look for the best split below *target*, keep it if it is a plan, and return its cost; ``inf`` for none."""
        prices = Prices(supernodes.time)
        weights = prices.price, prices.weight
        split = nested(lattice, nest, self._types, self._choices, weights, target, self._progress.say, self._pause)
        if split is None:
            return np.inf
        value, steps = split
        self._incumbent.take(self._plan_of(supernodes, steps))
        return value

    def _plan_of(self, supernodes: OrderedSupernodes, steps: Sequence[GroupStep]) -> Plan:
        free = [list(kind.groups) for kind in self._types]
        assignment = np.zeros(self._original.graph.n, np.int64)
        replicas: dict[int, tuple[int, ...]] = {}
        for step in steps:
            groups = [free[y].pop(0) for y, number in enumerate(step.take.tolist()) for _ in range(number)]
            idle = [self._members(group) for group in groups]
            for block, kind, copies in step.blocks:
                taken = [members[kind].pop(0) for members in idle for _ in range(copies)]
                assignment[[v for c in block for v in supernodes.members[c]]] = taken[0]
                if len(taken) > 1:
                    replicas[taken[0]] = tuple(taken)
        for nodes in supernodes.eliminated:
            assignment[list(nodes)] = self._nearest(nodes, assignment, supernodes)
        for nodes in supernodes.eliminated * ROUNDS:
            self._pause()
            self._move(list(nodes), assignment, replicas)
        return Plan.create(self._original, assignment, replicas=replicas)

    def _nearest(self, nodes: Sequence[int], assignment: Ints, supernodes: OrderedSupernodes) -> int:
        """Return the device of most of the nodes beside *nodes* that have a place."""
        graph = self._original.graph
        placed = np.ones(graph.n, np.bool_)
        placed[[v for left in supernodes.eliminated for v in left]] = False
        beside = np.concatenate([np.concatenate((graph.successors(v), graph.predecessors(v))) for v in nodes])
        devices = assignment[beside[placed[beside]]]
        return int(np.bincount(devices).argmax()) if devices.size else 0

    def _move(self, nodes: list[int], assignment: Ints, replicas: dict[int, tuple[int, ...]]) -> None:
        """Move *nodes* to the device with which the sorted loads, largest first, are least."""

        def loads(device: int) -> list[float]:
            assignment[nodes] = device
            plan = Plan.create(self._original, assignment, replicas=replicas)
            return sorted(evaluate(self._original, plan).load.tolist(), reverse=True)

        now = int(assignment[nodes[0]])
        fits = np.flatnonzero(self._original.allowed[nodes].all(axis=0)).tolist()
        assignment[nodes] = min((now, *fits), key=loads)

    def _members(self, group: int) -> list[list[int]]:
        """Return the devices of a group by kind."""
        return [[d for d in members if self._original.group[d] == group] for members in self._devices.members]


# A chain of nodes over groups of devices, as links between pairs of devices.

KEPT = (Acyclic, BreakSymmetry, Forbid, Memory, Pin)


def chain_with_groups(problem: Problem) -> NodeChain | None:
    """Return the chain whose splits are the plans of *problem*, where groups may be entered more than once; or None.

    Of a chain, a tensor has one reader, so that what it costs depends on two devices alone. Devices may hold what the
    check allows.
    """
    graph, link, k = problem.graph, problem.channel, problem.k
    strange = any(not isinstance(constraint, KEPT) for constraint in problem.constraints)
    if strange or not is_chain(graph) or graph.backward.any() or not np.isinf(problem.overflow_limit).all():
        return None
    order = np.array(graph.topological_order, np.int64)
    group = problem.group
    between = link.bandwidth if link.between is None else link.between
    rate = np.where(group[:, None] == group, link.bandwidth, between)
    pays = np.array([isinstance(link, Shared) or device.pays_io for device in problem.devices])
    cost = graph.output[order][:, None, None] / rate
    cost[:, range(k), range(k)] = np.inf
    return NodeChain(
        time=np.where(problem.allowed, problem.time, np.inf)[order],
        memory=graph.memory[order],
        room=problem.memory_limit * (1 + TOLERANCE),
        sent=np.where(pays[:, None], cost, np.where(np.isinf(cost), np.inf, 0.0)),
        received=np.where(pays, cost, np.where(np.isinf(cost), np.inf, 0.0)),
    )
