"""Begin and end the searches of method ``ideals``, and cut orders into pieces."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan, quotient_order
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.ideals.outside import Prices
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

__all__ = ["IdealsSearch", "along", "pieces"]


class IdealsSearch:
    """One run of a search; a derived class adds :meth:`_go`.

    Attributes:
        name: of the method.

    Args:
        problem: what is asked.
        limits: when to stop, and where to start.
        progress: told of plans and bounds.
        patience: seconds after which it ends, before its limits, unless :attr:`_few`.
    """

    name = "ideals"

    def __init__(self, problem: Problem, limits: Limits, progress: Progress, patience: float = float("inf")) -> None:
        self._patience = limits.within(patience)
        self._few = False  # whether the ideals are counted, and so few that the search is near its end
        self._original, self._limits, self._progress = problem, limits, progress
        self._incumbent = Incumbent(self.name, problem, limits, progress)
        self._infeasibility: Infeasibility | None = None
        self._termination: Termination = "complete"

    def result(self) -> Result:
        """Search until done or stopped, and return the best plan and bound."""
        try:
            self._incumbent.take_start()
            self._pause()
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

    Their order is that of the pieces.

    Args:
        supernodes: the supernodes.
        order: of all of them, that respects theirs.
        most: how many there may be.
    """
    if supernodes.n > most:
        weight = Prices(supernodes.time).weight[0][order]
        before = np.cumsum(weight) - weight / 2 + np.arange(supernodes.n) * (weight.sum() / supernodes.n + 1e-300)
        piece = np.minimum((before / (before[-1] * (1 + 1e-9)) * most).astype(np.int64), most - 1)
    else:
        piece = np.arange(supernodes.n)
    groups = [order[piece == p].tolist() for p in np.unique(piece).tolist()]
    return OrderedSupernodes(
        members=tuple(tuple(v for c in group for v in supernodes.members[c]) for group in groups),
        before=tuple((p, p + 1) for p in range(len(groups) - 1)),
        nets=(),
        time=np.array([supernodes.time[group].sum(axis=0) for group in groups]),
        memory=np.array([supernodes.memory[group].sum() for group in groups]),
        params=np.array([supernodes.params[group].sum() for group in groups]),
    )
