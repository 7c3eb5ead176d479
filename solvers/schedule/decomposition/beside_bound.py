"""Bound a chain together with the nodes beside it, by cuts: its time, and the load and transfers of one device.

No schedule is shorter than the time along the chain, nor than a weighted mean of the load of a device and what it sends
and receives, over all nodes. Both are sums over modules, for given devices of the anchors, and a module that takes
little time leaves the device more to do (:mod:`~mtpp_dsl.solvers.schedule.decomposition.windowed_cuts`). So each module
has a few pairs of a time and a sum, and a path along the chain is as long as the larger of its two totals. The anchor
that most nodes beside the chain read, the *hub*, is taken to be on one device after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.algorithms.cut_nodes import CutModule
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample
from mtpp_dsl.solvers.schedule.decomposition.beside import Sides
from mtpp_dsl.solvers.schedule.decomposition.module_answers import EqualModules, Pair, heads, path_bounds, tails
from mtpp_dsl.solvers.schedule.decomposition.priced_windows import PricedBound, PricedModule
from mtpp_dsl.solvers.schedule.decomposition.solve_modules import ChainPath, shortest
from mtpp_dsl.solvers.schedule.decomposition.windowed_cuts import CutWeights, ModuleCuts, Neighbours
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece, real_times

__all__ = ["BesideBound", "HubCase", "least_larger"]

ON_PORTS = tuple(
    CutWeights(*weights)
    for weights in ((100, 0, 0), (100, 3, 0), (100, 0, 3), (100, 6, 0), (100, 0, 6), (100, 4, 4), (100, 12, 0))
)
"""The weights that are tried on exclusive links, in turn."""
LOAD_ALONE = (CutWeights(1, 0, 0),)
SHORT = 0.85
"""Of the bound: where a mean around a device is less, no other weights are tried for it."""
DEVICES = 2
"""Of the fastest devices, around which cuts are made."""


@dataclass
class HubCase:
    """What is known where the hub is on one device.

    Attributes:
        hub: the device; None where there is no hub.
        bound: on the makespan, in units.
        device, weights: of the mean that it rests on.
        asked: how many questions were asked.
        short: devices of which a mean was far below the bound.
    """

    hub: int | None
    device: int
    weights: CutWeights
    bound: float = 0.0
    asked: int = 0
    short: set[int] = field(default_factory=set)


class BesideBound:
    """Raises the bound of a chain of modules by cuts, and by the nodes beside it.

    Args:
        whole: the problem. modules: of the chain; classes: of equal ones. sides: nodes beside it.

    Attributes:
        times: [entries, exits] per class: bounds on its time.
        cases: one for each device that the hub may be on.
        priced: the bounds on times that rest on prices of windows.
        of: [modules] the class of each.
    """

    def __init__(self, whole: WholeSample, modules: Sequence[CutModule], classes: EqualModules, sides: Sides) -> None:
        self._classes, self._sides = classes, sides
        self.of = [member.of for member in classes.members]
        self.times = [path_bounds(piece) for piece in classes.pieces]
        paths = [(heads(piece), tails(piece)) for piece in classes.pieces]
        self._cuts = [ModuleCuts(piece, *two) for piece, two in zip(classes.pieces, paths, strict=True)]
        hub = modules[sides.hub].exit if sides.hub >= 0 else -1
        self._near = [
            ModuleCuts(classes.pieces[c], *paths[c], _neighbours(whole, members.nodes, sides, j, hub))
            for j, (c, members) in enumerate(zip(self.of, classes.members, strict=True))
        ]
        devices = classes.pieces[self.of[sides.hub]].exits if sides.hub >= 0 else (None,)
        work = real_times(whole.request.duration).sum(axis=0)
        self._fast = np.argsort(work, kind="stable")[:DEVICES].tolist()
        self.cases = [HubCase(d, self._fast[0], LOAD_ALONE[0]) for d in devices]
        self._questions = [
            (d, weights) for weights in (ON_PORTS if whole.instance.exclusive else LOAD_ALONE) for d in self._fast
        ]
        self._timed = set[Pair]()
        self._windowed: dict[int, PricedModule] = {}
        self._asked = set[Pair]()
        self.priced: dict[Pair, PricedBound] = {}
        self._known: dict[tuple[object, ...], list[tuple[float, float]]] = {}

    @property
    def pieces(self) -> Sequence[ModulePiece]:
        """A module of each class."""
        return self._classes.pieces

    @property
    def fastest(self) -> int:
        """The device that would do all work in the least time."""
        return int(self._fast[0])

    @property
    def bound(self) -> float:
        """The lower bound on the makespan, in units."""
        return min(case.bound for case in self.cases)

    def path(self, hub: int | None) -> ChainPath:
        """Return the path of least time with the hub on a device."""
        tables = [self.times[c] for c in self.of]
        if hub is not None:
            at = self._sides.hub
            here = np.array(self._classes.pieces[self.of[at]].exits) == hub
            tables[at] = np.where(here, tables[at], np.inf)
        return shortest(tables)

    def learn(self, times: Sequence[Floats]) -> None:
        """Take better bounds on the times of the classes, and let every question be asked again."""
        self.times = [np.maximum(*two) for two in zip(self.times, times, strict=True)]
        self._known.clear()
        for case in self.cases:
            case.asked = 0

    def time_paths(self, over: Callable[[], bool]) -> None:
        """Bound by cuts the times of modules on the best path of each case, until all of it is bounded so."""
        for case in self.cases:
            fresh = True
            while fresh and not over():
                states = self.path(case.hub).states
                pairs = [(c, states[j], states[j + 1]) for j, c in enumerate(self.of)]
                fresh = sum(self._time(*pair, np.inf) for pair in pairs if not over()) > 0
            case.bound = max(case.bound, self.path(case.hub).length)

    def time_modules(self, limit: float, over: Callable[[], bool]) -> None:
        """Bound by cuts the time of every class for those devices of its ends that a path below *limit* may have."""
        for c in range(len(self._cuts)):
            path = shortest([self.times[other] for other in self.of])
            ways = np.min([path.slack(j) for j, other in enumerate(self.of) if other == c], axis=0)
            for a, b in np.argwhere(ways + self.times[c] < limit).tolist():
                if over():
                    return
                self._time(c, a, b, limit - float(ways[a, b]))
        for case in self.cases:
            case.bound = max(case.bound, self.path(case.hub).length)

    def price(self, limit: float, over: Callable[[], bool]) -> bool:
        """Bound by prices of windows the times of modules on the best path of the case of the least bound.

        Goes on until all of it is bounded so; returns whether any time was raised.
        """
        raised = False
        while not over():
            case = min(self.cases, key=lambda one: one.bound)
            pair = self._next(case, limit) if case.bound < limit else None
            if pair is None:
                break
            raised |= self._price(pair, limit, self.path(case.hub))
            for each in self.cases:
                each.bound = max(each.bound, self.path(each.hub).length)
        if raised:
            for case in self.cases:
                case.asked = 0
        return raised

    def _next(self, case: HubCase, limit: float) -> Pair | None:
        """Return the largest module on the best path of a case that was not asked about, with its ends; or None."""
        states = self.path(case.hub).states
        pairs = [(c, states[j], states[j + 1]) for j, c in enumerate(self.of)]
        fresh = [pair for pair in pairs if pair not in self._asked and limit < np.inf]
        return max(fresh, key=lambda pair: self._classes.pieces[pair[0]].size, default=None)

    def _price(self, pair: Pair, limit: float, path: ChainPath) -> bool:
        """Bound the time of a module by prices of windows; return whether that raised it."""
        self._asked.add(pair)
        c, a, b = pair
        piece = self._classes.pieces[c]
        if piece.size <= 1 + piece.entry + piece.exit:
            return False
        windowed = self._windowed.setdefault(c, PricedModule(piece))
        enough = limit - min(float(path.slack(j)[a, b]) for j, other in enumerate(self.of) if other == c)
        known = float(self.times[c][a, b])
        bound = windowed.least_time(a, b, known, enough) if windowed.suits and known < enough else None
        if bound is None:
            return False
        self.priced[pair] = bound
        self.times[c][a, b] = bound.time
        return True

    def _time(self, c: int, a: int, b: int, enough: float) -> bool:
        """Bound a time unless that was done before; return whether it was not. More than *enough* is not needed."""
        if (c, a, b) in self._timed:
            return False
        self._timed.add((c, a, b))
        self.times[c][a, b] = self._cuts[c].least_time(a, b, float(self.times[c][a, b]), enough)
        return True

    def run(self, limit: Callable[[], float], over: Callable[[], bool], changed: Callable[[], None]) -> None:
        """Ask about the case of the least bound until it reaches *limit* or has no question left."""
        while not over():
            case = min(self.cases, key=lambda one: one.bound)
            if case.asked == len(self._questions) or case.bound >= limit():
                return
            d, weights = self._questions[case.asked]
            if d in case.short:
                case.asked += 1
                continue
            tables = [self._table(j, d, weights, case.hub, over) for j in range(len(self.of))]
            if over():
                return
            case.asked += 1
            path = least_larger([t[..., 0] for t in tables], [t[..., 1] / sum(weights) for t in tables])
            if path[1] < SHORT * path[0]:
                case.short.add(d)
            if max(path) > case.bound:
                case.bound, case.device, case.weights = max(path), d, weights
                changed()

    def _table(self, j: int, d: int, weights: CutWeights, hub: int | None, over: Callable[[], bool]) -> Floats:
        """Return [entries, exits, options, 2] pairs of a time and a weighted sum of module *j*."""
        piece = self._classes.pieces[self.of[j]]
        rows: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for at in np.ndindex(len(piece.entries), len(piece.exits)):
            if (j != self._sides.hub or piece.exits[at[1]] == hub) and not over():
                rows[at] = self._options(j, at, d, weights, hub)
        table = np.full((len(piece.entries), len(piece.exits), max(map(len, rows.values()), default=0), 2), np.inf)
        for at, options in rows.items():
            table[at][: len(options)] = np.array(options).reshape(-1, 2)
        return table

    def _options(
        self, j: int, at: tuple[int, int], d: int, weights: CutWeights, hub: int | None
    ) -> list[tuple[float, float]]:
        near = self._sides.of[j]
        known = float(self.times[self.of[j]][at])
        key = (j if near.nodes else (self.of[j],), at, d, weights, hub if near.far else None, known)
        if key not in self._known:
            self._known[key] = self._near[j].options(*at, d, weights, known, hub)
        return self._known[key]


def _neighbours(whole: WholeSample, members: Ints, sides: Sides, j: int, hub: int) -> Neighbours:
    """Return the nodes beside module *j*, whose *members* are numbered first."""
    asked, near = whole.request, sides.of[j]
    number = {v: i for i, v in enumerate((*members.tolist(), *near.nodes))}
    time = real_times(asked.duration[list(near.nodes)])
    if near.far and hub not in number:
        number[hub] = len(number)
        time = np.concatenate((time, np.zeros((1, time.shape[1]))))
    edges = [*near.edges, *near.far]
    return Neighbours(
        time,
        np.array([number[v] for v in asked.tails[edges].tolist()], np.int64),
        np.array([number[v] for v in asked.heads[edges].tolist()], np.int64),
        real_times(asked.table[asked.row[edges]]),
        number.get(hub, -1),
    )


# Find paths through a chain by two lengths at once, of which the larger counts.

MAX_LABELS = 1000
"""Labels of one state; of more, neighbours are made one that is no longer than either."""


def least_larger(ones: Sequence[Floats], others: Sequence[Floats]) -> tuple[float, float]:
    """Return the two lengths of the path through the tables whose larger length is least.

    A dynamic programme over labels; where labels have been merged, the lengths are bounds.

    Args:
        ones: [states before, states behind, options] per step: what it adds to the first length; one of the options is
            taken, ``inf`` says that it cannot be.
        others: what it adds to the second.
    """
    labels = [np.zeros((1, 2)) for _ in range(ones[0].shape[0])]
    for one, other in zip(ones, others, strict=True):
        steps = np.stack([one, other], axis=-1)
        labels = [
            _thinned(
                _undominated(
                    np.concatenate(
                        [(rows[:, None] + steps[a, b][None]).reshape(-1, 2) for a, rows in enumerate(labels)]
                    )
                )
            )
            for b in range(one.shape[1])
        ]
    rows = np.concatenate(labels)
    if not len(rows):
        return np.inf, np.inf
    first, second = rows[int(rows.max(axis=1).argmin())].tolist()
    return first, second


def _undominated(rows: Floats) -> Floats:
    """Return the finite rows that no other row dominates, by the first length."""
    rows = rows[np.isfinite(rows).all(axis=1)]
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    second = rows[:, 1]
    before = np.concatenate(([np.inf], np.minimum.accumulate(second)[:-1])) if len(rows) else second
    better: Bools = second < before
    kept: Floats = rows[better]
    return kept


def _thinned(rows: Floats) -> Floats:
    """Return at most :data:`MAX_LABELS` labels: labels with close first lengths are merged into their minimum."""
    if len(rows) <= MAX_LABELS:
        return rows
    low, high = rows[0, 0], rows[-1, 0]
    share = np.minimum((rows[:, 0] - low) / (high - low) * MAX_LABELS, MAX_LABELS - 1).astype(np.int64)
    first = np.flatnonzero(np.diff(share, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    return np.stack([rows[first, 0], rows[last, 1]], axis=1)
