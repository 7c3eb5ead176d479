"""Rounds of random searches side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.solvers.runtime.multi_start import MultiStart, Turn


def run(rounds: MultiStart, costs: Callable[[int], float], done: Callable[[], bool] = lambda: False) -> list[Turn]:
    """Return the turns of a run in which the cost after round number i is ``costs(i)``."""
    turns: list[Turn] = []
    best = [float("inf")]

    def keep(found: list[Turn]) -> None:
        best[0] = min(best[0], costs(found[0].number))
        turns.extend(found)

    rounds.run(lambda turn: turn, keep, lambda: best[0], done)
    return turns


def test_each_round_is_twice_as_long_as_two_rounds_before() -> None:
    """Steps are 10, 10, 20, 20, 40, then at most 50; all chains of a round take as many."""
    rounds = MultiStart(Limits(), chains=2, patience=3, first=10, least=1, most=50)
    turns = run(rounds, lambda number: -min(number, 3))
    assert [(turn.number, turn.chain) for turn in turns] == [(i, c) for i in range(7) for c in range(2)]
    assert [turn.steps for turn in turns[::2]] == [10, 10, 20, 20, 40, 40, 50]


@pytest.mark.parametrize(("patience", "last"), [(1, 1), (2, 4), (4, 6)])
def test_it_ends_after_rounds_that_have_not_helped(patience: int, last: int) -> None:
    """Rounds 0 and 2 lower the cost; after the last that did follow as many as its patience allows."""
    rounds = MultiStart(Limits(), chains=1, patience=patience, first=1, least=1)
    assert run(rounds, lambda number: 5.0 if number < 2 else 4.0)[-1].number == last


def test_it_begins_no_round_when_done() -> None:
    """It asks before each round; nothing runs if there is nothing to do."""
    left = [3]

    def done() -> bool:
        left[0] -= 1
        return left[0] < 0

    rounds = MultiStart(Limits(), chains=1, patience=9, first=1, least=1)
    assert len(run(rounds, lambda number: -number, done)) == 3
    assert run(rounds, lambda number: -number, lambda: True) == []


def test_little_time_makes_rounds_short_but_not_empty() -> None:
    """Where 100 steps a second are known and a hundredth of a second is left, a round takes its least steps."""
    rounds = MultiStart(Limits(time=0.01), chains=1, patience=1, first=1_000, least=7)
    seen: list[int] = []
    rounds.run(lambda turn: turn, lambda found: seen.append(found[0].steps), lambda: 0.0, lambda: False, rate=100.0)
    assert seen[0] == 7


def test_random_numbers_depend_on_seed_round_and_chain_alone() -> None:
    """Each search has numbers of its own, the same in every run; threads make no difference."""
    numbers = []
    for threads in (1, 2, 3):
        rounds = MultiStart(Limits(seed=5, threads=threads), chains=3, patience=2, first=1, least=1)
        numbers.append([turn.random.random() for turn in run(rounds, lambda number: -number if number < 2 else 0)])
    assert numbers[0] == numbers[1] == numbers[2]
    assert len(set(numbers[0])) == len(numbers[0])
    assert numbers[0][0] == np.random.default_rng((5, 0, 0)).random()


def test_it_prepares_before_the_searches_of_a_round() -> None:
    """What searches share is compiled once, before they start."""
    order: list[str] = []
    MultiStart(Limits(), chains=2, patience=1, first=6, least=1).run(
        lambda turn: order.append(f"search {turn.steps}"),
        lambda _: None,
        lambda: 0.0,
        lambda: False,
        prepare=lambda steps: order.append(f"prepare {steps}"),
    )
    assert order == ["prepare 6", "search 6", "search 6"]
