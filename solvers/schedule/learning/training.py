"""Train one policy on several problems: what ``mtpp train`` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.schedule.learning.episodes import Course
from mtpp_dsl.solvers.schedule.learning.policy import Policy
from mtpp_dsl.solvers.schedule.learning.reinforce import EPISODES, Learner
from mtpp_dsl.solvers.schedule.list.list_rules import heft
from mtpp_dsl.solvers.schedule.list.list_run import Lister

__all__ = ["Lesson", "Trained", "train"]


def _go_on(_: int, __: float) -> bool:
    """Say nothing, and do not end the training."""
    return False


@dataclass(frozen=True)
class Lesson:
    """What a policy makes of one problem, by the most probable devices.

    Attributes:
        before, after: makespan before the training and after it.
        heft: makespan of the list scheduler ``heft``, to compare with.
    """

    before: float
    after: float
    heft: float


@dataclass(frozen=True)
class Trained:
    """A policy after its training, and what it makes of each problem."""

    policy: Policy
    updates: int
    lessons: tuple[Lesson, ...]


def train(
    problems: Sequence[Problem],
    *,
    limits: Limits,
    updates: int,
    policy: Policy | None = None,
    told: Callable[[int, float], bool] = _go_on,
) -> Trained:
    """Train a policy by REINFORCE, on one problem after another in an order that is drawn anew each time round.

    With the same seed and problems, and as many updates, the weights are the same.

    Args:
        problems: makespans on links.
        limits: its time, and the seed of everything random.
        updates: at most so many; each runs 16 episodes on one problem.
        policy: to begin with; None for random weights.
        told: called after each update with their number and the mean makespan of its episodes as a share of that of
            ``heft``; True ends the training.

    Raises:
        Refused: a problem for which no list schedule is found.
    """
    courses = [_course(problem, updates * EPISODES) for problem in problems]
    rng = np.random.default_rng(limits.seed)
    learner = Learner(Policy.untrained(rng) if policy is None else policy, rng)
    known = [_makespan(course, None) for course in courses]
    before = [_makespan(course, learner.policy) for course in courses]
    turns: list[int] = []
    while learner.updates < updates and limits.remaining > 0:
        turns = turns or rng.permutation(len(courses)).tolist()
        at = turns.pop()
        mean = float(learner.update(courses[at]).makespans.mean())
        if told(learner.updates, mean / known[at] if known[at] > 0 else 1.0):
            break
    after = [_makespan(course, learner.policy) for course in courses]
    return Trained(learner.policy, learner.updates, tuple(map(Lesson, before, after, known)))


def _course(problem: Problem, runs: int) -> Course:
    lister = Lister.of(ScheduleInstance.of(problem))
    if lister is None:
        raise Refused("no way was found to give every node a device within memory, links and the constraints")
    return Course(replace(lister, runs=runs))


def _makespan(course: Course, policy: Policy | None) -> float:
    """Return the makespan of the most probable devices of a policy, or of ``heft`` without one."""
    plan = heft(course.lister) if policy is None else course.plan(course.run(policy, None).home[0])
    return inf if plan.schedule is None else float(plan.schedule.end.max(initial=0.0))
