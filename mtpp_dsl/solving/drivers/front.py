"""The search for a front: one objective is optimised under a limit on the other, again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from mtpp_dsl.core.base.amounts import Duration, Share, seconds_of, share_of, whole
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.front import Front, costs_of, without_dominated
from mtpp_dsl.core.plans.plan import Plan, plan_of
from mtpp_dsl.core.plans.result import Reached, Result, Termination
from mtpp_dsl.core.problem.problem import Problem, check_problem
from mtpp_dsl.core.problem.variants import with_objectives
from mtpp_dsl.solving.api import DEFAULT_TIME, find_method
from mtpp_dsl.solving.drivers.rows import keeping, worded
from mtpp_dsl.solving.drivers.several import Several
from mtpp_dsl.solving.drivers.stage import Stage
from mtpp_dsl.solving.one_problem import SolveArguments
from mtpp_dsl.solving.plugins.honoured import DEFAULT_SOLVER, check_solver

__all__ = ["front"]

STEP = 1e-5
"""By which share of the largest number a limit is below a point: rows may be missed by a tenth of it."""
LEAST_SHARE, END_SHARE = 0.05, 0.15
"""Of the whole time, what a solve may take at least, and each of those that find the ends."""
FIRST, SECOND = 0, 1
ENDS = 4
"""Solves that find the ends: two for each."""


def front(
    problem: Problem,
    objectives: Sequence[str],
    *,
    points: int = 20,
    method: str | Method = "auto",
    solver: str = DEFAULT_SOLVER,
    time_limit: Duration | None = DEFAULT_TIME,
    gap: Share = 1e-6,
    threads: int | None = None,
    seed: int = 0,
    start: Plan | Mapping[str, object] | None = None,
    progress: Progress | Callable[[Progress], object] | None = None,
    scheduler: str | Executor | None = None,
) -> Front:
    """Find plans of which none is better than another in both of two objectives, with a proof for each.

    The second objective is optimised under limits on the first, and then the first one under what the second has
    reached: so every point has a value and a bound of both. The ends come first; then the widest gap between two points
    is divided, until there are enough points, or every gap is proved to be empty.

    Args:
        problem: what is asked; its own order of objectives does not count.
        objectives: two of its objectives, by label or name; "bottleneck", "makespan" and "latency" need not be stated.
        points: how many points are looked for.
        method: solves one objective under rows; a name or a method of your own.
        solver: MIP back end, for the methods that use one.
        time_limit: for the whole front: seconds, or a text such as "2min"; None for no limit.
        gap: stop each solve when ``(cost - bound) / cost`` is at most this.
        threads: of the solver, and processes of ``auto``.
        seed: of everything random.
        start: a plan to start from.
        progress: to watch and to stop the search.
        scheduler: where processes run, as of :func:`mtpp_dsl.solve`.

    Raises:
        UsageError: there are no such objectives, or no row can speak of one of them.
        Refused: the method cannot optimise one of them under a row on the other.
    """
    check_problem(problem, "front")
    pair = with_objectives(replace(problem, target=None), objectives)
    points, seed = whole("points", points, 2), whole("seed", seed, 0)
    threads = None if threads is None else whole("threads", threads, 1)
    limit = seconds_of("time_limit", time_limit)
    check_solver(solver)
    chosen = find_method(method, solver) if isinstance(method, str) else method
    with opened(scheduler) as executor:
        call = SolveArguments(monotonic(), chosen, solver, limit, share_of("gap", gap), threads, seed)
        once = Several(call, executor)
        for asked in (pair, replace(pair, objective=pair.later[0], later=(pair.objective,))):
            once.refuse(asked)
        given = None if start is None else plan_of(problem, start).of(None)
        return _Search(pair, once, points, limit, Progress.of(progress), given).front()


@dataclass
class _Gap:
    """What lies between two points: plans with a cost of the first objective above *low* and below that of *right*."""

    left: Result
    right: Result
    low: float
    tried: bool = False


class _Search:
    """One call: the points found so far, and the gaps between them."""

    def __init__(
        self, pair: Problem, once: Several, points: int, limit: float | None, progress: Progress, start: Plan | None
    ) -> None:
        self._pair, self._once, self._most, self._progress, self._start = pair, once, points, progress, start
        self._limit = limit
        self._end = None if limit is None else monotonic() + limit
        self._points: list[Result] = []
        self._gaps: list[_Gap] = []
        self._unproved: list[tuple[Result, Result, float]] = []
        self._proved = True
        self._failed: Result | None = None
        self._solves = ENDS
        """Solves that are still to come for the ends, which share the time with those for further points."""
        self._least = [-inf, -inf]
        """What is proved of each objective where nothing is asked of the other one."""
        self._again: list[int] = []
        """The ends that the time cut short and that no point has reached: to be looked for again."""

    def front(self) -> Front:
        """Search, and return the front."""
        self._ends()
        while not self._over and (self._again or self._unproved or (self._gaps and len(self._points) < self._most)):
            if self._again:
                self._end_again(self._again.pop(0))
            elif self._gaps and len(self._points) < self._most:
                self._divide(max(self._gaps, key=self._area))
            elif self._gaps:
                break  # it is not the whole front in any case
            else:
                self._prove()
        points = without_dominated(self._points)
        ends = bool(points) and not any(self._open(which, points) for which in (FIRST, SECOND))
        ended: Termination = "complete"
        if self._progress.stopped:
            ended = "interrupted"
        elif self._over and (self._gaps or self._unproved or not ends):
            ended = "time_limit"
        proved = self._proved and ends and all(point.status == "optimal" for point in points)
        return Front(
            self._pair,
            tuple(point.of(self._pair) for point in points),
            complete=proved and not self._gaps and not self._unproved,
            termination=ended,
            infeasibility=None if self._failed is None else self._failed.infeasibility,
            notes=() if points or self._failed is None else self._failed.notes,
        )

    @property
    def _over(self) -> bool:
        """Whether somebody asked to stop, or the time is up."""
        return self._progress.stopped or (self._end is not None and monotonic() >= self._end)

    def _ends(self) -> None:
        """Find the best plans in one objective that are then the best in the other one."""
        first = self._solve(FIRST, None, self._start)
        if first.plan is None and first.infeasibility is None and not self._over:
            first = self._solve(FIRST, None, self._start, share=max(0.0, self._left_share - 2 * END_SHARE))
        if first.plan is None:
            self._failed = first
            return
        left = self._then(first, FIRST, None)
        second = self._solve(SECOND, None, left.plan)
        self._points = without_dominated(
            [left, self._then(second, SECOND, None)] if second.plan is not None else [left]
        )
        self._gaps = self._between()
        for which, end in ((FIRST, first), (SECOND, second)):
            self._learn(which, end)
            if not end.finished and not self._gaps and self._open(which, self._points):
                self._again.append(which)

    def _learn(self, which: int, result: Result) -> None:
        """Keep what is proved of one objective where nothing is asked of the other one."""
        if result.bound is not None:
            self._least[which] = max(self._least[which], result.bound.cost)

    def _end_again(self, which: int) -> None:
        """Look again for an end, from the point that is all there is, in its share of the time left."""
        only = self._points[0]
        if len(self._points) > 1 or not self._open(which, self._points):
            return
        self._solves = ENDS // 2 * (1 + len(self._again))
        end = self._solve(which, None, only.plan)
        self._learn(which, end)
        if end.cost is not None and end.cost < costs_of(only)[which] - STEP * abs(costs_of(only)[which]):
            self._points = without_dominated([only, self._then(end, which, None)])
            self._gaps = self._between()
        self._solves = 0

    def _between(self) -> list[_Gap]:
        """Return the gap between the ends, if there are two."""
        if len(self._points) < 2:
            return []
        left, right = self._points
        return [_Gap(left, right, costs_of(left)[0])]

    def _open(self, which: int, points: Sequence[Result]) -> bool:
        """Return whether there may be a better plan in one objective than the best of *points*."""
        best = min(costs_of(point)[which] for point in points)
        return self._least[which] < best - 2 * STEP * abs(best)

    def _divide(self, gap: _Gap) -> None:
        """Look for a point between two others: in the middle first, then just before the right one."""
        step = STEP * max(1e-300, *(abs(cost) for point in (gap.left, gap.right) for cost in costs_of(point)[:1]))
        high = costs_of(gap.right)[0] - step
        if gap.low >= high:
            self._gaps.remove(gap)
            return
        limit = high if gap.tried else gap.low + (high - gap.low) / 2
        second = self._solve(SECOND, limit, gap.left.plan)
        worst = costs_of(gap.left)[1]
        room = STEP * max(abs(worst), abs(costs_of(gap.right)[1]))
        if second.cost is None or second.cost >= worst - room:
            if second.bound is None or second.bound.cost < worst - 2 * room:
                self._unproved.append((gap.left, gap.right, limit))
            gap.low, gap.tried = limit, True
            if limit == high:
                self._gaps.remove(gap)
            return
        point = self._then(second, SECOND, limit)
        self._points.append(point)
        self._gaps.remove(gap)
        self._gaps.append(_Gap(gap.left, point, gap.low))
        if limit < high:
            self._gaps.append(_Gap(point, gap.right, limit))

    def _prove(self) -> None:
        """Take a limit again below which no better plan was found, without a proof, for its share of the time left."""
        left, right, limit = self._unproved.pop(0)
        share = self._left_share / (len(self._unproved) + 1)
        proof = self._solve(SECOND, limit, left.plan, share)
        worst = costs_of(left)[1]
        room = STEP * max(abs(worst), abs(costs_of(right)[1]))
        if proof.cost is not None and proof.cost < worst - room and len(self._points) < self._most:
            point = self._then(proof, SECOND, limit)
            self._points.append(point)
            self._gaps += [_Gap(left, point, costs_of(left)[0]), _Gap(point, right, limit)]
        elif proof.bound is None or proof.bound.cost < worst - 2 * room:
            self._proved = False

    @property
    def _left_share(self) -> float:
        """The share of the whole time that is left."""
        if self._end is None or not self._limit:
            return 1.0
        return max(0.0, self._end - monotonic()) / self._limit

    def _area(self, gap: _Gap) -> float:
        """Return how much of both ranges a gap takes."""
        (a, b), (c, d) = costs_of(gap.left), costs_of(gap.right)
        return (c - max(a, gap.low)) * (b - d)

    def _then(self, first: Result, which: int, limit: float | None) -> Result:
        """Optimise the other objective under what *first* has reached of one; return the point.

        Args:
            first: of objective number *which*.
            which: 0 or 1.
            limit: on the other objective, under which it was found; None for none.
        """
        assert first.cost is not None
        other = 1 - which
        last = self._solve(other, first.cost, first.plan)
        plan = last.plan or first.plan
        assert plan is not None
        return point_of(self._pair, which, limit, first, replace(last, plan=plan))

    def _solve(self, which: int, limit: float | None, start: Plan | None, share: float = LEAST_SHARE) -> Result:
        """Optimise objective number *which* where the other one costs at most *limit*, if there is one.

        It may take *share* of the whole time at least, if so much is left.
        """
        share = max(share, END_SHARE) if len(self._points) < 2 and not self._gaps else share
        objective, other = self._pair.objectives[which], self._pair.objectives[1 - which]
        rows = [] if limit is None else [keeping(self._pair, other, limit)]
        asked = self._pair.asking(objective, [*self._pair.constraints, *rows])
        heading = f"point {len(self._points) + 1}: {objective.shown}"
        time = self._time(share)
        self._solves = max(0, self._solves - 1)
        return self._once(asked, time, start, Stage(self._progress, objective, heading))

    def _time(self, share: float) -> float | None:
        """Return what a solve may take: as much as each of those that are left to do, or *share* of the whole time."""
        if self._end is None or self._limit is None:
            return None
        left = max(0.0, self._end - monotonic())
        solves = max(1, self._solves + 2 * (self._most - max(2, len(self._points))))
        return min(left, max(left / solves, share * self._limit))


def point_of(pair: Problem, which: int, limit: float | None, first: Result, last: Result) -> Result:
    """Return the point of a plan that was found by optimising one objective, and then the other one under it.

    Args:
        pair: has both objectives.
        which: 0 or 1: the objective that was optimised first.
        limit: on the other objective, under which it was; None for none.
        first: what that came to.
        last: what the second solve came to, with the plan of the point; it may have no bound.
    """
    assert last.plan is not None
    assert first.cost is not None
    other = 1 - which
    one, two = pair.objectives[which], pair.objectives[other]
    evaluation = evaluate(pair, last.plan)
    own = Reached(
        one,
        evaluation.costs[which],
        first.cost,
        first.bound,
        first.gap,
        "" if limit is None else worded(pair, two, limit),
    )
    second = Reached(two, evaluation.costs[other], last.cost, last.bound, last.gap, worded(pair, one, first.cost))
    ordered = (second, own) if which else (own, second)
    return replace(
        last,
        evaluation=evaluation,
        bound=ordered[0].bound,
        objectives=ordered,
        notes=tuple(dict.fromkeys((*first.notes, *last.notes))),
        log=last.log if which else first.log,
        time={"total": first.time.get("total", 0.0) + last.time.get("total", 0.0)},
        verified=True,
    )
