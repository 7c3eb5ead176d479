"""The files that the globs of a sweep stand for."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.problem_files import Absent, substituted
from mtpp_dsl.sweeps.file.run import Scalar
from mtpp_dsl.sweeps.file.sweep import ProblemEntry

__all__ = ["FoundSpec", "found_specs"]

MAX_FILES = 100_000
_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class FoundSpec:
    """A spec of a sweep.

    Attributes:
        spec: its path from the folder of the sweep, with slashes, or its text.
        path: where it is; the folder of the sweep for a text.
        words: what ``{stem}`` and ``{folder}`` stand for in names.
        shown: what messages call it.
    """

    spec: str
    path: Path
    words: Mapping[str, Scalar]
    shown: str


def found_specs(entry: ProblemEntry, folder: Path, data: str) -> list[FoundSpec]:
    """Return the specs of an entry, each once, in the order of its globs and then of their names.

    Raises:
        Absent: a glob stands for nothing.
        UsageError: a glob stands for too much, for a name of several lines, or begins with ``**`` at the root.
    """
    if entry.text:
        return [FoundSpec(entry.text, folder, {"stem": entry.stem, "folder": folder.name}, "its text")]
    found: dict[str, FoundSpec] = {}
    for pattern in entry.specs:
        for spec in _matching(pattern, folder, data, entry.place):
            if "\n" in spec:  # which tells a text from a path
                raise UsageError(f"{entry.place}: {spec!r:.80}: the name of a spec in a sweep is one line")
            path = Path(os.path.normpath(folder / substituted(spec, data)))
            found.setdefault(spec, FoundSpec(spec, path, {"stem": path.stem, "folder": path.parent.name}, spec))
    return list(found.values())


def _matching(pattern: str, folder: Path, data: str, place: str) -> list[str]:
    """Return the paths that a glob stands for, written as the glob is."""
    parts = PurePosixPath(pattern).parts
    fixed = PurePosixPath(*itertools.takewhile(lambda part: not _SIGNS.search(part), parts))
    rest = parts[len(fixed.parts) :]
    try:
        base = folder / substituted(str(fixed), data)
    except Absent as error:
        raise Absent(f"{place}: {error}") from None
    if not rest:
        if not base.is_file():
            raise Absent(f"{place}: there is no file {pattern}")
        return [pattern]
    if base == Path(base.anchor) and "**" in rest:
        raise UsageError(f"{place}: {pattern}: '**' does not begin at the root: name a folder")
    try:
        paths = [path for path in itertools.islice(base.glob("/".join(rest)), MAX_FILES + 1) if path.is_file()]
    except (ValueError, NotImplementedError, OSError) as error:
        raise UsageError(f"{place}: {pattern}: {error}") from None
    if not paths:
        raise Absent(f"{place}: there is no file like {pattern}")
    if len(paths) > MAX_FILES:
        raise UsageError(f"{place}: {pattern} stands for more than {MAX_FILES:,} files")
    return sorted((fixed / path.relative_to(base).as_posix()).as_posix() for path in paths)
