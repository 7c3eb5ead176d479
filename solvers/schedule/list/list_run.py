"""Run a list scheduler: from an order, always the node that can start first, or given devices, to a plan."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import KernelTimes, arrays
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.list.free_packing import is_free, somewhere
from mtpp_dsl.solvers.schedule.list.packing import witness
from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, PlacementRules, rules
from mtpp_dsl.solvers.schedule.list.placing import IN_TURN, IN_TURN_FREELY, IdleLines, Score, with_room
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward
from mtpp_dsl.solvers.schedule.list.ready_first import EARLIEST, EARLIEST_FREELY, Queue

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CHUNK = 512
"""Nodes placed, or times that the ready nodes are looked at, between two looks at the clock."""
ROOM = 64
"""Idle times that there is room for at first."""
NO_WAY = "no way was found to give every node a device within memory, links and the constraints"


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Lister:
    """What places the nodes of one instance.

    Attributes:
        instance: the problem.
        rules: where nodes may go together.
        hold: a placement that keeps to them; every run begins with it.
        free: whether every class may go wherever its nodes can run.
        limits: how long to try.
        pause: called often; raises to end a run.
        say: told when code has to be compiled.
        note: told what the user should know of the run.
        runs: how many there will be, about; code is compiled where that pays for all of them.
    """

    instance: ScheduleInstance
    rules: PlacementRules
    hold: Hold
    free: bool
    limits: Limits = field(default_factory=Limits)
    pause: Callable[[], None] = _nothing
    say: Callable[[str], None] = _nothing
    note: Callable[[str], None] = _nothing
    runs: int = 1

    @classmethod
    def of(cls, instance: ScheduleInstance, pause: Callable[[], None] = _nothing) -> Lister | None:
        """Return one for *instance*, or None if no placement is found that keeps to its rules before *pause* raises."""
        own_rules = rules(instance)
        _, first = np.unique(instance.together[instance.graph.topological_order], return_index=True)
        free = is_free(own_rules)
        hold = somewhere(own_rules) if free else witness(own_rules, np.argsort(first).astype(np.int64), pause)
        return None if hold is None else cls(instance, own_rules, hold, free, pause=pause)

    @classmethod
    def fixed(cls, instance: ScheduleInstance, assignment: Ints) -> Lister:
        """Return one that leaves every node where *assignment* has it, whatever the rules say."""
        classes = np.arange(instance.n)
        none = np.zeros(0, np.int64)
        there = PlacementRules(
            group=classes,
            need=np.zeros(instance.n),
            limit=np.full(instance.k, np.inf),
            may=np.isfinite(instance.time),
            work=np.array(instance.time),
            offsets=np.zeros(instance.n + 1, np.int64),
            near=none,
            kind=none,
            leads=none.astype(np.bool_),
            joined=np.ones((1, instance.k, instance.k), np.bool_),
        )
        hold = Hold.empty(instance.n, instance.k)
        hold.home[:] = assignment
        hold.fixed[:] = True
        return cls(instance, there, hold, free=True)

    def in_turn(self, order: Ints, tier: Floats | None = None, bias: Floats | None = None, insert: bool = True) -> Plan:
        """Return the plan in which the nodes are placed in a topological *order*, each on the device of the best score.

        Args:
            order: [n] all nodes, tails before heads.
            tier: [n, k] least first, where a way on is left; None: all the same.
            bias: [n, k] of one tier the device with the least end plus this; None: 0.
            insert: whether a node may run before others that its device has been given.
        """
        run = (IN_TURN_FREELY if self.free else IN_TURN).pick(self._steps, self.say)
        hold, idle, times = self._fresh()
        score = self._score(tier, bias, insert)
        data, done = arrays(self.instance), 0
        while done < self.instance.n:
            self.pause()
            last = min(done + CHUNK, self.instance.n)
            done = run(data, self.rules, hold, idle, times, score, order, done, last)
            idle = self._roomy(idle)
        return self._plan(hold, times)

    def earliest(self, rank: Floats, tier: Floats | None = None, favourite: Ints | None = None) -> Plan:
        """Return the plan in which always the node is placed next that can start first, after all else on its device.

        Args:
            rank: [n] of those that can start at the same time, the larger rank comes first.
            tier: [n, k] a node goes to devices of the least tier that leave a way on; None: all the same.
            favourite: [n] the node that should follow each on the same device, -1 for none; None: none at all.
        """
        run = (EARLIEST_FREELY if self.free else EARLIEST).pick(self._steps, self.say)
        hold, idle, times = self._fresh()
        score = self._score(tier, None, insert=False)
        data = arrays(self.instance)
        queue = self._queue(score, rank, favourite)
        left = self.instance.n
        while left:
            self.pause()
            left -= run(data, self.rules, hold, idle, times, score, queue, CHUNK)
            idle = self._roomy(idle)
        return self._plan(hold, times)

    @property
    def _steps(self) -> float:
        return float((self.instance.n + self.instance.m) * self.instance.k * self.runs)

    def _fresh(self) -> tuple[Hold, IdleLines, KernelTimes]:
        return (
            deepcopy(self.hold),
            self._roomy(_idle(self.instance)),
            KernelTimes.empty(self.instance.n, self.instance.m),
        )

    def _roomy(self, idle: IdleLines) -> IdleLines:
        """Return *idle*, with twice the room if what one more node reads could fill it."""
        return with_room(idle, 2 + int(np.diff(self.instance.graph.offsets_in).max(initial=0)))

    def _score(self, tier: Floats | None, bias: Floats | None, insert: bool) -> Score:
        none = np.zeros((self.instance.n, self.instance.k))
        return Score(none if tier is None else np.array(tier), none if bias is None else np.array(bias), insert)

    def _queue(self, score: Score, rank: Floats, favourite: Ints | None) -> Queue:
        n, k = self.instance.n, self.instance.k
        may = self.rules.may[self.rules.group]
        waiting = np.diff(self.instance.graph.offsets_in).astype(np.int64)
        ready = np.flatnonzero(waiting == 0)
        return Queue(
            ready=np.append(ready, np.zeros(n - len(ready), np.int64)),
            size=np.array([len(ready)]),
            waiting=waiting,
            arrival=np.where(may, 0.0, np.inf),
            refused=~may,
            level=np.where(may, score.tier, np.inf).min(axis=1),
            rank=rank,
            favourite=np.full(n, -1, np.int64) if favourite is None else favourite,
            last=np.full(k, -1, np.int64),
        )

    def _plan(self, hold: Hold, times: KernelTimes) -> Plan:
        device = hold.home[self.rules.group]
        graph = self.instance.graph
        moved = device[graph.tails] != device[graph.heads]
        sent, arrived = (np.where(moved, row, np.nan) for row in (times.sent, times.arrived))
        return Plan.create(
            self.instance.problem, device, schedule=Schedule.create(graph, times.start, times.end, sent, arrived)
        )


def _idle(instance: ScheduleInstance) -> IdleLines:
    """Return lines on which nothing runs yet."""
    k = instance.k
    since, until = np.zeros((3 * k, ROOM)), np.zeros((3 * k, ROOM))
    until[:, 0] = np.inf
    takes = np.where(np.isfinite(instance.time), instance.time, 0.0)
    carry = _shortest_carries(instance) if instance.exclusive else np.full((k, k), np.inf)
    shortest = np.concatenate([_least_positive(takes.T), carry.min(axis=1), carry.min(axis=0)])
    return IdleLines(since, until, np.ones(3 * k, np.int64), shortest, np.zeros(k))


def _shortest_carries(instance: ScheduleInstance) -> Floats:
    """Return [k, k] what no transfer between two devices takes less than, if it takes any; inf within one."""
    transfers = instance.transfers
    sizes = transfers.size
    least = [np.min(sizes, initial=np.inf), np.min(sizes[sizes > 0], initial=np.inf)]
    with np.errstate(invalid="ignore"):
        formula = np.stack([transfers.latency + np.nan_to_num(size * transfers.inverse, posinf=0.0) for size in least])
    shortest = np.minimum(
        _least_positive(np.moveaxis(formula, 0, -1)), _least_positive(np.moveaxis(transfers.table, 0, -1))
    )
    np.fill_diagonal(shortest, np.inf)
    return shortest


def _least_positive(values: Floats) -> Floats:
    """Return the least positive value along the last axis; inf without one."""
    least: Floats = np.where(values > 0, values, np.inf).min(axis=-1, initial=np.inf)
    return least


def run_scheduler(incumbent: Incumbent, schedule: Callable[[Incumbent], Plan | str]) -> Result:
    """Return the result of a list scheduler; without a plan, with a note that says why.

    Args:
        incumbent: takes the plan, and says when to stop.
        schedule: makes the plan, or says why it comes to none.
    """
    try:
        incumbent.pause()
        plan = schedule(incumbent)
        if isinstance(plan, str):
            incumbent.note(plan)
        elif not incumbent.take(plan):
            incumbent.note(f"the schedule found is none: {incumbent.broken}")
    except SearchEnded:
        incumbent.note("the time was up, or somebody stopped, before every node was placed")
    return incumbent.result()


# A schedule for a plan that says where nodes run and not when.


def complete(problem: Problem, plan: Plan) -> Plan:
    """Return the assignment of *plan* with a schedule, for a makespan on links; see :func:`scheduled`."""
    return scheduled(ScheduleInstance.of(problem), plan.assignment)


def scheduled(instance: ScheduleInstance, assignment: ArrayLike, priority: ArrayLike | None = None) -> Plan:
    """Return a plan for an *assignment*: nodes by priority, each as early as it can be, in gaps too.

    Args:
        instance: the problem.
        assignment: [n] device of every node; the memory that it takes is not looked at.
        priority: [n] of the nodes whose predecessors have been placed, the largest comes first; None: the longest path
            from each to the end, by the times of this assignment (so, by latest starts).

    Raises:
        UsageError: a node on a device that cannot run it, or a transfer between devices that nothing joins.
    """
    graph = instance.graph
    device = np.asarray(assignment, np.int64)
    takes = instance.time[np.arange(instance.n), device]
    tails, heads = device[graph.tails], device[graph.heads]
    carry = np.where(tails == heads, 0.0, instance.transfers.along(np.arange(instance.m), tails, heads))
    if not (np.isfinite(takes).all() and np.isfinite(carry).all()):
        raise UsageError("no schedule: a node is where it cannot run, or two devices have no link")
    rank = upward(graph, takes, carry) if priority is None else np.asarray(priority, np.float64)
    return Lister.fixed(instance, device).in_turn(in_order(graph, rank))
