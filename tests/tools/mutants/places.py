"""Name the files that mutants are made of: what checks plans and bounds, what evaluates plans, and all scopes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tree import ROOT

WHOLE = (
    "mtpp_dsl/checks/*.py",
    "solvers/proofs/*.py",
    "mtpp_dsl/core/plans/evaluation.py",
    "mtpp_dsl/core/plans/batches.py",
    "mtpp_dsl/core/plans/cache_pool.py",
    "mtpp_dsl/core/plans/stages.py",
    "mtpp_dsl/core/plans/transfer_loads.py",
    "mtpp_dsl/core/problem/memory_limits.py",
    "mtpp_dsl/core/problem/workspace.py",
    "mtpp_dsl/core/contracts/scopes.py",
)
"""Files of which everything may be changed: checkers, the evaluation of plans with what it counts by, and scopes."""
SCOPES = ("solvers/methods/**/*.py", "models/**/*.py")
"""Files of which only what stands in a ``Scope(…)`` may be changed."""


def whole_files() -> list[Path]:
    """Return the files of which everything may be changed."""
    return sorted(path for pattern in WHOLE for path in ROOT.glob(pattern) if path.name != "__init__.py")


def scope_files() -> list[Path]:
    """Return the files that declare scopes."""
    every = {path for pattern in SCOPES for path in ROOT.glob(pattern)}
    return sorted(path for path in every if re.search(r"\bScope\(", path.read_text(encoding="utf-8")))


def traced_files() -> list[Path]:
    """Return all files that mutants are made of."""
    return [*whole_files(), *scope_files()]
