"""Reading of files that others wrote: regular files only, no more than a stated size, UTF-8, JSON."""

from __future__ import annotations

import codecs
import hashlib
import json
import mmap
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from mtpp_dsl.core.base.writing import note_read
from mtpp_dsl.core.errors import MtppError, UsageError

Folders: TypeAlias = Iterable[str | os.PathLike[str]] | os.PathLike[str]
"""Folders to look in, one after the other."""

MAX_FILE_BYTES = 128 * 2**20
"""A larger file is refused."""

MAX_JSON_OBJECTS = 4_000_000
MAX_JSON_VALUES = 16_000_000
"""A JSON file with more objects, or more values of any kind, is refused: it would not fit into 2 GB of memory."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # never wait for a pipe's writer
SQLITE = b"SQLite format 3\0"
"""The first bytes of a SQLite database."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_BINARY = (
    (SQLITE, "a SQLite database"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"PAR1", "a Parquet file"),
    (b"GGUF", "a GGUF model"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
)
"""How files begin that people hand over in place of text."""
_REMEDY = {"text in UTF-16": ": save the file as UTF-8"}
_HEAD = 8192
NAMES = (("sourceId", "destId"), ("source", "target"), ("id", ""))
"""What JSON objects are known by in messages."""


_HASHES: ContextVar[dict[str, str] | None] = ContextVar("hashes", default=None)


@contextmanager
def hashing() -> Iterator[dict[str, str]]:
    """Give a dictionary that fills with the SHA-256 of every file read inside, by its absolute path."""
    hashes: dict[str, str] = {}
    token = _HASHES.set(hashes)
    try:
        yield hashes
    finally:
        _HASHES.reset(token)


def folders_of(folders: Folders) -> tuple[Path, ...]:
    """Return folders as paths; one alone is meant as one.

    >>> [path.name for path in folders_of("lib")], [path.name for path in folders_of(["a", Path("b")])]
    (['lib'], ['a', 'b'])
    """
    return (Path(folders),) if isinstance(folders, (str, os.PathLike)) else tuple(Path(folder) for folder in folders)


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path from the root, without following links."""
    return os.path.normpath(Path(path).absolute())


def note_hash(path: str | os.PathLike[str]) -> None:
    """Note the hash of a file that somebody else has read, where hashes are noted and this one is not."""
    hashes = _HASHES.get()
    if hashes is not None and absolute(path) not in hashes:
        read_bytes(path)


def read_bytes(path: str | os.PathLike[str], most: int = MAX_FILE_BYTES, name: str = "") -> bytes:
    """Return the content of a regular file of at most *most* bytes; messages call it *name*.

    Nothing is waited for: a pipe or a device is refused before it is opened.

    Raises:
        UsageError: there is no such file, it is no regular file, not readable, or larger than *most*.
    """
    name = name or os.fspath(path)
    try:
        with open_regular(path, name) as file:
            data = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None
    if data is None or len(data) > most:  # a file of the kernel's says that it is empty
        raise UsageError(f"{name} is larger than {_size(most)}, the most that is read of such a file")
    note_digest(path, lambda: hashlib.sha256(data).hexdigest())
    return data


def read_head(path: str | os.PathLike[str], most: int = 4096) -> bytes:
    """Return the first bytes of a regular file; none where it cannot be read. No hash of it is noted.

    Nothing is waited for: see :func:`read_bytes`.
    """
    try:
        with open_regular(path, os.fspath(path)) as file:
            return file.read(most)
    except (OSError, UsageError):
        return b""


def note_digest(path: str | os.PathLike[str], digest: Callable[[], str]) -> None:
    """Note the SHA-256 of what was read of a file, in place of the whole file's, where hashes are noted."""
    hashes = _HASHES.get()
    if hashes is not None:
        hashes[absolute(path)] = digest()


def open_regular(path: str | os.PathLike[str], name: str) -> BinaryIO:
    """Open a regular file for reading, without waiting for anything; messages call it *name*.

    Raises:
        UsageError: there is no such file, it is no regular file, or not readable.
    """
    try:
        _refuse_irregular(Path(path).stat(), name)
        file = os.fdopen(os.open(path, _FLAGS), "rb")
        try:
            note_read(os.fstat(file.fileno()), name)
        except MtppError:
            file.close()
            raise
        return file
    except FileNotFoundError:
        raise UsageError(f"there is no file {name}") from None
    except MtppError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None


def _refuse_irregular(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((kind for test, kind in _KINDS if test(status.st_mode)), "no regular file")
        remedy = "; write what it gives to a file first" if kind == "a pipe" else ""
        raise UsageError(f"cannot read {name}: it is {kind}, and only regular files are read{remedy}")


def _size(number: int) -> str:
    return f"{number >> 20} MiB" if number >= 2**20 else f"{number >> 10} KiB"


def read_text(path: str | os.PathLike[str], most: int = MAX_FILE_BYTES, name: str = "", wanted: str = "text") -> str:
    """Return the text of a regular file of at most *most* bytes, in UTF-8 with or without a byte order mark.

    Line ends become newlines, as :meth:`pathlib.Path.read_text` makes them.

    Args:
        path: of the file.
        most: bytes.
        name: of the file in messages; "" for its path.
        wanted: what should be in the file, for the message about one that is no text.

    Raises:
        UsageError: as :func:`read_bytes`; or it is no text, or a byte is not UTF-8, with its line and column.
    """
    name = name or os.fspath(path)
    data = read_bytes(path, most, name)
    return _decoded(data, name, wanted).replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, name: str, wanted: str) -> str:
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = next((kind for start, kind in _BINARY if data.startswith(start)), "")
        if not kind and b"\0" in data[:_HEAD]:
            kind = "a binary file"
        if kind:
            raise UsageError(f"{name} is {kind}, where {wanted} is expected{_REMEDY.get(kind, '')}") from None
        before = data[: error.start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise UsageError(
            f"{name}:{line}:{column}: the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None


def read_json(path: str | os.PathLike[str], name: str = "") -> Any:
    """Return what a JSON file holds, in which no object gives a name twice.

    Raises:
        UsageError: as :func:`read_text`; a spec; not JSON (says where), nested too deeply, or more objects or values
            than :data:`MAX_JSON_OBJECTS` and :data:`MAX_JSON_VALUES`.
    """
    name = name or os.fspath(path)
    data = read_bytes(path, name=name)
    if name.endswith(".mtpp") and data.lstrip()[:1] not in (b"{", b"["):
        raise UsageError(f"{name} is a spec, not an answer: 'mtpp solve {name} --json answer.json' writes one")
    return parse_json(data, name)


def parse_json(data: bytes, name: str) -> Any:
    """Return what JSON text holds; see :func:`read_json`."""
    objects = data.count(b"{")
    values = objects + data.count(b"[") + data.count(b",")
    if objects > MAX_JSON_OBJECTS:
        raise UsageError(f"{name} holds some {objects:,} JSON objects; at most {MAX_JSON_OBJECTS:,} are read")
    if values > MAX_JSON_VALUES:
        raise UsageError(f"{name} holds some {values:,} JSON values; at most {MAX_JSON_VALUES:,} are read")
    try:
        return json.loads(_decoded(data, name, "JSON"), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}: not JSON that can be read: nested too deeply") from None
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{name}: not JSON: {error}") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, for ``object_pairs_hook``.

    Raises:
        ValueError: it gives a field twice.
    """
    data = dict(pairs)
    if len(data) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"an object{called(data)} gives {twice!r} twice")
    return data


def called(value: object) -> str:
    """Return what an object calls itself, or the ends that it joins, for messages; "" if it does not say."""
    if not isinstance(value, dict):
        return ""
    for first, second in NAMES:
        given = [value.get(first), value.get(second)] if second else [value.get(first)]
        if all(isinstance(name, (int, str)) for name in given):
            return f" ({'' if second else 'id '}{' -> '.join(map(str, given))})"
    return ""


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
    sha = hashlib.sha256()
    end = len(data) if end is None else end
    for start in range(0, end, _STEP):
        sha.update(data[start : min(end, start + _STEP)])
    return sha.hexdigest()
