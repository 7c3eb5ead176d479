"""The line on a terminal that shows how far a long piece of work is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mtpp_dsl.cli.plain import encodes
from mtpp_dsl.cli.screen import console
from mtpp_dsl.cli.streams import answers_only

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.table import Table

__all__ = ["live_line", "spinner"]


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
