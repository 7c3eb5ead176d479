"""Refuse to write onto a file that a command reads, and two outputs onto one file.

Files are compared by what they are, not by their names: a link to a file is that file. This is noted for one command
at a time, of the command line; where Python calls us, the caller decides.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

from mtpp_dsl.core.errors import OverwriteError, UsageError

__all__ = ["check_apart", "guarding", "note_output", "note_read", "replacing"]

Identity: TypeAlias = tuple[int, int, str]
"""Device and inode of a file, and ""; of a file that is not there yet those of its folder, and its name."""


class _Files:
    """The files that a command has read and those that it will write, by what they are, with their names."""

    def __init__(self) -> None:
        self.read: dict[Identity, str] = {}
        self.outputs: dict[Identity, str] = {}


_files: _Files | None = None


@contextmanager
def guarding() -> Iterator[None]:
    """Note files while the block runs."""
    global _files
    before, _files = _files, _Files()
    try:
        yield
    finally:
        _files = before


@contextmanager
def replacing(path: Path, output: Path | None) -> Iterator[None]:
    """Let *output* be the file *path* that is read while the block runs: work goes on from what it will replace."""
    same = output is not None and output.exists() and path.exists() and output.samefile(path)
    with guarding() if same else nullcontext():
        yield


def note_read(status: os.stat_result, name: str) -> None:
    """Note that a file is read.

    Raises:
        OverwriteError: the command would write onto it.
    """
    if _files is not None:
        identity = (status.st_dev, status.st_ino, "")
        _files.read.setdefault(identity, name)
        if identity in _files.outputs:
            raise _refusal(_files.outputs[identity], name)


def note_output(path: Path) -> None:
    """Note that a file will be written.

    Raises:
        OverwriteError: the command has read it.
    """
    identity = None if _files is None else _identity(path)
    if _files is not None and identity is not None:
        _files.outputs[identity] = os.fspath(path)
        if identity in _files.read:
            raise _refusal(os.fspath(path), _files.read[identity])


def check_apart(paths: Sequence[Path]) -> None:
    """Refuse outputs of which two would be written to one file.

    Raises:
        UsageError: so it is, with the two names.
    """
    places: dict[Identity, Path] = {}
    for path in paths:
        identity = _identity(path)
        first = path if identity is None else places.setdefault(identity, path)
        if first is not path:
            same = "" if first == path else f", which is {first}"
            raise UsageError(f"two outputs would be written to {path}{same}; name a file for each")


def _refusal(output: str, name: str) -> OverwriteError:
    same = "" if output == name else f", which is {name}"
    return OverwriteError(f"cannot write {output}: this command reads that file{same}; name another one for the output")


def _identity(path: Path) -> Identity | None:
    """Return what a path leads to; None of pipes and devices, which many may write to, and of what has no folder."""
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
        return (status.st_dev, status.st_ino, "") if stat.S_ISREG(status.st_mode) else None
    except OSError:
        pass
    try:
        folder = target.parent.stat()
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, target.name
