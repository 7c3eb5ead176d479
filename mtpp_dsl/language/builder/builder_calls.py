"""Statements that were said in Python: each with its text, and the call that said it."""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from mtpp_dsl.core.base.data_classes import short
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.text.source import Diagnostic, Source

__all__ = ["BuilderCall", "BuilderStatement", "joined", "named_calls", "says"]

MAX_ARGUMENTS = 3
"""So many arguments of a call are shown."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class BuilderCall:
    """A call of a method: its name, what it was given, and its place in the user's program."""

    method: str
    given: tuple[Any, ...]
    options: dict[str, Any]
    file: str
    line: int

    def __str__(self) -> str:
        shown = [short(argument) for argument in self.given] + [
            f"{name}={short(argument)}" for name, argument in self.options.items()
        ]
        more = ", …" if len(shown) > MAX_ARGUMENTS else ""
        near = os.path.relpath(self.file)
        place = f" at {near if not near.startswith('..') else Path(near).name}:{self.line}"
        return f"{self.method}({', '.join(shown[:MAX_ARGUMENTS])}{more}){place}"


@dataclass(frozen=True)
class BuilderStatement:
    """A statement, or an item of a graph, and the call that said it."""

    text: str
    call: BuilderCall | None


def says(method: F) -> F:
    """Let a method of a builder be named, with its place, by what is wrong with the statements that it says."""

    @wraps(method)
    def noted(builder: Any, *given: Any, **options: Any) -> Any:
        if builder._call is not None:  # called by another method, which the user has called
            return method(builder, *given, **options)
        frame = sys._getframe(1)
        builder._call = BuilderCall(method.__name__, given, dict(options), frame.f_code.co_filename, frame.f_lineno)
        try:
            return method(builder, *given, **options)
        except UsageError as error:
            error.args = (f"{builder._call}: {error}", *error.args[1:])
            raise
        finally:
            builder._call = None

    return cast("F", noted)


def joined(parts: Sequence[BuilderStatement | str]) -> tuple[str, list[int], list[BuilderCall | None]]:
    """Return the text of statements, one after another, where each begins, and the call that said each."""
    starts, calls, length = [], [], 0
    for part in parts:
        starts.append(length)
        calls.append(None if isinstance(part, str) else part.call)
        length += len(part if isinstance(part, str) else part.text) + 1
    return "\n".join(part if isinstance(part, str) else part.text for part in parts) + "\n", starts, calls


@contextmanager
def named_calls(text: str, starts: Sequence[int], calls: Sequence[BuilderCall | None]) -> Iterator[None]:
    """Let the errors of a text that is read inside name the calls that said its statements."""

    def named(diagnostic: Diagnostic) -> Diagnostic:
        if diagnostic.span is None or diagnostic.span.source.text != text:
            return diagnostic
        call = calls[bisect_right(starts, diagnostic.span.start) - 1]
        return diagnostic if call is None else replace(diagnostic, notes=(*diagnostic.notes, f"from {call}"))

    try:
        yield
    except SpecError as error:
        raise SpecError([named(diagnostic) for diagnostic in error.diagnostics]) from None


def source(text: str) -> Source:
    """Return the text that a builder makes, as messages call it."""
    return Source("<builder>", text)
