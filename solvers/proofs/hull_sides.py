"""The part of certificates ``path-hull`` about chains of nodes beside the path, counted with tables of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import fsum, inf

import numpy as np

from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Floats

MOST_OPTIONS, MOST_LEVELS = 64, 64
Part = tuple[int, ...]
Option = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Side:
    """Chains that the node *start* of the path reaches and that reach its node *end*.

    At a boundary between the two, an option says how many of the *stops* of each chain are done or on their way, and a
    level how much later than the path that will be done at least.
    """

    start: int
    end: int
    chains: tuple[Part, ...]
    stops: tuple[Part, ...]
    levels: int
    step: float

    @property
    def options(self) -> list[Option]:
        """All options; the first has nothing, the last everything."""
        return list(product(*(range(len(stops) + 1) for stops in self.stops)))

    @property
    def grid(self) -> Floats:
        """How much later each level is."""
        return np.array([k * self.step for k in range(self.levels)], np.float64)

    def between(self, low: Option, high: Option) -> list[Part]:
        """Return of each chain what is from the first stop that only the second option has to the last one.

        Who holds the ends of it holds all; if no subgraph along the path holds the ends, and none is between them in
        time, none holds what is between.
        """
        given = zip(self.chains, self.stops, low, high, strict=True)
        return [chain[stops[a] : stops[b - 1] + 1] if a < b else () for chain, stops, a, b in given]

    def within(self, low: Option, high: Option) -> bool:
        """Return whether the second option has all that the first has."""
        return all(a <= b for a, b in zip(low, high, strict=True))

    def after(self, pending: Floats, wait: Floats) -> Floats:
        """Return how late what comes behind what is pending is, where it takes *wait* by itself."""
        return pending + wait if len(self.chains) == 1 else np.maximum(pending, wait)


def read_sides(
    given: object, index: Mapping[str, int], path: Sequence[int], reaches: Callable[[int, int], bool]
) -> list[Side | None]:
    """Return [length + 1] the chains at each boundary of the path, or raise Refused.

    Args:
        given: what the certificate says.
        index: of names of nodes.
        path: the path.
        reaches: whether a path leads from one node to another.
    """
    length = len(path)
    at: list[Side | None] = [None] * (length + 1)
    if not isinstance(given, list):
        raise Refused("the certificate's 'sides' is no list")
    for entry in given:
        side, where = _side(entry, index), entry["at"]
        if not 0 <= side.start < side.end < length:
            raise Refused("the certificate's 'sides' are beside no part of its path")
        for chain in side.chains:
            ends = [path[side.start], *chain, path[side.end]]
            if set(chain) & set(path) or not all(reaches(u, v) for u, v in pairwise(ends)):
                raise Refused("the certificate's 'sides' have a chain that does not lead from its path to its path")
        for x in where:
            if type(x) is not int or not side.start < x <= side.end or at[x] is not None:
                raise Refused("the certificate's 'sides' are at no boundary of their own")
            at[x] = side
    return at


def _side(entry: object, index: Mapping[str, int]) -> Side:
    if not isinstance(entry, dict) or not {"from", "to", "at", "chains", "levels", "step"} <= entry.keys():
        raise Refused("the certificate's 'sides' lack something")
    chains, levels, step = entry["chains"], entry["levels"], entry["step"]
    whole = all(type(entry[key]) is int for key in ("from", "to", "levels"))
    if not (whole and 1 <= levels <= MOST_LEVELS and isinstance(step, (int, float)) and 0 < step < inf):
        raise Refused("the certificate's 'sides' have ends, levels or a step that are no numbers of that kind")
    if not isinstance(entry["at"], list) or not isinstance(chains, list) or not chains:
        raise Refused("the certificate's 'sides' have no boundaries or no chains")
    if not all(isinstance(chain, list) and all(isinstance(v, str) and v in index for v in chain) for chain in chains):
        raise Refused("the certificate's 'sides' have a chain that is no list of nodes")
    stops = entry.get("stops", [list(range(len(chain))) for chain in chains])
    if not isinstance(stops, list) or len(stops) != len(chains):
        raise Refused("the certificate's 'sides' have no stops for each chain")
    for chain, some in zip(chains, stops, strict=True):
        if not chain or not isinstance(some, list) or not all(type(i) is int and 0 <= i < len(chain) for i in some):
            raise Refused("the certificate's 'sides' have empty chains, or stops that are none of their nodes")
        if not all(i < j for i, j in pairwise(some)):
            raise Refused("the certificate's 'sides' have stops in no order")
    if int(np.prod([len(some) + 1 for some in stops], dtype=object)) > MOST_OPTIONS:
        raise Refused("the certificate's 'sides' have too many stops")
    nodes = tuple(tuple(index[v] for v in chain) for chain in chains)
    return Side(entry["from"], entry["to"], nodes, tuple(map(tuple, stops)), levels, float(step))


def delays(side: Side, alone: Callable[[int], float], own: Callable[[Part], float]) -> Floats:
    """Return [2, options, options] what it takes between two options beside host memory, and with another subgraph.

    ``inf`` where the first has what the second does not. All chains take place at the same time; one with a subgraph of
    its own has it for some nodes in a row, and for the others the lesser of both.
    """
    options = side.options
    table = np.full((2, len(options), len(options)), np.inf)
    for s, low in enumerate(options):
        for t, high in enumerate(options):
            if side.within(low, high):
                parts = side.between(low, high)
                table[0, s, t] = max(fsum(alone(v) for v in part) for part in parts)
                if s != t:
                    table[1, s, t] = max(_mixed(part, alone, own) for part in parts)
    return table


def _mixed(part: Part, alone: Callable[[int], float], own: Callable[[Part], float]) -> float:
    ways = [fsum(alone(v) for v in part)]
    for i in range(len(part)):
        for j in range(i + 1, len(part) + 1):
            others = (*part[:i], *part[j:])
            ways.append(own((part[i], part[j - 1])) + fsum(min(alone(v), own((v,))) for v in others))
    return min(ways)


class Way:
    """The least cost of a way to cut the path, with what is known of the chains beside it.

    Args:
        alone: of each node of the path beside host memory.
        sides: at each boundary of the path.
        tied: whether behind a run that ends at a boundary another begins there.
        waits: of each side, see :func:`delays`.
        runs: of each node of the path, the last nodes of runs from there, and [options + 1, options + 1] what these
            take, by the options before and behind; the last means that nothing is known.
        most: how many subgraphs there may be.
        target: ways that cost as much or more do not matter.
    """

    def __init__(
        self,
        alone: Sequence[float],
        sides: Sequence[Side | None],
        tied: Sequence[bool],
        waits: Mapping[Side, Floats],
        runs: Sequence[Sequence[tuple[int, Floats]]],
        most: int,
        target: float,
    ) -> None:
        self.alone, self.sides, self.tied = alone, sides, tied
        self.waits, self.runs, self.target = waits, runs, target
        length = len(alone)
        self.rest = np.zeros(length + 1)
        for i in range(length - 1, -1, -1):
            through = (float(table.min()) + self.rest[j + 1] for j, table in runs[i])
            self.rest[i] = min([alone[i] + self.rest[i + 1], *through])
        nothing = [np.full(most + 1, np.inf) for _ in range(length + 1)]
        # Of each boundary: ends of runs where nothing is known, and by option and level; starts of runs where nothing
        # is known, by option when what is on its way is done, and by option and level of what is on its way.
        self.blind, self.unseen = nothing, [row.copy() for row in nothing]
        shapes = [(0, 0) if side is None else (len(side.options), side.levels) for side in sides]
        self.ends = [np.full((*shape, most + 1), np.inf) for shape in shapes]
        self.ready = [np.full((options, most + 1), np.inf) for options, _ in shapes]
        self.early = [np.full((*shape, most + 1), np.inf) for shape in shapes]
        self.blind[0][0] = 0.0

    def least(self) -> float:
        """Return the least cost, or the target."""
        best = inf
        for x in range(len(self.alone) + 1):
            for own in range(2):
                best = min(best, self._wait(x, own))
            best = min(best, self._go(x, self.blind[x], None, None, 0))
            if x < len(self.alone):
                for j, table in self.runs[x]:
                    self._take(x, j, table)
        return min(best, self.target)

    def _wait(self, x: int, own: int) -> float:
        """Go on from runs that end before x and have something of the chains there, or may have."""
        side = self.sides[x]
        if side is None or not np.isfinite(self.ends[x]).any():
            return inf
        ended = _later(self.ends[x], own)
        pending = side.grid[None, :]
        lag = side.after(pending, self.waits[side][own][:, -1][:, None])
        return self._go(x, ended, side, lag, own)

    def _go(self, x: int, ended: Floats, side: Side | None, lag: Floats | None, own: int) -> float:
        """Go on from ends of runs over nodes beside host memory to the starts of other runs; return what ends."""
        times = {x: ended}
        for i in range(x, len(self.alone)):
            now, there = times[i], self.sides[i]
            if (own == 0 or (side is not None and side.end < i)) and (i == x or not self.tied[i]):
                if there is not None and there.start >= x:
                    self._arrive(
                        i, there, now[..., None, :], times[there.start + 1][..., None, :], self.waits[there][:, 0]
                    )
                elif there is not None and there is side:
                    pending = side.grid[None, :, None]
                    waits = [side.after(pending, wait[:, None, :]) for wait in self.waits[side]]
                    self._arrive(i, there, now[..., None, :], ended[..., None, :], np.array(waits))
                else:
                    least = now.reshape(-1, now.shape[-1]).min(axis=0)
                    np.minimum(self.unseen[i], least, out=self.unseen[i])
                    if there is not None:
                        np.minimum(self.ready[i][-1], least, out=self.ready[i][-1])
            if self.tied[x]:
                return inf
            if side is not None and lag is not None and side.end == i:
                now = np.maximum(now, ended + lag[..., None])
            after = now + self.alone[i]
            times[i + 1] = np.where(after < self.target - self.rest[i + 1], after, np.inf)
            if not np.isfinite(times[i + 1]).any():
                return inf
        return float(times[len(self.alone)].min(initial=inf))

    def _arrive(self, i: int, side: Side, now: Floats, since: Floats, waits: Floats) -> None:
        """Note starts of runs at i: what is on its way is done *waits* after *since*, for each option there."""
        for own in range(2):
            done = since + waits[own][..., None]
            late = np.maximum(now, done)
            start = np.broadcast_to(now, late.shape)
            options, most = late.shape[-2:]
            flat = _later(late.reshape(-1, options, most).min(axis=0, initial=np.inf), own)
            np.minimum(self.ready[i], flat, out=self.ready[i])
            valid = np.isfinite(late)
            level = np.full(late.shape, -1, np.int64)
            level[valid] = np.searchsorted(side.grid, late[valid] - start[valid], side="right") - 1
            for k in range(side.levels):
                here = np.where(level == k, start, np.inf).reshape(-1, options, most).min(axis=0, initial=np.inf)
                np.minimum(self.early[i][:, k], _later(here, own), out=self.early[i][:, k])

    def _take(self, i: int, j: int, table: Floats) -> None:
        """Go on from starts of runs at i to the end of the one that ends with node j."""
        before, behind = self.sides[i], self.sides[j + 1]
        if before is None:
            self._end(i, j, self.unseen[i][None], table[-1:])
        elif before.end <= j:
            self._end(i, j, self.ready[i], table[:-1])
        else:
            self._end(i, j, self.unseen[i][None], table[-1:])
            if behind is before:
                self._pass(i, j, before, table)
            else:
                self._end(i, j, self.early[i].min(axis=(0, 1))[None], table[-1:])

    def _end(self, i: int, j: int, begun: Floats, table: Floats) -> None:
        """Note ends before j + 1 of a run at i from starts [options, subgraphs], and what it takes by these."""
        behind = self.sides[j + 1]
        if behind is None or behind.start < i:
            self._note(j, self.blind[j + 1], (begun + table[:, -1:]).min(axis=0))
        else:
            self._note(j, self.ends[j + 1][:, 0], (begun[:, None] + table[:, :-1, None]).min(axis=0))

    def _pass(self, i: int, j: int, side: Side, table: Floats) -> None:
        """Note ends of a run at i beside which chains go on that may lose some nodes to it."""
        options = side.options
        for t, low in enumerate(options):
            for k in range(side.levels):
                later = max(0.0, float(side.grid[k] - table[t, t]))
                left = int(np.searchsorted(side.grid, later, side="right")) - 1
                self._note(j, self.ends[j + 1][t, left], self.early[i][t, k] + table[t, t])
            start = self.ready[i][t] if len(side.chains) == 1 else self.early[i][t].min(axis=0)
            for s, high in enumerate(options):
                if s != t and side.within(low, high):
                    self._note(j, self.ends[j + 1][s, 0], start + table[t, s])

    def _note(self, j: int, ends: Floats, times: Floats) -> None:
        """Keep times [..., subgraphs] of ends before node j + 1, with the subgraph that ends, where they matter."""
        fresh = _later(times, 1)
        np.minimum(ends, np.where(fresh < self.target - self.rest[j + 1], fresh, np.inf), out=ends)


def _later(times: Floats, more: int) -> Floats:
    """Return times [..., subgraphs] with some more subgraphs."""
    if not more:
        return times
    moved = np.full(times.shape, np.inf)
    moved[..., more:] = times[..., :-more]
    return moved
