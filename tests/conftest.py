"""Fail early, with the remedy, when the project is not installed; Hypothesis profiles; workloads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

try:
    import mtpp_dsl.grammars
    import mtpp_dsl.models
    import mtpp_dsl.solvers  # noqa: F401
except ModuleNotFoundError as error:
    pytest.exit(
        f"{error}. Install the project first (make install, or pip install -e .): the installation maps models/, "
        "solvers/ and grammars/ to mtpp_dsl.*; if it is installed as a wheel, use `pytest`, not `python -m pytest`",
        returncode=4,
    )

settings.register_profile(
    "default", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of published workloads; skips, visibly, where it is absent."""
    folder = Path(os.environ.get("MTPP_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no workloads at {folder} (set MTPP_DATA)")
    return folder


@pytest.fixture(scope="session")
def specs(data: Path) -> Path:
    """Return the folder of the acceptance specs, beside the workloads."""
    folder = data.parent / "specs"
    if not folder.is_dir():
        pytest.skip(f"no acceptance specs at {folder}")
    return folder
