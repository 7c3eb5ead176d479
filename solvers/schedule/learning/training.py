"""Train policies by REINFORCE (Williams 1992): on one problem (method ``placeto``), or on several (``mtpp train``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.schedule.learning.episodes import Course, Episodes
from mtpp_dsl.solvers.schedule.learning.policy import Adam, Policy
from mtpp_dsl.solvers.schedule.list.list_rules import heft
from mtpp_dsl.solvers.schedule.list.list_run import NO_WAY, Lister

__all__ = ["Learner", "gradient", "placeto", "train"]

EPISODES = 16
"""Episodes for one update."""
RATE = 0.02
"""Of the steps of an update."""
CURIOSITY, FADING = 0.03, 0.99
"""Weight of the entropy at first, and what is left of it after each update."""


@dataclass(frozen=True)
class Tried:
    """The episodes of one update: the makespans, and the plan of the shortest."""

    makespans: Floats
    best: Plan


class Learner:
    """Trains one policy, on one course after another.

    Args:
        policy: changed in place.
        rng: of all draws.
    """

    def __init__(self, policy: Policy, rng: np.random.Generator) -> None:
        self.policy, self.updates = policy, 0
        self._rng, self._adam, self._curiosity = rng, Adam(RATE), CURIOSITY

    def update(self, course: Course) -> Tried:
        """Run some episodes on *course*, and make the choices of those that ended earlier more probable.

        The makespans are compared with their mean over these episodes, in units of their standard deviation.
        """
        episodes = course.run(self.policy, self._rng.random((EPISODES, course.choices)), EPISODES)
        plans = [course.plan(home) for home in episodes.home]
        makespans = np.array([plan.schedule.end.max(initial=0.0) for plan in plans if plan.schedule is not None])
        spread = makespans.std()
        if course.choices:
            worth = (makespans.mean() - makespans) / spread if spread > 1e-12 * makespans.mean() else np.zeros(EPISODES)
            self._adam.step(self.policy, gradient(self.policy, course.features, episodes, worth, self._curiosity))
        self._curiosity *= FADING
        self.updates += 1
        return Tried(makespans, plans[int(makespans.argmin())])


def gradient(policy: Policy, features: Floats, episodes: Episodes, worth: Floats, curiosity: float) -> Policy:
    """Return the gradient of the mean over episodes and choices of ``worth * log chance + curiosity * entropy``.

    Args:
        policy: that made the episodes.
        features: [n, node features].
        episodes: b of them.
        worth: [b] of each episode.
        curiosity: weight of the entropy.
    """
    total = Policy.zeros()
    own = features[episodes.nodes]
    hidden = own @ policy.node + policy.bias
    share = 1.0 / max(episodes.chosen.size, 1)
    steps = np.arange(len(episodes.nodes))
    for b in range(len(worth)):
        chance, seen = episodes.chances[b], episodes.seen[b]
        logs = np.log(np.maximum(chance, 1e-300))
        entropy = -(chance * logs).sum(axis=1, keepdims=True)
        score = -chance * worth[b] - curiosity * chance * (logs + entropy)
        score[steps, episodes.chosen[b]] += worth[b]
        score *= share
        units = np.tanh(hidden[:, None, :] + seen @ policy.pair)
        slope = score[:, :, None] * policy.out * (1 - units**2)
        by_node = slope.sum(axis=1)
        total.out[:] += np.einsum("sk,skh->h", score, units)
        total.pair[:] += np.einsum("skf,skh->fh", seen, slope)
        total.node[:] += own.T @ by_node
        total.bias[:] += by_node.sum(axis=0)
    return total


# One run of ``placeto``: a policy is trained on the problem itself, and every episode is a plan.


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
            incumbent.note(NO_WAY)
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


# Train one policy on several problems.


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
    after_update: Callable[[int, float], bool] = _go_on,
) -> Trained:
    """Train a policy by REINFORCE, on one problem after another in an order that is drawn anew each time round.

    With the same seed and problems, and as many updates, the weights are the same.

    Args:
        problems: makespans on links.
        limits: its time, and the seed of everything random.
        updates: at most so many; each runs 16 episodes on one problem.
        policy: to begin with; None for random weights.
        after_update: called after each update with their number and the mean makespan of its episodes, as a share of
            that of ``heft``; True ends the training.

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
        if after_update(learner.updates, mean / known[at] if known[at] > 0 else 1.0):
            break
    after = [_makespan(course, learner.policy) for course in courses]
    return Trained(learner.policy, learner.updates, tuple(map(Lesson, before, after, known)))


def _course(problem: Problem, runs: int) -> Course:
    lister = Lister.of(ScheduleInstance.of(problem))
    if lister is None:
        raise Refused(NO_WAY)
    return Course(replace(lister, runs=runs))


def _makespan(course: Course, policy: Policy | None) -> float:
    """Return the makespan of the most probable devices of a policy, or of ``heft`` without one."""
    plan = heft(course.lister) if policy is None else course.plan(course.run(policy, None).home[0])
    return inf if plan.schedule is None else float(plan.schedule.end.max(initial=0.0))
