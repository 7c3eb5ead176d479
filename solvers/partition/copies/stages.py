"""Find the best stages that groups of devices share, also unequal ones: the rates of the devices of a stage add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance
from mtpp_dsl.solvers.partition.copies.kernels import GROUPS, in_portions
from mtpp_dsl.solvers.partition.copies.pipelines import ROUNDING, best_sets, fewer
from mtpp_dsl.solvers.partition.copies.stage_moves import SharedStage, improved
from mtpp_dsl.solvers.partition.copies.states import CopiesStates, states_of

__all__ = ["StageGroups", "StageTable", "narrowed", "stage_table", "unions"]

NO_LOAD = 1e300
"""The rate of a stage that takes no time, as the kernel has it."""
MAX_PAIRS = 400_000


@dataclass(frozen=True, eq=False)
class StageGroups:
    """Stages and their devices.

    Attributes:
        stages: in order; empty if there are none.
        period: 1 / (least rate of a stage); 0 where every stage has a device that it takes no time of.
    """

    stages: list[SharedStage]
    period: float


@dataclass(frozen=True, eq=False)
class StageTable:
    """The largest least rate of stages on so many devices of each type.

    Attributes:
        states: of bundles of devices.
        bundle: [types] devices in a bundle.
        into, out: [n, types] what transfers at either end of a stage cost a device.
        rate: [places + 1, states] of the stages before each place.
        origin: [places + 1, states, 2] where the last stage begins, and the state of its group.
        complete: whether no number of devices was left out.
    """

    states: CopiesStates
    bundle: Ints
    into: Floats
    out: Floats
    rate: Floats
    origin: Ints
    complete: bool

    def groups(self, state: int) -> StageGroups:
        """Return the best stages on these devices."""
        rate = float(self.rate[-1, state])
        if rate <= 0:
            return StageGroups([], inf)
        stages, stop = [], len(self.rate) - 1
        while stop > 0:
            begin, group = self.origin[stop, state].tolist()
            stages.append((begin, stop, tuple((self.states.count[group] * self.bundle).tolist())))
            stop, state = begin, state - group
        return StageGroups(stages[::-1], (1 - ROUNDING) / rate if rate < NO_LOAD else 0.0)

    def best(self) -> StageGroups:
        """Return the best stages on any bundles of devices."""
        return self.groups(int(self.rate[-1].argmax()))

    def climbed(self, instance: ChainInstance, most: int, pause: Callable[[], None]) -> list[SharedStage]:
        """Return the best stages; where they are not known to be, after moves of borders and devices."""
        stages = self.best().stages
        if self.complete or not stages:
            return stages
        return improved(instance, stages, most, self.into, self.out, pause)


def stage_table(
    instance: ChainInstance,
    most: int,
    *,
    hopeful: bool,
    say: Callable[[str], None] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> StageTable | None:
    """Return the largest least rates of stages, each on *most* devices or fewer, each device in one stage at most.

    A device's rate is one divided by its work and transfers. These depend on the device at the other end: *hopeful*
    takes the cheapest, so that no plan has a smaller period, else the dearest. Both are the same where a transfer costs
    a device the same with all others. Where devices are many, those of a type are used in bundles, and some may be left
    out; None where that is not enough.
    """
    n, types = instance.n, instance.types

    def steps(limits: Ints) -> float:
        pairs = float(np.prod((limits + 1.0) * (limits + 2.0) / 2))
        return 0.5 * n**2 * (pairs + types * float(np.prod(limits + 1.0))) if pairs <= MAX_PAIRS else inf

    limits = fewer(instance.count, steps)
    if limits is None:
        return None
    bundle = np.ones_like(limits)
    for kind, (size, units) in enumerate(zip(instance.count.tolist(), limits.tolist(), strict=True)):
        limits[kind] = max(range(1, units + 1), key=lambda number: (size // number * number, number))
        bundle[kind] = size // limits[kind]
    states = states_of(limits)
    ahead = np.zeros((types, n + 1))
    ahead[:, 1:] = np.cumsum(np.where(np.isfinite(instance.time), instance.time, 0.0), axis=0).T
    into, out = _transfers(instance, hopeful=hopeful)
    rate = np.zeros((n + 1, len(states.count)))
    origin = np.zeros((*rate.shape, 2), np.int64)
    in_portions(GROUPS, steps(limits), n + 1, pause, say)(
        ahead, instance.end, into, out, states.count * bundle, *states.parts, most, rate, origin
    )
    return StageTable(states, bundle, into, out, rate, origin, bool((limits == instance.count).all()))


def unions(instance: ChainInstance, table: StageTable, most: int, worth: Floats) -> list[SharedStage]:
    """Return stages of several copies, each of which has stages of its own: rates of copies add up.

    Args:
        instance: the chain and the devices.
        table: of stages on some of them.
        most: copies.
        worth: [types] of a device.
    """
    rate = table.rate[-1]
    least = np.where((rate > 0) & (rate < NO_LOAD), 1 / np.where(rate > 0, rate, 1.0), inf)
    if not np.isfinite(least).any():
        return []
    chosen: list[int] = []

    def note(state: int) -> tuple[()]:
        chosen.append(state)
        return ()

    best_sets(instance.count // table.bundle, table.states, least, most, worth * table.bundle, note, table.complete)
    return [stage for state in chosen[1:] for stage in table.groups(state).stages]


def _transfers(instance: ChainInstance, *, hopeful: bool) -> tuple[Floats, Floats]:
    """Return [n, types] what receiving before, and sending behind, each place costs a device, from or to any other."""
    sent, received = instance.sent, instance.received
    closed = np.isinf(sent) | np.isinf(received)
    if hopeful:
        out = np.where(closed, inf, sent).min(axis=2)
        entering = np.where(closed, inf, received).min(axis=1)
    else:
        alone = np.diag(instance.count == 1)[None]
        out = np.where(alone, -inf, np.where(closed, inf, sent)).max(axis=2)
        entering = np.where(alone, -inf, np.where(closed, inf, received)).max(axis=1)
    into = np.zeros_like(entering)
    into[1:] = entering[:-1]
    return np.ascontiguousarray(into), np.ascontiguousarray(out)


def narrowed(instance: ChainInstance, stages: Sequence[SharedStage], *, alike: bool) -> ChainInstance:
    """Return the instance whose devices run these stages, each on devices of its own.

    Args:
        instance: the whole one.
        stages: what devices run; no more devices of a type than there are.
        alike: whether all routes have these stages, and go from one to the next.
    """
    free = [list(group) for group in instance.members]
    kinds, members, lowest, behind = [], [], [], []
    for begin, stop, group in stages:
        for kind, size in enumerate(group):
            if size:
                kinds.append(kind)
                members.append(tuple(free[kind].pop(0) for _ in range(size)))
                lowest.append(begin)
                behind.append(stop)
    narrow = instance.chosen(kinds, members)
    if alike:
        sent = np.full_like(narrow.sent, inf)
        for stop in {stop for _, stop, _ in stages if stop < instance.n}:
            sent[stop - 1] = narrow.sent[stop - 1]
        narrow = replace(narrow, sent=sent)
    return narrow.within(np.array(lowest), np.array(behind))
