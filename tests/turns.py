"""Let tests that take long take turns: a commit tries some of them, and a few commits try all.

:data:`RECORD` says how many seconds tests take, as ``python -m tests.tools.durations`` measured them. A test that takes
longer than :data:`SHARE` is tried at one commit of several, so that in the mean it takes no more than that at each.
"""

from __future__ import annotations

import csv
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

__all__ = ["FEWEST", "RECORD", "Recorded", "has_turn", "recorded", "seconds_of"]

RECORD = Path(__file__).with_name("seconds.csv")
FEWEST = 0.2
"""Seconds below which tests are not recorded."""
SHARE, RAREST = 0.2, 16
"""Seconds that a test takes at each commit, in the mean; and at one commit of how many it is tried at least."""


class Recorded(NamedTuple):
    """What a test takes.

    Attributes:
        seconds: of its own, and of what it shares.
        shared: the fixture of its file that takes longest to set up, or "": tests that share one have the same turns.
    """

    seconds: float
    shared: str


@cache
def recorded() -> dict[str, Recorded]:
    """Return what was recorded, by the names of tests."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        return {row["test"]: Recorded(float(row["seconds"]), row["shared"]) for row in csv.DictReader(file)}


def seconds_of(test: str) -> float:
    """Return what a test takes, in seconds; 0 if it is not recorded, and so takes little or is new."""
    record = recorded().get(test)
    return 0.0 if record is None else record.seconds


def has_turn(test: str, turn: int) -> bool:
    """Return whether a test is among those that a turn tries.

    Args:
        test: its name, as pytest gives it.
        turn: any number, such as the hash of a commit.
    """
    record = recorded().get(test)
    if record is None:
        return True
    group = _group(test, record)
    return (crc32(group.encode()) + turn) % min(RAREST, ceil(_longest()[group] / SHARE)) == 0


def _group(test: str, record: Recorded) -> str:
    """Return the name of what has the same turns: tests of a file that share a fixture, or the test alone."""
    return f"{test.partition('::')[0]} {record.shared}" if record.shared else test


@cache
def _longest() -> dict[str, float]:
    """Return the seconds of the longest test of each group."""
    longest: dict[str, float] = {}
    for test, record in recorded().items():
        group = _group(test, record)
        longest[group] = max(longest.get(group, 0.0), record.seconds)
    return longest
