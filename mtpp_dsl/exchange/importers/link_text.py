"""Links between devices as statements of the language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mtpp_dsl.core.errors import UsageError

__all__ = ["Joined", "checked_number", "comment_text", "device_name", "statements"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[0-9]+(, ?[0-9]+)*\])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
MAX_TEXT = 200
"""Characters of a device's name, or of a number, that are taken."""


@dataclass(frozen=True)
class Joined:
    """A link from one device to another, with its options as the language writes them.

    Attributes:
        first: the device that sends, as a name of the language.
        second: the one that receives.
        options: such as ``bandwidth = 12 GB/s``.
        remark: what a comment behind the statement says; "" for none.
        both: the link is the same the other way.
    """

    first: str
    second: str
    options: str
    remark: str = ""
    both: bool = False


def device_name(text: str, place: str) -> str:
    """Return the name of a device as the language writes it: as it is, or else as a string.

    Raises:
        UsageError: it is empty, too long, or has characters that do not print.
    """
    text = text.strip()
    if not text or len(text) > MAX_TEXT or not text.isprintable():
        raise UsageError(f"{place}: {text[:40]!r} is no name of a device")
    if _NAME.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def checked_number(text: str, what: str, place: str, *, least: str) -> str:
    """Return a number as it is written, which the language reads the same.

    Raises:
        UsageError: it is no number, or not above zero where *least* is ``"above"``; ``"zero"`` allows zero.
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text) or len(text) > MAX_TEXT:
        raise UsageError(f"{place}: {text[:40]!r} is no {what}; a number without sign and unit is needed")
    if float(text) == float("inf"):
        raise UsageError(f"{place}: the {what} {text[:40]} is too large")
    if least == "above" and float(text) == 0:
        raise UsageError(f"{place}: the {what} must be more than zero; leave the link out for none")
    return text


def comment_text(text: str) -> str:
    """Return a text for a comment: in one line, without what does not print."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:MAX_TEXT]


def statements(links: Sequence[Joined]) -> str:
    """Return the statements, one a line and their options in one column; two equal directions become one ``<->``."""
    merged = list(_merged(links))
    first = max((len(link.first) for link in merged), default=0)
    arrow = max((3 if link.both else 2 for link in merged), default=0)
    second = max((len(link.second) for link in merged), default=0)
    lines = []
    for link in merged:
        ends = f"{link.first:<{first}} {'<->' if link.both else '->':<{arrow}} {link.second:<{second}}"
        lines.append(f"link {ends} ({link.options}){f'  # {link.remark}' if link.remark else ''}\n")
    return "".join(lines)


def _merged(links: Iterable[Joined]) -> Iterable[Joined]:
    """Return the links in their order, a pair of equal ones as one both ways where the first of them stands."""
    found: dict[tuple[str, str], Joined] = {}
    for link in links:
        back = found.get((link.second, link.first))
        if back is not None and not link.both and (back.options, back.remark) == (link.options, link.remark):
            found[link.second, link.first] = replace(back, both=True)
        else:
            found[link.first, link.second] = link
    return found.values()
