"""A search whose progress is shown below its cell, and that an interrupt of the kernel ends with the best so far."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import monotonic
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.base.units import format_gap, format_quantity
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.markup import tag
from mtpp_dsl.solving.running import Running, start

__all__ = ["searched"]

EVERY, FIRST = 0.4, 1.0
"""Seconds between two looks, and before the first one is shown."""


def searched(problem: Problem, options: Mapping[str, Any], *, quiet: bool) -> Result:
    """Solve *problem* and show in the notebook how it goes; where the kernel is interrupted, return the best so far.

    Args:
        problem: what is asked.
        options: of :func:`mtpp_dsl.solve`.
        quiet: whether to show nothing.

    Raises:
        MtppError: as :func:`mtpp_dsl.solve` raises it.
    """
    running = start(problem, **options)
    shown = None if quiet else _Shown(problem)
    try:
        while not running.done:
            try:
                return _waited(running, shown)
            except TimeoutError:
                continue
    except KeyboardInterrupt:
        running.stop()
        if not quiet:
            sys.stderr.write("interrupted: stopping, with the best found so far\n")
    finally:
        if shown is not None:
            shown.end()
    return running.result()


def _waited(running: Running, shown: _Shown | None) -> Result:
    """Wait a little for the result.

    Raises:
        TimeoutError: the search goes on.
    """
    if shown is not None:
        shown.show(running)
    return running.result(EVERY)


class _Shown:
    """One line below the cell: the time, the plan, the bound and the gap."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.began = problem, monotonic()
        self.last = ""
        self.handle: Any = None
        display = need("IPython.display", "notebook")
        shell = need("IPython", "notebook").get_ipython()
        self.display = display if shell is not None and getattr(shell, "kernel", None) is not None else None

    def show(self, running: Running) -> None:
        """Show what is known by now, in a notebook; on a terminal write a line where there is news."""
        passed = monotonic() - self.began
        if passed < FIRST:
            return
        line = self._line(running)
        if self.display is None:
            if line != self.last:
                sys.stderr.write(f"{passed:7.1f} s  {line}\n")
        else:
            text = f"{passed:.0f} s  {line}"
            data = {"text/plain": text, "text/html": str(tag("div", text))}
            if self.handle is None:
                self.handle = self.display.display(data, raw=True, display_id=True)
            else:
                self.handle.update(data, raw=True)
        self.last = line

    def _line(self, running: Running) -> str:
        unit = self.problem.objective.unit(self.problem.time_unit)
        value = self.problem.objective.value
        parts = []
        if running.incumbent is not None:
            parts.append(f"plan {format_quantity(running.incumbent, unit)}")
        if running.bound is not None:
            parts.append(f"bound {format_quantity(value(running.bound.cost), unit)}")
        if running.gap is not None:
            parts.append(f"gap {format_gap(running.gap)}")
        return "  ".join(parts) or "searching"

    def end(self) -> None:
        """Take the line away."""
        if self.handle is not None:
            self.handle.update({"text/plain": "", "text/html": ""}, raw=True)
