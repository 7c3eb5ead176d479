"""Drive the searches of method ``ideals``: begin and end them, store ideals, follow orders, make plans of chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Constraint
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice, lattice_of
from mtpp_dsl.solvers.algorithms.ideals.outside import Prices
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.slicing.orders import orders
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

LABEL_BYTES = 8.0
UNASKED = (
    "ideals looks only at plans whose quotient graph is acyclic, which the problem does not ask: it proves no bound"
)
APART = (
    "the best split of the forward part breaks a constraint on the backward part; its value is a bound, and plans were "
    "sought whose backward part is in the order of the forward part, or in the opposite one"
)
CROWDED = "the ideals of {n} supernodes, with all ways to have used the devices, take more than {room:,.0f} MB"
NO_CHAIN_OF_IDEALS = "no chain of ideals fits on the devices; all were tried"
NO_CHAIN_OF_STAGES = "no chain of stages fits on the devices; all were tried"


class IdealsSearch:
    """One run of a search; a derived class adds :meth:`_go`, and :meth:`_prepare` where it has more to set up.

    Attributes:
        name: of the method.
        looks_for_clashes: whether what keeps every plan away is looked for before the search.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        most_bytes: how much memory the ideals and their labels may take.
        patience: seconds after which it ends, before its limits, unless :attr:`_few`.
        slices: makes the method that slices orders, for a number of moves or as it is.
        methods: bound an ordinary problem of one phase, the cheapest first: for where there are too many ideals.
    """

    name = "ideals"
    looks_for_clashes = True

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        most_bytes: float,
        patience: float = float("inf"),
        *,
        slices: Callable[..., Method] | None = None,
        methods: Sequence[Method] = (),
    ) -> None:
        self._patience = limits.within(patience)
        self._few = False  # whether the ideals are counted, and so few that the search is near its end
        self._original, self._limits, self._progress = problem, limits, progress
        self._most_bytes, self._slices, self._methods = most_bytes, slices, methods
        self._incumbent = Incumbent(self.name, problem, limits, progress)
        self._infeasibility: Infeasibility | None = None
        self._termination: Termination = "complete"
        self._prepare()

    def _prepare(self) -> None:
        """Set up what the search needs; nothing by default."""

    def result(self) -> Result:
        """Search until done or stopped, and return the best plan and bound."""
        try:
            self._incumbent.take_start()
            self._pause()
            if self.looks_for_clashes:
                self._infeasibility = quick(self._original)
            if self._infeasibility is None:
                self._go()
        except SearchEnded:
            self._termination = "interrupted" if self._progress.stopped else "time_limit"
        return self._incumbent.result("gap" if self._closed else self._termination, infeasibility=self._infeasibility)

    def _go(self) -> None:
        raise NotImplementedError

    @property
    def _closed(self) -> bool:
        return self._infeasibility is not None or self._incumbent.closed()

    def _raise(self, lower: float, detail: str) -> None:
        """Report a bound, if it is better than those before."""
        self._incumbent.prove(Bound(lower, method="ideals", proof="checked", by="mtpp", detail=detail))

    def _pause(self) -> None:
        """Raise :class:`SearchEnded` if the time or the patience is over, or somebody asked to stop."""
        if self._progress.ended(self._limits if self._few else self._patience) is not None:
            raise SearchEnded

    def _give_up(self, note: str) -> None:
        """Note why the search ends before all ideals have been gone through."""
        self._incumbent.note(note)
        self._termination = "limit"

    def _no_plan(self, reason: str, *kinds: type[Constraint], problem: Problem | None = None) -> None:
        """Keep that there is no plan.

        Args:
            reason: why.
            kinds: of the constraints that are named as the clash; all of them where none is given.
            problem: whose constraints these are, if not of the problem that was asked.
        """
        constraints = (problem or self._original).constraints
        self._infeasibility = Infeasibility(
            reason, tuple(str(c) for c in constraints if isinstance(c, kinds or object))
        )

    def _lattice(self, supernodes: OrderedSupernodes) -> Lattice | None:
        """Return all ideals, or None where they take more than half of the memory."""
        return lattice_of(supernodes, self._most_bytes / 2, self._progress.say, self._pause)

    def _crowded(self, lattice: Lattice | None, states: int) -> bool:
        """Return whether ideals, with labels for so many *states* of the devices, take more than half of the memory."""
        return lattice is None or lattice.size * states * LABEL_BYTES > self._most_bytes / 2

    def _orders(self, supernodes: OrderedSupernodes) -> Iterator[Ints]:
        """Yield orders of supernodes, good ones first."""
        return orders(*supernodes.as_graph(), self._limits.seed)


def ignore(_: float) -> None:
    """Take a bound that is of no use."""


def as_verified(devices: DeviceTypes, problem: Problem) -> DeviceTypes:
    """Give every device the memory that the independent check lets it have, so that no plan escapes the bound."""
    first = [group[0] for group in devices.members]
    return replace(devices, memory=problem.memory_limit[first] * (1 + TOLERANCE * (1 + 1e-6)))


class Placed(NamedTuple):
    """A chain of blocks on devices.

    Attributes:
        assignment: [n] the device of every node, of several copies the first.
        replicas: of the plan.
        leads: the first device of each block.
    """

    assignment: Ints
    replicas: dict[int, tuple[int, ...]]
    leads: list[int]

    @classmethod
    def on_types(
        cls,
        n: int,
        types: Sequence[Sequence[int]],
        members: Sequence[Sequence[int]],
        blocks: Iterable[tuple[Iterable[int], int, int]],
    ) -> Placed:
        """Return blocks on the first devices of their types that are unused.

        Args:
            n: number of nodes.
            types: the devices of each type.
            members: the nodes of each supernode.
            blocks: of each, in their order, its supernodes, the type of its devices, and how many devices it has.
        """
        free = [list(group) for group in types]
        placed = cls(np.zeros(n, np.int64), {}, [])
        for block, kind, copies in blocks:
            lead, *others = (free[kind].pop(0) for _ in range(copies))
            placed.assignment[[v for c in block for v in members[c]]] = lead
            placed.leads.append(lead)
            if others:
                placed.replicas[lead] = (lead, *others)
        return placed


# An order of the supernodes, cut into pieces that stay together: fewer ideals, for a plan.


def along(supernodes: OrderedSupernodes, plan: Plan, k: int) -> Ints | None:
    """Return [n] an order of the supernodes in which those on one device of *plan* are neighbours, if there is one."""
    device = np.array([int(plan.assignment[members[0]]) for members in supernodes.members], np.int64)
    ends = np.array(supernodes.before, np.int64).reshape(-1, 2)
    devices = quotient_order(device, ends[:, 0], ends[:, 1], k)
    if devices is None:
        return None
    graph, _ = supernodes.as_graph()
    place = np.argsort(np.array(devices))
    order = graph.topological_order
    return np.asarray(order[np.argsort(place[device[order]], kind="stable")], np.int64)


def pieces(supernodes: OrderedSupernodes, order: Ints, most: int) -> OrderedSupernodes:
    """Return at most *most* supernodes, each some neighbours in *order*, of about the same work.

    Their order is that of the pieces, and a tensor joins the pieces that have a pin of it.

    Args:
        supernodes: the supernodes.
        order: of all of them, that respects theirs.
        most: how many there may be.
    """
    of = pieces_of(supernodes, order, most)
    groups: list[list[int]] = [[] for _ in range(int(of.max(initial=-1)) + 1)]
    for c in order.tolist():
        groups[of[c]].append(c)
    nets: dict[tuple[int, ...], float] = {}
    for pins, cost in supernodes.nets:
        ends = tuple(sorted(set(of[list(pins)].tolist())))
        if len(ends) > 1:
            nets[ends] = nets.get(ends, 0.0) + cost
    return OrderedSupernodes(
        members=tuple(tuple(v for c in group for v in supernodes.members[c]) for group in groups),
        before=tuple((p, p + 1) for p in range(len(groups) - 1)),
        nets=tuple(nets.items()),
        time=np.array([supernodes.time[group].sum(axis=0) for group in groups]),
        memory=np.array([supernodes.memory[group].sum() for group in groups]),
        params=np.array([supernodes.params[group].sum() for group in groups]),
    )


def pieces_of(supernodes: OrderedSupernodes, order: Ints, most: int) -> Ints:
    """Return [n] the number of the piece of *order* that each supernode is in; see :func:`pieces`."""
    of = np.empty(supernodes.n, np.int64)
    if supernodes.n > most:
        weight = Prices(supernodes.time).weight[0][order]
        before = np.cumsum(weight) - weight / 2 + np.arange(supernodes.n) * (weight.sum() / supernodes.n + 1e-300)
        piece = np.minimum((before / (before[-1] * (1 + 1e-9)) * most).astype(np.int64), most - 1)
        of[order] = np.unique(piece, return_inverse=True)[1]
    else:
        of[order] = np.arange(supernodes.n)
    return of
