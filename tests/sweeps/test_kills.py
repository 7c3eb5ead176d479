"""Sweeps whose processes are killed at random moments go on where they were."""

from __future__ import annotations

import sys

import pytest

from tests.tools.kill_sweeps import kill_rounds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")


@pytest.mark.long
def test_some_kills() -> None:
    found = kill_rounds(2, seed=6, problems=4, limit=0.3)
    assert found.wrong == []
    assert found.killed["sweep"] > 0


@pytest.mark.long
def test_fifty_kills() -> None:
    found = kill_rounds(50, seed=0)
    assert found.wrong == []
    assert min(found.killed.values()) > 10
