"""What is shown while a method works: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from mtpp_dsl.result import relative_gap
from mtpp_dsl.units import format_quantity

if TYPE_CHECKING:
    from rich.status import Status

    from mtpp_dsl.contracts import Progress
    from mtpp_dsl.problem import Problem

__all__ = ["Watcher"]

_EVERY = 1.0  # seconds between plain lines


class Watcher:
    """Listens to a :class:`~mtpp_dsl.contracts.Progress` and writes to stderr."""

    def __init__(self, problem: Problem, *, quiet: bool, verbose: bool) -> None:
        self.problem = problem
        self.quiet, self.verbose = quiet, verbose
        self.live: Status | None = None
        self.doing = ""
        self.written = -_EVERY
        self.last = ""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the live line, on a terminal, while the block runs."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True, highlight=False).status("reading") as self.live:
            yield
        self.live = None

    def __call__(self, progress: Progress, message: str) -> None:
        """Take note of news: a message, or (with an empty one) a better plan or bound."""
        if self.quiet:
            return
        if message:
            self.doing = message
            if self.verbose:
                self.write(f"{progress.elapsed:7.1f} s  {message}")
        line = self.line(progress)
        if self.live is not None:
            self.live.update(f"{line}  {self.doing}")
        elif not message and line != self.last and monotonic() - self.written >= _EVERY:
            self.written, self.last = monotonic(), line
            self.write(f"{progress.elapsed:7.1f} s  {line}")

    def write(self, line: str) -> None:
        """Write a line, above the live one if there is one."""
        if self.live is not None:
            self.live.console.print(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def line(self, progress: Progress) -> str:
        """Return incumbent, bound and gap."""
        parts = []
        objective, unit = self.problem.objective, self.problem.objective.unit(self.problem.time_unit)
        if progress.incumbent is not None:
            parts.append(f"plan {format_quantity(objective.value(progress.incumbent), unit)}")
        if progress.bound is not None:
            parts.append(f"bound {format_quantity(objective.value(progress.bound.cost), unit)}")
        if progress.incumbent is not None and progress.bound is not None:
            parts.append(f"gap {100 * relative_gap(progress.incumbent, progress.bound.cost):.2g} %")
        return "  ".join(parts)
