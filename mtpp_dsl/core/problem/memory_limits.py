"""Say what the memories of devices hold: limits on nodes, stages, caches and workspaces, and what is streamed."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from mtpp_dsl.core.constraints import Blocks, Memory
from mtpp_dsl.core.problem.constraint_lookup import ConstraintLookup
from mtpp_dsl.core.problem.devices import Host, Interconnect, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, frozen
from mtpp_dsl.core.problem.workspace import least_workspace

__all__ = ["MemoryLimits"]

MEMORY_ROUNDING = 1e-9
"""Of a memory: what sums of sizes may be too large by their rounding."""


class MemoryLimits(ConstraintLookup):
    """The part of a problem that is about the memories of its devices, for :class:`mtpp_dsl.problem.Problem`."""

    graph: Graph
    interconnect: Interconnect

    @property
    @abstractmethod
    def allowed(self) -> Bools:
        """[n, devices] where each node may go."""

    @cached_property
    def stage_limit(self) -> Floats:
        """[devices] what a stage may keep there, by ``constraint memory (schedule = …)``; ``inf`` for any amount."""
        rooms = zip(self.stage_memory, self.devices, strict=True)
        return frozen([np.inf if rule is None else device.room for rule, device in rooms], np.float64)

    @cached_property
    def stage_room(self) -> Floats:
        """[devices] the same, with room for the rounding of sums, as :attr:`memory_room` has it."""
        return self._with_rounding(self.stage_limit)

    @property
    def cache_blocks(self) -> Blocks | None:
        """How caches are cut into blocks, as many on every device; None where the spec does not ask for it."""
        return next((rule.pool for rule in self.of(Memory) if rule.pool is not None), None)

    @cached_property
    def memory_limit(self) -> Floats:
        """[devices] what the memory of a device's nodes may add up to under ``constraint memory``.

        ``inf`` for a device without a memory or not under the constraint; the reserve is taken off, and so is the least
        workspace of the nodes that may be there. Where these differ, more may have to be taken off: see
        :attr:`uneven_workspace`.
        """
        return frozen(np.maximum(self.room_limit - self.least_workspace, 0.0), np.float64)

    @cached_property
    def room_limit(self) -> Floats:
        """[devices] what the memory of a device's nodes and the largest workspace of one may take together.

        ``inf`` for a device without a memory or not under ``constraint memory``; the reserve is taken off.
        """
        limit = np.full(self.k, np.inf)
        for constraint in self.of(Memory):
            for d in range(self.k) if constraint.devices is None else constraint.devices:
                limit[d] = self.devices[d].room
        return frozen(limit, np.float64)

    @cached_property
    def least_workspace(self) -> Floats:
        """[devices] the least workspace of any node that may be on the device; 0 where its memory has no limit."""
        return frozen(least_workspace(self.graph, self.allowed, self.room_limit), np.float64)

    @cached_property
    def uneven_workspace(self) -> bool:
        """Whether nodes that may share a device need different workspaces, and its memory may not hold all nodes.

        If not, :attr:`memory_limit` is exact. If so, it is what a device may hold at most, and only methods that say so
        (:attr:`mtpp_dsl.core.contracts.scopes.Scope.workspace`) accept the problem.
        """
        most = self.graph.memory.sum() * (1 + MEMORY_ROUNDING) + self.graph.workspace.max(initial=0.0)
        scarce = self.room_limit < most
        differ = self.graph.workspace[:, None] > self.least_workspace
        return bool((differ & self.allowed)[:, scarce].any())

    @cached_property
    def holds_all(self) -> Bools:
        """[devices] whether all nodes may be on the device together, and fit into its memory."""
        need = self.graph.memory.sum() + self.graph.workspace.max(initial=0.0)
        return frozen(self.allowed.all(axis=0) & (need <= self.room_limit), np.bool_)

    @cached_property
    def memory_room(self) -> Floats:
        """[devices] the same, with room for the rounding of sums: what searches for plans go by.

        It is more by 1e-9 of the memory, and by less than the 1e-6 of the limit that the check of plans allows: what
        that allows is what bounds go by.
        """
        return self._with_rounding(self.memory_limit)

    def _with_rounding(self, limit: Floats) -> Floats:
        slack = np.array([MEMORY_ROUNDING * (device.memory or 0.0) for device in self.devices])
        return frozen(limit + np.minimum(slack, 5e-7 * limit), np.float64)

    @cached_property
    def overflow_limit(self) -> Floats:
        """[devices] parameters beyond this are streamed; ``inf`` where none are.

        A device under ``constraint memory`` has no overflow: its limit is hard, by stage or not. Neither has one that
        pays for no transfer: its parameters are in the memory that others stream from.
        """
        limit = np.full(self.k, np.inf)
        if isinstance(self.interconnect, (Shared, Host)) and self.interconnect.overflow:
            shared = isinstance(self.interconnect, Shared)
            for d, device in enumerate(self.devices):
                hard = np.isfinite(self.memory_limit[d]) or self.stage_memory[d] is not None
                if device.memory is not None and (shared or device.pays_io) and not hard:
                    limit[d] = device.room
        return frozen(limit, np.float64)

    @cached_property
    def prefetches(self) -> bool:
        """Whether some device streams parameters while it works, so that the longer of both counts."""
        return getattr(self.interconnect, "prefetch", False) and bool(np.isfinite(self.overflow_limit).any())
