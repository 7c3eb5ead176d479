"""Dynamic programme over the devices of the tensors between modules (ghannane2023, 3.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from time import monotonic
from typing import TypeAlias

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.module_rows import ModuleRow
from mtpp_dsl.solvers.schedule.splitting.module_engines import ModuleEngine, ModuleResult, by_lists, floor
from mtpp_dsl.solvers.schedule.splitting.module_problems import Place, SameModules, Timetable, timetable

State: TypeAlias = tuple[Place, ...]
"""Where the tensors across a boundary are, in the order of their nodes."""
Ends: TypeAlias = tuple[tuple[Place, ...], tuple[Place | None, ...]]
"""Where a module's inputs are, and where its outputs are to be; None: anywhere."""

FULL = 9
"""Up to so many states of a clean boundary are all looked at."""
KEPT = 4
"""Of others, so many are kept at each boundary: those that are reached first."""
KEPT_BATCHES = 2
"""The same of batches, of which a module takes long."""
OTHERS = 8
"""Schedules of a module with one output elsewhere, at most; of batches, none."""
LARGEST = 2_000
"""Larger modules are scheduled by lists alone: a solver would get nowhere."""
ROUNDS = 2
"""How often modules are solved, many at once, at one boundary, more or less; of batches, once."""
LATE, LATE_SECONDS = 0.25, 8.0
"""A share of the time, and at most so many seconds of it, in which the modules left are scheduled by lists."""
STOP_GRACE = 1.0
"""The same, in seconds, after a request to stop."""
WORTH = 0.3
"""Seconds of solving a module below which rather fewer states are looked at."""
LIST = 0.02
"""Seconds left for a module below which it is scheduled by lists alone."""


@dataclass(frozen=True, eq=False)
class BoundaryStep:
    """A path to a state of a boundary, by its last module.

    Attributes:
        state: the devices of the tensors across the boundary.
        cost: when all modules up to the boundary have ended, one after another.
        before: the step before; None at the start.
        table: the schedule of the last module.
    """

    state: State
    cost: float
    before: BoundaryStep | None
    table: Timetable | None


class BoundaryWalk:
    """Goes from boundary to boundary, and keeps the shortest paths to each state.

    Of a boundary with few states that is a cut of the graph, all states are explored; if all boundaries are such, the
    shortest path is the least makespan. Of others, the explored states are those that the best schedules of the modules
    lead to, with their outputs anywhere, or with one output moved; a few of them are kept.

    Args:
        problem: the whole problem.
        split: its modules. classes: equal modules among them.
        engine: solves modules.
        seconds: at most, for solving a module between given ends.
        limits: of the walk. stopped: returns whether to stop.

    Attributes:
        bounds: [boundary] per state, a lower bound on paths to it; None after a boundary where states were left out.
        asked: how many modules between given ends were to be solved. listed: of these, by list schedulers alone.
        unproven: of these, not solved to the end. stranded: whether the time ran out.
    """

    def __init__(
        self,
        problem: Problem,
        split: ModuleRow,
        classes: SameModules,
        engine: ModuleEngine,
        seconds: float,
        limits: Limits,
        stopped: Callable[[], bool],
    ) -> None:
        self._problem, self._split, self._classes, self._engine = problem, split, classes, engine
        self._seconds, self._limits, self._stopped = seconds, limits, stopped
        self._known: dict[tuple[int, Ends], ModuleResult] = {}
        self._floors: dict[tuple[int, Ends], float] = {}
        self._batched = problem.objective.batch is not None
        self._tensors = [split.tensors(i).tolist() for i in range(len(split.modules) - 1)] + [[]]
        self.bounds: list[dict[State, float] | None] = [{(): 0.0}]
        self.asked = self.listed = self.unproven = 0
        self.stranded = False
        self._reserve = 0.0 if limits.remaining == inf else min(LATE * limits.remaining, LATE_SECONDS)

    def run(self, begun: Callable[[int], None], needed: bool = True) -> BoundaryStep | None:
        """Return the last step of the shortest path, or None if none is found.

        Args:
            begun: called with every module that is begun.
            needed: whether to return a path by list schedulers even when there is no time at all.
        """
        steps = [BoundaryStep((), 0.0, None, None)]
        stopped = inf
        for i in range(len(self._split.modules)):
            begun(i)
            if self._hurried:
                stopped = min(stopped, monotonic()) if self._stopped() else inf
                over = self._limits.remaining <= 0 or monotonic() > stopped + STOP_GRACE
                if over or (not needed and i == 0):
                    self.stranded = True
                    return None
                steps = self._through(i, steps[:1], None)
            else:
                steps = self._through(i, steps, self._states(i))
            if not steps:
                return None
        return steps[0]

    @property
    def bound(self) -> float | None:
        """The lower bound on schedules of one module after another, if every state was explored."""
        last = self.bounds[-1]
        return None if last is None or len(self.bounds) <= len(self._split.modules) else min(last.values(), default=inf)

    @property
    def _hurried(self) -> bool:
        """Whether there is only time for one list schedule of every module."""
        return self._stopped() or self._limits.remaining <= self._reserve

    def _states(self, i: int) -> list[State] | None:
        """Return all states of the boundary after module *i*, or None if not all are to be explored."""
        last = i == len(self._split.clean)
        if not last and (self._batched or not self._split.clean[i]):
            return None
        where = [np.flatnonzero(self._problem.allowed[v]).tolist() for v in self._tensors[i]]
        if prod(map(len, where)) > FULL:
            return None
        return [tuple((d,) for d in devices) for devices in product(*where)]

    def _through(self, i: int, steps: Sequence[BoundaryStep], states: Sequence[State] | None) -> list[BoundaryStep]:
        """Return the best steps to states of the boundary after module *i*, by cost."""
        best: dict[State, BoundaryStep] = {}
        if states is None:
            self.bounds.append(None)
            most = self._most(i)
            steps = steps[:most]
            self._along(i, [(step, [None] * len(self._own(i))) for step in steps], best)
            first = min(best.values(), key=lambda step: step.cost, default=None)
            if self._batched or self._hurried:
                return sorted(best.values(), key=lambda step: step.cost)[:KEPT_BATCHES]
            if first is not None and first.before is not None:
                before = first.before
                others = sorted(
                    self._elsewhere(i, first.state), key=lambda wish: self._floor(i, self._ends(i, before.state, wish))
                )
                self._along(i, [(before, wish) for wish in others[: min(OTHERS, most - len(steps))]], best)
            return sorted(best.values(), key=lambda step: step.cost)[:KEPT]
        for step in steps:
            self._along(i, [(step, wish) for wish in self._wishes(i, step, states, best)], best)
        self._bound(i, states)
        return sorted(best.values(), key=lambda step: step.cost)

    def _wishes(
        self, i: int, step: BoundaryStep, states: Sequence[State], best: dict[State, BoundaryStep]
    ) -> Iterator[list[Place | None]]:
        """Yield the outputs to ask for, of those states that *step* may reach sooner."""
        own = self._own(i)
        for state in states:
            if not self._joins(i, step.state, state):
                continue
            wish: list[Place | None] = [state[j] for j in own]
            if state not in best or step.cost + self._floor(i, self._ends(i, step.state, wish)) < best[state].cost:
                yield wish

    def _elsewhere(self, i: int, state: State) -> Iterator[list[Place | None]]:
        """Yield *state* with one output after another excluded from its device, and the others anywhere."""
        own = self._own(i)
        for a, j in enumerate(own):
            for d in np.flatnonzero(self._problem.allowed[self._tensors[i][j]]).tolist():
                if (d,) != state[j]:
                    yield [(d,) if b == a else None for b in range(len(own))]

    def _along(
        self, i: int, asked: Sequence[tuple[BoundaryStep, Sequence[Place | None]]], best: dict[State, BoundaryStep]
    ) -> None:
        """Solve module *i* after these steps with outputs as asked for, and keep what is better."""
        part = self._classes.firsts[self._classes.members[i].of]
        ends = [self._ends(i, step.state, wish) for step, wish in asked]
        for (step, _), result in zip(asked, self._solve(i, ends), strict=True):
            if result.plan is None:
                continue
            table = timetable(part, result.plan)
            state = self._behind(i, step.state, table)
            if state not in best or step.cost + result.cost < best[state].cost:
                best[state] = BoundaryStep(state, step.cost + result.cost, step, table)

    def _solve(self, i: int, asked: Sequence[Ends]) -> list[ModuleResult]:
        """Return the results for module *i* between these ends; solve those that have not been solved before."""
        c = self._classes.members[i].of
        part = self._classes.firsts[c]
        new = [ends for ends in dict.fromkeys(asked) if (c, ends) not in self._known]
        seconds = self._share(i, len(new))
        jobs: list[Future[ModuleResult]] = []
        for ends in new:
            problem = part.between(*ends)
            self.asked += 1
            if seconds < LIST or self._stopped() or len(part.nodes) > LARGEST:
                self.listed += 1
                self._known[c, ends] = by_lists(problem, Limits(time=60.0, seed=self._limits.seed))
            else:
                jobs.append(self._engine.submit(problem, seconds))
        for ends, job in zip(new if jobs else [], jobs, strict=False):
            self._known[c, ends] = job.result()
        self.unproven += sum(not self._known[c, ends].proven for ends in new)
        return [self._known[c, ends] for ends in asked]

    def _most(self, i: int) -> int:
        """Return how many times module *i* can be solved if all remaining modules get as much time; at least once."""
        left = self._limits.remaining
        if left == inf:
            return KEPT + OTHERS
        return max(1, int(left * self._engine.size / ((len(self._split.modules) - i) * WORTH)))

    def _share(self, i: int, count: int) -> float:
        """Return the seconds for each of so many solves of module *i*: a fair share of the rest, or the option's."""
        left = max(self._limits.remaining - self._reserve, 0.0)
        if left == inf or not count:
            return self._seconds
        rounds = (1 if self._batched else ROUNDS) * (len(self._split.modules) - i)
        return min(self._seconds, left * self._engine.size / (rounds * max(count, self._engine.size)))

    def _floor(self, i: int, ends: Ends) -> float:
        """Return the best lower bound known on schedules of module *i* between these ends."""
        key = self._classes.members[i].of, ends
        if key in self._known:
            return self._known[key].bound
        if key not in self._floors:
            part = self._classes.firsts[key[0]]
            self._floors[key] = floor(part.between(*ends))
        return self._floors[key]

    def _bound(self, i: int, states: Sequence[State]) -> None:
        """Update the lower bounds on paths to each state."""
        known = self.bounds[i]
        if known is None:
            self.bounds.append(None)
            return
        bounds = {}
        for state in states:
            ways = [
                cost + self._floor(i, self._ends(i, before, [state[j] for j in self._own(i)]))
                for before, cost in known.items()
                if self._joins(i, before, state)
            ]
            bounds[state] = min(ways, default=inf)
        self.bounds.append(bounds)

    def _own(self, i: int) -> list[int]:
        """Return which of the tensors after module *i* are its own."""
        return [j for j, v in enumerate(self._tensors[i]) if self._split.of[v] == i]

    def _joins(self, i: int, before: State, behind: State) -> bool:
        """Return whether tensors that only pass by module *i* are on the same device in both states."""
        if i == 0:
            return True
        where = dict(zip(self._tensors[i - 1], before, strict=True))
        return all(where.get(v, place) == place for v, place in zip(self._tensors[i], behind, strict=True))

    def _ends(self, i: int, before: State, wish: Sequence[Place | None]) -> Ends:
        """Return the ends of module *i*: its inputs as in *before*, its outputs as asked for."""
        where = dict(zip(self._tensors[i - 1], before, strict=True)) if i else {}
        member = self._classes.members[i]
        reads = member.nodes[: self._classes.firsts[member.of].reads].tolist()
        return tuple(where[v] for v in reads), tuple(wish)

    def _behind(self, i: int, before: State, table: Timetable) -> State:
        """Return the state after module *i*."""
        where = dict(zip(self._tensors[i - 1], before, strict=True)) if i else {}
        member = self._classes.members[i]
        for task in self._classes.firsts[member.of].outputs.tolist():
            where[int(member.nodes[task])] = table.place(task)
        return tuple(where[v] for v in self._tensors[i])
