"""What a generated spec means, as plain data in base units (s, B, or the spec's own where it has none)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from pathlib import Path

__all__ = ["Device", "Instance", "Node", "Row", "Rule"]

Term = tuple[str, int, int] | tuple[str, int] | tuple[str]


@dataclass
class Node:
    """A node; ``times`` are those that a file gives, by type of device."""

    name: str
    work: float = 0.0
    params: float = 0.0
    output: float = 0.0
    memory: float | None = None
    kind: str = ""
    label: str = ""
    color: int = -1
    backward: bool = False
    times: dict[str, float] = field(default_factory=dict)

    @property
    def takes(self) -> float:
        """What ``constraint memory`` adds up."""
        return self.params + self.output if self.memory is None else self.memory


@dataclass
class Device:
    """A device; ``free``: it pays for no transfer on ``host``."""

    name: str
    type: str = "accelerator"
    memory: float | None = None
    reserve: float = 0.0
    speed: float = 1.0
    free: bool = False
    unsupported: tuple[str, ...] = ()
    fixed: float = 0.0
    overhead: float = 0.0
    group: str | None = None


@dataclass
class Row:
    """One inequality of a labelled constraint: the sum of coefficients times decisions, a sense, a number."""

    terms: dict[Term, float]
    sense: str
    rhs: float


@dataclass
class Rule:
    """Another constraint, by the name of its class in the project; devices None: all."""

    kind: str
    nodes: tuple[int, ...] = ()
    devices: tuple[int, ...] | None = None
    parts: str = "both"
    most: int = 0
    sync: str | None = None
    sizes: tuple[int, ...] = ()
    by: str = ""
    scope: str = "both"

    def on(self, d: int) -> bool:
        """Return whether it speaks of device *d*."""
        return self.devices is None or d in self.devices


@dataclass
class Instance:
    """A spec: its meaning, its text and the files beside it.

    ``bandwidths[d][f]`` is 0 where nothing joins two devices directly; ``carried[u, v][d][f]`` are explicit times of
    transfers; ``batch_times[v, d, p]`` are times of batches, which go over the law, and ``own_times[v, d]`` those of
    single inputs, which go over work and speed.
    """

    family: str
    seed: int
    nodes: list[Node] = field(default_factory=list)
    edges: dict[tuple[int, int], float | None] = field(default_factory=dict)
    devices: list[Device] = field(default_factory=list)
    network: str = "shared"
    bandwidth: float = 1.0
    between: float | None = None
    overflow: bool = False
    bandwidths: list[list[float]] = field(default_factory=list)
    latencies: list[list[float]] = field(default_factory=list)
    carried: dict[tuple[int, int], list[list[float]]] | None = None
    direct: bool = False
    objective: str = "bottleneck"
    separate: bool = False
    batch: int | None = None
    chunk: int | None = None
    per_input: bool = False
    rules: list[Rule] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    batch_times: dict[tuple[int, int, int], float] = field(default_factory=dict)
    own_times: dict[tuple[int, int], float] = field(default_factory=dict)
    text: str = ""
    files: dict[str, str] = field(default_factory=dict)
    defines: dict[str, str] = field(default_factory=dict)
    features: set[str] = field(default_factory=set)

    def written(self, folder: Path) -> Path:
        """Write the spec, and the files beside it, into a folder, and return its path."""
        for name, text in {**self.files, "spec.mtpp": self.text}.items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder / "spec.mtpp"

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def k(self) -> int:
        """Number of devices."""
        return len(self.devices)

    def of(self, kind: str) -> list[Rule]:
        """Return the rules of one kind."""
        return [rule for rule in self.rules if rule.kind == kind]

    def time(self, v: int, d: int) -> float:
        """Return what one input of node *v* takes on device *d*; ``inf`` where it cannot run."""
        node, device = self.nodes[v], self.devices[d]
        if node.kind and node.kind in device.unsupported:
            return inf
        if (v, d) in self.own_times:
            return self.own_times[v, d]
        given = node.times.get(device.name, node.times.get(device.type, node.work))
        return given / device.speed

    def pays(self, d: int) -> bool:
        """Return whether device *d* pays for tensors, on ``shared`` and ``host``."""
        return self.network == "shared" or not self.devices[d].free

    def size(self, edge: tuple[int, int]) -> float:
        """Return what an edge carries on links."""
        given = self.edges[edge]
        return self.nodes[edge[0]].output if given is None else given
