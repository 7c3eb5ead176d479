"""Where a value stands in a JSON text, for messages about it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

__all__ = ["place_of"]

_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*+"|[\[\]{},:]|[^\s\[\]{},:"]+)')


def place_of(text: str, steps: Sequence[str | int]) -> tuple[int, int]:
    """Return the offsets of the value that names and numbers lead to; those of the whole text if there is none.

    >>> place_of('[{"a": 1}, {"a": [2]}]', [1, "a"])
    (17, 20)
    """
    tokens = [(match[1], match.start(1), match.end(1)) for match in _TOKEN.finditer(text)]
    at = 0
    for step in steps:
        found = _member(tokens, at, step)
        if found is None:
            return 0, len(text)
        at = found
    end = _end(tokens, at)
    return (tokens[at][1], tokens[end - 1][2]) if at < len(tokens) else (0, len(text))


def _member(tokens: Sequence[tuple[str, int, int]], at: int, step: str | int) -> int | None:
    """Return the token at which the member of an object or an array begins."""
    if at >= len(tokens) or tokens[at][0] not in ("[", "{"):
        return None
    named, number = tokens[at][0] == "{", 0
    at += 1
    while at < len(tokens) and tokens[at][0] not in ("]", "}"):
        key: str | int = json.loads(tokens[at][0]) if named else number
        at += 2 if named else 0
        if key == step:
            return at
        at, number = _end(tokens, at), number + 1
        at += at < len(tokens) and tokens[at][0] == ","
    return None


def _end(tokens: Sequence[tuple[str, int, int]], at: int) -> int:
    """Return the token behind a value."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at][0] in ("[", "{")) - (tokens[at][0] in ("]", "}"))
        at += 1
        if depth <= 0:
            break
    return at
