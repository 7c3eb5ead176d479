"""A graph as columns of nested modules that fold: a forest of items, numbered so that children follow their parent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.paths import Path, caption, paths_of, together
from mtpp_dsl.show.page.layout.stages import Placed, placed
from mtpp_dsl.show.report.names import fold_names

FEW = 10
"""A column with no more nodes has no modules, nor has a module with half as many."""
MOST = 14
"""A module has no more children: of more, consecutive ones are put together."""
EACH = 6
"""So many are put together, or more where the parts would be too many."""


@dataclass(eq=False)
class Forest:
    """Columns, modules and nodes as items; items 0, 1, ... are the columns, and parents come before their children.

    Attributes:
        placed: what the columns are.
        parent: [items] number of the item that each is in; -1 of columns.
        row: [items] in which row of its parent each is; children of one row follow each other from left to right.
        node: [items] number of the node; -1 of columns and modules.
        name: [items] what it is called.
        source, target: [edges drawn] items of the nodes at the ends of ``placed.edges``.
    """

    placed: Placed
    parent: list[int] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.parent)

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.placed.stages)

    @cached_property
    def children(self) -> list[list[int]]:
        """[items] numbers of the items in each, row by row."""
        children: list[list[int]] = [[] for _ in range(self.n)]
        for item, parent in enumerate(self.parent):
            if parent >= 0:
                children[parent].append(item)
        return children

    @cached_property
    def column(self) -> list[int]:
        """[items] number of the column that each is in."""
        columns: list[int] = []
        for item, parent in enumerate(self.parent):
            columns.append(item if parent < 0 else columns[parent])
        return columns

    @cached_property
    def size(self) -> list[int]:
        """[items] how many nodes are in each."""
        sizes = [int(node >= 0) for node in self.node]
        for item in reversed(range(self.n)):
            if self.parent[item] >= 0:
                sizes[self.parent[item]] += sizes[item]
        return sizes


@dataclass
class _Branch:
    """A node or a module while the tree is built."""

    nodes: list[int]
    name: str
    inside: list[_Branch] = field(default_factory=list)


def forest(problem: Problem, plan: Plan | None) -> Forest:
    """Return the columns of a plan with their modules; of no plan, one column with all of the graph."""
    graph = problem.graph
    grove = Forest(placed(problem, plan))
    paths, place, depth = paths_of(graph), _late_order(graph), _depth(graph)
    for stage in grove.placed.stages:
        names = [problem.devices[d].name for d in stage.devices]
        _add(grove, -1, 0, -1, fold_names(names, 4) if names else "all nodes")
    items: list[dict[int, int]] = []
    for column, stage in enumerate(grove.placed.stages):
        inside = np.flatnonzero((grove.placed.source == column) & (grove.placed.target == column))
        ends = grove.placed.edges[inside]
        edges = np.stack([graph.tails[ends], graph.heads[ends]], axis=1)
        nodes = sorted(stage.nodes.tolist(), key=place.__getitem__)
        builder = _Builder(graph, paths)
        grown = builder.grown(nodes, 0, edges) if len(nodes) > FEW else [builder.leaf(v) for v in nodes]
        items.append({})
        entered = (grove.placed.target == column) & (grove.placed.source != column)
        late = frozenset(graph.heads[grove.placed.edges[entered]].tolist())
        _Layer(grove, items[-1], depth, late).lay(column, grown, edges)
    source, target = grove.placed.source.tolist(), grove.placed.target.tolist()
    for e, s, t in zip(grove.placed.edges.tolist(), source, target, strict=True):
        grove.source.append(items[s][int(graph.tails[e])])
        grove.target.append(items[t][int(graph.heads[e])])
    return grove


def _add(forest: Forest, parent: int, row: int, node: int, name: str) -> int:
    forest.parent.append(parent)
    forest.row.append(row)
    forest.node.append(node)
    forest.name.append(name)
    return forest.n - 1


def _late_order(graph: Graph) -> list[int]:
    """Return [n] the place of every node in an order of the graph where each comes just before what reads it."""
    height = [0] * graph.n
    for v in reversed(graph.topological_order.tolist()):
        readers = graph.successors(v).tolist()
        height[v] = 1 + max((height[w] for w in readers), default=-1)
    first = {v: i for i, v in enumerate(graph.topological_order.tolist())}
    place = [0] * graph.n
    for i, v in enumerate(sorted(range(graph.n), key=lambda v: (-height[v], first[v]))):
        place[v] = i
    return place


def _depth(graph: Graph) -> list[int]:
    """Return [n] the length of the longest path to every node."""
    depth = [0] * graph.n
    for v in graph.topological_order.tolist():
        depth[v] = 1 + max((depth[u] for u in graph.predecessors(v).tolist()), default=-1)
    return depth


class _Builder:
    """Makes the tree of one column."""

    def __init__(self, graph: Graph, paths: Sequence[Path]) -> None:
        self.graph, self.paths = graph, paths
        self.at = np.full(graph.n, -1, np.int64)

    def leaf(self, v: int) -> _Branch:
        """Return a node."""
        return _Branch([v], caption(self.graph, v))

    def grown(self, nodes: list[int], depth: int, edges: Ints) -> list[_Branch]:
        """Return nodes, given in order, as modules by the part of their paths at *depth*; *edges* are those inside."""
        groups: dict[str, list[int]] = {}
        for v in nodes:
            path = self.paths[v]
            groups.setdefault(path[depth] if len(path) > depth else f"\0{v}", []).append(v)
        if len(groups) == 1 and len(nodes) > 1:
            return self.grown(nodes, depth + 1, edges)
        branches = []
        for key, members in groups.items():
            if len(members) == 1:
                branches.append(self.leaf(members[0]))
            elif len(members) <= FEW // 2:
                branches.append(
                    _Branch(members, self._module_name(members, key, depth), [self.leaf(v) for v in members])
                )
            else:
                within = edges[np.isin(edges, members).all(axis=1)] if len(groups) > 1 else edges
                branches.append(
                    _Branch(members, self._module_name(members, key, depth), self.grown(members, depth + 1, within))
                )
        return self._joined(branches, edges)

    def _joined(self, branches: list[_Branch], edges: Ints) -> list[_Branch]:
        """Return no more than :data:`MOST` branches: of more, consecutive ones together, cut where little passes."""
        if len(branches) <= MOST:
            return branches
        joined = []
        for part in self._cuts(branches, edges):
            nodes = [v for branch in part for v in branch.nodes]
            name = together([branch.name if branch.inside else self.graph.names[branch.nodes[0]] for branch in part])
            inside = part if len(part) <= MOST else self._joined(part, edges[np.isin(edges, nodes).all(axis=1)])
            joined.append(part[0] if len(part) == 1 else _Branch(nodes, name, inside))
        return joined

    def _cuts(self, branches: list[_Branch], edges: Ints) -> list[list[_Branch]]:
        """Return branches in consecutive parts of about equal length, fewer than :data:`MOST` of them."""
        count = len(branches)
        for i, branch in enumerate(branches):
            self.at[branch.nodes] = i
        ends = self.at[edges]
        ends = ends[(ends >= 0).all(axis=1)]
        last = np.arange(count)
        np.maximum.at(last, ends.min(axis=1), ends.max(axis=1))
        change = np.zeros(count + 2)
        np.add.at(change, np.arange(count) + 1, 1.0)
        np.add.at(change, last + 1, -1.0)
        passing = np.cumsum(change)[: count + 1]
        for branch in branches:
            self.at[branch.nodes] = -1
        parts = min(MOST - 2, -(-count // EACH))
        length = count / parts
        bounds = [0]
        for p in range(1, parts):
            middle, reach = p * length, max(length / 4, 0.5)
            near = [b for b in range(int(middle - reach), int(middle + reach) + 1) if bounds[-1] < b < count]
            if near:
                bounds.append(min(near, key=lambda b: (passing[b], abs(b - middle))))
        return [branches[a:b] for a, b in zip(bounds, [*bounds[1:], count], strict=True)]

    def _module_name(self, nodes: list[int], key: str, depth: int) -> str:
        """Return what the module of the paths with *key* at *depth* is called; of a list, which of it is here."""
        if key.startswith("["):
            return together([self.graph.names[v] for v in nodes])
        below = dict.fromkeys(self.paths[v][depth + 1] for v in nodes if len(self.paths[v]) > depth + 1)
        if key.endswith("[]"):
            return together(list(below) or [self.graph.names[v].rpartition(".")[2] for v in nodes])
        listed = below and all(name.startswith(f"{key}.") and name[len(key) + 1 :].isdigit() for name in below)
        return together(list(below)) if listed else key


@dataclass(frozen=True)
class _Layer:
    """Adds the branches of a column to a forest, row by row.

    Attributes:
        found: the forest.
        items: of the column, by node; what is added is written into it.
        depth: [n] of every node in the graph.
        late: nodes that read something from another column.
    """

    found: Forest
    items: dict[int, int]
    depth: list[int]
    late: frozenset[int]

    def lay(self, parent: int, branches: list[_Branch], edges: Ints) -> None:
        """Add branches to an item, and what is in them; *edges* are those inside of it."""
        number = {v: i for i, branch in enumerate(branches) for v in branch.nodes}
        ends: dict[tuple[int, int], int] = {}
        inside: list[list[list[int]]] = [[] for _ in branches]
        for u, v in edges.tolist():
            a, b = number[u], number[v]
            if a == b:
                inside[a].append([u, v])
            else:
                ends[a, b] = ends.get((a, b), 0) + 1
        depth = [min(self.depth[v] for v in branch.nodes) for branch in branches]
        late = {i for i, branch in enumerate(branches) if not self.late.isdisjoint(branch.nodes)}
        for row, members in enumerate(in_rows(len(branches), ends, depth, late)):
            for i in members:
                branch = branches[i]
                if branch.inside:
                    item = _add(self.found, parent, row, -1, branch.name)
                    self.lay(item, branch.inside, np.array(inside[i], np.int64).reshape(-1, 2))
                else:
                    node = branch.nodes[0]
                    self.items[node] = _add(self.found, parent, row, node, branch.name)


# Layers of a small graph: which row each of its members is in, and their order in the row.

SWEEPS = 4
"""So often the order in rows is improved, downwards and upwards in turn."""


def in_rows(
    count: int, edges: Mapping[tuple[int, int], int], depth: Sequence[int] = (), late: Collection[int] = ()
) -> list[list[int]]:
    """Return members in rows such that edges lead downwards, with few crossings (Sugiyama, Tagawa, Toda 1981).

    Members are given in an order that the edges should respect; those that lead back, as folded parts of a graph may
    have, are left out. A member without incoming edges stands in the row before the first that reads it.

    Args:
        count: of the members, which are 0, 1, ...
        edges: how many edges lead from one to another.
        depth: [count] how deep each is in the whole graph.
        late: members that wait for what is elsewhere: without edges here, they stand below earlier members that are
            less deep.

    >>> in_rows(4, {(0, 1): 1, (0, 2): 1, (1, 3): 1, (2, 3): 1})
    [[0], [1, 2], [3]]
    """
    forward = {(a, b): weight for (a, b), weight in edges.items() if a < b}
    row = [0] * count
    entered = {b for _, b in forward}
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in forward:
        before[b].append(a)
    for b in range(count):
        waits = before[b]
        if b in late and b not in entered:
            waits = [a for a in range(b) if depth[a] < depth[b]]
        row[b] = max((row[a] + 1 for a in waits), default=0)
    for a in reversed(range(count)):
        if a not in entered and a not in late:
            row[a] = max(row[a], min((row[b] for u, b in forward if u == a), default=0) - 1)
    used = {r: i for i, r in enumerate(sorted(set(row)))}
    rows: list[list[int]] = [[] for _ in used]
    for member in range(count):
        rows[used[row[member]]].append(member)
    return _ordered(rows, forward, count)


def _ordered(rows: list[list[int]], forward: Mapping[tuple[int, int], int], count: int) -> list[list[int]]:
    """Return rows with members near the middle of their neighbours in the rows before and after."""
    if all(len(members) == 1 for members in rows):
        return rows
    before: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    after: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for (a, b), weight in forward.items():
        before[b].append((a, weight))
        after[a].append((b, weight))
    place = [0.0] * count
    _place(rows, place)
    for sweep in range(SWEEPS):
        near = before if sweep % 2 == 0 else after
        for members in rows if sweep % 2 == 0 else reversed(rows):
            middle = {
                v: sum(place[u] * w for u, w in near[v]) / sum(w for _, w in near[v]) if near[v] else place[v]
                for v in members
            }
            members.sort(key=lambda v: (middle[v], v))
            _place([members], place)
    return rows


def _place(rows: list[list[int]], place: list[float]) -> None:
    """Write where members are in their rows, from -1/2 on the left to 1/2 on the right."""
    for members in rows:
        for i, member in enumerate(members):
            place[member] = (i + 0.5) / len(members) - 0.5
