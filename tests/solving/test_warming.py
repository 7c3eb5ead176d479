"""Loops are compiled ahead, kept, and used by the calls after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.solving.finding import find_method
from mtpp_dsl.solving.plugins.rare_loops import rare
from mtpp_dsl.solving.warming import methods_to_warm


def mtpp(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mtpp_dsl", *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_method_is_compiled_once(tmp_path: Path) -> None:
    """The first call compiles and keeps what it compiled; the second loads it."""
    first = mtpp(tmp_path, "warm", "decomposition", "--jobs", "1")
    assert first.returncode == 0, first.stderr
    assert "algorithms.timing:time" in first.stdout
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert kept
    second = mtpp(tmp_path, "warm", "decomposition", "--jobs", "1", "-q")
    assert (second.returncode, second.stdout) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == kept


def test_names_are_those_of_methods() -> None:
    assert methods_to_warm(["lns", "lns"]) == ["lns"]
    assert "auto" not in methods_to_warm([])
    with pytest.raises(UsageError, match="no method 'idaels' that could be compiled; did you mean 'ideals'"):
        methods_to_warm(["idaels"])


@pytest.mark.parametrize("name", ["annealing", "slicegraph", "ideals", "copies"])
def test_problems_for_rare_loops_are_ones_that_their_method_takes(name: str) -> None:
    problems = rare(name)
    assert problems
    assert [find_method(name).accepts(problem) for problem in problems] == [None] * len(problems)
