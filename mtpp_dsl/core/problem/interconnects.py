"""State what joins devices: a shared channel, host memory, links from device to device, or a tree of switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from mtpp_dsl.core.base.pickling import Picklable
from mtpp_dsl.core.base.shown import Short
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

__all__ = ["Duplex", "Host", "Interconnect", "Links", "Overlap", "Send", "Shared", "Tree"]

Overlap: TypeAlias = Literal["none", "full"]
"""Whether a device computes while it sends and receives."""

Send: TypeAlias = Literal["once", "each"]
"""Whether a tensor with several reading devices is sent to all of them at once, or to one after the other."""

Duplex: TypeAlias = Literal["full", "half"]
"""Whether the two directions of a link have a channel each, or share one."""


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
        overlap, send, duplex: what transfers take in a split; see :mod:`mtpp_dsl.core.problem.network`. A makespan
            knows of none of the three.
    """

    bandwidth: Floats
    latency: Floats
    transfers: Floats | None = None
    routing: Literal["widest", "direct"] = "widest"
    overlap: Overlap = "none"
    send: Send = "once"
    duplex: Duplex = "full"
    keyword: ClassVar[str] = "links"

    @property
    def split_options(self) -> tuple[str, ...]:
        """The options that say something of splits alone, and are not as they are by default."""
        given = (("overlap", self.overlap, "none"), ("send", self.send, "once"), ("duplex", self.duplex, "full"))
        return tuple(f"{name} = {value}" for name, value, usual in given if value != usual)


@dataclass(frozen=True, eq=False, repr=False)
class Tree(Short, Picklable):
    """Switches that nest, each with an uplink to the one above it; devices hang from switches by uplinks of their own.

    A tensor goes up from its device to the first switch that both ends are under, and down again.

    Attributes:
        switches: their names.
        parents: [devices + switches] number of the switch that each device, and then each switch, is under; -1: none.
        uplink: [devices + switches] bandwidth of the uplink of each, in each direction; ``inf`` where nothing limits
            it, and of what is under no switch.
        latency: [devices + switches] what a tensor takes over the uplink beside.
        half: [devices + switches] whether both directions of the uplink share one channel.
        overlap, send: what transfers take in a split; see :mod:`mtpp_dsl.core.problem.network`.
    """

    switches: tuple[str, ...]
    parents: Ints
    uplink: Floats
    latency: Floats
    half: Bools
    overlap: Overlap = "none"
    send: Send = "once"
    keyword: ClassVar[str] = "tree"

    @property
    def k(self) -> int:
        """Number of devices."""
        return len(self.parents) - len(self.switches)

    def way_up(self, d: int) -> list[int]:
        """Return device *d* and the switches above it, from below, by their rows in ``parents``."""
        way = [d]
        while self.parents[way[-1]] >= 0:
            way.append(self.k + int(self.parents[way[-1]]))
        return way


Interconnect: TypeAlias = Shared | Host | Links | Tree
"""What joins the devices of a problem."""
