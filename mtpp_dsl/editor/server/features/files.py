"""Files that a string may name: specs and the library behind ``include``, elsewhere data files that can be read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

from lsprotocol import types

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.editor.server.features.candidate import Candidate
from mtpp_dsl.editor.server.features.context import Context
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER

__all__ = ["files", "folder_of"]

_SPEC = ".mtpp"
_ANY = ("",)

MAX_FILES = 200
"""Files of a folder that are offered."""

MAX_LOOKED = 20_000
"""Files of a folder that are looked at."""


def folder_of(reading: TextReading) -> Path:
    """Return the folder that paths of a text start from."""
    return Path() if reading.source.path is None else Path(reading.source.path).parent


def files(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the files and folders that the string at a place may name; nothing where it names no file."""
    words = [mark.text for mark in context.marks]
    suffixes = _suffixes(words)
    if not suffixes:
        return
    typed = context.string or ""
    own = None if reading.source.path is None else Path(reading.source.path).resolve()
    places = [folder_of(reading), *([FOLDER] if suffixes == (_SPEC,) else ())]
    for place in places:
        folder = place / typed.rpartition("/")[0]
        for name, is_folder in _listed(folder, suffixes):
            if own is not None and name == own.name and (folder / name).resolve() == own:
                continue
            kind = types.CompletionItemKind.Folder if is_folder else types.CompletionItemKind.File
            detail = "of the library" if place is FOLDER else ""
            yield Candidate(f"{name}/" if is_folder else name, kind, int(is_folder), detail)


def _suffixes(words: Sequence[str]) -> tuple[str, ...]:
    """Return how the files end that a statement of these words may name; () where it names none."""
    match words:
        case ["include"]:
            return (_SPEC,)
        case ["import"] | ["graph", "from"]:
            return _of_graphs()
        case ["import", "plan"]:
            return (".json",)
        case ["times", "from"] | ["param", _, ":", "table", "from"]:
            return (".csv", ".json")
        case ["param", _, ":", "path", "="]:
            return _ANY
    return ()


@cache
def _of_graphs() -> tuple[str, ...]:
    """Return how the files end that graphs are read from."""
    found: set[str] = set()
    for name in registry.available(registry.FORMATS):
        with suppress(PluginError):
            found |= set(registry.load(registry.FORMATS, name).suffixes)
    return tuple(sorted(found))


def _listed(folder: Path, suffixes: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the folders in a folder and the files that end so; nothing of one that cannot be read."""
    found: list[tuple[str, bool]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_LOOKED):
                if len(found) >= MAX_FILES:
                    break
                name = entry.name
                if name.startswith((".", "__")) or '"' in name or not name.isprintable():
                    continue
                is_folder = entry.is_dir()
                other = suffixes == _ANY and name.endswith((_SPEC, ".py"))
                if is_folder or (name.lower().endswith(suffixes) and not other):
                    found.append((name, is_folder))
    except (OSError, ValueError):
        return []
    return sorted(found)
