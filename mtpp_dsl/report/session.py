"""Results in a Python session: printed as the command line prints them, and as HTML for notebooks."""

from __future__ import annotations

import io
import sys
from typing import IO

from mtpp_dsl.plans.result import Result
from mtpp_dsl.problem import Problem
from mtpp_dsl.report.terminal import summary
from mtpp_dsl.text.visible import visible

__all__ = ["html", "show"]

WIDTH = 100
"""Columns where there is no terminal that has a width."""
_PAGE = '<pre style="line-height: 1.25; font-family: monospace; overflow-x: auto">{code}</pre>'


def show(problem: Problem, result: Result, width: int | None = None, file: IO[str] | None = None) -> None:
    """Print what ``mtpp solve`` prints: styled on a terminal, plain elsewhere.

    Args:
        problem: what was asked.
        result: what was found.
        width: of the lines; None for that of the terminal, or :data:`WIDTH`.
        file: where to; None for standard output.
    """
    from rich.console import Console

    out = sys.stdout if file is None else file
    screen = Console(file=out, markup=False, emoji=False, highlight=False, force_jupyter=False)
    if not screen.is_terminal:
        lines = summary(problem, result, WIDTH if width is None else width)
        out.write("".join(f"{visible(line.plain).rstrip()}\n" for line in lines))
        return
    for line in summary(problem, result, screen.width if width is None else width):
        line.plain = visible(line.plain)
        screen.print(line, soft_wrap=True)


def html(problem: Problem, result: Result) -> str:
    """Return what :func:`show` prints, as a fragment of HTML with its styles in it."""
    from rich.console import Console

    screen = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=True,
        force_jupyter=False,
        color_system="truecolor",
    )
    for line in summary(problem, result, WIDTH):
        line.plain = visible(line.plain)
        screen.print(line, soft_wrap=True)
    return screen.export_html(inline_styles=True, code_format=_PAGE)
