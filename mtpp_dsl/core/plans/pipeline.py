"""Compute how long the microbatches of an iteration take, pass by pass: GPipe and 1F1B, waiting for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem

MOST_PASSES = 400_000
"""More forward and backward passes than these are not simulated."""


@dataclass(frozen=True)
class Iteration:
    """What an iteration of a plan takes.

    Attributes:
        simulated: when the last backward pass ends, in the order of passes of the schedule; None where there are too
            many passes.
        bound: what no order of passes can be faster than, with these stages.
    """

    simulated: float | None
    bound: float


def simulated(forward: Sequence[float], backward: Sequence[float], microbatches: int, schedule: str) -> float:
    """Return when the last pass of an iteration ends, where stages take these times for a microbatch.

    Every stage runs its passes in the order of the schedule, each as soon as its input is there: with "gpipe" all
    forward passes come first; with "1f1b" as many as there are stages from here to the end, at most M, and then
    backward and forward passes in turn (Narayanan 2019). Transfers are in the times of the stages.

    >>> simulated([1, 1], [2, 2], 1, "1f1b"), simulated([1, 1], [2, 2], 4, "1f1b")
    (6.0, 15.0)
    """
    ends = pass_ends(forward, backward, microbatches, schedule)
    return float(max((end for way in ends for stage in way for end in stage), default=0.0))


def pass_ends(
    forward: Sequence[float], backward: Sequence[float], microbatches: int, schedule: str
) -> list[list[list[float]]]:
    """Return [forward 0 or backward 1][stages][microbatches] when every pass ends; see :func:`simulated`."""
    stages = len(forward)
    lists = [_passes(stages - s, microbatches, schedule) for s in range(stages)]
    ends = [[[-1.0] * microbatches for _ in range(stages)] for _ in range(2)]
    times, done, free = (forward, backward), [0] * stages, [0.0] * stages
    moved = True
    while moved:
        moved = False
        for s in range(stages):
            while done[s] < len(lists[s]):
                way, m = lists[s][done[s]]
                other = s - 1 if way == 0 else s + 1
                ready = ends[way][other][m] if 0 <= other < stages else 0.0
                if ready < 0:
                    break
                free[s] = ends[way][s][m] = max(free[s], ready) + times[way][s]
                done[s] += 1
                moved = True
    return ends


def _passes(here: int, microbatches: int, schedule: str) -> list[tuple[int, int]]:
    """Return (0 for forward or 1 for backward, microbatch) of a stage in order, with so many stages from *here* on."""
    ahead = microbatches if schedule == "gpipe" else min(microbatches, here)
    passes = [(0, m) for m in range(ahead)]
    for m in range(microbatches):
        passes.append((1, m))
        if ahead + m < microbatches:
            passes.append((0, ahead + m))
    return passes


def iteration_bound(load: Sequence[float], microbatches: int) -> float:
    """Return ``max(sum c, max over s of (c of the stages before s) + M c_s)``: no order of passes is faster.

    Before its first pass a stage waits for a forward pass of every stage before it, and after its last one there is
    still a backward pass of each; between them it runs all its microbatches.
    """
    before = np.concatenate(([0.0], np.cumsum(np.asarray(load, np.float64))))
    return float(max([before[-1], *(before[:-1] + microbatches * np.asarray(load, np.float64))]))


def iteration_of(problem: Problem, plan: Plan, evaluation: Evaluation) -> Iteration:
    """Return what an iteration of *plan* takes; *evaluation* is what the plan costs."""
    objective = problem.objective
    stages = stages_of(problem, plan)
    load, forward = evaluation.load[stages], evaluation.forward[stages]
    backward = np.maximum(evaluation.backward[stages], load - forward)
    many = objective.microbatches or 1
    bound = iteration_bound(load.tolist(), many)
    if 2 * many * len(stages) > MOST_PASSES:
        return Iteration(None, bound)
    return Iteration(simulated(forward.tolist(), backward.tolist(), many, objective.schedule or "gpipe"), bound)


def stages_of(problem: Problem, plan: Plan) -> list[int]:
    """Return the devices that hold nodes, in the plan's order if it has one."""
    busy = set(plan.assignment.tolist())
    return [d for d in (plan.order if plan.order is not None else range(problem.k)) if d in busy]
