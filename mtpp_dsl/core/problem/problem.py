"""State a problem: a graph, devices, what joins them, an objective and constraints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    Forbid,
    Latency,
    Pin,
    PinChunks,
    PluginConstraint,
    Shard,
    StageMemory,
)
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.problem.batching import Batching, batching, check_batches
from mtpp_dsl.core.problem.cache_blocks import check_blocks
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared, Tree
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.in_order import Line, check_order, in_line, ordered_devices
from mtpp_dsl.core.problem.memory_limits import MemoryLimits
from mtpp_dsl.core.problem.network import Network, check_network, check_tree, network_of
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.objective_rules import settled_objectives
from mtpp_dsl.core.problem.phases import (
    check_phases,
    mixed_graph,
    of_one_phase,
    only_phase,
    plain_objective,
    rows_of_phase,
    speaks_of_phases,
    summed,
    summed_latencies,
)
from mtpp_dsl.core.problem.plan_rules import check_copies, check_groups, check_replicas, check_robust, deviations
from mtpp_dsl.core.problem.soundness import check_devices, check_links, check_magnitudes, check_members, unread, untimed
from mtpp_dsl.core.problem.spec_origin import Origin, Targeted
from mtpp_dsl.core.problem.staging import check_shards, check_stages
from mtpp_dsl.core.problem.streaming import check_prefetch
from mtpp_dsl.core.problem.transfers import Transfers, transfers
from mtpp_dsl.core.problem.workspace import check_workspace


@dataclass(frozen=True, eq=False)
class Problem(MemoryLimits, Picklable):
    """A graph to be placed on devices; immutable. Build it with :meth:`create`.

    Attributes:
        time: [n, devices] running time of each node on each device; ``inf``: not supported.
        objective: what is optimised; the first of several.
        later: the other objectives, in their order: each chooses among the plans that those before it leave.
        time_unit: "s" or "".
        warnings: what the reader of the spec should be told.
        target: the runtime whose limits are among the constraints; None for none.
    """

    graph: Graph
    devices: tuple[Device, ...]
    interconnect: Interconnect
    objective: Objective
    constraints: tuple[Constraint, ...]
    time: Floats
    time_unit: str = ""
    origin: Origin = field(default_factory=Origin)
    warnings: tuple[str, ...] = ()
    later: tuple[Objective, ...] = ()
    target: Targeted | None = None

    @classmethod
    def create(
        cls,
        graph: Graph,
        devices: Sequence[Device],
        interconnect: Interconnect,
        objective: Objective | Sequence[Objective] | None = None,
        constraints: Sequence[Constraint] = (),
        *,
        time_unit: str | None = None,
        origin: Origin | None = None,
        warnings: Sequence[str] = (),
    ) -> Problem:
        """Check the parts against each other and compute ``time``.

        Several objectives are optimised one after the other, each over the plans that those before it leave. Nodes of a
        model that share weights are kept together.

        Raises:
            UsageError: no device, two of one name, a bandwidth that is not positive, a constraint
                that names a node or device that is not there, or that speaks of the bottleneck where there are two;
                and see :mod:`mtpp_dsl.core.problem.plan_rules`, :mod:`mtpp_dsl.core.problem.soundness`,
                :mod:`mtpp_dsl.core.problem.objective_rules` and :mod:`mtpp_dsl.core.problem.batching`.
        """
        devices, constraints = tuple(devices), _with_ties(graph, constraints)
        channel = interconnect if isinstance(interconnect, (Shared, Host)) else None
        # Each part by itself: devices, what joins them, and whether constraints name what is there.
        check_devices(devices, channel, graph)
        if isinstance(interconnect, Links):
            check_links(interconnect, graph, len(devices))
        if isinstance(interconnect, Tree):
            check_tree(interconnect, graph, len(devices))
        for constraint in constraints:
            check_members(constraint, graph.n, len(devices))
        check_order(constraints, [device.name for device in devices])
        check_magnitudes(graph, devices, channel)
        # The times, of all phases together; replicas are checked against those of single inputs.
        time = running_times(graph, devices)
        check_groups(devices, interconnect)
        check_replicas(constraints, graph, devices, interconnect, time)
        if graph.phases:
            time = frozen(sum(p.weight * running_times(p.graph, devices) for p in graph.phases), np.float64)
            graph = summed(graph, devices, time)
        # The objectives, and each kind of constraint against them and the rest; warnings are collected in notes.
        objectives, notes = settled_objectives(objective, graph, len(devices), interconnect, constraints)
        check_stages(objectives, graph, devices, interconnect, constraints)
        check_shards(objectives, devices, interconnect, constraints)
        check_copies(constraints, graph, interconnect, objectives)
        check_phases(graph, interconnect, objectives, constraints)
        check_robust(constraints, graph, interconnect, objectives)
        check_blocks(constraints, objectives)
        check_workspace(graph, constraints, objectives)
        check_prefetch(graph, interconnect, objectives, constraints)
        objective = objectives[0]
        notes = (*notes, *check_network(objectives, devices, interconnect, constraints))
        if objective.batch is not None:
            notes = (*notes, *check_batches(objective, devices, interconnect, constraints))
        notes = (*notes, *untimed(graph, devices), *unread(graph, devices, interconnect, objective, constraints))
        if time_unit is None:
            time_unit = "s" if graph.work_unit in ("s", "FLOP") else ""
        problem = cls(
            graph=graph,
            devices=devices,
            interconnect=interconnect,
            objective=objective,
            constraints=tuple(constraints),
            time=time,
            time_unit=time_unit,
            origin=origin or Origin(),
            warnings=(*warnings, *notes),
            later=objectives[1:],
        )
        # What can be checked of the finished problem alone.
        if objective.batch is not None:
            problem.batching  # noqa: B018  raises where times or memories are missing
        for custom in problem.of(PluginConstraint):
            reason = custom.refusal(problem)
            if reason is not None:
                raise ConstraintError(f"constraint {custom.keyword}: {reason}", custom.origin)
        return problem

    def __repr__(self) -> str:
        return (
            f"Problem({', then '.join(map(str, self.objectives))}: {self.graph.n} nodes, {self.graph.m} edges, "
            f"{len(self.devices)} devices, {self.interconnect.keyword}, {len(self.constraints)} constraints)"
        )

    def to_spec(self) -> str:
        """Return a spec that says what this problem is, formatted; reading it gives a problem that says the same.

        The same are the graph, the devices, what joins them, all times, the objectives and the constraints. Where it
        came from, and what was warned of, is not said. ``==`` tells objects apart: two problems say the same where
        their specs are equal.

        Raises:
            UsageError: the problem has what no spec can say; says what.
        """
        text: str = late("mtpp_dsl.language.builder.builder:to_spec")(self)
        return text

    def with_constraints(self, constraints: Sequence[Constraint]) -> Problem:
        """Return the same problem under other constraints."""
        return replace(self, constraints=tuple(constraints))

    def asking(self, objective: Objective, constraints: Sequence[Constraint] | None = None) -> Problem:
        """Return the problem with this objective alone, which has to be of its kind, and under other *constraints*.

        Whether plans are timed, and whether what soft rows cost is added, is left as *objective* says.
        """
        kept = self.constraints if constraints is None else tuple(constraints)
        return replace(self, objective=objective, later=(), constraints=kept)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """All objectives, in their order."""
        return (self.objective, *self.later)

    @property
    def phases(self) -> tuple[str, ...]:
        """The names of its phases; () where nothing is said of any."""
        return tuple(phase.name for phase in self.graph.phases)

    @cached_property
    def phased(self) -> bool:
        """Whether an objective or a row speaks of one phase alone, or of the largest of several sums.

        A problem with phases that does not is an ordinary one: its times and tensors are those of all phases together.
        """
        return speaks_of_phases(self.objectives, self.constraints)

    @cached_property
    def each_phase(self) -> Mapping[str, Problem]:
        """Each phase alone, by its name, as an ordinary problem that asks for its bottleneck.

        Rows that speak of other loads than those of the phase are left out, and so are soft ones.
        """
        problems = {}
        for phase in self.graph.phases:
            time = np.where(np.isfinite(self.time), running_times(phase.graph, self.devices), np.inf)
            problems[phase.name] = replace(
                self,
                graph=phase.graph,
                time=frozen(time, np.float64),
                objective=Objective("bottleneck"),
                later=(),
                constraints=tuple(rows_of_phase(self.constraints, phase.name)),
            )
        return MappingProxyType(problems)

    def phase(self, name: str) -> Problem:
        """Return one phase alone; see :attr:`each_phase`.

        Raises:
            UsageError: there is no phase of that name.
        """
        if name not in self.each_phase:
            raise UsageError(f"there is no phase {name!r}")
        return self.each_phase[name]

    @cached_property
    def in_one_phase(self) -> Problem | None:
        """The same problem as an ordinary one, where all that is asked is asked of one phase; None elsewhere.

        Its plans, and what each of them costs, are those of this problem: the other phases appear nowhere, except in
        what a node keeps in memory, which is the most that it keeps in any phase.

        A sum of latencies of several phases is asked of one, too: of their mean, see :meth:`_in_their_mean`.
        """
        name = only_phase(self.objectives, self.constraints) if self.phases else None
        if name is None:
            return self._in_their_mean() if self.phases and self.phased else None
        rows = (of_one_phase(rule) for rule in self.constraints)
        return replace(self.phase(name), objective=plain_objective(self.objective), constraints=tuple(rows))

    def _in_their_mean(self) -> Problem | None:
        """Return a sum of latencies as a multiple of the latency of one phase, the mean of the others; None elsewhere.

        A latency is a sum of running times and of what tensors take, which is a delay and a share of their size. So the
        sum of a_p latency(p) is A times the latency of a phase whose work and sizes are the sums of a_p / A times those
        of p, where A is the sum of all a_p: delays, which are those of every phase, count A times in both.
        """
        weights = summed_latencies(self.objectives, self.constraints)
        if weights is None or self.prefetches:
            return None
        total = sum(weights.values())
        alone = [(a / total, self if phase is None else self.phase(phase)) for phase, a in weights.items()]
        time = frozen(sum(share * one.time for share, one in alone), np.float64)
        graph = mixed_graph([(share, one.graph) for share, one in alone], self.devices, time)
        if graph is None:
            return None
        return replace(self, graph=graph, time=time, objective=replace(self.objective, terms=((Latency(), total),)))

    @property
    def timed(self) -> bool:
        """Whether plans say when nodes, or batches, run."""
        return self.objective.timed

    def size(self, value: float) -> str:
        """Return a size for people, in the family of units that the spec uses."""
        return format_quantity(value, self.graph.memory_unit, decimal=self.origin.decimal)

    def valued(self, cost: float, objective: Objective | None = None) -> str:
        """Return the value of an objective, by default the first, at a cost, for people: sizes as :meth:`size` does."""
        objective = objective or self.objective
        return format_quantity(objective.value(cost), objective.unit(self.time_unit), decimal=self.origin.decimal)

    @cached_property
    def device_index(self) -> Mapping[str, int]:
        """Device number by name."""
        return MappingProxyType({device.name: d for d, device in enumerate(self.devices)})

    @property
    def acyclic(self) -> bool:
        """Whether the quotient graph must be acyclic, in the forward part at least; an order of all devices says so."""
        return ordered_devices(self.constraints, self.k)

    @property
    def groups_free(self) -> bool:
        """Whether data may enter a group of devices more than once, though the quotient graph must be acyclic."""
        rules = list(self.of(Acyclic))
        return self.hierarchical and self.acyclic and (not rules or any(rule.groups == "free" for rule in rules))

    @property
    def is_split(self) -> bool:
        """Whether plans are splits whose cost is in the loads of devices on ``shared`` or ``host``."""
        loads = self.objective.quantity in ("bottleneck", "sum of bottlenecks")
        return loads and isinstance(self.interconnect, (Shared, Host))

    @cached_property
    def staged(self) -> bool:
        """Whether it is about the stages of a pipeline: their memory, iterations, or nodes split over devices."""
        return self.objective.is_iteration or any(isinstance(c, (Shard, StageMemory)) for c in self.constraints)

    @property
    def channel(self) -> Shared | Host:
        """The one channel of all devices; of ``shared`` and ``host`` only."""
        if not isinstance(self.interconnect, (Shared, Host)):
            raise UsageError(f"{self.interconnect.keyword} has no channel that all devices share")
        return self.interconnect

    @property
    def networked(self) -> bool:
        """Whether plans are splits on ``links`` or a ``tree``: their cost is in the loads of devices and channels."""
        return isinstance(self.interconnect, (Links, Tree)) and not self.timed and self.objective.batch is None

    @property
    def hierarchical(self) -> bool:
        """Whether the network between groups of devices is slower than the one inside."""
        return isinstance(self.interconnect, (Shared, Host)) and self.interconnect.between is not None

    @cached_property
    def group(self) -> Ints:
        """[devices] number of the group of each; all 0 where there are none."""
        names = [device.group for device in self.devices]
        first = {name: d for d, name in reversed(list(enumerate(names)))}
        return frozen([first[name] for name in names], np.int64)

    @cached_property
    def deviation(self) -> Floats:
        """[n, devices] by how much a node may take longer, under ``constraint robust``; else 0."""
        return frozen(deviations(self.robust, self.graph, self.time), np.float64)

    @cached_property
    def allowed(self) -> Bools:
        """[n, devices] where each node may go, by support, ``pin`` and ``forbid``, and where its workspace fits."""
        allowed = np.isfinite(self.time) if self.objective.batch is None else np.array(self.batching.supported)
        everywhere = np.arange(self.k)
        for pin in self.of(Pin):
            allowed[np.ix_(np.array(pin.nodes), np.setdiff1d(everywhere, pin.devices))] = False
        for chunks in self.of(PinChunks):
            allowed[np.ix_(np.array(chunks.nodes), np.setdiff1d(everywhere, chunks.places))] = False
        for forbid in self.of(Forbid):
            allowed[np.ix_(np.array(forbid.nodes), np.array(forbid.devices))] = False
        allowed[self.graph.workspace[:, None] > self.room_limit] = False
        return frozen(allowed, np.bool_)

    @cached_property
    def batching(self) -> Batching:
        """What batches there can be, and what they take; of a batched throughput only."""
        if self.objective.batch is None:
            raise UsageError(f"to {self.objective} is about one sample, not about a batch")
        return batching(self.objective, self.graph, self.devices, self.constraints, self.time)

    @cached_property
    def line(self) -> Line | None:
        """The one order of all devices that the constraints give; None where they give none, or two."""
        return in_line(self.constraints, self.k)

    @cached_property
    def transfers(self) -> Transfers:
        """What edges take between devices; of ``links`` only."""
        if not isinstance(self.interconnect, Links):
            raise UsageError(f"only links carry edges; {self.interconnect.keyword} carries tensors")
        return transfers(self.interconnect, self.graph)

    @cached_property
    def network(self) -> Network:
        """The channels between devices and the routes over them; of ``links`` and of a ``tree`` only."""
        if not isinstance(self.interconnect, (Links, Tree)):
            raise UsageError(f"only links and trees have channels of their own, not {self.interconnect.keyword}")
        return network_of(self.interconnect, self.devices)

    @cached_property
    def tensor_time(self) -> Floats:
        """[n] what one reading or writing of each node's tensor costs on ``shared`` and ``host``.

        Zero for a tensor without readers.
        """
        if isinstance(self.interconnect, (Links, Tree)):
            raise UsageError(f"on {self.interconnect.keyword} a transfer depends on the pair of devices")
        if self.interconnect.between is not None:
            raise UsageError("with groups of devices a transfer depends on whether it leaves its group")
        read = np.diff(self.graph.offsets) > 0
        return frozen(np.where(read, self.graph.output / self.channel.bandwidth, 0.0), np.float64)


def running_times(graph: Graph, devices: Sequence[Device]) -> Floats:
    """Return [n, devices] running times of single inputs; ``inf`` where the device cannot run the node.

    Those of the device itself (``graph.device_times``) as they are, else a table named after the device or its type,
    else the work, divided by the speed of the device.
    """
    time = np.empty((graph.n, len(devices)))
    for d, device in enumerate(devices):
        own = graph.device_times.get(device.name)
        table = graph.times.get(device.name, graph.times.get(device.type))
        time[:, d] = (graph.work if table is None else table) / device.speed if own is None else own
        if device.unsupported:
            time[[kind in device.unsupported for kind in graph.kinds], d] = np.inf
    return frozen(time, np.float64)


def check_problem(given: object, function: str) -> None:
    """Refuse what is no problem, and say how one is made of it.

    Raises:
        UsageError: it is invalid.
    """
    if isinstance(given, Problem):
        return
    what, remedy = f"a {type(given).__name__}", "mtpp_dsl.load(path)"
    if isinstance(given, (str, os.PathLike)):
        text = os.fspath(given)
        remedy = f"mtpp_dsl.load({text!r})" if isinstance(text, str) and len(text) < 80 else "mtpp_dsl.load(…)"
    else:  # a spec that is parsed, or one that is being made
        remedy = next((f"its method {name}()" for name in ("problem", "build") if hasattr(given, name)), remedy)
    raise UsageError(f"{function} takes a problem, such as {remedy} gives, not {what}")


def _with_ties(graph: Graph, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return *constraints* with one ``colocate`` for each tie of the graph's model that they do not have.

    In messages these are named by their weights: "colocate (tied weights wte.weight, lm_head.weight)".
    """
    origin = graph.origin
    if origin is None or len(origin.members) != graph.n:
        return tuple(constraints)
    ties = [Colocate(nodes=tie.nodes, origin=tie.name) for tie in origin.ties]
    return (*constraints, *(tie for tie in ties if tie not in constraints))
