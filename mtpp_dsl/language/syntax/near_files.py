"""Files of specs that are called nearly as one that is not there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from mtpp_dsl.core.errors import near
from mtpp_dsl.exchange.library.entries import FOLDER

__all__ = ["near_spec"]

MAX_FILES = 500
"""Files of a folder that are compared."""

MAX_FOLDERS = 20
"""Folders in which a file is looked for that is not where it was written."""

_SUFFIX = ".mtpp"


def near_spec(name: str, places: Iterable[Path], but: Collection[Path] = ()) -> str:
    """Return what an ``include`` of a file that is not there may have meant, as ``include`` takes it; "" for nothing.

    Args:
        name: as it is written.
        places: folders in which it was looked for; the library comes after them.
        but: files that cannot be meant, as they include this one.
    """
    places = [*places, FOLDER]
    written = PurePosixPath(name)
    if not written.name:
        return ""
    wanted = written.name.removesuffix(_SUFFIX)
    here = [(written.parent / each).as_posix() for place in places for each in _specs(place / written.parent)]
    for found, cutoff in ((here, 0.6 if len(wanted) > 2 else 0.5), (_below(places), 0.6)):
        stems: dict[str, str] = {}
        for each in found:
            stems.setdefault(PurePosixPath(each).stem, each)
        for stem in [stem for stem, each in stems.items() if any(_real(place / each) in but for place in places)]:
            del stems[stem]
        close = near(wanted, stems, cutoff)
        if close:
            return stems[close]
    return ""


def _real(path: Path) -> Path:
    """Return where a path leads, also by way of links that lead to themselves, which pathlib refuses."""
    return Path(os.path.realpath(path))


def _specs(folder: Path) -> Iterator[str]:
    """Yield the names of the specs in a folder; nothing of one that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_FILES):
                if entry.name.endswith(_SUFFIX) and entry.name.isprintable() and not set(entry.name) & set('"\\'):
                    yield entry.name
    except (OSError, ValueError):
        return


def _below(places: Iterable[Path]) -> Iterator[str]:
    """Yield the specs one folder below these, as ``include`` takes them."""
    for place in places:
        try:
            with os.scandir(place) as entries:
                folders = [each.name for each in islice(entries, MAX_FILES) if each.is_dir() and each.name[0] != "."]
        except (OSError, ValueError):
            continue
        for folder in sorted(folders)[:MAX_FOLDERS]:
            yield from (f"{folder}/{each}" for each in _specs(place / folder))
