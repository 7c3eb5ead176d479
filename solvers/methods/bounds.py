"""Methods that bound a bottleneck or a makespan, and find no plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod

import numpy as np

from mtpp_dsl.core.constraints import Replicate, Shard
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.shared_scopes import BATCH, LOADS, NETWORK_LOADS, PATHS, REPEATED

MAX_REACH_NODES, MAX_SETS = 30_000, 1 << 14
WHY = "the longest path on links, every node on its best device, with the transfers that this takes"


class Simple(Scoped, MethodBase):
    """Method ``simple``: no search, no solver, only a bound; constraints that take plans away cannot lower it.

    For a makespan on links, and for the throughput of a batch, it is the longest path, or the share of the work that
    some device must take. Where several devices share nodes, every node counts on its best shape: work over the number
    of devices is no bound there. An iteration takes the bound for every microbatch but one, and all work for that.
    """

    name = "simple"
    gives: Gives = "bound"
    seeded = False
    summary = "the largest node, or longest path on links, and each device's share of the work (archer2024, Lemma 3.3)"
    scopes = (
        replace(LOADS, constraints=(*LOADS.constraints, Replicate)),
        replace(
            LOADS,
            objectives=("bottleneck", "iteration", "separate iteration"),
            constraints=(*LOADS.constraints, Replicate, Shard),
        ),
        NETWORK_LOADS,
        PATHS,
        REPEATED,
    )

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound, or the node that no device may take."""
        from mtpp_dsl.solvers.algorithms.least_load import least_load, nowhere
        from mtpp_dsl.solvers.algorithms.stages.outside import simple_stages
        from mtpp_dsl.solvers.algorithms.windows.batch_bounds import batch_bound
        from mtpp_dsl.solvers.algorithms.windows.climbing import shortest

        if problem.objective.batch is not None:
            return batch_bound(problem, self.name, "none", limits, progress)
        if problem.objective.quantity == "makespan":
            return nowhere(problem, limits, progress) or shortest(problem, self.name, limits, progress)
        if problem.objective.is_iteration or any(problem.shard):
            return nowhere(problem, limits, progress) or simple_stages(problem, self.name, limits, progress)
        return least_load(problem, limits, progress)


class Anchor(Scoped, MethodBase):
    """Method ``anchor``: minimum cuts, and the share of each kind of device in what it cannot leave to others.

    On links and trees cuts count the best rates that lead to a device, and weigh work, sending and receiving where they
    overlap; see :mod:`mtpp_dsl.solvers.bounds.partition.network_cuts`.
    """

    name = "anchor"
    gives: Gives = "bound"
    seeded = False
    summary = "cheapest set that contains each node, by minimum cuts, and shares of the work that is left"
    scopes = (LOADS, NETWORK_LOADS)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best of the cuts made so far."""
        from mtpp_dsl.solvers.bounds.partition.anchor import anchor
        from mtpp_dsl.solvers.bounds.partition.network_cuts import network_anchor

        return (network_anchor if problem.networked else anchor)(problem, limits, progress)


class Node(Scoped, MethodBase):
    """Method ``node``: no search, no solver, only a bound; one line for each node."""

    name = "node"
    gives: Gives = "bound"
    seeded = False
    summary = "each node's work, and for each of its tensors the transfer or the work at its other end"
    scopes = (LOADS,)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, that of the nodes looked at so far."""
        from mtpp_dsl.solvers.bounds.partition.node import node

        return node(problem, limits, progress)


class Count(Scoped, MethodBase):
    """Method ``count``: what all devices pay together, with every tensor that they must share counted for each.

    It starts from the bound of ``anchor``, and shows that where it finds none above it.
    """

    name = "count"
    gives: Gives = "bound"
    seeded = False
    summary = "all work, and each tensor once for every device that must pay it, by minimum cuts and cliques"
    scopes = (LOADS,)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, what the cuts made so far prove."""
        from mtpp_dsl.solvers.bounds.partition.count import count

        return count(problem, limits, progress)


class Reach(Scoped, MethodBase):
    """Method ``reach``: no solver, only a bound, for devices that differ in memory and speed, in an order.

    A plan is a chain of ideals. Whatever order the devices are in, an ideal that some of them reach has only so much
    memory and work, and one of so much memory has only so much work. Targets that leave no way to the end are refuted.
    """

    name = "reach"
    gives: Gives = "bound"
    seeded = False
    summary = "how far chains of ideals get within the memories, by hulls of minimum cuts, for every set of devices"
    scopes = tuple(replace(scope, objectives=("bottleneck",), backward=False) for scope in (LOADS, NETWORK_LOADS))

    def beyond(self, problem: Problem) -> str | None:
        """Return why there is no order, no memory, or too much to look at, or None."""
        if not problem.acyclic:
            return f"{self.name} needs 'constraint acyclic'"
        if not np.isfinite(problem.memory_limit).any():
            return f"{self.name} needs 'constraint memory' on a device that has a memory"
        if problem.graph.n > MAX_REACH_NODES:
            return f"{self.name} takes graphs of up to {MAX_REACH_NODES:,} nodes, not of {problem.graph.n:,}"
        kinds = Counter((float(problem.memory_limit[d]), problem.time[:, d].tobytes()) for d in range(problem.k))
        sets = prod(count + 1 for count in kinds.values())
        if sets > MAX_SETS:
            return f"{self.name} looks at up to {MAX_SETS:,} different sets of devices; here there are {sets:,}"
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best so far."""
        from mtpp_dsl.solvers.bounds.partition.reach import reach

        return reach(problem, limits, progress)


class Configuration(Scoped, MethodBase):
    """Method ``configuration``: weights of the nodes of which no devices below the bound can hold all.

    For weights ``pi >= 0`` and a target T: if the devices, each with the heaviest set whose load is below T, hold less
    than all nodes weigh, no plan is below T. The best weights are dual values of a covering programme over such sets.

    Args:
        step: for equal devices in an order: how far from what is proved to what failed, or to the cost of a plan, the
            next target lies; small steps are sure, large ones fast.
        share: there, of the time left, for one target.
    """

    name = "configuration"
    gives: Gives = "bound"
    summary = "weights of the nodes that rule out every plan below a target, by column generation with exact pricing"
    scopes = (LOADS,)

    def __init__(self, step: float = 0.4, share: float = 0.5) -> None:
        self.step, self.share = step, share

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best bound proved within the limits."""
        from mtpp_dsl.solvers.bounds.configuration.configuration import configuration

        return configuration(problem, limits, progress, self.step, self.share)


class Interval(Scoped, MethodBase):
    """Method ``interval``: no search for a plan, no solver; constraints that take plans away cannot lower it.

    A target is refuted by windows: heads and tails from longest paths with unavoidable transfers, raised where edges
    meet by what has to share devices before the node, and narrowed by the target in turn; then by intervals in which
    more has to run than devices can. Larger and larger targets are tried.
    """

    name = "interval"
    gives: Gives = "bound"
    seeded = False
    summary = "work that must run within time intervals of a schedule on links (Fernandez, Bussell 1973)"
    scopes = (PATHS,)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best so far."""
        from mtpp_dsl.solvers.bounds.schedule.interval import interval

        return interval(problem, limits, progress)


class SeriesBound(Scoped, MethodBase):
    """Method ``series-bound``: no search for a plan, no solver; constraints that take plans away cannot lower it.

    The times of modules between cut nodes are bounded one by one, for every device of their ends, by what has to be
    over before the exit; equal modules once. The shortest way through all of them is the bound.
    """

    name = "series-bound"
    gives: Gives = "bound"
    seeded = False
    summary = "shortest way through the modules between cut nodes, each bounded once for all that are equal to it"
    scopes = (PATHS,)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best so far."""
        from mtpp_dsl.solvers.bounds.schedule.series import series

        return series(problem, limits, progress)


class CriticalPath(Scoped, MethodBase):
    """Method ``critical-path``: no search for a plan, no solver; constraints that take plans away cannot lower it.

    The longest path, every node on its best device, with the transfers that this takes: not on the best device of each
    node alone, but on the best choice for all nodes of the path. Nodes too late for a target on some device leave it.

    For the throughput of a batch it is the path of one input, or the work of all batches between two ends of paths; see
    :mod:`mtpp_dsl.solvers.algorithms.windows.batch_bounds`.
    """

    name = "critical-path"
    gives: Gives = "bound"
    seeded = False
    summary = "longest path on links, with every node on its best device and the transfers this takes"
    scopes = (PATHS, REPEATED)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, the best so far."""
        from mtpp_dsl.solvers.algorithms.windows.batch_bounds import batch_bound
        from mtpp_dsl.solvers.algorithms.windows.climbing import climb

        if problem.objective.batch is not None:
            return batch_bound(problem, self.name, "paths", limits, progress)
        return climb(problem, self.name, WHY, [(0, "paths")], limits, progress)


class ChunkOrder(Scoped, MethodBase):
    """Method ``chunk-order``: no search for a plan, only a bound, with its certificate.

    A linear programme knows how the chunks of each node are divided over devices, and when the first, the second, ...
    of them starts and ends. Batches of many chunks wait for late ones and hold up early ones: what a device works in
    them on nodes between two others lies between these.
    """

    name = "chunk-order"
    gives: Gives = "bound"
    seeded = False
    summary = "linear programme of how chunks are divided, and when the first, the second, ... of each node runs"
    scopes = (BATCH,)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the bound; stopped early, none."""
        from mtpp_dsl.solvers.proving.chunk_order import chunk_order

        return chunk_order(problem, self.name, limits, progress)
