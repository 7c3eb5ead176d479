"""Methods that schedule nodes one after another by a rule, without a search."""

from __future__ import annotations

from typing import ClassVar

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import BATCH, ONE_SAMPLE, checking


class ListScheduler(Scoped, MethodBase):
    """What all list schedulers share: the rules are in :mod:`mtpp_dsl.solvers.schedule.list`."""

    summary: ClassVar[str]
    gives: Gives = "plan"
    seeded = False
    scopes: tuple[Scope, ...] = (checking(ONE_SAMPLE),)

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the schedule, or none, with a note that says why."""
        from mtpp_dsl.solvers.schedule.list.batch_run import list_batches
        from mtpp_dsl.solvers.schedule.list.list_rules import list_schedule

        make = list_schedule if problem.objective.batch is None else list_batches
        return make(self.name, problem, limits, progress)


class Met(ListScheduler):
    """Method ``met``: every node on its fastest device, in the order of upward ranks."""

    name = "met"
    summary = "list scheduler: by upward rank, each node on its fastest device"
    baseline = True
    scopes = (checking(ONE_SAMPLE), BATCH)


class Greedy(ListScheduler):
    """Method ``greedy``: in topological order, every node where it ends first, after all else there."""

    name = "greedy"
    summary = "list scheduler: in topological order, each node where it ends first, after everything else there"
    baseline = True
    scopes = (checking(ONE_SAMPLE), BATCH)


class Heft(ListScheduler):
    """Method ``heft``: in the order of upward ranks, every node where it ends first, also between others.

    Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing (2002).
    """

    name = "heft"
    summary = "list scheduler: by upward rank, each node where it ends first, also in gaps"
    scopes = (checking(ONE_SAMPLE), BATCH)


class Cpop(ListScheduler):
    """Method ``cpop``: the longest path on the one device that is fastest for it, all else where it ends first.

    Topcuoglu, Hariri, Wu (2002), section 4.2.
    """

    name = "cpop"
    summary = "list scheduler: the longest path on one device, every other node where it ends first"


class Peft(ListScheduler):
    """Method ``peft``: every node where its end and the optimistic cost of what follows are least.

    Arabnejad, Barbosa: List scheduling algorithm for heterogeneous systems by an optimistic cost table (2014).
    """

    name = "peft"
    summary = "list scheduler: each node where its end plus an optimistic cost of what follows is least"


class Etf(ListScheduler):
    """Method ``etf``: always the node and the device with the earliest start.

    Hwang, Chow, Anger, Lee: Scheduling precedence graphs in systems with interprocessor communication times (1989).
    """

    name = "etf"
    summary = "list scheduler: always the node and device with the earliest start"
    baseline = True


class Sct(ListScheduler):
    """Method ``m-sct``: as ``etf``, but a device waits for the favourite child of the node that it ran last.

    Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie, Gupta: Baechi: fast device placement of machine learning graphs (2020),
    after Hanen and Munier (1995). A linear programme says which edges should stay on one device. A device whose last
    node has a ready favourite that could start nowhere earlier waits for it, and runs others only when they could
    start on any device by then ("urgent"). On unequal devices and links the programme sees mean times.
    """

    name = "m-sct"
    summary = "list scheduler: earliest start first, but a device may wait for the favourite child of its last node"
    baseline = True


class Getf(ListScheduler):
    """Method ``getf``: as ``etf``, within the group of about equally fast devices that a linear programme gives a node.

    Su, Ren, Vardi, Wierman: Communication-aware scheduling of precedence-constrained tasks on related machines (2020);
    groups and rounding as in Chudak and Shmoys (1999). Their devices are related: each has one speed. Here times may be
    any: the programme has the times themselves; the speed of a device is the total time of the nodes that it can run,
    each on its best device, over their total time on it; groups count only with the devices that can run a node. A node
    leaves its group only if no device of it leaves room for the others.
    """

    name = "getf"
    summary = "list scheduler: earliest start first, in the group of devices that a linear programme gives each node"
    baseline = True
