"""``mtpp devices``: what the library has of devices and links."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mtpp_dsl.cli.listing import print_table
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.library.entries import LibraryEntry, entries, near

__all__ = ["list_library"]

_PEAK = re.compile(r"(\w+): ([0-9.]+) TFLOP/s")
_FOLDERS = ("devices/", "efficiency/", "links/")


def list_library(name: str | None, *, quiet: bool = False) -> int:
    """Print the types of devices, those and the links whose name or file has *name* in it, or the entry of that name.

    Where *quiet*, the names alone.

    Raises:
        UsageError: the library has nothing of that name.
    """
    known = {key: entry for key, entry in entries().items() if entry.file.startswith(_FOLDERS)}
    if name is not None and name in known:
        return _show(known[name], quiet=quiet)
    if name is None:
        found = [entry for entry in known.values() if entry.kind == "type"]
    else:
        found = [entry for entry in known.values() if name.lower() in entry.name or name.lower() in entry.file]
    if not found:
        raise UsageError(f"the library has no device and no link {name!r}{near(name or '', 'type')}")
    types = [entry for entry in found if entry.kind == "type"]
    links = [entry for entry in found if entry.kind != "type"]
    if types:
        print_table(("type", "memory", "bandwidth", "peak in TFLOP/s"), [_row(entry) for entry in types], quiet=quiet)
    if links:
        rows = [(entry.name, entry.file, _value(entry)) for entry in links]
        print_table(("name", "file", "value"), rows, quiet=quiet)
    if not quiet:
        say(_remedy(types or links), stderr=True)
    return 0


def _show(entry: LibraryEntry, *, quiet: bool) -> int:
    """Print one statement below its remarks and sources."""
    if quiet:
        say(entry.name)
        return 0
    for line in (f"in {entry.file}", *entry.remarks):
        say(f"# {line}")
    say(entry.text)
    return 0


def _row(entry: LibraryEntry) -> tuple[str, ...]:
    """Return name, memory, bandwidth and peaks of a type."""
    peaks = ", ".join(f"{kind} {rate}" for kind, rate in _PEAK.findall(entry.text))
    return entry.name, _option(entry, "memory"), _option(entry, "bandwidth"), peaks or "-"


def _option(entry: LibraryEntry, option: str) -> str:
    found = re.search(rf"\b{option} = ([0-9.]+ [A-Za-z/]+)", entry.text)
    return found[1] if found else "-"


def _value(entry: LibraryEntry) -> str:
    """Return what a definition says, without the entries of a map."""
    value = entry.text.partition(" = ")[2].partition("  #")[0]
    return "a map" if value.startswith("{") else value


def _remedy(found: Sequence[LibraryEntry]) -> str:
    """Return how to use what was listed."""
    entry = found[0]
    use = f"device d (type = {entry.name})" if entry.kind == "type" else f"bandwidth = {entry.name}"
    return f'include "{entry.file}" for {use}; mtpp devices {entry.name} shows the sources'
