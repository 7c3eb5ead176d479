"""REINFORCE (Williams 1992): devices that led to short schedules become more probable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.schedule.learning.episodes import Course, Episodes
from mtpp_dsl.solvers.schedule.learning.policy import Adam, Policy

__all__ = ["EPISODES", "Learner", "gradient"]

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
        found = course.run(self.policy, self._rng.random((EPISODES, course.choices)), EPISODES)
        plans = [course.plan(home) for home in found.home]
        makespans = np.array([plan.schedule.end.max(initial=0.0) for plan in plans if plan.schedule is not None])
        spread = makespans.std()
        if course.choices:
            worth = (makespans.mean() - makespans) / spread if spread > 1e-12 * makespans.mean() else np.zeros(EPISODES)
            self._adam.step(self.policy, gradient(self.policy, course.features, found, worth, self._curiosity))
        self._curiosity *= FADING
        self.updates += 1
        return Tried(makespans, plans[int(makespans.argmin())])


def gradient(policy: Policy, features: Floats, found: Episodes, worth: Floats, curiosity: float) -> Policy:
    """Return the gradient of the mean over episodes and choices of ``worth * log chance + curiosity * entropy``.

    Args:
        policy: that made the episodes.
        features: [n, node features].
        found: b episodes.
        worth: [b] of each episode.
        curiosity: weight of the entropy.
    """
    total = Policy.zeros()
    own = features[found.nodes]
    hidden = own @ policy.node + policy.bias
    share = 1.0 / max(found.chosen.size, 1)
    steps = np.arange(len(found.nodes))
    for b in range(len(worth)):
        chance, seen = found.chances[b], found.seen[b]
        logs = np.log(np.maximum(chance, 1e-300))
        entropy = -(chance * logs).sum(axis=1, keepdims=True)
        score = -chance * worth[b] - curiosity * chance * (logs + entropy)
        score[steps, found.chosen[b]] += worth[b]
        score *= share
        units = np.tanh(hidden[:, None, :] + seen @ policy.pair)
        slope = score[:, :, None] * policy.out * (1 - units**2)
        by_node = slope.sum(axis=1)
        total.out[:] += np.einsum("sk,skh->h", score, units)
        total.pair[:] += np.einsum("skf,skh->fh", seen, slope)
        total.node[:] += own.T @ by_node
        total.bias[:] += by_node.sum(axis=0)
    return total
