"""Policies: gradients are those of the objective, what is learned gets better, files are read or refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.methods.learned import Placeto
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.schedule.learning.episodes import Course, Episodes
from mtpp_dsl.solvers.schedule.learning.policy import NODE_FEATURES, Policy, node_features, probabilities
from mtpp_dsl.solvers.schedule.learning.training import Learner, gradient, train
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from tests.makespans import makespan_problem
from tests.solvers.algorithms.test_timing import linked


def course_of(problem: Problem) -> Course:
    """Return the course of a problem that has schedules."""
    lister = Lister.of(ScheduleInstance.of(problem))
    assert lister is not None
    return Course(lister)


def objective(policy: Policy, features: Floats, found: Episodes, worth: Floats, curiosity: float) -> float:
    """Return what :func:`gradient` is the gradient of, as one would write it down."""
    total = 0.0
    for b, own_worth in enumerate(worth):
        for at, v in enumerate(found.nodes):
            units = np.tanh(features[v] @ policy.node + policy.bias + found.seen[b, at] @ policy.pair)
            chance = probabilities(units @ policy.out, found.chances[b, at] > 0)
            some = chance[chance > 0]
            total += own_worth * np.log(chance[found.chosen[b, at]]) - curiosity * (some * np.log(some)).sum()
    return total / found.chosen.size


def test_gradients_are_those_of_the_objective() -> None:
    """Differences of the objective along random directions agree with the gradient."""
    for seed in (3, 4, 8):
        problem = linked(seed, 7, 3)
        course = course_of(problem)
        rng = np.random.default_rng(seed)
        policy = Policy.untrained(rng)
        policy.out[:] = rng.normal(size=policy.out.shape)
        found = course.run(policy, rng.random((3, course.choices)), 3)
        worth = rng.normal(size=3)
        slope = gradient(policy, course.features, found, worth, 0.1)
        for at in range(4):
            direction = Policy.zeros()
            list(direction)[at][...] = rng.normal(size=list(direction)[at].shape)
            values = []
            for step in (1e-5, -1e-5):
                moved = Policy(*(one + step * way for one, way in zip(policy, direction, strict=True)))
                values.append(objective(moved, course.features, found, worth, 0.1))
            along = sum(float((one * way).sum()) for one, way in zip(slope, direction, strict=True))
            assert (values[0] - values[1]) / 2e-5 == pytest.approx(along, rel=1e-4, abs=1e-8)


def test_episodes_are_drawn_as_they_say() -> None:
    """Choices are as frequent as their probabilities, devices that are forbidden are never taken."""
    course = course_of(linked(5, 6, 3))
    policy = Policy.untrained(np.random.default_rng(1))
    policy.out[:] *= 50
    count = 4000
    found = course.run(policy, np.random.default_rng(2).random((count, course.choices)), count)
    first = found.chances[0, 0]
    frequent = np.bincount(found.chosen[:, 0], minlength=3) / count
    assert np.abs(frequent - first).max() < 0.04
    taken = np.take_along_axis(found.chances, found.chosen[:, :, None], axis=2)
    assert (taken > 0).all()
    assert np.allclose(found.chances.sum(axis=2), 1)


def test_features_have_no_units() -> None:
    """Features are finite for every mixture, of times from 1e-9 to 1e9, and of moderate size."""
    for seed in range(40):
        instance = ScheduleInstance.of(makespan_problem(seed, n=8))
        assert node_features(instance).shape == (instance.n, len(NODE_FEATURES))
        assert (np.abs(node_features(instance)) < 50).all()


def test_learning_gets_better() -> None:
    """After some updates the episodes of a policy are shorter by a good part than at first."""
    course = course_of(linked(1, 30, 3))
    rng = np.random.default_rng(0)
    learner = Learner(Policy.untrained(rng), rng)
    means = [float(learner.update(course).makespans.mean()) for _ in range(60)]
    assert np.mean(means[-5:]) < 0.9 * np.mean(means[:5])


@pytest.mark.long
def test_training_on_others_helps() -> None:
    """A policy trained on some graphs places one that it has not seen better than random weights; twice the same."""
    problems = [linked(seed, 20, 3) for seed in range(3)]
    one, other = (train(problems, limits=Limits(seed=1), updates=60) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one.policy, other.policy, strict=True))
    unseen = course_of(linked(11, 25, 3))
    costs = []
    for policy in (Policy.untrained(np.random.default_rng(1)), one.policy):
        schedule = unseen.plan(unseen.run(policy, None).home[0]).schedule
        assert schedule is not None
        costs.append(schedule.end.max())
    assert costs[1] < costs[0]
    assert one.lessons[0].after < one.lessons[0].before


def test_the_training_is_part_of_the_answer() -> None:
    """The result says how long was trained, from what, and how much."""
    result = Placeto(patience=2).solve(linked(1, 12, 2), Limits(), Progress())
    assert result.time["train"] > 0
    assert any("random weights" in note and "updates of 16 episodes" in note for note in result.notes)


def test_policies_are_read_as_they_were_written(tmp_path: Any) -> None:
    """JSON keeps every weight, and a run that begins with a file begins with its weights."""
    policy = Policy.untrained(np.random.default_rng(3))
    again = Policy.from_json(json.loads(json.dumps(policy.to_json())))
    assert all((a == b).all() for a, b in zip(policy, again, strict=True))
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy.to_json()))
    result = Placeto(path, patience=1).solve(linked(1, 12, 2), Limits(), Progress())
    assert any("the weights given" in note for note in result.notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "not a policy"),
        ({"version": 7}, "version 7"),
        ({"features": {"node": [], "pair": []}}, "other features"),
        ({"weights": None}, "without weights"),
        ({"weights": {"node": [[1.0]]}}, "'node'"),
        ({"weights": {**Policy.zeros().to_json()["weights"], "out": [float("nan")] * 24}}, "'out'"),
        ({"weights": {**Policy.zeros().to_json()["weights"], "bias": ["x"] * 24}}, "'bias'"),
    ],
)
def test_what_is_no_policy_is_refused(change: dict[str, Any], said: str) -> None:
    """Each part of a file is checked."""
    with pytest.raises(UsageError, match=said):
        Policy.from_json({**Policy.zeros().to_json(), **change})


def test_it_stops_within_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop among the nodes of an episode ends the run there, with the first plan."""
    problem, progress, pauses = linked(1, 400, 4), Progress(), 0
    pause = Incumbent.pause

    def stopping(incumbent: Incumbent) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 100:
            progress.stop()
        pause(incumbent)

    monkeypatch.setattr(Incumbent, "pause", stopping)
    result = Placeto().solve(problem, Limits(), progress)
    assert result.plan is not None
    assert result.termination == "interrupted"
    assert pauses == 100
