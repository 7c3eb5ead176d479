"""Which function answers which method of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["HANDLERS", "handles"]

HANDLERS: list[tuple[str, Any, Callable[..., Any]]] = []
"""Methods, the options that the client is told of, and functions of a server (called ``ls``) and of parameters."""


def handles(method: str, options: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that has a function answer a method of the protocol.

    A function that may take long, or waits for a text to be read, is a coroutine: the client can then cancel it.
    """

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        HANDLERS.append((method, options, function))
        return function

    return noted
