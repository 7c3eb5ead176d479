"""What joins devices: a shared channel, host memory, or links from device to device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from mtpp_dsl.base.pickling import Picklable
from mtpp_dsl.base.shown import Short
from mtpp_dsl.problem.graph import Floats

__all__ = ["Host", "Interconnect", "Links", "Shared"]


@dataclass(frozen=True, repr=False)
class Shared(Short):
    """One channel to memory: a device pays ``output / bandwidth`` once per tensor and direction.

    ``overflow``: parameters beyond the device's memory are streamed, at a cost (archer2024, eq. 2).
    ``between``: the bandwidth for tensors that leave a group of devices, or enter it; None without groups.
    """

    bandwidth: float
    overflow: bool = False
    between: float | None = None
    keyword: ClassVar[str] = "shared"


@dataclass(frozen=True, repr=False)
class Host(Short):
    """As :class:`Shared`, but devices with ``io = free`` pay nothing, overflow included (tarnawski2020)."""

    bandwidth: float
    overflow: bool = False
    between: float | None = None
    keyword: ClassVar[str] = "host"


@dataclass(frozen=True, eq=False, repr=False)
class Links(Short, Picklable):
    """Point to point: an edge from device d to e takes ``latency[d,e] + size/bandwidth[d,e]``.

    Attributes:
        bandwidth, latency: [devices, devices]; ``bandwidth[d, e] = 0`` means no link.
        transfers: [m, devices, devices] explicit times, which then replace the formula; None otherwise.
        routing: whether devices without a link of their own use the widest path over others (zhang2023, Fig. 3), or
            "direct": cannot send each other anything (ghannane2023, 2.3).
    """

    bandwidth: Floats
    latency: Floats
    transfers: Floats | None = None
    routing: Literal["widest", "direct"] = "widest"
    keyword: ClassVar[str] = "links"


Interconnect: TypeAlias = Shared | Host | Links
