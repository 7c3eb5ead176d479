"""Constraints as data: what a plan must satisfy, with nodes and devices by number.

Each carries ``origin``, the place in the spec it came from, for messages. Fields hold sorted
tuples, so that equal constraints compare equal. ``devices = None`` means every device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

Parts: TypeAlias = Literal["both", "forward"]
"""Which parts of a training graph a constraint is about."""
Sharing: TypeAlias = Literal["pipelines", "stages", "ranges", "any"]
"""What the routes of several copies may have in common: the option ``share`` of ``constraint copies``."""

Pipelining: TypeAlias = Literal["gpipe", "1f1b", "pipedream", "2bw"]
"""How a pipeline orders the forward and backward passes of microbatches, and which versions of the weights it keeps."""


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Root of the constraints; ``origin`` is ``file:line``, "" for those made in Python.

    Attributes:
        enlarges: whether the constraint allows plans, or cheaper ones, that a problem without it does not have. A bound
            that leaves such a constraint out may be above the optimum, so whoever has not listed it refuses it.
    """

    enlarges: ClassVar[bool] = False

    origin: str = field(default="", compare=False)

    @property
    def keyword(self) -> str:
        """The word the language calls it by."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        return f"{self.keyword} ({self.origin})" if self.origin else self.keyword


@dataclass(frozen=True, kw_only=True)
class PluginConstraint(Constraint):
    """A constraint that a plug-in adds to the language: see :class:`mtpp_dsl.contracts.CustomConstraint`."""

    def refusal(self, problem: Any) -> str | None:
        """Return why the constraint means nothing in *problem*, or None; asked when the problem is made."""
        del problem
        return None


@dataclass(frozen=True, kw_only=True)
class Acyclic(Constraint):
    """The quotient graph has no cycle (archer2024, 2.2); of a training graph, in each part by itself.

    ``parts = "forward"`` asks it of the forward part alone, as published code does. Where the network between groups of
    devices is slower, that of the groups has no cycle, either; ``groups = "free"`` asks it of the devices alone, so
    that data may enter a group more than once.
    """

    parts: Parts = "both"
    groups: Literal["ordered", "free"] = "ordered"


@dataclass(frozen=True, kw_only=True)
class Contiguous(Constraint):
    """Each device's node set is convex (tarnawski2020, Definition 3.1), in each part by itself."""

    devices: tuple[int, ...] | None = None
    parts: Parts = "both"


@dataclass(frozen=True, kw_only=True)
class InOrder(Constraint):
    """The stages are in the order of *devices*: nothing goes back from a later one of these to an earlier one.

    Where a path leads from a node to another, and each is on one of these devices, the first is not on a later one. In
    the backward part of a training graph it is the other way round. Of all devices, this makes the quotient graph of
    each part acyclic.

    Attributes:
        devices: in their order; None for all, as they are declared.
        empty: whether one of these devices may be without a node.
    """

    devices: tuple[int, ...] | None = None
    empty: Literal["allowed", "never"] = "allowed"

    @property
    def keyword(self) -> str:
        return "stages"


@dataclass(frozen=True)
class Blocks:
    """How the caches of nodes are cut into blocks that all devices have the same number of.

    Attributes:
        tokens: of the requests that the ``cache`` of each node is for; None where it is not given. A multiple of
            *block*, so that the caches are whole blocks.
        block: the tokens of one block.
    """

    tokens: int | None = None
    block: int = 1


@dataclass(frozen=True, kw_only=True)
class Memory(Constraint):
    """The memory of a device's nodes and its reserve fit into the device's memory.

    ``constraint cache uniform`` is this of all devices, with a pool of blocks: each device gets as many blocks for the
    ``cache`` of its nodes as the one with the least room can hold (vLLM, SGLang). It asks no more of a plan than that
    what the nodes keep fits; see :mod:`mtpp_dsl.core.plans.cache_pool`.

    Attributes:
        devices: under the constraint; None for all.
        pool: how the caches are cut into blocks; None where nothing is said of it.
    """

    devices: tuple[int, ...] | None = None
    pool: Blocks | None = None

    @property
    def keyword(self) -> str:
        return super().keyword if self.pool is None else "cache uniform"


@dataclass(frozen=True, kw_only=True)
class Colocate(Constraint):
    """All *nodes* on one device."""

    nodes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Separate(Constraint):
    """No two of *nodes* on one device."""

    nodes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Pin(Constraint):
    """Every one of *nodes* on one of *devices*."""

    nodes: tuple[int, ...]
    devices: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PinChunks(Constraint):
    """Chunk c of each of *nodes* on ``places[c]``: what fixes the ends of a module in a batched throughput."""

    nodes: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def keyword(self) -> str:
        return "pin chunks"


@dataclass(frozen=True, kw_only=True)
class Forbid(Constraint):
    """None of *nodes* on any of *devices*."""

    nodes: tuple[int, ...]
    devices: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Subgraphs(Constraint):
    """At most *most* contiguous pieces on each device (tarnawski2020, latency)."""

    most: int
    devices: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class ExclusiveLinks(Constraint):
    """Transfers that leave one device, or reach one device, do not overlap (zhang2023, eq. 8)."""

    @property
    def keyword(self) -> str:
        return "exclusive links"


@dataclass(frozen=True, kw_only=True)
class BatchSizes(Constraint):
    """A device runs batches of these sizes only (ghannane2023, 3.2)."""

    sizes: tuple[int, ...]
    devices: tuple[int, ...] | None = None

    @property
    def keyword(self) -> str:
        return "batch"


@dataclass(frozen=True, kw_only=True)
class Repeat(Constraint):
    """A node may run up to *most* batches on one of *devices*, one after the other; without it, one."""

    enlarges: ClassVar[bool] = True

    most: int
    devices: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Replicate(Constraint):
    """A stage on one of *devices* may run on up to *most* of them, each taking its share of the inputs (PipeDream).

    ``sync``: whether these replicas exchange their weights; None: where the graph has a backward part.
    """

    enlarges: ClassVar[bool] = True

    most: int
    devices: tuple[int, ...] | None = None
    sync: Literal["weights", "none"] | None = None


@dataclass(frozen=True, kw_only=True)
class StageMemory(Constraint):
    """What a stage keeps fits into its devices' memory: it depends on how many stages come after it.

    A stage with j stages after it keeps min(M, j + 1) microbatches, with ``gpipe`` all M (Narayanan 2019, 2021). It
    holds ``state`` of its nodes, ``params`` once more for every further version of the weights, and ``saved`` for every
    microbatch kept. Versions are one, two with ``2bw``, and with ``pipedream`` as many as microbatches kept.

    A stage that recomputes keeps the tensors that it reads for every microbatch, and ``saved`` of its nodes once
    (Chen 2016); it runs its forward part a second time. See :mod:`mtpp_dsl.core.plans.stages`.

    Attributes:
        schedule: of the pipeline.
        microbatches: M, of one iteration; None for as many as there are stages, where no iteration ends.
        recompute: whether stages recompute: "free" leaves it to the plan.
        devices: under the constraint; None for all.
    """

    schedule: Pipelining
    microbatches: int | None = None
    recompute: Literal["never", "always", "free"] = "never"
    devices: tuple[int, ...] | None = None

    @property
    def keyword(self) -> str:
        return "memory"

    def kept(self, after: int) -> int:
        """Return how many microbatches a stage keeps that has *after* stages after it.

        >>> [StageMemory(schedule="1f1b", microbatches=2).kept(after) for after in (2, 1, 0)]
        [2, 2, 1]
        >>> StageMemory(schedule="gpipe", microbatches=8).kept(0)
        8
        """
        if self.microbatches is None:
            return after + 1
        return self.microbatches if self.schedule == "gpipe" else min(self.microbatches, after + 1)

    def versions(self, after: int) -> int:
        """Return how many versions of its weights a stage holds that has *after* stages after it."""
        return {"pipedream": self.kept(after), "2bw": 2}.get(self.schedule, 1)


@dataclass(frozen=True, kw_only=True)
class Shard(Constraint):
    """The nodes of a stage on one of *devices* may be split over a group of equal ones, as tensor parallelism does.

    On t devices a node takes ``time / speedup(t)`` and the all-reduce of its ``reduce`` bytes, ``2 (t - 1) / t * reduce
    / bandwidth`` (Megatron 2019; Patarasuk and Yuan 2009); each device holds 1/t of what the nodes hold. With
    ``replicate`` as well, a stage may be on r groups of t devices, which share the inputs.

    Attributes:
        by: the numbers of devices that a group may have, ascending.
        speedup: what the work of a node is divided by, for each of *by*; () for the number of devices itself.
        devices: of which groups are made, each of equal ones; None for all.
    """

    enlarges: ClassVar[bool] = True

    by: tuple[int, ...]
    speedup: tuple[float, ...] = ()
    devices: tuple[int, ...] | None = None

    def faster(self, shards: int) -> float:
        """Return what the work of a node is divided by on a group of so many devices.

        >>> rule = Shard(by=(1, 2, 4), speedup=(1.0, 1.8, 3.0))
        >>> rule.faster(2), Shard(by=(1, 2)).faster(2)
        (1.8, 2.0)
        """
        return self.speedup[self.by.index(shards)] if self.speedup and shards in self.by else float(shards)


@dataclass(frozen=True, kw_only=True)
class Copies(Constraint):
    """A plan may be several routes, each a plan by itself that takes its share of the inputs.

    No node is held by more than *most* devices. What routes may share is said by *share*: ``pipelines``, no device is
    on two of them; ``stages``, all have the same stages, and a device runs one of these; ``ranges``, of a chain, every
    device holds all nodes from the first to the last that it runs; ``any``, any devices and any nodes.
    """

    enlarges: ClassVar[bool] = True

    most: int
    share: Sharing = "any"


@dataclass(frozen=True, kw_only=True)
class Robust(Constraint):
    """Loads count the worst of all cases in which up to *most* nodes take longer (Bertsimas and Sim, 2003).

    A node that takes longer does so by its deviation: ``deviation`` of the node, or else *share* of its time. The load
    of a device grows by the *most* largest deviations of its nodes; for the largest load it is the same whether these
    are counted on each device or in the whole graph.
    """

    most: int
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BreakSymmetry(Constraint):
    """Order equal devices, by *by*: never cuts off the optimum (ghannane2023, 5.2)."""

    by: Literal["tasks", "batches", "time"]
    scope: Literal["within", "between", "both"] = "both"

    @property
    def keyword(self) -> str:
        return "break symmetry"


@dataclass(frozen=True)
class On:
    """1 when *node* is on *device*, else 0."""

    node: int
    device: int


@dataclass(frozen=True)
class Load:
    """The load of *device*: its work, the I/O it pays and its overflow; of one *phase*, or of all together."""

    device: int
    phase: str | None = None


@dataclass(frozen=True)
class Bottleneck:
    """The largest load, in one *phase* or of all together."""

    phase: str | None = None


@dataclass(frozen=True)
class Start:
    """When *node* starts."""

    node: int


@dataclass(frozen=True)
class Finish:
    """When *node* ends."""

    node: int


@dataclass(frozen=True)
class Makespan:
    """When the last node ends."""


@dataclass(frozen=True)
class Used:
    """1 when any node is on *device*, else 0."""

    device: int


@dataclass(frozen=True)
class Latency:
    """The sum of all loads, and of the times of transfers that are in no load; of one *phase*, or of all together."""

    phase: str | None = None


@dataclass(frozen=True)
class Penalties:
    """What the soft rows of the problem cost: penalty times violation, summed over them; for rows made in Python."""


@dataclass(frozen=True)
class Largest:
    """The largest of several sums of decisions, each given as its terms and a constant.

    It may only be pushed down: minimised, or limited from above.
    """

    sums: tuple[tuple[tuple[tuple[Decision, float], ...], float], ...]


Decision: TypeAlias = On | Load | Bottleneck | Start | Finish | Makespan | Used | Latency | Penalties | Largest
"""What a term of a labelled constraint or of a linear objective stands for."""


def decisions_in(terms: Iterable[tuple[Decision, float]]) -> Iterator[Decision]:
    """Yield the decisions of *terms*, and those of the sums of which one takes the largest."""
    for decision, _ in terms:
        yield decision
        if isinstance(decision, Largest):
            for inner, _ in decision.sums:
                yield from decisions_in(inner)


def phases_in(terms: Iterable[tuple[Decision, float]]) -> set[str | None]:
    """Return the phases that the loads in *terms* are of; None stands for all phases together."""
    return {decision.phase for decision in decisions_in(terms) if isinstance(decision, (Load, Bottleneck, Latency))}


def of_phase(decision: Decision, phase: str | None) -> Decision:
    """Return a load, a bottleneck or a latency of another *phase*; other decisions are of none, and stay."""
    return replace(decision, phase=phase) if isinstance(decision, (Load, Bottleneck, Latency)) else decision


@dataclass(frozen=True, kw_only=True)
class Linear(Constraint):
    """``sum(coefficient * decision) sense rhs``, from a labelled constraint.

    A soft row, one with a penalty, may be broken: ``penalty * violation`` is then added to the cost of the plan.

    Attributes:
        label: the user's name for it, with the values of its ``forall`` where it has one.
        terms: decisions, each once, with non-zero coefficients.
        sense: of the row.
        rhs: right-hand side.
        penalty: what a unit of violation costs, in the unit of the first objective; None where the row must hold.
        unit: of both sides, for people: "s", "USD", "J", ...; "" where it is not given.
    """

    label: str
    terms: tuple[tuple[Decision, float], ...]
    sense: Literal["<=", "==", ">="]
    rhs: float
    penalty: float | None = None
    unit: str = field(default="", compare=False)

    @property
    def soft(self) -> bool:
        """Whether a plan may break the row, and pays for it."""
        return self.penalty is not None

    def violation(self, left: float) -> float:
        """Return by how much the row is missed where its left side is *left*; 0.0 where it holds."""
        over = {"<=": left - self.rhs, ">=": self.rhs - left, "==": abs(left - self.rhs)}[self.sense]
        return max(0.0, over)

    def __str__(self) -> str:
        return f"{self.label} ({self.origin})" if self.origin else self.label
