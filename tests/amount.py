"""How much is tested: a part of the cases of long tests in ``make test``, all of them in ``make test-all``."""

from __future__ import annotations

__all__ = ["choose", "part", "stride"]

CHOSEN = "usual"


def choose(amount: str) -> None:
    """Keep the amount of testing that the command line asked for; called before tests are collected."""
    global CHOSEN
    CHOSEN = amount


def part(number: int, of: int = 6) -> int:
    """Return how many of *number* cases are tried: all of them in long runs, else one in *of*."""
    return number if CHOSEN == "all" else max(1, number // of)


def stride(of: int) -> int:
    """Return *of* how many cases one is tried: of one in long runs."""
    return 1 if CHOSEN == "all" else of
