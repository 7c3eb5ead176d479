"""Bound one module of a certificate ``anchors`` by priced windows: the least that their work costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.proofs.anchor_module import FAR, AnchorModule

__all__ = ["Priced", "priced_time"]

MAX_PRICES = 1 << 17
"""What the prices of a round add up to, at most."""
MAX_ROUNDS, MAX_WINDOWS = 20, 2_000
MAX_TABLE = 1 << 14
"""Entries of a table over a node and its neighbours that are left."""
CLOSINGS = 10
"""How often paths are computed between two rounds, at most."""


class Priced(NamedTuple):
    """A window of a device (kind 0), of its sending (1) or of its receiving (2), and its price.

    Attributes:
        head: what is in it starts no earlier, in units. tail: what is in it is followed by no less.
    """

    kind: int
    device: int
    head: int
    tail: int
    price: int


def priced_time(
    module: AnchorModule, first: int | None, last: int | None, limit: int, rounds: Sequence[Sequence[Priced]]
) -> int:
    """Return what the module takes at least between devices of its ends: *limit*, or less.

    Suppose that it takes less than *limit*. Whatever lies on a path of *limit* or more is closed. What is in a window
    runs between its head and its tail, one at a time, so that the module takes the head, the tail and this work; and at
    least the mean of this over windows, weighted by their prices. It is least for some devices of the nodes, and what
    makes it *limit* or more is closed, too. Then paths are longer, for the next round.

    Raises:
        Refused: tables are too large, or there are too many rounds or windows, or their prices are.
    """
    if len(rounds) > MAX_ROUNDS or sum(map(len, rounds)) > MAX_WINDOWS:
        raise Refused("there are too many windows")
    if any(sum(window.price for window in windows) > MAX_PRICES for windows in rounds):
        raise Refused(f"prices of a round add up to more than {MAX_PRICES}")
    module_choices, least = _Choices(module, first, last), 0
    joined = _Joined(module.size, module.tails[: module.own], module.heads[: module.own], module.time.shape[1])
    for windows in rounds:
        if module_choices.close_paths(limit):
            return limit
        least = max(least, module_choices.length)
        total = sum(window.price for window in windows)
        if total == 0:
            continue
        base, nodes, edges = module_choices.costs(windows, least)
        most = limit * total - base
        of_nodes, of_edges = joined.least(nodes, edges, most)
        whole = int(of_nodes[0].min())
        if whole >= most:
            return limit
        least = max(least, (base + whole) // total)
        module_choices.close(of_nodes >= most, of_edges >= most)
    return limit if module_choices.close_paths(limit) else max(least, module_choices.length)


class _Choices:
    """What may be chosen of a module: nodes on devices, and edges between two.

    Attributes:
        nodes: [size, k]. edges: [own, k, k].
        ended: [size, k] least times from the end of the entry to that of each node. rest: from there to the end of all.
    """

    def __init__(self, module: AnchorModule, first: int | None, last: int | None) -> None:
        self._module = module
        self.nodes = module.time[: module.size] < FAR
        devices = np.arange(self.nodes.shape[1])
        self.nodes[0] &= first is None or devices == first
        self.nodes[-1] &= last is None or devices == last
        self.edges = module.carry[: module.own] < FAR
        self._measure()

    @property
    def length(self) -> int:
        """The longest path, where that is best."""
        return int(np.minimum(self.ended + self.rest, FAR).min(axis=1).max())

    def _measure(self) -> None:
        """Compute the longest paths along what is open."""
        module = self._module
        tails, heads = module.tails[: module.own], module.heads[: module.own]
        carry = np.where(self.edges, module.carry[: module.own], FAR)
        time = np.where(self.nodes, module.time[: module.size], FAR)
        self.ended, self.rest = np.zeros_like(time), np.zeros_like(time)
        e = 0
        for v in range(module.size):
            while e < module.own and heads[e] == v:
                arrives = (self.ended[tails[e]][:, None] + carry[e]).min(axis=0)
                self.ended[v] = np.maximum(self.ended[v], np.minimum(arrives, FAR))
                e += 1
            self.ended[v] = np.minimum(self.ended[v] + time[v], FAR)
        for e in np.argsort(tails, kind="stable")[::-1].tolist():
            behind = (carry[e] + (time[heads[e]] + self.rest[heads[e]])[None, :]).min(axis=1)
            self.rest[tails[e]] = np.maximum(self.rest[tails[e]], np.minimum(behind, FAR))

    def close_paths(self, limit: int) -> bool:
        """Close what paths of *limit* or more lead through; return whether nothing is possible."""
        module = self._module
        tails, heads = module.tails[: module.own], module.heads[: module.own]
        for _ in range(CLOSINGS):
            behind = module.time[: module.size] + self.rest
            through = self.ended[tails][:, :, None] + module.carry[: module.own] + behind[heads][:, None, :]
            if self.length >= limit:
                return True
            if not self.close(self.ended + self.rest >= limit, through >= limit):
                break
        return False

    def close(self, nodes: Bools, edges: Bools) -> bool:
        """Close some; return whether any was open."""
        if not ((nodes & self.nodes).any() or (edges & self.edges).any()):
            return False
        self.nodes &= ~nodes
        self.edges &= ~edges
        self._measure()
        return True

    def costs(self, windows: Sequence[Priced], least: int) -> tuple[int, Ints, Ints]:
        """Return the priced heads and tails, and what nodes and edges cost; the module takes *least* in any case."""
        module, k = self._module, self.nodes.shape[1]
        carry, tails, heads = module.carry[: module.own], module.tails[: module.own], module.heads[: module.own]
        time = module.time[: module.size]
        base, nodes, edges = 0, np.zeros_like(time), np.zeros_like(carry)
        between = self.edges & self.nodes[tails][:, :, None] & self.nodes[heads][:, None, :]
        between &= (carry > 0) & ~np.eye(k, dtype=np.bool_)
        sent = np.broadcast_to(self.ended[tails][:, :, None], carry.shape)
        behind = np.broadcast_to((time + self.rest)[heads][:, None, :], carry.shape)
        for kind, d, head, tail, price in windows:
            here = np.arange(k) == d
            if kind == 0:
                inside = self.nodes & here & (time > 0) & (self.ended - time >= head) & (self.rest >= tail)
                starts, ends, takes, into = (self.ended - time)[inside], self.rest[inside], time, nodes
            else:
                inside = between & (here[:, None] if kind == 1 else here) & (sent >= head) & (behind >= tail)
                starts, ends, takes, into = sent[inside], behind[inside], carry, edges
            if inside.any():
                base += price * min(int(starts.min()) + int(ends.min()), least)
                into[inside] += price * takes[inside]
        nodes[~self.nodes], edges[~self.edges] = FAR * MAX_PRICES, FAR * MAX_PRICES
        return base, nodes, edges


class _Joined:
    """The nodes of a module in an order in which each is left out, with the neighbours that it then has.

    Raises:
        Refused: a node has too many neighbours left.
    """

    def __init__(self, n: int, tails: Ints, heads: Ints, k: int) -> None:
        self._k, self._ends = k, list(zip(tails.tolist(), heads.tolist(), strict=True))
        near: dict[int, set[int]] = {v: set() for v in range(n)}
        for u, v in self._ends:
            near[u].add(v)
            near[v].add(u)
        self._scopes: list[list[int]] = []
        self._place: dict[int, int] = {}
        while near:
            v = min(near, key=lambda w: (len(near[w]), w))
            others = near.pop(v)
            if k ** (len(others) + 1) > MAX_TABLE:
                raise Refused("a module is too closely joined for its windows to be priced")
            for u, w in combinations(sorted(others), 2):
                near[u].add(w)
                near[w].add(u)
            for u in others:
                near[u].discard(v)
            self._place[v] = len(self._scopes)
            self._scopes.append([v, *sorted(others)])

    def least(self, nodes: Ints, edges: Ints, most: int) -> tuple[Ints, Ints]:
        """Return [n, k] and [m, k, k] the least cost of all with each of these chosen, *most* where it is more."""
        scopes, place = self._scopes, self._place
        own = [np.zeros([self._k] * len(scope), np.int64) for scope in scopes]
        for v, i in place.items():
            own[i] = self._sum(own[i], [(np.minimum(nodes[v], most), [v])], scopes[i], most)
        for (u, v), cost in zip(self._ends, edges, strict=True):
            i = min(place[u], place[v])
            own[i] = self._sum(own[i], [(np.minimum(cost, most), [u, v])], scopes[i], most)
        told: list[list[tuple[Ints, list[int], int]]] = [[] for _ in scopes]
        apart = []
        for i, scope in enumerate(scopes):
            table = self._sum(own[i], [part[:2] for part in told[i]], scope, most).min(axis=0)
            if len(scope) > 1:
                told[min(place[v] for v in scope[1:])].append((table, scope[1:], i))
            else:
                apart.append((i, int(table)))
        whole = list(own)
        for i, _ in apart:
            others = sum(each for j, each in apart if j != i)
            own[i] = np.minimum(own[i] + min(others, most), most)
        for i in range(len(scopes) - 1, -1, -1):
            whole[i] = self._sum(own[i], [part[:2] for part in told[i]], scopes[i], most)
            for _, scope, j in told[i]:
                rest = self._sum(own[i], [part[:2] for part in told[i] if part[2] != j], scopes[i], most)
                own[j] = self._sum(own[j], [(_least_of(rest, scopes[i], scope), scope)], scopes[j], most)
        of_nodes = np.array([_least_of(whole[place[v]], scopes[place[v]], [v]) for v in range(len(nodes))])
        of_edges = np.empty_like(edges)
        for e, (u, v) in enumerate(self._ends):
            i = min(place[u], place[v])
            of_edges[e] = _least_of(whole[i], scopes[i], [u, v])
        return of_nodes, of_edges

    def _sum(self, table: Ints, parts: Sequence[tuple[Ints, Sequence[int]]], scope: Sequence[int], most: int) -> Ints:
        """Return a table over *scope* with parts added that are over some of it; *most* where it is more."""
        for part, nodes in parts:
            axes = sorted(range(len(nodes)), key=lambda i: scope.index(nodes[i]))
            shape = [self._k if v in nodes else 1 for v in scope]
            table = np.minimum(table + part.transpose(axes).reshape(shape), most)
        return table


def _least_of(table: Ints, scope: Sequence[int], nodes: Sequence[int]) -> Ints:
    """Return the least of a table over *scope* for all choices of *nodes*, axes in their order."""
    least = table.min(axis=tuple(i for i, v in enumerate(scope) if v not in nodes))
    kept = [v for v in scope if v in nodes]
    moved: Ints = least.transpose([kept.index(v) for v in nodes])
    return moved
