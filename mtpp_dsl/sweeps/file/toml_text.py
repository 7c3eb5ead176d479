"""A TOML text with the places of its keys, for messages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.text.source import Diagnostic, Source, Span

Key: TypeAlias = tuple[str | int, ...]
"""Where a value stands: names of tables, and numbers in lists, from the outermost."""

MAX_BYTES = 4 * 2**20
MAX_DOTS = 1_000
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_HEADER = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*\]")
_ASSIGNED = re.compile(rf"[ \t]*({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*=")
_PART = re.compile(_NAME)
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_SKIPPED = re.compile(
    r"#[^\n]*|'''(?:.|\n)*?'''|" + r'"""(?:\\.|[^\\])*?"""' + r"|'[^'\n]*'|" + r'"(?:\\.|[^"\\\n])*+"'
)


class TomlText:
    """What a TOML text says, and where.

    Args:
        source: the text.

    Attributes:
        data: the outermost table.
        wrong: complaints so far, in the order in which they were found.

    Raises:
        SpecError: it is not TOML; says where.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.wrong: list[Diagnostic] = []
        self.data = _parsed(source)
        self._spans = dict(_spans(source))

    def span(self, key: Key) -> Span:
        """Return where a key stands; of one inside a list or a table on one line, where that begins."""
        while key and key not in self._spans:
            key = key[:-1]
        return self._spans.get(key, Span(self.source, 0, 0))

    def complain(self, key: Key, message: str, *notes: str) -> None:
        """Add a complaint about a key."""
        self.wrong.append(Diagnostic(message, self.span(key), notes=notes))

    def check(self) -> None:
        """Raise what was complained of, in the order of the text.

        Raises:
            SpecError: something was.
        """
        if self.wrong:
            raise SpecError(sorted(self.wrong, key=lambda fault: 0 if fault.span is None else fault.span.start))


def read_toml(path: Path) -> TomlText:
    """Read a TOML file of at most 4 MiB.

    Raises:
        SpecError: it is not TOML; says where.
        UsageError: it is not there, not readable, too large, or not UTF-8.
    """
    return TomlText(Source(str(path), read_text(path, MAX_BYTES, wanted="TOML"), path=path))


def _parsed(source: Source) -> dict[str, Any]:
    if any(line.count(".") > MAX_DOTS for line in source.text.splitlines()):  # keys in keys take quadratic time to read
        raise UsageError(f"{source.name}: not TOML that can be read: a line has more than {MAX_DOTS:,} dots")
    try:
        return tomllib.loads(source.text)
    except RecursionError:
        raise UsageError(f"{source.name}: not TOML that can be read: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        message = f"not TOML: {_AT.sub('', str(error)).strip()}"
        offset = len(source.text) if at is None else _offset(source, int(at[1]), int(at[2]))
        raise SpecError([Diagnostic(message, Span(source, offset, offset))]) from None
    except ValueError as error:  # a number of too many digits
        raise UsageError(f"{source.name}: not TOML that can be read: {error}") from None


def _offset(source: Source, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = source.text.find("\n", start) + 1
    return min(start + column - 1, len(source.text))


def _spans(source: Source) -> Iterator[tuple[Key, Span]]:
    """Yield every header of a table and every key that begins a line, with its place.

    What stands in strings and comments is blanked first, so that a spec in the text has no keys.
    """
    text = _SKIPPED.sub(_blank, source.text)
    counts: dict[Key, int] = {}
    table: Key = ()
    start = depth = 0
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line) if depth == 0 else None
        assigned = _ASSIGNED.match(line) if depth == 0 and header is None else None
        for match, group in ((header, 2), (assigned, 1)):
            if match is None:
                continue
            span = Span(source, start + match.start(group), start + match.end(group))
            names = _parts(span.text)
            if match is header:
                table = _resolved(names, counts, several=match[1] == "[[")
                yield table, span
            else:
                yield from ((table + names[: end + 1], span) for end in range(len(names)))
        if header is None:
            depth = max(0, depth + sum(map(line.count, "[{")) - sum(map(line.count, "]}")))
        start += len(line)


def _blank(match: re.Match[str]) -> str:
    """Return what stands in place of a comment or a string: quoted names stay as long as they are."""
    inner = re.sub(r"[^\n]", "_", match[0][1:-1])
    return match[0][0] + inner + match[0][-1] if match[0][0] != "#" and len(match[0]) > 1 else " " * len(match[0])


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _resolved(names: tuple[str, ...], counts: dict[Key, int], *, several: bool) -> Key:
    """Return the key of a header: after a name of a list of tables comes the number of its last one."""
    key: Key = ()
    for place, name in enumerate(names):
        key = (*key, name)
        if several and place == len(names) - 1:
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            key = (*key, counts[key])
    return key
