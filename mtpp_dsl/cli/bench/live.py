"""Show how a sweep goes: one live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from mtpp_dsl.cli.progress import bar, live_line, spinner
from mtpp_dsl.cli.screen import console, say
from mtpp_dsl.core.base.units import format_gap, format_quantity
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.forecast import Forecast
from mtpp_dsl.sweeps.store.outcome import FAILED, STATUS_MEANINGS, RunOutcome

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Live", "duration"]

FIRST, EVERY = 2.0, 10.0
"""Seconds until the first plain line, and between two."""
_BAR, _LEAST = 20, 8


class Live:
    """Hears of runs, and writes to stderr: a :class:`~mtpp_dsl.sweeps.run.loop.RunWatcher`.

    Args:
        runs: that are to be done.
        jobs: how many are done at once.
        quiet: show nothing.
        verbose: write a line for each run.
    """

    def __init__(self, runs: Sequence[Run], jobs: int, *, quiet: bool, verbose: bool) -> None:
        self.total, self.quiet, self.verbose = len(runs), quiet, verbose
        self.done = self.failed = 0
        self.forecast = Forecast(runs, jobs)
        self.under_way: dict[str, tuple[Run, float]] = {}
        self.start = monotonic()
        self.written = self.start + FIRST - EVERY
        self.live: Any = None
        self.spinner: Any = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the live line, on a terminal, while the block runs."""
        self.spinner = spinner()
        with live_line(self.picture, quiet=self.quiet, per_second=4) as self.live:
            yield
        self.live = None

    def began(self, run: Run) -> None:
        """Hear that a worker has taken a run."""
        self.under_way[run.key] = run, monotonic()

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Hear the result of a run."""
        now = monotonic()
        _, began = self.under_way.pop(run.key, (run, now))
        self.done += 1
        self.failed += outcome.status in FAILED
        self.forecast.ended(run, now - began)
        if self.quiet:
            return
        if self.verbose or outcome.status in FAILED:
            self.write(line_of(run, outcome))
        if self.live is None and not self.verbose and now - self.written >= EVERY:
            self.written = now
            self.write(self.line())

    def write(self, line: str) -> None:
        """Write a line, above the live one if there is one."""
        if self.live is not None:
            self.live.console.print(line, soft_wrap=True)
        else:
            say(line, stderr=True)

    def rest(self) -> str:
        """Return how long the rest takes, about."""
        if self.done == self.total:
            return "done"
        seconds, known = self.forecast.left()
        return f"{'about' if known else 'at most'} {duration(seconds)} left"

    def line(self) -> str:
        """Return how far the sweep is, for a plain line."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        clock = duration(monotonic() - self.start)
        return (
            f"{self.done:,} of {self.total:,} runs in {clock}{failed}, {len(self.under_way)} under way, {self.rest()}"
        )

    def picture(self, width: int | None = None) -> Table:
        """Return the live line: how far, how long still, and what has been under way for longest.

        On a terminal of few columns what is under way goes first, then the bar.

        Args:
            width: of the terminal; None asks it.
        """
        from rich.table import Table
        from rich.text import Text

        if width is None:
            width = console(stderr=True).width
        failed = f"  {self.failed:,} failed" if self.failed else ""
        figures = f"{self.done:,} of {self.total:,}{failed}  {self.rest()}"
        left = width - len("x  ") - len(figures)
        cells: list[Text] = []
        if left >= _LEAST + 2:
            cells.append(
                Text(bar(self.done / max(1, self.total), min(_BAR, left - 2)), "green on grey23", no_wrap=True)
            )
            left -= min(_BAR, left - 2) + 2
        cells.append(Text(figures, no_wrap=True))
        if left >= _LEAST + 2 and self.under_way:
            run, began = min([*self.under_way.values()], key=lambda entry: entry[1])
            more = f" +{len(self.under_way) - 1}" if len(self.under_way) > 1 else ""
            doing = Text(f"{monotonic() - began:.0f} s {run.problem}, {run.label}{more}", style="dim", no_wrap=True)
            doing.truncate(left - 2, overflow="ellipsis")
            cells.append(doing)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_row(self.spinner, *cells)
        return table


def line_of(run: Run, outcome: RunOutcome) -> str:
    """Return the result of a run, in a line."""
    seed = f", seed {run.seed}" if run.seed else ""
    parts = [f"{outcome.status}: {run.problem} by {run.label}{seed}"]
    if outcome.value is not None:
        parts.append(f"plan {format_quantity(outcome.value, outcome.unit)}")
    if outcome.bound is not None:
        parts.append(f"bound {format_quantity(outcome.bound, outcome.unit)}")
    if outcome.gap is not None:
        parts.append(f"gap {format_gap(outcome.gap)}")
    if outcome.status in FAILED or outcome.status == "refused":
        parts.append((outcome.error.strip().partition("\n")[0] or STATUS_MEANINGS[outcome.status])[:200])
    elif outcome.seconds is not None:
        parts.append(duration(outcome.seconds))
    return f"{parts[0]}: {', '.join(parts[1:])}" if parts[1:] else parts[0]


def duration(seconds: float) -> str:
    """Return a duration in words that fit a line.

    >>> duration(4.2), duration(95), duration(7400), duration(200_000)
    ('4 s', '1 min 35 s', '2 h 3 min', '2 d 7 h')
    """
    whole = round(seconds)
    if whole < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, unit, below, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"
