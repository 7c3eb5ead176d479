"""Search a problem without its penalties, and on the sets of devices that rows over ``used`` ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Forbid, Linear, Used
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Bound, Infeasibility, Proof
from mtpp_dsl.core.problem.penalties import without_penalties
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, load
from mtpp_dsl.solvers.algorithms.device_sets import DeviceSet, sets_by_rows
from mtpp_dsl.solvers.methods.auto.stricter import PlansAlone
from mtpp_dsl.solvers.runtime.portfolio.lane import attempt
from mtpp_dsl.solvers.runtime.reduced import Reduced, identity

FEW_SHARE, KNOWN_SHARE, WHOLE_SECONDS = 0.5, 0.25, 60.0
"""Of the time left, and at most, for the problem without its soft rows: where few methods know these, and elsewhere."""
SETS_SHARE, SETS_SECONDS, MAX_TRIED = 0.4, 60.0, 8
"""The same for sets of devices, and how many of them are tried."""
MAX_COUNTED = 100_000
"""Sets times nodes, up to which it is counted for each set whether it can hold everything."""
ROUNDING = 1e-12


class OnSet(PlansAlone):
    """Passes on plans of a set of devices, and stops where no better one can be there."""

    def __init__(self, problem: Problem, outer: Progress, paid: float, enough: Callable[[], bool]) -> None:
        super().__init__(problem, outer)
        self._paid, self._enough = paid, enough

    @property
    def stopped(self) -> bool:
        best = self._outer.cost
        beaten = best is not None and self.bound is not None and self.bound.cost + self._paid >= best
        return beaten or self._outer.stopped or self._enough()


@dataclass
class RowsAside:
    """One search of a problem without rows that few methods know: soft ones, and those over ``used`` alone.

    Args:
        problem: as it was asked.
        limits: of all.
        progress: receives plans that satisfy *problem*, with what its soft rows cost, and bounds.
        enough: whether plan and bound have met.
    """

    problem: Problem
    limits: Limits
    progress: Progress
    enough: Callable[[], bool]
    _bounds: dict[DeviceSet, Bound | None] = field(default_factory=dict)  # None: there is no plan on it
    _below: Bound | None = None

    def whole(self, share: float) -> Infeasibility | None:
        """Search the problem without its soft rows for a *share* of the time left; return why it has no plan, or None.

        Its plans count with what they cost under these rows. Its bounds hold as they are, as no penalty is negative:
        see :func:`without_penalties`.
        """
        relaxed = without_penalties(self.problem)
        if relaxed is None:
            self._below = None if self.problem.soft_rows else self.progress.bound
            return None
        self.progress.say("searching without the rows that have a penalty")
        listener = Reduced(self.problem, relaxed, identity, self.progress).listener(self.problem, self.enough)
        limits = self.limits.within(min(WHOLE_SECONDS, share * self.limits.remaining))
        infeasibility = self._auto(relaxed, limits, listener)
        self._below = listener.bound
        return infeasibility

    def sets(self) -> None:
        """Search without rows over ``used`` alone on sets of devices that keep them, or break them at some cost."""
        if self.problem.objective.is_linear or any(one.enlarges for one in self.problem.constraints):
            return
        rows = [row for row in self.problem.hard_rows if row.terms and all(isinstance(x, Used) for x, _ in row.terms)]
        if len(rows) > len(self._rows_left_out):  # a row that asks for many devices would be in every problem of a set
            return
        sets = sets_by_rows(self.problem)
        left = self.limits.within(min(SETS_SECONDS, SETS_SHARE * self.limits.remaining))
        if len(sets) * self.problem.graph.n <= MAX_COUNTED:
            self._bounds = {one: None for one in sets if quick(self._on(one)) is not None}
        tried = [one for one in sets if one.least < inf and one not in self._bounds and not self._searched(one)]
        for number, one in enumerate(tried[:MAX_TRIED]):
            if self.enough() or left.remaining <= 0:
                break
            self._search(one, left.within(left.remaining / (len(tried[:MAX_TRIED]) - number), start=None))
        self._bound(sets)

    def _searched(self, one: DeviceSet) -> bool:
        """Return whether the search without penalties was for nothing else."""
        all_devices = len(one.devices) == self.problem.k
        return all_devices and bool(self.problem.soft_rows) and not self._rows_left_out

    @property
    def _rows_left_out(self) -> list[Linear]:
        """The rows over ``used`` that must hold: of a set that keeps them all plans do, if fewer devices keep them."""
        rows = (row for row in self.problem.hard_rows if row.sense == "<=")
        return [row for row in rows if all(isinstance(one, Used) and a > 0 for one, a in row.terms)]

    def _on(self, one: DeviceSet) -> Problem:
        """Return the problem on one set of devices, without the rows that its plans keep or pay for."""
        problem, others = self.problem, tuple(d for d in range(self.problem.k) if d not in one.devices)
        apart = self._rows_left_out
        kept = [c for c in (without_penalties(problem) or problem).constraints if c not in apart]
        kept += [Forbid(nodes=tuple(range(problem.graph.n)), devices=others)] if others else []
        return problem.asking(problem.objective, kept)

    def _search(self, one: DeviceSet, limits: Limits) -> None:
        """Search one set of devices."""
        names = ", ".join(self.problem.devices[d].name for d in one.devices)
        self.progress.say(f"searching for plans on {names}")
        listener = OnSet(self.problem, self.progress, one.paid, self.enough)
        infeasibility = self._auto(self._on(one), limits, listener)
        if infeasibility is not None:
            self._bounds[one] = None
        elif listener.bound is not None:
            self._bounds[one] = listener.bound

    def _auto(self, problem: Problem, limits: Limits, listener: Progress) -> Infeasibility | None:
        """Give a problem to ``auto``, if it accepts it; return why it has no plan, if that is found."""
        method: Method = load(METHODS, "auto")()
        return None if method.accepts(problem) is not None else attempt(method, problem, limits, listener).infeasibility

    def _bound(self, sets: list[DeviceSet]) -> None:
        """Report what every plan costs at least: on each set what is proved of it, and what its rows cost.

        For each plan, up to equal devices, one of *sets* holds its devices and costs no more: see :func:`sets_by_rows`.
        """
        parts: list[tuple[Bound, float]] = []
        for one in sets if self._bounds else []:
            if one in self._bounds and self._bounds[one] is None:
                continue
            bound = self._bounds.get(one)
            if bound is None or (self._below is not None and self._below.cost > bound.cost):
                bound = self._below
            if bound is None:
                return
            parts.append((bound, bound.cost + one.paid))
        if parts:
            trusted = any(bound.proof == "trusted" for bound, _ in parts)
            cost = min(cost for _, cost in parts) * (1 - ROUNDING)
            methods = ", ".join(dict.fromkeys(bound.method for bound, _ in parts))
            detail = (
                f"the least of {len(sets)} sets of devices, by {methods}, with what the rows over used cost on each"
            )
            proof: Proof = "trusted" if trusted else "checked"
            by = ", ".join(dict.fromkeys(bound.by for bound, _ in parts))
            self.progress.report_bound(Bound(cost, "auto", proof, by, detail))
