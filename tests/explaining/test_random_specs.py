"""Explanations of random specs, held against the fuzzer's evaluator and brute force."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.amount import part
from tests.tools.asking.trial import asked


@pytest.mark.parametrize("family", ["shared", "host", "links", "latency", "batch"])
def test_what_is_said_holds(family: str) -> None:
    """Clashes clash and are minimal; costs, bounds, ranges and slacks are what brute force finds."""
    tried: Counter[str] = Counter()
    wrong = [
        f"{family} {seed}: {what}" for seed in range(30, 30 + part(3)) for what in asked(family, seed, 30.0, tried)
    ]
    assert not wrong, "\n".join(wrong)
    assert tried["part infeasible"] + tried["part bottleneck"] > 0
