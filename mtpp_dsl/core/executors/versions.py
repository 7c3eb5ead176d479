"""Compare what is installed here with what is installed where a process is to run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

__all__ = ["PACKAGES", "differences", "versions"]

PACKAGES = ("mtpp-dsl", "numpy", "scipy", "numba", "networkx", "pyomo", "highspy", "ortools")
"""What answers depend on: with other versions, one seed may give another plan."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of :data:`PACKAGES` in this process; "" for what is not installed."""
    return {"python": "{}.{}".format(*sys.version_info[:2]), **{name: _version(name) for name in PACKAGES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return what differs, in words.

    >>> differences({"numpy": "2.3.1", "scipy": ""}, {"numpy": "2.4.6", "scipy": "1.17.1"})
    ['numpy 2.3.1 there, 2.4.6 here', 'scipy not there, 1.17.1 here']
    """
    return [
        f"{name} {there.get(name) or 'not'} there, {here[name] or 'none'} here"
        for name in here
        if there.get(name, "") != here[name]
    ]
