"""Adding functions to a typer app as commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature, cleandoc
from typing import TYPE_CHECKING, Any, get_type_hints

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    import typer

Command = Callable[..., int]
ALL = "--help-all"


def without_values(params: list[Any]) -> list[Any]:
    """Return the parameters of a command, of which flags have no value in the help."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


def suggest_beginnings(error: Exception, params: list[Any]) -> None:
    """Have a complaint about an unknown option name those options that begin with what was typed, if there are any.

    Else it names those that are spelt alike. The class of the complaint is typer's or click's, by their versions.
    """
    typed = getattr(error, "option_name", None)
    if isinstance(typed, str) and hasattr(error, "possibilities"):
        known = [name for param in params for name in param.opts if name.startswith("--")]
        error.possibilities = [name for name in known if name.startswith(typed)] or error.possibilities


class Group(TyperGroup):
    """A group of commands, whose help shows flags without a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group."""
        return without_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            suggest_beginnings(error, self.get_params(ctx))
            raise


class Folding(TyperCommand):
    """A command whose help leaves out hidden options and says how to see them, and shows flags without a value."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        hidden = [param for param in self.params if getattr(param, "hidden", False)]
        if hidden:
            self.epilog = f"{ALL} lists {len(hidden)} more options, of single methods."

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options of the command."""
        return without_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; ``--help-all`` shows the help with all options."""
        if ALL in args:
            for param in self.params:
                if hasattr(param, "hidden"):
                    param.hidden = False
            self.epilog = None
            args = ["--help"]
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            suggest_beginnings(error, self.get_params(ctx))
            raise


def commands_of(app: typer.Typer, panels: Mapping[str, Sequence[str]] | None = None) -> Callable[[Command], Command]:
    """Return a decorator that makes a function a command of *app*, called as the function is.

    A function with one parameter *call*, of a dataclass, has the fields of that as its arguments and options: their
    annotations are typer's. The paragraphs of the help are broken where the terminal ends, not where the lines of the
    docstring end. *panels* has the names of the commands in each group of the help.
    """
    panel_of = {name: panel for panel, names in (panels or {}).items() for name in names}

    def command(function: Command) -> Command:
        paragraphs = cleandoc(function.__doc__ or "").split("\n\n")
        name = function.__name__.strip("_").replace("_", "-")
        call = get_type_hints(function).get("call")
        action = function if call is None else _with_fields(function, call)
        words = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        app.command(name, help=words, cls=Folding, rich_help_panel=panel_of.get(name))(action)
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
