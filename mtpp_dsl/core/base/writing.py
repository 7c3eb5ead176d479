"""Writing of answers: all of a file or nothing of it, and a place that cannot be written is known beforehand."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path

from mtpp_dsl.core.base.overwriting import check_apart, note_output
from mtpp_dsl.core.errors import UsageError

__all__ = ["check_writable", "write_bytes", "write_text"]

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
    check_apart(paths)
    for path in paths:
        note_output(path)


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
        OSError: it cannot be written; *path* is as it was. Or it is a pipe that nobody reads.
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
        raise OSError(errno.ENXIO, "it is a pipe that nobody reads") from None
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
