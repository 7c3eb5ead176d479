"""One run of ``placeto``: a policy is trained on the problem itself, and every episode is a plan."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.learning.episodes import Course
from mtpp_dsl.solvers.schedule.learning.policy import Policy
from mtpp_dsl.solvers.schedule.learning.reinforce import EPISODES, Learner
from mtpp_dsl.solvers.schedule.list.list_run import Lister

__all__ = ["placeto"]


def placeto(problem: Problem, limits: Limits, progress: Progress, policy: Policy | None, patience: int) -> Result:
    """Train a policy on a makespan on links until done or stopped, and return the best plan of all episodes.

    Args:
        problem: a makespan on links.
        limits: when to stop, and where to start.
        progress: told of plans.
        policy: to begin with; None for random weights.
        patience: updates in a row without a shorter schedule, after which it ends.
    """
    incumbent = Incumbent("placeto", problem, limits, progress)
    began, learner = monotonic(), None
    try:
        incumbent.take_start()
        lister = Lister.of(ScheduleInstance.of(problem))
        if lister is None:
            incumbent.note("no way was found to give every node a device within memory, links and the constraints")
            return incumbent.result()
        rng = np.random.default_rng(limits.seed)
        learner = Learner(Policy.untrained(rng) if policy is None else policy, rng)
        course = Course(replace(lister, say=progress.say, runs=patience * EPISODES))
        _train(learner, course, incumbent, progress, patience)
    except SearchEnded:
        pass
    spent = monotonic() - began
    if learner is not None:
        weights = "random weights" if policy is None else "the weights given"
        incumbent.note(f"trained for {spent:.3g} s from {weights}: {learner.updates} updates of {EPISODES} episodes")
    return incumbent.result(time={"train": spent})


def _train(learner: Learner, course: Course, incumbent: Incumbent, progress: Progress, patience: int) -> None:
    """Update the policy until there is nothing to choose, or nothing better for long; raises Ended when to stop.

    The first plan is made however little time there is.
    """
    idle = 0
    while idle < patience:
        before = incumbent.cost
        _take(incumbent, course, course.run(learner.policy, None).home[0])
        if not course.choices or incumbent.closed():
            return
        course.lister = replace(course.lister, pause=incumbent.pause)
        incumbent.pause()
        tried = learner.update(course)
        if tried.makespans.min() < incumbent.cost:
            incumbent.take(tried.best)
        idle = 0 if incumbent.cost < before else idle + 1
        mean = tried.makespans.mean()
        progress.say(
            f"update {learner.updates}: makespans of {mean:.6g} on average, {tried.makespans.min():.6g} at best"
        )


def _take(incumbent: Incumbent, course: Course, home: Ints) -> None:
    """Take the plan of the most probable devices if it is better; note why it is none."""
    plan = course.plan(home)
    assert plan.schedule is not None
    if plan.schedule.end.max(initial=0.0) < incumbent.cost and not incumbent.take(plan):
        incumbent.note(f"a schedule found is none: {incumbent.broken}")
