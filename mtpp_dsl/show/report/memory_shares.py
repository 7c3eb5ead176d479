"""Tell whether bars of memory are drawn in amounts, or each as a share of what its own device has."""

from __future__ import annotations

from collections.abc import Iterable

from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["MOST_SHARE", "drawn_as_shares"]

UNLIKE = 10.0
"""The largest amount is so many times the least limit: the bars of a small device would hardly be seen beside it."""
MOST_SHARE = 2.0
"""Bars of devices that hold more than so many times their memory are cut there: what is streamed has no limit."""


def drawn_as_shares(problem: Problem, found: Evaluation, devices: Iterable[int]) -> bool:
    """Return whether the limits of *devices* are so unlike that bars of amounts would hide the small ones."""
    shown = list(devices)
    limits = [limit for d in shown if (limit := problem.devices[d].memory)]
    most = max([*limits, *(float(found.memory[d]) for d in shown if problem.devices[d].memory is None)], default=0.0)
    return bool(limits) and most > UNLIKE * min(limits)
