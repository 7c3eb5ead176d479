"""Print text: styled and as wide as the terminal there, plain and unbroken elsewhere.

Every command prints by what stands here, so that no control character of a spec, of a data file or of a path reaches
a terminal (:mod:`mtpp_dsl.core.text.visible`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mtpp_dsl.core.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from mtpp_dsl.core.problem.problem import Problem

__all__ = ["console", "say", "screen_width", "show", "tell_warnings", "write_file"]


def say(line: str, *, stderr: bool = False) -> None:
    """Print a line, or several, of text that names what others have written."""
    print(visible(line), file=sys.stderr if stderr else sys.stdout, flush=stderr)


def console(*, stderr: bool = False) -> Console:
    """Return a console on which brackets, colons, numbers and control characters mean nothing."""
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        """Styles text, and shows what a terminal would obey."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(visible(part.text), part.style)

    return Screen(stderr=stderr, markup=False, emoji=False, highlight=False)


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
        sys.stdout.write("".join(f"{visible(line.plain).rstrip()}\n" for line in lines))


def tell_warnings(problem: Problem) -> None:
    """Print what the reader of a spec warns of; most warnings say their place themselves, with the line in question."""
    for warning in problem.warnings:
        placed = re.search(r"(: |^)warning(\[[^]]*\])?: ", warning.partition("\n")[0])
        say(warning if placed else f"warning: {warning}", stderr=True)


def write_file(path: Path, write: Callable[[Path], None]) -> bool:
    """Write a file; complain and return False if that is not possible."""
    try:
        write(path)
    except OSError as error:
        say(f"error: cannot write {path}: {error.strerror or error}", stderr=True)
        return False
    return True
