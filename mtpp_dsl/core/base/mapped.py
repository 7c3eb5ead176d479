"""Large files that others wrote, mapped into memory: only what is looked at is read."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mtpp_dsl.core.base.files import open_regular
from mtpp_dsl.core.errors import UsageError

__all__ = ["digest", "mapped"]

_STEP = 2**24


@contextmanager
def mapped(path: str | os.PathLike[str], most: int, name: str = "") -> Iterator[bytes | mmap.mmap]:
    """Give the content of a regular file of at most *most* bytes without reading it; messages call it *name*.

    Raises:
        UsageError: see :func:`mtpp_dsl.core.base.files.open_regular`; it is larger than *most*.
    """
    name = name or os.fspath(path)
    with open_regular(Path(path), name) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise UsageError(f"{name} is larger than {most >> 20:,} MiB, the most that is read of such a file")
        if size == 0:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def digest(data: bytes | mmap.mmap, end: int | None = None) -> str:
    """Return the SHA-256 of the bytes before *end*, or of all."""
    found = hashlib.sha256()
    end = len(data) if end is None else end
    for start in range(0, end, _STEP):
        found.update(data[start : min(end, start + _STEP)])
    return found.hexdigest()
