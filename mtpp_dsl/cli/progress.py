"""Show how the search of a method goes: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from mtpp_dsl.cli.screen import answers_only, console, encodes, say
from mtpp_dsl.core.base.units import format_gap
from mtpp_dsl.core.plans.result import relative_gap

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.table import Table

    from mtpp_dsl.core.contracts.limits import Progress
    from mtpp_dsl.core.problem.problem import Problem

__all__ = ["ProgressWriter", "live_line", "spinner"]

_EVERY = 1.0  # seconds between plain lines
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDTH, _LEAST = 16, 6


class ProgressWriter:
    """Listens to a :class:`~mtpp_dsl.core.contracts.limits.Progress` and writes to stderr.

    Args:
        problem: whose plans and bounds are shown, in its units.
        limit: seconds that the search may take, None for no limit.
        quiet: show nothing.
        verbose: write every message on a line of its own.
    """

    def __init__(self, problem: Problem, *, limit: float | None, quiet: bool, verbose: bool) -> None:
        self.problem, self.limit = problem, limit
        self.quiet, self.verbose = quiet, verbose
        self.live: Live | None = None
        self.spinner: Spinner | None = None
        self.progress: Progress | None = None
        self.doing = ""
        self.written = -_EVERY
        self.last = ""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the live line, on a terminal, while the block runs."""
        self.spinner = spinner()
        with live_line(self.picture, quiet=self.quiet, per_second=8) as self.live:
            yield
        self.live = None

    def __call__(self, progress: Progress, message: str) -> None:
        """Take note of news: a message, or (with an empty one) a better plan or bound."""
        if self.quiet:
            return
        self.progress = progress
        if message:
            self.doing = message
            if self.verbose:
                self.write(f"{progress.elapsed:7.1f} s  {message}")
        line = self.line(progress)
        if self.live is None and not message and line != self.last and monotonic() - self.written >= _EVERY:
            self.written, self.last = monotonic(), line
            self.write(f"{progress.elapsed:7.1f} s  {line}")

    def write(self, line: str) -> None:
        """Write a line, above the live one if there is one."""
        if self.live is not None:
            self.live.console.print(line)
        else:
            say(line, stderr=True)

    def picture(self, width: int | None = None) -> Table:
        """Return the live line: the time, how near the bound is to the plan, both, and what is being done.

        Figures stay whole: on a terminal of few columns what is being done goes first, then the bar, then the time.

        Args:
            width: of the terminal; None asks it.
        """
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        progress = self.progress
        if progress is None:
            table.add_row(self.spinner, "reading")
            return table
        if width is None:
            width = console(stderr=True).width
        of = "" if self.limit is None else f" of {self.limit:.0f}"
        clock, figures = f"{progress.elapsed:.0f}{of} s", self.line(progress)
        left = width - len("x  ") - len(figures) - len("  ") - len(clock) - len("  ")
        cells = [Text(clock, no_wrap=True)] if left >= 0 else []
        plan, bound = progress.incumbent, progress.bound
        if plan is not None and bound is not None and left >= _LEAST + 2:
            cells_of_bar = min(_WIDTH, left - 2)
            share = max(0.0, 1 - relative_gap(plan, bound.cost))
            cells.append(Text(bar(share, cells_of_bar), style="green on grey23", no_wrap=True))
            left -= cells_of_bar + 2
        cells.append(Text(figures, no_wrap=True))
        if left >= _LEAST:
            doing = Text(self.doing, style="dim", no_wrap=True)
            doing.truncate(left, overflow="ellipsis")
            cells.append(doing)
        table.add_row(self.spinner, *cells)
        return table

    def line(self, progress: Progress) -> str:
        """Return incumbent, bound and gap."""
        parts = []
        objective = progress.objective or self.problem.objective
        if progress.incumbent is not None:
            parts.append(f"plan {self.problem.valued(progress.incumbent, objective)}")
        if progress.bound is not None:
            parts.append(f"bound {self.problem.valued(progress.bound.cost, objective)}")
        if progress.incumbent is not None and progress.bound is not None:
            parts.append(f"gap {format_gap(relative_gap(progress.incumbent, progress.bound.cost))}")
        return "  ".join([progress.heading, *parts] if progress.heading and parts else parts)


def bar(share: float, width: int = _WIDTH) -> str:
    """Return a bar of which *share* is filled, to an eighth of a character.

    >>> bar(0.5, 4)
    '██  '
    """
    eighths = round(min(max(share, 0.0), 1.0) * 8 * width)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


@contextmanager
def live_line(picture: Callable[[], Table], *, quiet: bool, per_second: float) -> Iterator[Live | None]:
    """Show the line on stderr while the block runs; nothing where that is no terminal, or *quiet*.

    What plug-ins and solvers print meanwhile goes to stderr: stdout carries only the answer.

    Args:
        picture: makes the line, so many times *per_second*.
        quiet: show nothing.
        per_second: how often.
    """
    with answers_only():
        if quiet or not sys.stderr.isatty():
            yield None
            return
        from rich.live import Live

        screen = console(stderr=True)
        with Live(get_renderable=picture, console=screen, refresh_per_second=per_second, transient=True) as live:
            yield live


def spinner() -> Spinner:
    """Return what turns at the beginning of the line, in characters that stderr can show."""
    from rich.spinner import Spinner

    return Spinner("dots" if encodes(sys.stderr, "⠋") else "line")
