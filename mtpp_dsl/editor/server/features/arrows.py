"""The arrow between two nodes or devices, also where its first sign is written already."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mtpp_dsl.core.text.source import Source
from mtpp_dsl.editor.server.features.candidate import Candidate, Kind
from mtpp_dsl.editor.server.features.context import Context, context_at

__all__ = ["arrow_begun", "arrows"]

_BEGUN = re.compile(r"(?:<-?|-)\Z")
_ARROWS = {"ARROW": ("->", "to"), "BOTHWAYS": ("<->", "both ways")}
"""Arrows, with what they say, by their terminals."""


def arrow_begun(source: Source, offset: int) -> Context | None:
    """Return what stands around the first sign of an arrow that ends at a place; None where it is no arrow."""
    match = _BEGUN.search(source.text, max(0, offset - 2), offset)
    if match is None:
        return None
    context = context_at(source, match.start())
    return context if next(arrows(context), None) is not None else None


def arrows(context: Context) -> Iterator[Candidate]:
    """Yield the arrows that may stand at a place."""
    if context.comment or context.string is not None or context.prefix:
        return
    for terminal, (sign, says) in _ARROWS.items():
        if terminal in (context.expected or ()):
            rank = 0 if context.keyword in ("edge", "link") else 3
            yield Candidate(sign, Kind.Operator, rank, says)
