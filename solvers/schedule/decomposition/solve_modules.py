"""Evaluate modules lazily: only those on the shortest path are solved, until that path is proved (MATH.md, 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from math import ceil, floor, inf
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.request import INF, Answer, Effort, Request, Solution, request
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement
from mtpp_dsl.solvers.schedule.decomposition.module_answers import EqualModules, KnownModules, Pair
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["Settling", "shortest"]

FIRST_TRY = 2.0
"""Seconds for the first solve of a pair of ends; each further one has three times as many."""
GROWTH = 3.0
LARGEST = 3_000
"""CP-SAT is not asked for modules of more tasks: it would get nowhere."""
LOOK = 0.1
IN_ORDER = 1.0
"""Seconds for which answers are waited for in the order of the questions."""


@dataclass
class _Job:
    pair: Pair
    cutoff: int
    answer: Future[Answer]
    began: float


class Settling:
    """Bounds and schedules of all modules of a chain, for all devices of their ends, tightened where it matters.

    Args:
        classes: of the modules of the chain.
        pool: processes of CP-SAT.
        seed, gap: of the whole run; see :class:`mtpp_dsl.core.contracts.limits.Limits`. options: parameters of CP-SAT.
        known: the length of the best schedule that was found elsewhere.
        lower, warm: as of :class:`KnownModules`.

    Attributes:
        lower, upper: [entries, exits] per class: lower bounds, and the shortest lengths found.
        found: the schedules, by class and states.
        solves: how often CP-SAT was asked. trusted: whether a bound rests on CP-SAT; those given are taken not to.
    """

    def __init__(
        self,
        classes: EqualModules,
        pool: ProcessPool,
        *,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
        known: Callable[[], float] = lambda: inf,
        gap: float = 0.0,
        lower: Sequence[Floats] | None = None,
        warm: dict[Pair, Arrangement] | None = None,
    ) -> None:
        self.classes, self._pool, self._seed, self._gap = classes, pool, seed, gap
        self._options, self._known = dict(options or {}), known
        self._members = [member.of for member in classes.members]
        self._stock = KnownModules(classes, lower, warm)
        self.lower, self.upper, self.found = self._stock.lower, self._stock.upper, self._stock.found
        self._tried: dict[Pair, int] = {}
        self._jobs: list[_Job] = []
        self._most = inf
        self.solves = 0
        self.trusted = False

    @property
    def bound(self) -> float:
        """The lower bound on schedules of the chain; ``inf`` if it has none."""
        return self._shortest(self.lower).length

    @property
    def value(self) -> float:
        """The length of the best schedule known."""
        return self._shortest(self.upper).length

    @property
    def closed(self) -> bool:
        """Whether the best schedule known is within the gap of the bound."""
        return self.bound >= self._target()

    def best(self) -> Iterator[tuple[int, Arrangement, float]]:
        """Yield module, schedule and end of its entry, along the best path known, in order.

        Raises:
            LookupError: no schedule of the whole chain is known.
        """
        if not np.isfinite(self.value):
            raise LookupError("no schedule is known")
        while True:
            pairs = self._pairs(self._shortest(self.upper))
            value = self.value
            for pair in pairs:
                self._stock.improve(pair)
            if self.value >= value:
                break
        began = 0.0
        for j, pair in enumerate(self._pairs(self._shortest(self.upper))):
            yield j, self.found[pair], began
            began += self.found[pair].length

    def run(
        self,
        until: Callable[[], float],
        stopped: Callable[[], bool],
        changed: Callable[[], None],
        tries: float = inf,
    ) -> None:
        """Solve until the best path is proved, or the time is up.

        Args:
            until: seconds that are left; ``inf`` without a limit.
            stopped: returns whether to stop.
            changed: called whenever bounds or schedules may have improved.
            tries: how often CP-SAT is asked about one pair, each time for longer.
        """
        halted, self._most = False, tries

        def over() -> bool:
            return halted or stopped() or until() <= 0

        try:
            while not self.closed and not over():
                self._refill(until, over)
                if not self._jobs:
                    break
                self._wait()
                if self._collect():
                    changed()
        finally:
            halted = True
            for job in self._jobs:
                job.answer.cancel()
            wait([job.answer for job in self._jobs])
            self._jobs = [job for job in self._jobs if not job.answer.cancelled()]
            while self._collect():
                changed()

    def _wait(self) -> None:
        """Wait for an answer: in the order of the questions, so that runs repeat, unless one takes long."""
        first = self._jobs[0]
        if first.began + IN_ORDER > monotonic():
            wait([first.answer], timeout=IN_ORDER)
        else:
            wait([job.answer for job in self._jobs], timeout=LOOK, return_when=FIRST_COMPLETED)

    def _shortest(self, tables: Sequence[Floats]) -> ChainPath:
        return shortest([tables[c] for c in self._members])

    def _pairs(self, path: ChainPath) -> list[Pair]:
        return [(c, path.states[j], path.states[j + 1]) for j, c in enumerate(self._members)]

    def _target(self) -> float:
        value = min(self.value, self._known())
        return value if value == inf else float(ceil(value * (1 - self._gap)))

    def _refill(self, until: Callable[[], float], over: Callable[[], bool]) -> None:
        """Give every idle process an open pair on the shortest path, as far as there are any."""
        while len(self._jobs) < self._pool.size:
            pair = self._next()
            if pair is None:
                return
            if self._stock.improve(pair):
                continue
            cutoff = self._cutoff(pair)
            if cutoff < self.lower[pair[0]][pair[1:]]:
                return
            tries = self._tried[pair] = self._tried.get(pair, 0) + 1
            seconds = min(FIRST_TRY * GROWTH ** (tries - 1), until())
            first, last = self._stock.ends(pair)
            request = module_request(
                self.classes.pieces[pair[0]],
                first,
                last,
                cutoff=cutoff,
                at_least=ceil(self.lower[pair[0]][pair[1:]]),
                hint=self.found.get(pair),
            )
            self.solves += 1
            answer = self._pool.submit(request, Effort(seconds, 1, self._seed, options=self._options), stopped=over)
            self._jobs.append(_Job(pair, cutoff, answer, monotonic()))

    def _next(self) -> Pair | None:
        """Return the next pair to solve: an open one on the shortest path, assuming that running ones fail."""
        busy = {job.pair for job in self._jobs}
        tables = [table.copy() for table in self.lower]
        for job in self._jobs:
            tables[job.pair[0]][job.pair[1:]] = min(job.cutoff + 1, self.upper[job.pair[0]][job.pair[1:]])
        path = self._shortest(tables)
        if path.length >= self._target():
            return None
        left = [pair for pair in dict.fromkeys(self._pairs(path)) if pair not in busy and self._open(pair)]
        left = [pair for pair in left if self._tried.get(pair, 0) < self._most]
        return min(left, key=lambda pair: self._tried.get(pair, 0), default=None)

    def _open(self, pair: Pair) -> bool:
        if self.classes.pieces[pair[0]].size > LARGEST:
            return False
        return bool(self.lower[pair[0]][pair[1:]] < self.upper[pair[0]][pair[1:]])

    def _cutoff(self, pair: Pair) -> int:
        """Return the length up to which a schedule would still improve the whole."""
        path, target = self._shortest(self.lower), self._target()
        c, i, j = pair
        rest = min(float(path.slack(m)[i, j]) for m, other in enumerate(self._members) if other == c)
        most = min(target - 1 - rest, self.upper[c][i, j] - 1)
        return floor(most) if np.isfinite(most) else self._stock.horizon(c)

    def _collect(self) -> bool:
        """Take the answers that have arrived; return whether there were any."""
        first = self._jobs[:1]
        ordered = bool(first) and first[0].began + IN_ORDER > monotonic()
        done = [job for job in (first if ordered else self._jobs) if job.answer.done()]
        self._jobs = [job for job in self._jobs if job not in done]
        for job in done:
            answer, (c, i, j) = job.answer.result(), job.pair
            self.trusted = True
            piece = self.classes.pieces[c]
            if answer.solution is not None:
                self._stock.keep(job.pair, arranged(piece, answer.solution))
            never = answer.status == "infeasible" and job.cutoff >= self._stock.horizon(c)
            bound = inf if never else min(float(answer.bound), self.upper[c][i, j])
            self.lower[c][i, j] = max(self.lower[c][i, j], bound)
        return bool(done)


# Find the shortest path along a chain of modules, over the devices of the cut nodes between them.


@dataclass(frozen=True, eq=False)
class ChainPath:
    """A shortest path along a chain.

    Attributes:
        length: of the shortest path; ``inf`` if there is none.
        states: [modules + 1] the state at every boundary.
        ahead, behind: [modules + 1] per boundary and state: the least length to it, and from it to the end.
    """

    length: float
    states: tuple[int, ...]
    ahead: tuple[Floats, ...]
    behind: tuple[Floats, ...]

    def slack(self, j: int) -> Floats:
        """Return [entries, exits] of module *j* the least length of all other modules, by the states at its ends."""
        rest: Floats = self.ahead[j][:, None] + self.behind[j + 1][None, :]
        return rest


def shortest(tables: Sequence[Floats]) -> ChainPath:
    """Return the shortest path through *tables*, each [states before, states behind]; ties go to the first state."""
    ahead = [np.zeros(tables[0].shape[0])]
    for table in tables:
        ahead.append((ahead[-1][:, None] + table).min(axis=0))
    behind = [np.zeros(tables[-1].shape[1])]
    for table in reversed(tables):
        behind.append((table + behind[-1][None, :]).min(axis=1))
    behind.reverse()
    state = int(behind[0].argmin())
    states = [state]
    for j, table in enumerate(tables):
        state = int((table[state] + behind[j + 1]).argmin())
        states.append(state)
    return ChainPath(float(ahead[-1].min()), tuple(states), tuple(ahead), tuple(behind))


# Turn modules into requests for CP-SAT, and its solutions into schedules.


def module_request(
    piece: ModulePiece, first: int, last: int, *, cutoff: int, at_least: int, hint: Arrangement | None = None
) -> Request:
    """Return the request for a schedule of *piece* with the entry on device *first* and the exit on *last*."""
    time = piece.time.copy()
    for v, d in [(0, first)] * piece.entry + [(-1, last)] * piece.exit:
        time[v, np.arange(piece.k) != d] = np.inf
    latest = np.full(piece.size, INF)
    if piece.entry:
        latest[0] = 0
    start = None
    if hint is not None:
        start = Solution(hint.device, hint.start.astype(np.int64), hint.sent.astype(np.int64))
    return request(
        _whole_numbers(time),
        piece.tails,
        piece.heads,
        np.arange(len(piece.edges)),
        _whole_numbers(piece.carry),
        cutoff=cutoff,
        exclusive=piece.exclusive,
        at_least=at_least,
        size=piece.memory.astype(np.int64),
        capacity=_whole_numbers(piece.limit),
        together=piece.together,
        apart=piece.apart,
        latest=latest,
        hint=start,
    )


def arranged(piece: ModulePiece, solution: Solution) -> Arrangement:
    """Return CP-SAT's solution as a schedule."""
    takes = piece.time[np.arange(piece.size), solution.device]
    length = float((solution.start + takes).max(initial=0.0))
    return Arrangement(solution.device, solution.start.astype(np.float64), solution.sent.astype(np.float64), length)


def _whole_numbers(times: Floats) -> Ints:
    return np.where(np.isfinite(times), times, float(INF)).astype(np.int64)
