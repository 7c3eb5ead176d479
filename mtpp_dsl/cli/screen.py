"""What is printed on stdout: styled and as wide as the terminal there, plain and unbroken elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["console", "screen_width", "show"]


def console(*, stderr: bool = False) -> Console:
    """Return a console on which brackets, colons and numbers mean nothing."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def screen_width() -> int | None:
    """Return the columns of the terminal; None where stdout is none, so that lines are never broken."""
    return console().width if sys.stdout.isatty() else None


def show(lines: Iterable[Text]) -> None:
    """Print lines that fit already: a word longer than the terminal is wide is left to the terminal."""
    if sys.stdout.isatty():
        screen = console()
        for line in lines:
            screen.print(line, soft_wrap=True)
    else:
        sys.stdout.write("".join(f"{line.plain.rstrip()}\n" for line in lines))
