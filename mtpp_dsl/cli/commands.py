"""Adding functions to a typer app as commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature, cleandoc
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    import typer

Command = Callable[..., int]


def commands_of(app: typer.Typer) -> Callable[[Command], Command]:
    """Return a decorator that makes a function a command of *app*, called as the function is.

    A function with one parameter *call*, of a dataclass, has the fields of that as its arguments and options: their
    annotations are typer's. The paragraphs of the help are broken where the terminal ends, not where the lines of the
    docstring end.
    """

    def command(function: Command) -> Command:
        paragraphs = cleandoc(function.__doc__ or "").split("\n\n")
        name = function.__name__.strip("_").replace("_", "-")
        call = get_type_hints(function).get("call")
        action = function if call is None else _with_fields(function, call)
        app.command(name, help="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))(action)
        return function

    return command


def _with_fields(function: Command, call: Any) -> Command:
    """Return the function that takes the fields of a call one by one, and gives *function* the call that they make."""

    def action(**values: Any) -> int:
        return function(call(**values))

    hints = get_type_hints(call, include_extras=True)
    action.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name])
            for field in fields(call)
        ]
    )
    return action


def _default(field: Field[Any]) -> Any:
    """Return the default of a field as that of a parameter."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is MISSING else field.default
