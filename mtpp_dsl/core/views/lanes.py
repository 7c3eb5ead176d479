"""Several batches of a node on one device as batches on several devices: the lanes of a device.

Slot q of device d is lane ``d * slots + q``. The batches in the lanes of a device take turns on it, its memory is that
of all of its lanes, the parameters of a node count once, and nothing is sent between its lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mtpp_dsl.core.constraints import (
    BatchSizes,
    BreakSymmetry,
    Colocate,
    Constraint,
    Forbid,
    Memory,
    Pin,
    PinChunks,
    Repeat,
    Separate,
)
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.batches import timed
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.transfers import Transfers


@dataclass(frozen=True, eq=False)
class Lanes:
    """A batched throughput whose devices are the lanes of those of another.

    Attributes:
        problem: what is asked.
        expanded: the same with a device for every lane, at most one batch of a node on each; without ``colocate`` and
            ``separate``, which are about devices. *problem* itself, without ``repeat``, where each has one lane.
        slots: lanes of a device.
        together: the nodes of each ``colocate`` that *expanded* lacks: each input on one device, in any of its lanes.
        apart: those of each ``separate`` that it lacks: no input of two of them on one device.
    """

    problem: Problem
    expanded: Problem
    slots: int
    together: tuple[tuple[int, ...], ...] = ()
    apart: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def machine(self) -> Ints:
        """[lanes] the device of each."""
        return np.arange(self.expanded.k) // self.slots

    def of(self, machine: int) -> range:
        """Return the lanes of a device."""
        return range(machine * self.slots, (machine + 1) * self.slots)

    def plan(self, lane: Ints, priority: Floats) -> Plan:
        """Return the earliest plan with chunks in lanes, [n, chunks], in the order of *priority*, [n, lanes].

        Raises:
            UsageError: what :func:`mtpp_dsl.core.plans.batches.timed` cannot time.
        """
        return Plan.of_batches(timed(self.problem, lane, priority, slots=self.slots))

    def chunks(self, plan: Plan) -> tuple[Ints, Floats]:
        """Return [n, chunks] the lanes of a plan, and [n, lanes] its starts; batches of a node are numbered by start.

        The plan may have been made for fewer lanes.
        """
        batches = plan.batches
        assert batches is not None
        n, inputs = batches.device.shape
        lane, start = np.empty((n, inputs), np.int64), np.full((n, self.expanded.k), np.nan)
        for v in range(n):
            for d in np.unique(batches.device[v]).tolist():
                here = np.unique(batches.lane[v, batches.device[v] == d])
                if len(here) > self.slots:
                    raise UsageError("the plan has more batches of a node on a device than it may have")
                for q, one in enumerate(here[np.argsort(batches.start[v, here], kind="stable")].tolist()):
                    lane[v, batches.lane[v] == one] = d * self.slots + q
                    start[v, d * self.slots + q] = batches.start[v, one]
        return lane[:, :: self.problem.batching.chunk], start


def lanes_of(problem: Problem) -> Lanes:
    """Return the lanes of a batched throughput."""
    slots = problem.batching.slots
    rest = [rule for rule in problem.constraints if not isinstance(rule, Repeat)]
    if slots == 1:
        same = len(rest) == len(problem.constraints)
        return Lanes(problem, problem if same else problem.with_constraints(rest), 1)
    idle = tuple(d * slots + q for d, most in enumerate(problem.batching.repeat) for q in range(most, slots))
    nodes = tuple(range(problem.graph.n))
    rules = [row for rule in rest if (row := _in_lanes(rule, slots)) is not None]
    rules += [Forbid(nodes=nodes, devices=idle)] * bool(idle)
    expanded = replace(
        problem,
        devices=tuple(device for device in problem.devices for _ in range(slots)),
        constraints=tuple(rules),
        time=np.repeat(problem.time, slots, axis=1),
    )
    expanded.__dict__["transfers"] = _between_lanes(problem.transfers, slots)  # in place of what the links would say
    return Lanes(
        problem,
        expanded,
        slots,
        tuple(rule.nodes for rule in rest if isinstance(rule, Colocate)),
        tuple(tuple(sorted(set(rule.nodes))) for rule in rest if isinstance(rule, Separate)),
    )


def lanes_refusal(name: str, problem: Problem) -> str | None:
    """Return why method *name* does not take the constraints of a problem together with several batches, or None."""
    if problem.objective.batch is None or problem.batching.slots == 1:
        return None
    for kind in (BreakSymmetry, PinChunks, CustomConstraint):
        rule = next(problem.of(kind), None)
        if rule is not None:
            return f"{name} does not support constraint {rule} together with 'constraint repeat'"
    return None


def _in_lanes(rule: Constraint, slots: int) -> Constraint | None:
    """Return a constraint with lanes in place of devices; None for one that is not about lanes."""
    if isinstance(rule, (Colocate, Separate)):
        return None
    if isinstance(rule, (BatchSizes, Memory, Pin, Forbid)):
        if rule.devices is None:
            return rule
        return replace(rule, devices=tuple(d * slots + q for d in rule.devices for q in range(slots)))
    raise UsageError(f"constraint {rule} cannot be said of the lanes of devices")


def _between_lanes(transfers: Transfers, slots: int) -> Transfers:
    """Return what edges take between lanes: nothing between those of one device."""
    apart = 1.0 - np.kron(np.eye(len(transfers.latency)), np.ones((slots, slots)))

    def spread(times: Floats) -> Floats:
        wide = np.repeat(np.repeat(times, slots, axis=-2), slots, axis=-1)
        return np.where(apart > 0, wide, 0.0)

    return Transfers(
        spread(transfers.latency), spread(transfers.inverse), transfers.size, transfers.row, spread(transfers.table)
    )
