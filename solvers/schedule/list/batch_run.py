"""A list scheduler's run over batches: from a rule to a plan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import BatchInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.list.batch_placing import LIST, PlacedBatches, SpreadRule, nothing_placed
from mtpp_dsl.solvers.schedule.list.list_run import run_scheduler
from mtpp_dsl.solvers.schedule.list.placing import IdleLines, with_room
from mtpp_dsl.solvers.schedule.list.ranks import in_order, upward
from mtpp_dsl.solvers.schedule.state.batch_state import BatchField, batch_field_of

__all__ = ["BatchLister", "list_batches"]

RULES = {
    "met": SpreadRule(work=True, insert=True),
    "greedy": SpreadRule(work=False, insert=False),
    "heft": SpreadRule(False, True),
}
"""Of the methods by name; ``greedy`` takes nodes in topological order, the others by upward ranks."""
ATTEMPTS = 16
"""Each begins with the node that the one before found no spread for; as many again with spreads of least memory."""
CHUNK = 64
"""Nodes placed between two looks at the clock."""
ROOM = 64
"""Idle times that there is room for at first."""


def list_batches(name: str, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the result of list scheduler *name*; without a plan, with a note that says why."""

    def schedule(incumbent: Incumbent) -> Plan | str:
        lister = BatchLister.of(BatchInstance.of(problem), incumbent.pause, progress.say)
        return lister if isinstance(lister, str) else lister.schedule(name)

    return run_scheduler(Incumbent(name, problem, limits, progress), schedule)


class BatchLister:
    """What places the nodes of one instance.

    Args:
        instance: the problem.
        field: of the instance.
        pause: called often; raises to end a run.
        say: told when code has to be compiled.
    """

    def __init__(
        self, instance: BatchInstance, field: BatchField, pause: Callable[[], None], say: Callable[[str], None]
    ) -> None:
        self._instance, self._field, self._pause, self._say = instance, field, pause, say

    @classmethod
    def of(cls, instance: BatchInstance, pause: Callable[[], None], say: Callable[[str], None]) -> BatchLister | str:
        """Return one for *instance*, or why no node order can help."""
        field = batch_field_of(instance)
        if field is None:
            return "some node has no spread of its inputs over the devices that it may be on"
        return cls(instance, field, pause, say)

    def schedule(self, name: str) -> Plan | str:
        """Return the plan that the rule *name* comes to, or why it came to none."""
        instance, field = self._instance, self._field
        order = instance.graph.topological_order.copy()
        if name != "greedy":
            order = in_order(instance.graph, upward(instance.graph, mean_time(instance), mean_carry(instance)))
        for thrift in (False, True):
            early: list[int] = []
            for _ in range(ATTEMPTS):
                placed = self._run(RULES[name]._replace(thrift=thrift), order, early)
                failed = int(placed.failed[0])
                if failed < 0:
                    return instance.plan(placed.home[field.group], _ranked(instance, placed.start, order))
                first = int(field.members[field.members_at[field.group[failed]]])
                if early[:1] == [first]:
                    break
                early = [first, *(v for v in early if v != first)]
        return (
            f"no spread of {instance.graph.names[failed]!r} was found within sizes, memory, links and the constraints; "
            "this does not prove that there is none"
        )

    def _run(self, rule: SpreadRule, order: Ints, early: list[int]) -> PlacedBatches:
        """Place nodes in *order*, those of which the devices are chosen *early* at first."""
        instance, field = self._instance, self._field
        given = np.full((len(field.may), instance.chunks), -1)
        for v in np.flatnonzero((instance.pins >= 0).all(axis=1)).tolist():
            given[field.group[v]] = instance.pins[v]
        placed, idle = nothing_placed(field, given), _idle(instance)
        turns = np.concatenate([early, order]).astype(np.int64)
        run = LIST.pick(float((instance.n + instance.m) * instance.k * instance.chunks), self._say)
        done = 0
        while done < len(turns) and placed.failed[0] < 0:
            self._pause()
            done = run(field, placed, idle, rule, turns, len(early), done, min(done + CHUNK, len(turns)))
            idle = with_room(idle, 2)
        return placed


def mean_time(instance: BatchInstance) -> Floats:
    """Return [n] the mean time of a whole batch over devices: of the largest batch of each, as often as inputs ask."""
    sizes = np.arange(1, instance.chunks + 1)
    able = np.isfinite(instance.time[:, :, 1:])
    largest = np.where(able, sizes, 0).max(axis=2)
    takes = np.take_along_axis(instance.time, largest[:, :, None], axis=2)[:, :, 0]
    whole = np.where(largest > 0, takes * instance.chunks / np.maximum(largest, 1), 0.0)
    means: Floats = whole.sum(axis=1) / np.maximum((largest > 0).sum(axis=1), 1)
    return means


def mean_carry(instance: BatchInstance) -> Floats:
    """Return [m] the mean time of a transfer of all inputs between two devices, over those pairs that are joined."""
    times = instance.fixed + instance.chunks * instance.growing
    joined = np.isfinite(times) & ~np.eye(instance.k, dtype=np.bool_)
    means: Floats = np.where(joined, times, 0.0).sum(axis=(1, 2)) / np.maximum(joined.sum(axis=(1, 2)), 1)
    return means[instance.row]


def _ranked(instance: BatchInstance, start: Floats, order: Ints) -> Floats:
    """Return [n, k] priorities: the batches by their starts, of those at the same time the nodes placed before."""
    place = np.empty(instance.n)
    place[order] = np.arange(instance.n)
    listed = np.lexsort((np.repeat(place, instance.k), start.ravel()))
    rank = np.empty(start.size)
    rank[listed] = np.arange(start.size)
    return rank.reshape(start.shape)


def _idle(instance: BatchInstance) -> IdleLines:
    """Return devices on which nothing runs yet."""
    k = instance.k
    since, until = np.zeros((k, ROOM)), np.zeros((k, ROOM))
    until[:, 0] = np.inf
    takes = np.where(np.isfinite(instance.time) & (instance.time > 0), instance.time, np.inf)
    return IdleLines(since, until, np.ones(k, np.int64), takes.min(axis=(0, 2), initial=np.inf), np.zeros(k))
