"""The versions that ``mtpp --version`` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from mtpp_dsl import __version__

PACKAGES = ("highspy", "ortools", "pyscipopt", "gurobipy", "pyomo", "numba", "numpy")
"""Those whose version may change what is found, or in what time."""


def versions() -> Iterator[str]:
    """Yield a line for each version that a report of an error should name: of mtpp, Python and installed packages."""
    yield f"mtpp {__version__}"
    yield f"Python {platform.python_version()}"
    for package in PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue
