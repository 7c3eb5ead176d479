"""Look up the constraints of a problem: by kind, hard or soft, and by the device that each is about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from mtpp_dsl.core.constraints import Constraint, Contiguous, Linear, Replicate, Robust, Shard, StageMemory
from mtpp_dsl.core.problem.devices import Device

__all__ = ["ConstraintLookup"]

C = TypeVar("C", bound=Constraint)
R = TypeVar("R", Replicate, Shard, StageMemory)


class ConstraintLookup:
    """The part of a problem that looks up its constraints, for :class:`mtpp_dsl.problem.Problem`."""

    devices: tuple[Device, ...]
    constraints: tuple[Constraint, ...]

    @property
    def k(self) -> int:
        """Number of devices."""
        return len(self.devices)

    def of(self, kind: type[C]) -> Iterator[C]:
        """Yield the constraints of one kind."""
        return (c for c in self.constraints if isinstance(c, kind))

    @cached_property
    def soft_rows(self) -> tuple[Linear, ...]:
        """The rows that a plan may break, and pays for."""
        return tuple(row for row in self.of(Linear) if row.soft)

    @cached_property
    def hard_rows(self) -> tuple[Linear, ...]:
        """The labelled rows that must hold."""
        return tuple(row for row in self.of(Linear) if not row.soft)

    @property
    def contiguous(self) -> bool:
        """Whether some device's node set must be convex."""
        return any(True for _ in self.of(Contiguous))

    @cached_property
    def robust(self) -> Robust | None:
        """The constraint by which running times may be longer than given, or None."""
        return next(self.of(Robust), None)

    def _by_device(self, kind: type[R]) -> tuple[R | None, ...]:
        """Return [devices] the constraint of one kind that each is under, the last of several; None where none is."""
        rules: list[R | None] = [None] * self.k
        for rule in self.of(kind):
            for d in range(self.k) if rule.devices is None else rule.devices:
                rules[d] = rule
        return tuple(rules)

    @cached_property
    def replicate(self) -> tuple[Replicate | None, ...]:
        """[devices] what lets the stage of each be replicated; None where nothing does."""
        return self._by_device(Replicate)

    @cached_property
    def shard(self) -> tuple[Shard | None, ...]:
        """[devices] what lets the nodes of each be split over a group of devices; None where nothing does."""
        return self._by_device(Shard)

    @cached_property
    def stage_memory(self) -> tuple[StageMemory | None, ...]:
        """[devices] what says how much each keeps as a stage of a pipeline; None where nothing does."""
        return self._by_device(StageMemory)
