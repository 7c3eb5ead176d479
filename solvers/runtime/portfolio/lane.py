"""Run a lane of a portfolio, methods on one problem one after another, here or in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from threading import Thread
from time import monotonic
from traceback import format_exc
from typing import Any

from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method, refusal
from mtpp_dsl.core.errors import Refused, SolverError
from mtpp_dsl.core.executors.wire import Wire
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result, relative_gap
from mtpp_dsl.core.problem.problem import Problem


@dataclass(frozen=True)
class LaneTask:
    """One method of a lane.

    Attributes:
        method: what to run; skipped where it does not accept the problem, or is not installed.
        share: of the time that is left when its turn comes.
        seconds: at most so many, whatever the share is.
        seed: added to that of the limits.
    """

    method: Method
    share: float = 1.0
    seconds: float = float("inf")
    seed: int = 0


def closed(progress: Progress, limits: Limits) -> bool:
    """Return whether the gap is closed, the time is up, or somebody asked to stop."""
    if progress.stopped or limits.remaining <= 0:
        return True
    plan, bound = progress.cost, progress.bound
    return plan is not None and bound is not None and relative_gap(plan, bound.cost) <= limits.gap


def attempt(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Solve by *method*; return a result "error" with a note if it refuses after all or its solver fails."""
    try:
        return method.solve(problem, limits, progress)
    except (Refused, SolverError) as error:
        return Result("error", method=method.name, seed=limits.seed, notes=(f"{method.name!r} failed: {error}",))


def run_lane(
    problem: Problem,
    tasks: Sequence[LaneTask],
    limits: Limits,
    progress: Progress,
    began: Callable[[int, float], None] | None = None,
) -> list[Result]:
    """Run the tasks until plan and bound meet, and return their results.

    Every task starts from the best plan known when its turn comes, whoever found it. The lane ends after a task that
    proves that there is no plan, or that runs to its end with a proof. A method that has ended by itself is not run
    again
    with the same seed. One that refuses after all, or whose solver fails, has the termination "error" and a note that
    says why.

    Args:
        problem: the problem.
        tasks: in order.
        limits: of all of them.
        progress: receives plans and bounds.
        began: called with the number of every task that begins, and the seconds that it may take; None to tell the
            user.
    """
    results: list[Result] = []
    finished: set[tuple[int, int]] = set()
    for number, task in enumerate(tasks):
        if closed(progress, limits):
            break
        turn = id(task.method), task.seed
        if turn in finished or refusal(task.method, problem) is not None:
            continue
        start = progress.plan or limits.start
        own = limits.within(min(task.seconds, task.share * limits.remaining), start=start)
        if began is None:
            progress.say(f"running {task.method.name}")
        else:
            began(number, own.remaining)
        results.append(attempt(task.method, problem, replace(own, seed=limits.seed + task.seed), progress))
        if results[-1].infeasibility is not None or results[-1].settled:
            break
        if results[-1].finished:
            finished.add(turn)
    return results


class _Relay(Progress):
    """Sends plans and bounds to the process that started this one; takes those that other lanes have found."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def tell(self, kind: str, *values: Any) -> None:
        try:
            self._wire.send((kind, *values))
        except OSError:  # the other end is closed
            self.stop()

    def report_plan(self, plan: Plan, cost: float) -> None:
        if self.cost is None or cost < self.cost:
            super().report_plan(plan, cost)
            self.tell("plan", plan, cost)

    def report_cost(self, cost: float) -> None:
        if self.held is None or cost < self.held:
            super().report_cost(cost)
            self.tell("cost", cost)

    def report_bound(self, bound: Bound) -> None:
        if bound.better(self.bound):
            super().report_bound(bound)
            self.tell("bound", bound)

    def report_model(self, path: Path) -> None:
        super().report_model(path)
        self.tell("model", path)

    def say(self, message: str) -> None:
        if message:
            self.tell("say", message)

    def follow(self) -> None:
        """Take plans and bounds of other lanes from the wire, until it says stop or ends."""
        try:
            while True:
                kind, *values = self._wire.receive()
                if kind == "plan":
                    super().report_plan(*values)
                elif kind == "cost":
                    super().report_cost(*values)
                elif kind == "bound":
                    super().report_bound(*values)
                else:
                    self.stop()
        except EOFError:
            os._exit(0)  # whoever started us has gone


def _limits(seconds: float, **given: Any) -> Limits:
    """Return limits that end after *seconds*."""
    return Limits(time=None if seconds == inf else max(seconds, 0.0), **given)


def main(wire: Wire) -> None:
    """Run the lane that the first message describes."""
    problem, tasks, seconds, share, given, plan, cost, bound = wire.receive()
    relay = _Relay(wire)
    PREPARING.until = wire.born + seconds
    PREPARING.told = lambda spent: relay.tell("prepared", spent)
    if plan is not None:
        Progress.report_plan(relay, plan, cost)
    if bound is not None:
        Progress.report_bound(relay, bound)
    Thread(target=relay.follow, daemon=True).start()
    try:
        age = monotonic() - wire.born  # starting this process counts
        own = _limits(seconds - age, **given).within(max(share - age, 0.0))
        relay.tell("done", run_lane(problem, tasks, own, relay, lambda *begun: relay.tell("task", *begun)))
    except Exception:
        relay.tell("failed", format_exc())
    os._exit(0)
