"""Schedule modules between cut nodes one by one, equal ones once, by annealing, and join them: method ``series``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Constraint, ExclusiveLinks, Pin, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKind, ModuleKinds
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.search.schedule_annealing import anneal_sample

__all__ = ["anneal_series"]

NAME = "series"
RESERVE = 0.2
"""Of the time, for joining the modules and checking the whole."""


def anneal_series(problem: Problem, limits: Limits, progress: Progress, patience: int, moves: int) -> Result:
    """Return the plan of the schedules of all modules, one after another.

    All cut nodes are on one device, that on which they and all else take the least time together, or where they can run
    only elsewhere, there. Between these ends every kind of module is annealed for a share of the time by its work.
    Memory is not looked at before the whole is checked.

    Args:
        problem: a makespan on links.
        limits: when to stop.
        progress: told of the plan.
        patience: rounds without a better schedule after which the annealing of a module ends.
        moves: of each annealing of the first round, per node and device of a module.
    """
    incumbent = Incumbent(NAME, problem, limits, progress)
    impossible = quick(problem)
    if impossible is not None:
        return progress.result(NAME, limits, "infeasible", infeasibility=impossible)
    try:
        run = _Run(problem, incumbent.pause)
        run.anneal(limits, progress, patience, moves)
        if run.complete:
            if not incumbent.take(run.joined()):
                incumbent.note(f"the schedules of the modules make no plan together: {incumbent.broken}")
        else:
            incumbent.note("no schedule of some module was found")
    except SearchEnded:
        incumbent.note("the time was up, or somebody stopped, before every module had a schedule")
    return incumbent.result()


class _Run:
    """The modules of a problem with the devices of their ends, and what schedules of them are known.

    Args:
        problem: a makespan on links.
        pause: called often; raises to end.
    """

    def __init__(self, problem: Problem, pause: Callable[[], None]) -> None:
        self._instance = ScheduleInstance.of(problem)
        self._row, self._pause = ModuleKinds.of(problem, pause), pause
        self._anchors = _anchors(self._instance, self._row.modules)
        ends = [
            tuple(-1 if v == NONE else int(self._anchors[v]) for v in (module.entry, module.exit))
            for module in self._row.modules
        ]
        self._of = list(zip(self._row.number, ends, strict=True))
        self._first = {key: j for j, key in reversed(list(enumerate(self._of)))}
        self._known: dict[tuple[int, tuple[int, ...]], Plan] = {}

    @property
    def complete(self) -> bool:
        """Whether every module has a schedule."""
        return len(self._known) == len(self._first)

    def anneal(self, limits: Limits, progress: Progress, patience: int, moves: int) -> None:
        """Anneal one module of each kind: small ones first, each for its share of the time that is left."""
        count = Counter(self._of)
        weight = {key: count[key] * float(len(self._row.kinds[key[0]].time)) for key in self._first}
        left = sum(weight.values())
        own = limits.within((1 - RESERVE) * limits.remaining, start=None)
        for key in sorted(self._first, key=lambda one: weight[one]):
            self._pause()
            part = _problem(self._instance, self._row.modules[self._first[key]], self._row.kinds[key[0]], key[1])
            share = own.within(own.remaining * weight[key] / left, start=None)
            inner = Progress()
            result = anneal_sample(part, share, inner, patience, moves)
            left -= weight[key]
            plan = inner.plan or result.plan
            if plan is None:
                return
            self._known[key] = plan
            progress.say(f"annealed {len(self._known)} of {len(self._first)} kinds of modules")

    def joined(self) -> Plan:
        """Return the plan in which the modules follow one another, everything as early as it can be in that order."""
        instance = self._instance
        device = np.zeros(instance.n, np.int64)
        start = np.zeros(instance.n)
        sending = np.zeros(instance.m)
        since = 0.0
        for module, key in zip(self._row.modules, self._of, strict=True):
            plan, kind = self._known[key], self._row.kinds[key[0]]
            schedule = plan.schedule
            assert schedule is not None
            members = np.array(module.members, np.int64)
            own = slice(0 if kind.entry is None else 1, None)
            device[members[own]] = plan.assignment[own]
            start[members[own]] = since + schedule.start[own]
            sending[_edges(instance.graph, module)] = since + _sent(schedule, kind)
            since += float(schedule.end.max(initial=0.0))
        return timed(instance, device, start, sending)


def _sent(schedule: Schedule, kind: ModuleKind) -> Floats:
    """Return [edges] when each tensor is sent; one that stays where it is when its reader starts."""
    sent: Floats = np.where(np.isnan(schedule.sent), schedule.start[kind.net.head], schedule.sent)
    return sent


def _edges(graph: Graph, module: CutModule) -> Ints:
    """Return the edges of *module* in the order of those of its kind."""
    place = {v: i for i, v in enumerate(module.members)}
    edges = np.array(module.edges, np.int64)
    tails = np.array([place[v] for v in graph.tails[edges].tolist()], np.int64)
    heads = np.array([place[v] for v in graph.heads[edges].tolist()], np.int64)
    order: Ints = np.lexsort((edges, heads, tails))
    return edges[order]


def _anchors(instance: ScheduleInstance, modules: Sequence[CutModule]) -> Ints:
    """Return [n] where every node is as a cut node: on the device fastest for all, or if it cannot be there, for it."""
    time = instance.time
    total = np.where(np.isfinite(time), time, 0.0).sum(axis=0)
    unable = np.isinf(time[[module.exit for module in modules if module.exit != NONE]]).sum(axis=0)
    best = int(np.lexsort((total, unable))[0])
    anchors: Ints = np.where(np.isfinite(time[:, best]), best, time.argmin(axis=1))
    return anchors


def _problem(instance: ScheduleInstance, module: CutModule, kind: ModuleKind, ends: tuple[int, ...]) -> Problem:
    """Return a module as a problem of its own: the entry, which takes no time, and the exit are where *ends* say."""
    net, k, count = kind.net, instance.k, len(kind.time)
    carried = np.array(
        [net.latency + size * net.inverse + net.table[row] for size, row in zip(net.size, net.row, strict=True)]
    ).reshape(-1, k, k)
    carried[:, range(k), range(k)] = 0.0
    place = {v: i for i, v in enumerate(module.members)}
    rules: list[Constraint] = [ExclusiveLinks()] if instance.exclusive else []
    rules += [
        Pin(nodes=(v,), devices=(d,)) for v, d in zip((kind.entry, kind.exit), ends, strict=True) if v is not None
    ]
    members = np.argsort(net.group, kind="stable")
    classes = np.split(members, np.cumsum(np.bincount(net.group))[:-1]) if count else []
    rules += [Colocate(nodes=tuple(own.tolist())) for own in classes if len(own) > 1]
    for nodes in instance.apart:
        inside = tuple(place[v] for v in nodes if v in place)
        rules += [Separate(nodes=inside)] if len(inside) > 1 else []
    names = [f"d{d}" for d in range(k)]
    return Problem.create(
        Graph.create(
            [str(v) for v in range(count)],
            zip(net.tail.tolist(), net.head.tolist(), strict=True),
            times={name: kind.time[:, d] for d, name in enumerate(names)},
        ),
        [Device(name) for name in names],
        Links(np.ones((k, k)), np.zeros((k, k)), carried),
        Objective("makespan"),
        rules,
    )
