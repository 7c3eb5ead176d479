"""State what several methods accept alike: the scopes that they share."""

from __future__ import annotations

from dataclasses import replace

from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Contiguous,
    ExclusiveLinks,
    Finish,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Penalties,
    Pin,
    PinChunks,
    Repeat,
    Replicate,
    Robust,
    Separate,
    Shard,
    StageMemory,
    Start,
    Subgraphs,
    Used,
)
from mtpp_dsl.core.contracts.scopes import DECISIONS, EVERY, Scope

CHANNELS = ("shared", "host")

SLICES = Scope(
    objectives=("bottleneck",),
    interconnects=CHANNELS,
    constraints=(Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin),
    streams=True,
    backward=True,
    unequal=True,
)
"""Splits that are slices of an order of the nodes."""

CHAINS = replace(SLICES, constraints=(*SLICES.constraints, Replicate))
"""The same, with stages that may run on several devices."""

STAGES = replace(
    CHAINS,
    objectives=("bottleneck", "iteration", "separate iteration"),
    constraints=(*CHAINS.constraints, Shard, StageMemory),
)
"""Chains of stages: what they keep by the stages after them, iterations, and nodes that several devices share."""

PHASES = replace(
    SLICES,
    objectives=("linear", "bottleneck"),
    constraints=(*SLICES.constraints, Linear),
    decisions=(Bottleneck, Latency, Largest),
    needs=(Acyclic,),
    backward=False,
    phases=True,
)
"""Chains of stages by what is asked of single phases."""

PHASE_MOVES = replace(
    PHASES,
    interconnects=(*CHANNELS, "links", "tree"),
    decisions=(Load, Used, Bottleneck, Latency, Penalties, Largest),
    needs=(),
    soft=True,
)
"""Splits by what is asked of single phases, whatever joins the devices: what
:class:`mtpp_dsl.solvers.partition.weighted.phase_moves.PhaseCosts` carries."""

NETWORKS = replace(SLICES, interconnects=("links", "tree"), backward=False)
"""Splits on networks whose devices are in an order."""

PRICED = replace(
    SLICES,
    objectives=("linear",),
    constraints=(*SLICES.constraints, Linear, Robust),
    decisions=(On, Load, Used, Bottleneck, Latency),
    needs=(Acyclic,),
    backward=False,
)
"""Chains of stages whose cost is a sum of prices of devices, loads and places."""

BUDGETS = replace(PRICED, objectives=("bottleneck",))
"""Chains of stages by their largest load, where rows limit such sums."""

BY_MOVES = replace(SLICES, constraints=(*SLICES.constraints, Separate))
"""Splits that are found by moving nodes between devices."""

WEIGHTED = replace(
    BY_MOVES,
    objectives=("linear", "bottleneck"),
    constraints=(*BY_MOVES.constraints, Linear),
    decisions=(On, Load, Used, Bottleneck, Latency, Penalties),
    soft=True,
)
"""Weighted sums of decisions over splits, and rows with a penalty: what
:class:`mtpp_dsl.solvers.partition.weighted.instance.WeightedInstance` carries."""

ONE_SAMPLE = Scope(
    objectives=("makespan",),
    interconnects=("links",),
    constraints=(BreakSymmetry, Colocate, ExclusiveLinks, Forbid, Memory, Pin, Separate),
    backward=True,
    unequal=True,
)
"""Schedules of one sample: what :class:`mtpp_dsl.core.views.tasks.ScheduleInstance` carries."""

BATCH = Scope(
    objectives=("batch",),
    interconnects=("links",),
    constraints=(BatchSizes, BreakSymmetry, Colocate, Forbid, Memory, Pin, PinChunks, Separate),
    backward=True,
    unequal=True,
)
"""Schedules of a batch: what :class:`mtpp_dsl.core.views.tasks.BatchInstance` carries."""

REPEATED = replace(BATCH, constraints=(*BATCH.constraints, Repeat))
"""The same with several batches of a node on a device: what :mod:`mtpp_dsl.core.views.lanes` carries."""

SUBGRAPHS = Scope(
    objectives=("makespan",),
    interconnects=CHANNELS,
    constraints=(BreakSymmetry, Colocate, Contiguous, Forbid, Memory, Pin, Subgraphs),
    unequal=True,
)
"""The latency of one sample by subgraphs: what :mod:`mtpp_dsl.solvers.latency.subgraph_arrays` carries."""

LOADS = Scope(
    objectives=("bottleneck", "sum of bottlenecks"),
    interconnects=CHANNELS,
    constraints=EVERY,
    without=(BatchSizes,),
    decisions=DECISIONS,
    groups=True,
    free_groups=True,
    soft=True,
    streams=True,
    workspace=True,
    backward=True,
    unequal=True,
)
"""Bounds on loads, which count every node once, on one device; constraints that take plans away cannot lower them, nor
can penalties, which are added."""

NETWORK_LOADS = replace(LOADS, objectives=("bottleneck",), interconnects=("links", "tree"), groups=False)
"""Bounds on loads, whatever the network."""

PATHS = replace(LOADS, objectives=("makespan",), interconnects=("links",))
"""Bounds on the makespan of one sample on links, which do so too."""


PLACED = (On, Load, Bottleneck, Used, Latency)
"""What rows may speak of where plans have no times."""
TIMED = (*PLACED, Start, Finish, Makespan)
"""The same of schedules."""


MOVED = (On, Load, Used, Start, Finish, Makespan)
"""What rows may speak of that moves of nodes in a schedule can keep track of."""


TIMED_WEIGHTED = replace(
    ONE_SAMPLE,
    objectives=("timed linear",),
    constraints=(*ONE_SAMPLE.constraints, Linear),
    decisions=DECISIONS,
    soft=True,
)
"""Weighted sums of decisions over schedules."""


def in_line(scope: Scope) -> Scope:
    """Return *scope* for problems whose stages are in the order of devices, which implies ``acyclic``."""
    apart = tuple(kind for kind in scope.constraints if kind not in (Replicate, Shard))
    return replace(scope, constraints=(*apart, InOrder), needs=(InOrder,), backward=False)


def checking(scope: Scope) -> Scope:
    """Return *scope* with labelled constraints, and sets held apart, that only the plans are checked against.

    The method's ``solve`` is to be decorated with :func:`mtpp_dsl.solvers.methods.rows_checked.rows_checked`.
    """
    apart = () if Separate in scope.constraints else (Separate,)
    return replace(scope, checked=(Linear, *apart), decisions=TIMED if scope.interconnects == ("links",) else PLACED)
