"""Tell whether the program of Scotch is installed."""

from __future__ import annotations

from shutil import which

PROGRAMS = ("scotch_gpart", "gpart")
"""Debian's name, and Scotch's own."""


def program() -> str | None:
    """Return the program of Scotch that is installed, or None."""
    return next((program for program in PROGRAMS if which(program) is not None), None)
