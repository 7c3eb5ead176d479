"""The process that runs one lane: it reads a job from its standard input."""

from __future__ import annotations

import os
import sys
from math import inf
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from traceback import format_exc
from typing import Any, BinaryIO

from mtpp_dsl.base.preparation import PREPARING
from mtpp_dsl.contracts import Limits, Progress
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.plans.result import Bound
from mtpp_dsl.solvers.runtime.portfolio.lane import run_lane
from mtpp_dsl.solvers.runtime.portfolio.wire import receive, send

__all__ = ["main"]


class _Relay(Progress):
    """Sends plans and bounds to the process that started this one; takes those that other lanes have found."""

    def __init__(self, out: BinaryIO) -> None:
        super().__init__()
        self._out, self._sending = out, Lock()

    def tell(self, kind: str, *values: Any) -> None:
        with self._sending:
            try:
                send(self._out, (kind, *values))
            except OSError:  # nobody is there any more
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
        if self.bound is None or bound.cost > self.bound.cost:
            super().report_bound(bound)
            self.tell("bound", bound)

    def report_model(self, path: Path) -> None:
        super().report_model(path)
        self.tell("model", path)

    def say(self, message: str) -> None:
        if message:
            self.tell("say", message)

    def follow(self, stream: BinaryIO) -> None:
        """Take plans and bounds of other lanes from *stream*, until it says stop or ends."""
        try:
            while True:
                kind, *values = receive(stream)
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


def _limits(until: float, **given: Any) -> Limits:
    """Return limits that end at a time of the clock that all processes share; starting this process counts."""
    return Limits(time=None if until == inf else max(until - monotonic(), 0.0), **given)


def main() -> None:
    """Run the lane that standard input describes; anything printed on the way goes to the standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = sys.stdin.buffer
    problem, tasks, given, share, plan, cost, bound = receive(source)
    relay = _Relay(out)
    PREPARING.until = given["until"]
    PREPARING.told = lambda spent: relay.tell("prepared", spent)
    if plan is not None:
        Progress.report_plan(relay, plan, cost)
    if bound is not None:
        Progress.report_bound(relay, bound)
    Thread(target=relay.follow, args=(source,), daemon=True).start()
    try:
        own = _limits(**given).within(max(share - monotonic(), 0.0))
        relay.tell("done", run_lane(problem, tasks, own, relay, began=lambda number: relay.tell("task", number)))
    except Exception:
        relay.tell("failed", format_exc())
    out.flush()
    os._exit(0)
