"""A kernel is compiled once, whatever constants it is given and whoever made its arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import config

from mtpp_dsl.core.base.compiling import Kernel, inputs
from mtpp_dsl.core.problem.graph import Floats, frozen


class Row(NamedTuple):
    """What the kernel reads."""

    values: Floats
    scale: float


def scaled(row: Row, place: int, by: float) -> float:
    return row.values[place] * row.scale * by


def both(row: Row, place: int) -> float:
    return scaled(row, 0, 2.0) + scaled(row, place, row.scale)


def test_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Constants beside variables, and read-only arrays beside others, make no second copy of the machine code."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    kernel: Any = Kernel(both, 0.0, scaled)
    column = np.arange(6.0).reshape(3, 2)[:, 1]
    rows = [inputs(Row(values, 0.5)) for values in (np.array([1.0, 3.0, 5.0]), frozen([1.0, 3.0, 5.0], float), column)]
    for row in rows:
        assert kernel.compiled()(row, 1) == both(row, 1) == 1.75
        assert not row.values.flags.writeable
    assert len(kernel.compiled().signatures) == 1
    part = kernel.compiled().py_func.__globals__["scaled"]
    assert len(part.signatures) <= 1  # none where the machine code of both was on disk


def test_what_is_given_stays_as_it_is() -> None:
    """An array that its maker may write to still may be written to."""
    mine = np.zeros(2)
    inputs(Row(mine, 1.0))
    mine[0] = 1.0
    assert mine.flags.writeable
