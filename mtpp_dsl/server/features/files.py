"""Files that a string may name: specs and the library behind ``include``, data files elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from mtpp_dsl.library.entries import FOLDER
from mtpp_dsl.server.features.candidate import Candidate
from mtpp_dsl.server.features.context import Context
from mtpp_dsl.server.reading import Reading

__all__ = ["files", "folder_of"]

MAX_FILES = 200
"""Files of a folder that are offered."""


def folder_of(reading: Reading) -> Path:
    """Return the folder that paths of a text start from."""
    return Path() if reading.source.path is None else Path(reading.source.path).parent


def files(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield the files and folders that the string at a place may name; nothing where it names no file."""
    words = [mark.text for mark in context.marks]
    include = words == ["include"]
    table = words[:1] == ["param"] and (words[-1:] == ["from"] or (words[2:4] == [":", "path"] and words[-1:] == ["="]))
    data = words in (["import"], ["import", "plan"], ["graph", "from"], ["times", "from"]) or table
    if not include and not data:
        return
    typed = context.string or ""
    own = None if reading.source.path is None else Path(reading.source.path).resolve()
    places = [folder_of(reading), *([FOLDER] if include else ())]
    for place in places:
        folder = place / typed.rpartition("/")[0]
        for name, is_folder in _listed(folder):
            if own is not None and name == own.name and (folder / name).resolve() == own:
                continue
            if is_folder or not include or name.endswith(".mtpp"):
                kind = types.CompletionItemKind.Folder if is_folder else types.CompletionItemKind.File
                detail = "of the library" if place is FOLDER else ""
                yield Candidate(f"{name}/" if is_folder else name, kind, int(is_folder), detail)


def _listed(folder: Path) -> list[tuple[str, bool]]:
    """Return the names in a folder, and which of them are folders; nothing of one that cannot be read."""
    found: list[tuple[str, bool]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= MAX_FILES:
                    break
                plain = not entry.name.startswith((".", "__")) and '"' not in entry.name and entry.name.isprintable()
                if plain and not entry.name.endswith(".py"):
                    found.append((entry.name, entry.is_dir()))
    except (OSError, ValueError):
        return []
    return sorted(found)
