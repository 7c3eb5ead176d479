"""Find better orders of modules that a graph repeats, and put them into a plan one at a time: method ``transplant``."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.decomposition.chain_run import chain_parts
from mtpp_dsl.solvers.schedule.lifted.joining import edges_of
from mtpp_dsl.solvers.schedule.lifted.module_families import CLOSER, Ends, FamilyMember, ModuleFamily, module_families
from mtpp_dsl.solvers.schedule.lifted.module_search import ModuleSchedule
from mtpp_dsl.solvers.schedule.search.schedule_starts import sample_incumbent, take_starts

__all__ = ["transplant"]

PATIENCE = 4
"""How often every module of a family is searched without a better schedule of any, before the family is left alone."""
PASSES = 3
"""Through all members of a family, each tried in the plan."""


def transplant(name: str, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the plan that modules with better orders make of one to start from.

    Modules between anchors, as of ``chain-relaxation``, that have one graph are a family. Each is scheduled by itself,
    between the devices that its ends have in the plan, and orders that turn out well are tried in the others. Then they
    take the place of what the plan does, one at a time, where everything together ends earlier.

    Args:
        name: of the method.
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans.
    """
    instance = ScheduleInstance.of(problem)
    incumbent = sample_incumbent(name, instance, limits, progress)
    plan = take_starts(incumbent, instance, limits)
    if any(isinstance(rule, (Colocate, Separate)) for rule in problem.constraints):
        incumbent.note("nodes must, or must not, share a device: modules are not scheduled by themselves")
    elif incumbent.plan is not None and plan is not None and instance.n:
        _Transplants(problem, instance, plan, incumbent, limits, progress).run()
    return incumbent.result()


class _Transplants:
    """One run: the plan as devices, starts and times of sending, and the families."""

    def __init__(
        self,
        problem: Problem,
        instance: ScheduleInstance,
        plan: Plan,
        incumbent: Incumbent,
        limits: Limits,
        progress: Progress,
    ) -> None:
        self._instance, self._incumbent = instance, incumbent
        self._take(plan)
        parts = chain_parts(problem, None)
        self._families = module_families(problem, parts.modules, progress.say, lambda: incumbent.done, limits.seed)
        if not self._families:
            incumbent.note("no two modules have the same graph")

    def run(self) -> None:
        """Search by turns, the families with most nodes first, until none has helped for long."""
        quiet = dict.fromkeys(range(len(self._families)), 0)
        while quiet and not self._incumbent.done:
            for f in list(quiet):
                family = self._families[f]
                ends = [self._ends(member) for member in family.members]
                for i, member in enumerate(family.members):
                    own = np.array(member.module.members, np.int64)
                    family.know(i, ends[i], self._device[own], self._start[own])
                if self._incumbent.done:
                    break
                better = family.turn(ends)
                quiet[f] = 0 if better else quiet[f] + 1
                if better:
                    self._put(family)
                if quiet[f] >= PATIENCE * len(family.members):
                    del quiet[f]

    def _put(self, family: ModuleFamily) -> None:
        """Try the best schedule of every member in the plan, and report the plan if it has become shorter."""
        before = self._length
        for _ in range(PASSES):
            taken = [self._try(member) for member in family.members]
            if not any(taken):
                break
        if self._length < before:
            self._incumbent.take(self._plan)

    def _try(self, member: FamilyMember) -> bool:
        """Put the best schedule of a module into the plan if that makes it shorter; return whether it does."""
        schedule = member.best.get(self._ends(member))
        if schedule is None or self._incumbent.done:
            return False
        return any(self._shorter(member, schedule, stretched=stretched) for stretched in (True, False))

    def _shorter(self, member: FamilyMember, schedule: ModuleSchedule, *, stretched: bool) -> bool:
        """Put a schedule of a module into the plan if that makes it shorter; return whether it does."""
        instance = self._instance
        device, start, sending = self._changed(member, schedule, stretched=stretched)
        used = np.bincount(device, instance.memory, instance.k)
        if not (used <= instance.limit).all() or not self._possible(device):
            return False
        plan = timed(instance, device, start, sending)
        assert plan.schedule is not None
        if plan.schedule.end.max() >= self._length * (1 - CLOSER):
            return False
        self._take(plan)
        return True

    def _possible(self, device: Ints) -> bool:
        """Return whether all nodes can run, and all tensors be sent, with these devices."""
        instance, graph = self._instance, self._instance.graph
        tails, heads = device[graph.tails], device[graph.heads]
        carry = np.where(tails == heads, 0.0, instance.transfers.along(np.arange(instance.m), tails, heads))
        return bool(np.isfinite(instance.time[np.arange(instance.n), device]).all() and np.isfinite(carry).all())

    def _changed(
        self, member: FamilyMember, schedule: ModuleSchedule, *, stretched: bool
    ) -> tuple[Ints, Floats, Floats]:
        """Return devices, and moments by which to order everything, with the schedule where the module begins.

        *Stretched*, it takes as long as the module does in the plan.
        """
        instance, module, kind = self._instance, member.module, member.search.kind
        device, start, sending = self._device.copy(), self._start.copy(), self._sending.copy()
        own, edges = np.array(module.members, np.int64), edges_of(instance.graph, module)
        ends = start + instance.time[np.arange(instance.n), device]
        since = 0.0 if kind.entry is None else float(ends[own[0]])
        until = float(ends[own].max())
        factor = (until - since) / schedule.length if stretched and schedule.length > 0 else 1.0
        inner = slice(int(kind.entry is not None), None)
        takes = kind.time[np.arange(len(own)), schedule.device]
        sent = np.maximum(schedule.sent, (schedule.start + takes)[kind.net.tail])
        device[own[inner]] = schedule.device[inner]
        start[own[inner]] = since + factor * schedule.start[inner]
        sending[edges] = since + factor * sent
        return device, start, sending

    def _ends(self, member: FamilyMember) -> Ends:
        kind, own = member.search.kind, member.module.members
        first = None if kind.entry is None else int(self._device[own[0]])
        return first, None if kind.exit is None else int(self._device[own[-1]])

    def _take(self, plan: Plan) -> None:
        """Go on from a plan."""
        schedule = plan.schedule
        assert schedule is not None
        self._plan, self._length = plan, float(schedule.end.max(initial=0.0))
        self._device, self._start = plan.assignment.copy(), schedule.start.copy()
        sent = np.where(np.isnan(schedule.sent), schedule.end[self._instance.graph.tails], schedule.sent)
        self._sending = sent
