"""The rows of pictures of loads and memory: a stage each, with its replicas, the busiest where there are many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.names import fold_names

__all__ = ["MOST_ROWS", "PictureRow", "height", "stage_rows", "text_size"]

MOST_ROWS = 64
"""A picture shows the busiest stages of more."""
LABEL = 18
"""A row's name has so many characters at most."""


@dataclass(frozen=True)
class PictureRow:
    """A row: the device that leads a stage, the name of its devices, and its place in the plan's order.

    Attributes:
        device: the number of the lead.
        name: of all devices of the stage, folded.
        place: of the stage, from 0: its colour.
    """

    device: int
    name: str
    place: int


def stage_rows(problem: Problem, plan: Plan, found: Evaluation) -> tuple[list[PictureRow], str]:
    """Return the rows in the plan's order, and what is to be said of devices that have none."""
    used = found.used if found.used.size else np.ones(problem.k, np.bool_)
    leads = plan.leads(problem.k)
    order = [d for d in (plan.order or range(problem.k)) if leads[d] == d]
    working = [d for d in order if used[d] or found.load[d] > 0]
    idle = int(problem.k - sum(len(plan.replicas.get(d, (d,))) for d in working))
    busy = set(sorted(working, key=lambda d: -found.load[d])[:MOST_ROWS])
    rows = []
    for place, d in enumerate(working):
        if d in busy:
            members = plan.replicas.get(d, (d,))
            rows.append(PictureRow(d, fold_names([problem.devices[e].name for e in members], 2), place))
    told = [f"{counted(len(working) - len(rows), 'stage')} with less to do"] if len(rows) < len(working) else []
    told += [f"{counted(idle, 'device')} without nodes"] if idle else []
    return rows, f"not shown: {', '.join(told)}" if told else ""


def text_size(rows: int) -> float:
    """Return the size of the text of so many rows, in points."""
    return 6.5 if rows <= 24 else 5.5 if rows <= 40 else 4.5


def height(rows: int) -> float:
    """Return the height of so many rows in inches."""
    return rows * (0.2 if rows <= 24 else 0.15 if rows <= 40 else 0.115)
