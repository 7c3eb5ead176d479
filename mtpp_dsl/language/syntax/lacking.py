"""Where in a spec a statement that it lacks belongs."""

from __future__ import annotations

from collections.abc import Iterable

from mtpp_dsl.core.text.source import Edit, Fix, Source, Span
from mtpp_dsl.language.syntax import tree

__all__ = ["adding", "whole_lines"]

_GRAPHS = (
    tree.VersionStatement,
    tree.ParamStatement,
    tree.GraphBlock,
    tree.GraphFile,
    tree.GraphGenerator,
    tree.ImportStatement,
    tree.PhaseStatement,
)
_DEVICES = (*_GRAPHS, tree.TypeStatement, tree.SwitchStatement, tree.DeviceStatement)
_JOINED = (*_DEVICES, tree.InterconnectStatement, tree.LinkStatement)
_BEFORE: dict[str, tuple[type[tree.Tree], ...]] = {
    "device": _DEVICES,
    "interconnect": _DEVICES,
    "objective": (*_JOINED, tree.TimeStatement, tree.TimesFile, tree.TransferStatement),
}
"""What a statement stands behind, by what it is."""


def adding(what: str, text: str, source: Source, statements: Iterable[tree.Statement]) -> Fix | None:
    """Return the fix that writes a statement that a spec lacks: on a line of its own behind what usually precedes it.

    Args:
        what: "device", "interconnect" or "objective"; of anything else there is no fix.
        text: the statement.
        source: the text of the spec.
        statements: its statements, with those that it includes.
    """
    if what not in _BEFORE:
        return None
    held = [(statement, _own(statement.span, source)) for statement in statements]
    places = [span for _, span in held if span is not None]
    before = [span.stop for each, span in held if span is not None and isinstance(each, _BEFORE[what])]
    at = _line_end(source.text, max(before)) if before else len(source.text.rstrip())
    while (across := max((span.stop for span in places if span.start < at < span.stop), default=at)) > at:
        at = _line_end(source.text, across)
    new = f"\n{text}" if source.text[:at].strip() else f"{text}\n"
    return Fix(f"add, for example, '{text}'", (Edit(Span(source, at, at), new),), safe=False)


def whole_lines(span: Span) -> Span:
    """Return the lines of a statement, with their ends, where nothing but remarks stands beside it; else the span."""
    text = span.source.text
    start, stop = text.rfind("\n", 0, span.start) + 1, _line_end(text, span.stop)
    behind = text[span.stop : stop].strip()
    if text[start : span.start].strip() or (behind and not behind.startswith("#")):
        return _with_blanks(span)
    return Span(span.source, start, min(stop + 1, len(text)))


def _with_blanks(span: Span) -> Span:
    """Return a span with the blanks behind it."""
    text, stop = span.source.text, span.stop
    while stop < len(text) and text[stop] in " \t":
        stop += 1
    return Span(span.source, span.start, stop)


def _own(span: Span, source: Source) -> Span | None:
    """Return where a text has a statement, or the include that brings it; None where it has neither."""
    found: Span | None = span
    while found is not None and found.source is not source:
        found = found.source.included_from
    return found


def _line_end(text: str, at: int) -> int:
    stop = text.find("\n", at)
    return len(text) if stop < 0 else stop
