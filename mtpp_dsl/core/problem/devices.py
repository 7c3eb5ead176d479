"""Devices: their speed, memory, group, and what they support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from mtpp_dsl.core.base.pickling import Picklable
from mtpp_dsl.core.base.shown import Short

__all__ = ["TRAFFIC", "Device"]

TRAFFIC = "memory"
"""The kind under which ``efficiency`` has the share of the bandwidth, rather than of a peak."""


@dataclass(frozen=True, repr=False)
class Device(Short, Picklable):
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
        overhead: what every batch takes beside, whatever it consists of (time); where a law makes times of costs,
            what every operator takes beside.
        price: what it costs, in ``price_unit``; None where it is not given.
        price_unit: "USD", "EUR", "USD/s", "EUR/s", or "" for a number without a unit.
        power: what it draws, in ``power_unit``; None where it is not given.
        power_unit: "W", or "" for a number without a unit.
        peak: FLOP/s by type of numbers, such as "bf16"; under "" those of every type.
        bandwidth: of its own memory, in B/s; None where it is not given.
        efficiency: which share of the peak operators reach, by their kind; under "memory" which share of the bandwidth,
            under "" that of everything else. What is not there is 1.
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
    peak: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    bandwidth: float | None = None
    efficiency: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __post_init__(self) -> None:
        for name in ("peak", "efficiency"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def room(self) -> float:
        """What the memory has beside the reserve, as their decimals say (4.1 less 0.1 is 4); ``inf`` without one."""
        if self.memory is None:
            return float("inf")
        return max(float(Decimal(repr(float(self.memory))) - Decimal(repr(float(self.reserve)))), 0.0)

    def peak_of(self, dtype: str) -> float | None:
        """Return FLOP/s for a type of numbers; None where there is no figure for it."""
        return self.peak.get(dtype, self.peak.get(""))

    def efficiency_of(self, kind: str) -> float:
        """Return which share of the peak operators of a kind reach, or of the bandwidth under :data:`TRAFFIC`."""
        return self.efficiency.get(kind, self.efficiency.get("", 1.0))
