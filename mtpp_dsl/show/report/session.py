"""Results in a Python session, printed as the command line prints them."""

from __future__ import annotations

import sys
from typing import IO

from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.show.report.terminal import summary

__all__ = ["show"]

WIDTH = 100
"""Columns where there is no terminal that has a width."""


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
