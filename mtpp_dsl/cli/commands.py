"""Adding functions to a typer app as commands."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["commands_of"]

Command = Callable[..., int]


def commands_of(app: typer.Typer) -> Callable[[Command], Command]:
    """Return a decorator that makes a function a command of *app*, called as the function is.

    The paragraphs of its help are broken where the terminal ends, not where the lines of its docstring end.
    """

    def command(function: Command) -> Command:
        paragraphs = cleandoc(function.__doc__ or "").split("\n\n")
        name = function.__name__.strip("_").replace("_", "-")
        app.command(name, help="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))(function)
        return function

    return command
