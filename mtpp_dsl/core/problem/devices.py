"""State the devices, and what joins them: a shared channel, host memory, links between pairs, or a tree of switches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints

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
    ``prefetch``: they are streamed while the device works, so that the longer of both counts; with ``overflow`` only.
    ``between``: the bandwidth for tensors that leave a group of devices, or enter it; None without groups.
    """

    bandwidth: float
    overflow: bool = False
    between: float | None = None
    prefetch: bool = False
    keyword: ClassVar[str] = "shared"

    @property
    def streaming(self) -> str:
        """What the language calls how parameters are streamed: "none", "stream" or "prefetch"."""
        return "prefetch" if self.prefetch else "stream" if self.overflow else "none"


@dataclass(frozen=True, repr=False)
class Host(Short):
    """As :class:`Shared`, but devices with ``io = free`` pay nothing, overflow included (tarnawski2020)."""

    bandwidth: float
    overflow: bool = False
    between: float | None = None
    prefetch: bool = False
    keyword: ClassVar[str] = "host"

    @property
    def streaming(self) -> str:
        """What the language calls how parameters are streamed: "none", "stream" or "prefetch"."""
        return "prefetch" if self.prefetch else "stream" if self.overflow else "none"


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
