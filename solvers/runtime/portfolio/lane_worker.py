"""The process that runs one lane: it reads a job from its wire."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path
from threading import Thread
from time import monotonic
from traceback import format_exc
from typing import Any

from mtpp_dsl.core.base.compiling import PREPARING
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.executors.wire import Wire
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.solvers.runtime.portfolio.lane import run_lane

__all__ = ["main"]


class _Relay(Progress):
    """Sends plans and bounds to the process that started this one; takes those that other lanes have found."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def tell(self, kind: str, *values: Any) -> None:
        try:
            self._wire.send((kind, *values))
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
        relay.tell("done", run_lane(problem, tasks, own, relay, began=lambda number: relay.tell("task", number)))
    except Exception:
        relay.tell("failed", format_exc())
    os._exit(0)
