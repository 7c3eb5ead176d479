"""Tell whether ortools is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from mtpp_dsl.core.contracts.protocols import Availability

__all__ = ["availability"]

INSTALL = "pip install ortools"


def availability() -> Availability:
    """Return whether ortools is installed, without importing it or anything of its engine."""
    try:
        return Availability(ok=True, version=version("ortools"), install=INSTALL)
    except PackageNotFoundError:
        return Availability(ok=False, install=INSTALL)
