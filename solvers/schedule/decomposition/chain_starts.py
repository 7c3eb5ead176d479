"""Make plans from a path along a chain: whole modules, and what lies beside them, moved from device to device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import timed
from mtpp_dsl.solvers.schedule.decomposition.beside import Sides
from mtpp_dsl.solvers.schedule.list.ranks import upward
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["ChainStarts"]


class ChainStarts:
    """Plans in which the anchors are where a path has them.

    Args:
        instance: the problem. pieces: the modules of the chain. sides: nodes beside it.
        fastest: the device that would do all work in the least time.
    """

    def __init__(self, instance: ScheduleInstance, pieces: Sequence[ModulePiece], sides: Sides, fastest: int) -> None:
        self._instance, self._pieces, self._sides, self._fastest = instance, pieces, sides, fastest
        near = [np.array(group.nodes, np.int64) for group in sides.of]
        inner = [piece.nodes[piece.inner] for piece in pieces]
        ends = [piece.nodes[-1:] for piece in pieces if piece.exit]
        self._groups = [group for group in (*near, *inner, *ends) if len(group)]

    def plan(self, states: Sequence[int], hub: int | None, over: Callable[[], bool]) -> Plan | None:
        """Return the best plan found by moving groups of nodes, one at a time, until none makes it shorter.

        They move between the devices that the path uses.

        Args:
            states: of the ends of all modules, one after another.
            hub: where what lies beside the chain begins; None for the fastest device.
            over: whether to stop.
        """
        aside = self._fastest if hub is None else hub
        device = self._first(states, aside)
        tried = sorted({self._fastest, aside, *device.tolist()})
        best, length = self._ranked(device), inf
        while best is not None and _length(best) < length and not over():
            length = _length(best)
            for group in self._groups:
                before = device[group]
                for d in tried:
                    if over():
                        return best
                    if (before == d).all():
                        continue
                    device[group] = d
                    plan = self._timed(device, _starts(best))
                    if _length(plan) < _length(best):
                        best, before = plan, device[group]
                    else:
                        device[group] = before
            best = min((best, self._ranked(device)), key=_length)
        return best

    def _first(self, states: Sequence[int], aside: int) -> Ints:
        """Return [n] devices: anchors on the path, what lies beside them on *aside*.

        A module is on the device of both its ends. Between two devices it stays with the hub, if that is its entry, and
        is on the faster of them else.
        """
        device = np.full(self._instance.n, aside, np.int64)
        for j, piece in enumerate(self._pieces):
            first, last = piece.entries[states[j]], piece.exits[states[j + 1]]
            ends = [d for d in (first, last) if d >= 0] or [self._fastest]
            stays = j == self._sides.hub + 1 and piece.entry
            device[piece.nodes] = first if stays else min(ends, key=lambda d: float(piece.time[:, d].sum()))
            if piece.entry:
                device[piece.nodes[0]] = first
            if piece.exit:
                device[piece.nodes[-1]] = last
        time = self._instance.time
        return np.where(np.isfinite(time[np.arange(len(device)), device]), device, time.argmin(axis=1))

    def _ranked(self, device: Ints) -> Plan | None:
        """Return the plan with these devices, nodes with long ways to the end first; None if it cannot be."""
        graph = self._instance.graph
        return self._timed(device, -upward(graph, *self._takes(device)))

    def _timed(self, device: Ints, priority: Floats) -> Plan | None:
        """Return the plan with these devices, nodes of least priority first; None if it cannot be."""
        instance = self._instance
        used = np.bincount(device, instance.memory, instance.k)
        if not (all(np.isfinite(part).all() for part in self._takes(device)) and (used <= instance.limit).all()):
            return None
        return timed(instance, device, priority)

    def _takes(self, device: Ints) -> tuple[Floats, Floats]:
        """Return [n] the times of nodes, and [m] those of transfers."""
        instance = self._instance
        tails, heads = device[instance.graph.tails], device[instance.graph.heads]
        carry = np.where(tails == heads, 0.0, instance.transfers.along(np.arange(instance.m), tails, heads))
        return instance.time[np.arange(instance.n), device], carry


def _length(plan: Plan | None) -> float:
    return inf if plan is None or plan.schedule is None else float(plan.schedule.end.max(initial=0.0))


def _starts(plan: Plan | None) -> Floats:
    assert plan is not None
    assert plan.schedule is not None
    return plan.schedule.start
