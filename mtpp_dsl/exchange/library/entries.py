"""List what the library declares, by name, read from its files without parsing them as specs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mtpp_dsl.core.errors import did_you_mean

FOLDER = Path(__file__).resolve().parent
"""The folder in which ``include`` finds the library."""

LIBRARY = "<library>"
"""What messages and answers call that folder, which is elsewhere on every machine."""

_BEGINS = re.compile(r"(type|let|def) ([A-Za-z_][A-Za-z0-9_]*)")


MAX_NEAR = 6
"""Names offered in place of one that is not there."""


@dataclass(frozen=True)
class LibraryEntry:
    """A statement of the library.

    Attributes:
        name: what it declares, such as ``l40s``.
        kind: ``type``, ``let`` or ``def``.
        file: where it is, as ``include`` takes it: ``devices/nvidia.mtpp``.
        text: the statement.
        remarks: the lines of comment above it, without ``#``: remarks and sources.
    """

    name: str
    kind: str
    file: str
    text: str
    remarks: tuple[str, ...]


@cache
def entries() -> Mapping[str, LibraryEntry]:
    """Return every type, definition and function of the library by its name, in the order of the files."""
    by_name = {}
    for path in sorted(FOLDER.glob("*/*.mtpp")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            for entry in _of_block(block.strip("\n"), path.relative_to(FOLDER).as_posix()):
                by_name[entry.name] = entry
    return by_name


def near(name: str, kind: str, more: Iterable[str] = ()) -> str:
    """Return "; did you mean …" with the names of one kind that begin as *name* does, or else the nearest; or "".

    Args:
        name: that is not there.
        kind: of which the library has the names.
        more: names that are there beside.

    >>> near("h100", "type")
    '; did you mean h100_pcie, h100_sxm or h100_nvl?'
    """
    names = list(dict.fromkeys([*more, *(entry.name for entry in entries().values() if entry.kind == kind)]))
    longer = [other for other in names if name and other.startswith(name.lower())][:MAX_NEAR]
    if not longer:
        return did_you_mean(name, names)
    *others, last = longer
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def keys_of(name: str) -> frozenset[str]:
    """Return the keys of a map of the library, such as ``pcie_of``."""
    return frozenset(re.findall(r'"(\w+)":', entries()[name].text))


def _of_block(block: str, file: str) -> list[LibraryEntry]:
    """Return the statements of a block: they begin in the first column, and share the comment above them."""
    lines = block.splitlines()
    remarks = tuple(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    block_entries: list[LibraryEntry] = []
    for line in lines:
        begins = _BEGINS.match(line)
        if begins is not None:
            block_entries.append(LibraryEntry(begins[2], begins[1], file, line, remarks))
        elif line.startswith((" ", ")", "}")) and block_entries:
            last = block_entries.pop()
            block_entries.append(LibraryEntry(last.name, last.kind, file, f"{last.text}\n{line}", remarks))
    return block_entries
