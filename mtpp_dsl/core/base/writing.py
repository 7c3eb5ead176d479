"""Write all of a file or nothing of it, know beforehand what cannot be written, and overwrite nothing that is read.

Files are compared by what they are, not by their names: a link to a file is that file. This is noted for one command
at a time, of the command line; where Python calls us, the caller decides.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import TypeAlias

from mtpp_dsl.core.errors import OverwriteError, UsageError

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


def _note_output(path: Path) -> None:
    """Note that a file will be written.

    Raises:
        OverwriteError: the command has read it.
    """
    identity = None if _files is None else _identity(path)
    if _files is not None and identity is not None:
        _files.outputs[identity] = os.fspath(path)
        if identity in _files.read:
            raise _refusal(os.fspath(path), _files.read[identity])


def _check_apart(paths: Sequence[Path]) -> None:
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


_OPEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_PROBE = b"\0" * 4096
_numbers = count()


def check_writable(*paths: Path) -> None:
    """Write next to each path as :func:`write_text` would, and leave nothing there.

    Raises:
        UsageError: a path is a folder or -, its own folder is missing, it is write-protected, or the disk is full; or
            two of them are one file.
        OverwriteError: the command has read such a file. If it reads one later, that is when this is raised.
    """
    for path in paths:
        _check_place(path)
    _check_apart(paths)
    for path in paths:
        _note_output(path)


def _check_place(path: Path) -> None:
    if path == Path("-"):
        raise UsageError("cannot write to -: only --json goes to stdout")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "it is write-protected")
        if not _in_place(path):
            target = Path(os.path.realpath(path))
            _temporary(target, _PROBE).unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write *text* as UTF-8; see :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file: whoever reads *path* finds the old content or the new, also after a crash.

    It is written to a file in the same folder, which then takes the place of *path*; links are followed. Devices,
    pipes, and files in folders that cannot be written are written as they are. A reader of a pipe is not waited for.

    Raises:
        OSError: it cannot be written; *path* is as it was. Or it is a pipe without a reader.
    """
    if _in_place(path):
        _write_in_place(path, data)
        return
    target = Path(os.path.realpath(path))
    temporary = _temporary(target, data)
    try:
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # not every system can do this with a folder
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _in_place(path: Path) -> bool:
    """Return whether *path* cannot be replaced by another file."""
    if path.absolute().parts[1:2] in [("dev",), ("proc",)]:
        return True
    return path.exists() and not (path.is_file() and os.access(os.path.realpath(path.parent), os.W_OK))


def _write_in_place(path: Path, data: bytes) -> None:
    try:
        handle = os.open(path, _OPEN, 0o666)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "it is a pipe without a reader") from None
    with os.fdopen(handle, "wb") as file:
        if hasattr(os, "set_blocking"):
            os.set_blocking(handle, True)
        file.write(data)


def _temporary(target: Path, data: bytes) -> Path:
    """Write *data* to a file beside *target*, through to the disk, and return its path."""
    path = target.parent / f".mtpp-{os.getpid()}-{next(_numbers)}.tmp"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
