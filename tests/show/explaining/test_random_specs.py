"""Explanations of random specs, held against the fuzzer's evaluator and brute force."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.amount import part
from tests.tools.asking.compared import compared
from tests.tools.asking.trial import asked


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", ["shared", "host", "links", "latency", "batch"])
def test_what_is_said_holds(family: str) -> None:
    """Clashes clash and are minimal; costs, bounds, ranges and slacks are what brute force finds."""
    tried: Counter[str] = Counter()
    wrong = [
        f"{family} {seed}: {what}" for seed in range(30, 30 + part(3)) for what in asked(family, seed, 30.0, tried)
    ]
    assert not wrong, "\n".join(wrong)
    assert tried["part infeasible"] + tried["part bottleneck"] > 0


@pytest.mark.parametrize("family", ["shared", "host"])
def test_differences_hold(family: str) -> None:
    """Moves are the fewest, loads and costs right, and the better plan is the one that costs less."""
    tried: Counter[str] = Counter()
    wrong = [f"{family} {seed}: {what}" for seed in range(300, 300 + part(6)) for what in compared(family, seed, tried)]
    assert not wrong, "\n".join(wrong)
    assert tried["pairs"] > 0
