"""Exit codes of commands, and how long a command has taken."""

from __future__ import annotations

from time import monotonic

__all__ = ["INTERRUPTED", "NOTHING_FOUND", "PROVEN_INFEASIBLE", "begin", "elapsed"]

PROVEN_INFEASIBLE = 3
NOTHING_FOUND = 4
INTERRUPTED = 130

_began = monotonic()


def begin() -> None:
    """Count the time of a command from now."""
    global _began
    _began = monotonic()


def elapsed() -> float:
    """Return the seconds since the command began: its imports and the reading of files count."""
    return monotonic() - _began
