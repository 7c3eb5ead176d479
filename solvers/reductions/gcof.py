"""Coarsen a graph by operator fusion (zhang2023, III.B, Algorithm 1): what a back end fuses is placed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mtpp_dsl.core.constraints import (
    ExclusiveLinks,
    Finish,
    Linear,
    Separate,
    Start,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.devices import Interconnect, Links
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.timing import compressed
from mtpp_dsl.solvers.reductions.clusters import KEPT, lifted, quotient
from mtpp_dsl.solvers.reductions.fusion_rules import Rules

__all__ = ["Gcof", "coarsen"]

SUPPORTED = (*KEPT, ExclusiveLinks)


def coarsen(problem: Problem, rules: Rules) -> tuple[Problem, Callable[[Plan], Plan]]:
    """Fuse operators of *problem* by *rules*; return the smaller problem, and a function that maps plans back.

    The plans of the smaller problem are those that keep fused operators on one device. So its optimum may be above that
    of *problem*, and **a bound on it is no bound on** *problem*.

    Raises:
        Refused: :meth:`Gcof.accepts` says why.
    """
    reduction = Gcof(rules)
    reason = reduction.accepts(problem)
    if reason is not None:
        raise Refused(reason)
    return reduction.apply(problem)


class Gcof:
    """Fuse operators that follow each other as a rule says.

    A rule is matched along edges from a node with one successor, the paper's direct and multi-inputs connections: a
    path v1 -> v2 -> … in which each but the last is read by the next alone. No path then leaves a group but from its
    last node, so none returns to it: the coarse graph has no cycle, and :class:`~mtpp_dsl.core.problem.graph.Graph`
    checks that again. In topological order, every node that is in no group yet begins one: the longest path from it
    that matches a whole rule and has no node of another group. Algorithm 1 fuses the same operators; it also binds
    some that it releases in the end.

    Nodes are not fused if no device may have all of them (support, ``pin``, ``forbid``, ``memory``, with all that is
    colocated with them), if a constraint separates them, if they belong to different parts of a training graph, or if a
    labelled constraint names the start or the end of one.

    A fused operator takes the sum of the times on every device, of the memory and of the parameters; it makes the
    tensor of its last node. Edges from one node to several of a group become one, which takes as long as the
    longest of them, or with exclusive links all of them.

    Args:
        rules: of :func:`mtpp_dsl.solvers.reductions.fusion_rules.read_rules`.
    """

    name = "gcof"

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def accepts(self, problem: Problem) -> str | None:
        """Return why plans of the coarse problem might be none of *problem*, or None."""
        if problem.objective.quantity == "makespan" and not isinstance(problem.interconnect, Links):
            return f"gcof coarsens makespans on links, not on a {problem.interconnect.keyword} interconnect"
        if problem.phased:
            return "gcof coarsens all phases together, not each of them"
        if problem.uneven_workspace:
            return "gcof coarsens for memory that adds up, and workspaces that differ do not"
        if problem.objective.batch is not None:
            return f"gcof coarsens for one sample, not for a batch of {problem.objective.batch}"
        if problem.objective.is_linear or problem.soft_rows:
            return "gcof coarsens for a makespan alone, without other objectives and without penalties"
        other = next((c for c in problem.constraints if not isinstance(c, SUPPORTED)), None)
        return None if other is None else f"gcof does not support constraint {other}"

    def apply(self, problem: Problem) -> tuple[Problem, Callable[[Plan], Plan]]:
        """Return the coarse problem, and a function that turns its plans into plans of *problem* of no larger cost."""
        groups = _Groups(problem)
        groups.match(self.rules)
        cluster, last = groups.clusters()
        graph = problem.graph
        kinds = np.array(graph.kinds, dtype=object)
        names = np.array(graph.names, dtype=object)
        bundles = bundled(problem, cluster)
        smaller = quotient(
            problem,
            cluster,
            last,
            bundles.edges,
            graph.output[last],
            sizes=bundles.sizes,
            interconnect=bundles.interconnect,
            kinds=[" ∘ ".join(kinds[members]) for members in groups.paths],
            labels=[
                " ∘ ".join(names[members]) if len(members) > 1 else graph.labels[members[0]] for members in groups.paths
            ],
        )
        if problem.objective.quantity == "makespan":
            return smaller, unfolded(problem, groups.paths, cluster, bundles)
        return smaller, lifted(problem, cluster)


class _Groups:
    """Paths of nodes to be fused, as they are found.

    Attributes:
        paths: the nodes of each group in the order of their edges, single nodes too, by their first nodes in
            topological order.
    """

    def __init__(self, problem: Problem) -> None:
        graph = problem.graph
        self.problem = problem
        self.paths: list[list[int]] = []
        degree = np.diff(graph.offsets)
        self._next = np.full(graph.n, -1)
        self._next[degree == 1] = graph.heads[graph.offsets[:-1][degree == 1]]
        self._kinds = [kind.casefold() for kind in graph.kinds]
        self._stays = _timed(problem)
        self._classes = _Classes(problem)

    def match(self, rules: Rules) -> None:
        """Put every node into a group: the longest path from it that matches a rule, or the node alone."""
        begun = {rule[:i] for rule in rules for i in range(1, len(rule))}
        known = {spelt: spelt in rules for spelt in (*begun, *rules)}
        taken = np.zeros(self.problem.graph.n, np.bool_)
        for v in self.problem.graph.topological_order.tolist():
            if not taken[v]:
                path = self._longest(v, known, taken)
                path = self._classes.joined(path, [i for i in range(2, len(path) + 1) if known[self._spelt(path[:i])]])
                taken[path] = True
                self.paths.append(path)

    def _longest(self, v: int, known: dict[tuple[str, ...], bool], taken: Bools) -> list[int]:
        """Return the longest path from *v* whose kinds are a rule, or *v* alone."""
        path, best = [v], 1
        graph = self.problem.graph
        while not self._stays[path[-1]]:
            after = int(self._next[path[-1]])
            if after < 0 or taken[after] or self._stays[after] or graph.backward[after] != graph.backward[v]:
                break
            path.append(after)
            spelt = self._spelt(path)
            if spelt not in known:
                break
            best = len(path) if known[spelt] else best
        return path[:best]

    def _spelt(self, path: list[int]) -> tuple[str, ...]:
        return tuple(self._kinds[v] for v in path)

    def clusters(self) -> tuple[Ints, Ints]:
        """Return [n] the group of each node, and the last node of each group."""
        cluster = np.empty(self.problem.graph.n, np.int64)
        for number, path in enumerate(self.paths):
            cluster[path] = number
        return cluster, np.array([path[-1] for path in self.paths], np.int64)


class _Classes:
    """Sets of nodes that are colocated or fused so far, and the devices that may have each."""

    def __init__(self, problem: Problem) -> None:
        classes = colocated(problem)
        self._root = list(range(int(classes.max(initial=-1)) + 1))
        self._of = classes.tolist()
        count = len(self._root)
        self._allowed = np.ones((count, problem.k), np.bool_)
        np.logical_and.at(self._allowed, classes, problem.allowed)
        self._memory = np.bincount(classes, problem.graph.memory, count)
        self._limit = problem.memory_room
        self._apart: list[set[int]] = [set() for _ in range(count)]
        for number, group in enumerate(problem.of(Separate)):
            for v in group.nodes:
                self._apart[self._of[v]].add(number)

    def _find(self, v: int) -> int:
        at = self._of[v]
        while self._root[at] != at:
            self._root[at] = self._root[self._root[at]]
            at = self._root[at]
        return int(at)

    def joined(self, path: list[int], lengths: list[int]) -> list[int]:
        """Join the longest prefix of *path*, of one of these *lengths*, that some device may have; return it."""
        for length in reversed(lengths):
            part = path[:length]
            roots = sorted({self._find(v) for v in part})
            allowed: Bools = np.logical_and.reduce(self._allowed[roots])
            fits = self._memory[roots].sum() <= self._limit
            separate = [number for root in roots for number in self._apart[root]]
            if (allowed & fits).any() and len(set(separate)) == len(separate):
                self._merge(roots, allowed)
                return part
        return path[:1]

    def _merge(self, roots: list[int], allowed: Bools) -> None:
        first, *rest = roots
        for other in rest:
            self._root[other] = first
            self._memory[first] += self._memory[other]
            self._apart[first] |= self._apart[other]
        self._allowed[first] = allowed


def _timed(problem: Problem) -> Bools:
    """Return [n] which nodes have their start or their end in a labelled constraint."""
    named = np.zeros(problem.graph.n, np.bool_)
    for constraint in problem.of(Linear):
        named[[x.node for x, _ in constraint.terms if isinstance(x, (Start, Finish))]] = True
    return named


# Turn schedules of groups of nodes into schedules of the nodes, with exact times for every node and edge.


def unfolded(
    problem: Problem, paths: Sequence[Sequence[int]], cluster: Ints, bundles: Bundles
) -> Callable[[Plan], Plan]:
    """Return a function that turns schedules of groups into schedules of *problem* that end no later.

    The nodes of a group run one after another in its time. Edges that were one are sent together, or with exclusive
    links one after another. Then everything starts as early as that order allows, unless a labelled
    constraint might ask for a later start.

    Args:
        problem: on links.
        paths: the nodes of each group, in order.
        cluster: [n] the group of each node.
        bundles: the edges between groups.
    """
    graph = problem.graph
    exclusive = any(problem.of(ExclusiveLinks))
    follows = np.concatenate([np.asarray(path, np.int64) for path in paths]) if paths else np.empty(0, np.int64)
    first = np.cumsum([0, *(len(path) for path in paths)])[:-1]

    def lift(plan: Plan) -> Plan:
        coarse = plan.schedule
        assert coarse is not None
        device = plan.assignment[cluster]
        takes = problem.time[np.arange(graph.n), device]
        start = np.empty(graph.n)
        start[follows] = coarse.start[cluster[follows]] + _before(takes[follows], first)
        sent, arrived = np.full(graph.m, np.nan), np.full(graph.m, np.nan)
        tails, heads = device[graph.tails], device[graph.heads]
        moved = np.flatnonzero(tails != heads)
        carry = problem.transfers.along(moved, tails[moved], heads[moved])
        sent[moved] = coarse.sent[bundles.of[moved]]
        if exclusive:
            order = np.argsort(bundles.of[moved], kind="stable")
            new = np.flatnonzero(np.diff(bundles.of[moved][order], prepend=-1))
            sent[moved[order]] += _before(carry[order], new)
        arrived[moved] = sent[moved] + carry
        schedule = Schedule.create(graph, start, start + takes, sent, arrived)
        fine = Plan.create(problem, device, schedule=schedule)
        return fine if any(problem.of(Linear)) else compressed(ScheduleInstance.of(problem), fine)

    return lift


def _before(lengths: Floats, first: Ints) -> Floats:
    """Return for each of *lengths* the sum of those before it in its run; runs begin at the indices *first*."""
    total = np.concatenate([[0.0], np.cumsum(lengths)])[:-1]
    if not len(lengths):
        return total
    runs = np.repeat(total[first], np.diff(np.append(first, len(lengths))))
    before: Floats = total - runs
    return before


# Bundle the edges between groups of nodes: all from one group to another become one.


@dataclass(frozen=True, eq=False)
class Bundles:
    """Edges between groups.

    Attributes:
        edges: between groups, sorted, each once.
        sizes: of each bundle, the largest size of its edges.
        of: [m] the bundle of each edge of the graph; -1 for an edge within a group.
        interconnect: on which a bundle takes as long as its longest edge, or with exclusive links as all its edges.
    """

    edges: list[tuple[int, int]]
    sizes: list[float]
    of: Ints
    interconnect: Interconnect


def bundled(problem: Problem, cluster: Ints) -> Bundles:
    """Return the edges between the groups of *cluster* ([n])."""
    graph = problem.graph
    tails, heads = cluster[graph.tails], cluster[graph.heads]
    outer = np.flatnonzero(tails != heads)
    pairs, inverse = np.unique(np.stack([tails[outer], heads[outer]], axis=1), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1).astype(np.int64)
    of = np.full(graph.m, -1, np.int64)
    of[outer] = inverse
    sizes = np.zeros(len(pairs))
    np.maximum.at(sizes, inverse, graph.sizes[outer])
    edges = [(int(a), int(b)) for a, b in pairs]
    return Bundles(edges, sizes.tolist(), of, _carrying(problem, outer, inverse, len(pairs)))


def _carrying(problem: Problem, outer: Ints, inverse: Ints, count: int) -> Interconnect:
    link = problem.interconnect
    if not isinstance(link, Links):
        return link
    together = any(problem.of(ExclusiveLinks)) and count < len(outer)
    if link.transfers is None and not together:
        return link
    transfers = problem.transfers
    times = (
        transfers.latency
        + transfers.size[outer, None, None] * transfers.inverse
        + transfers.table[transfers.row[outer]]
    )
    total: Floats = np.zeros((count, problem.k, problem.k))
    (np.add if together else np.maximum).at(total, inverse, times)
    total[:, np.arange(problem.k), np.arange(problem.k)] = 0.0
    return replace(link, transfers=frozen(total, np.float64))
