"""Devices: their speed, memory, group, and what they support."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from mtpp_dsl.base.shown import Short

__all__ = ["Device"]


@dataclass(frozen=True, repr=False)
class Device(Short):
    """One device.

    Attributes:
        name: unique, such as ``stage[0]``.
        type: which of the graph's time tables it uses, where there is one of that name.
        memory: its size (B, or abstract); None for unlimited or not given.
        reserve: the part of the memory kept free for activations.
        speed: divides the graph's ``work``; a factor, or FLOP/s when the work is in FLOP.
        pays_io: False for a CPU beside host memory (``io = free``).
        unsupported: kinds of node it cannot run.
        group: the group of devices it is in, where the network between groups is slower; the node of a cluster.
        fixed: the share of the time of one input that a batch takes whatever its size (0 to 1).
        overhead: what every batch takes beside, whatever it consists of (time).
        price: what it costs, in ``price_unit``; None where it is not given.
        price_unit: "USD", "EUR", "USD/s", "EUR/s", or "" for a number without a unit.
        power: what it draws, in ``power_unit``; None where it is not given.
        power_unit: "W", or "" for a number without a unit.
    """

    name: str
    type: str = "accelerator"
    memory: float | None = None
    reserve: float = 0.0
    speed: float = 1.0
    pays_io: bool = True
    unsupported: frozenset[str] = frozenset()
    group: str | None = None
    fixed: float = 0.0
    overhead: float = 0.0
    price: float | None = None
    price_unit: str = ""
    power: float | None = None
    power_unit: str = ""

    @property
    def room(self) -> float:
        """What the memory has beside the reserve, as their decimals say (4.1 less 0.1 is 4); ``inf`` without one."""
        if self.memory is None:
            return float("inf")
        return max(float(Decimal(repr(float(self.memory))) - Decimal(repr(float(self.reserve)))), 0.0)
