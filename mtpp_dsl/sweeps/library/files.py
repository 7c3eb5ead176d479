"""Plans and certificates of a library as files: JSON on one line, compressed where it is long."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import MAX_FILE_BYTES, parse_json, read_bytes
from mtpp_dsl.core.base.writing import write_bytes
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem

PLAIN = 3_000
"""A longer text, in bytes, is compressed."""
MOST = 60_000
"""What is longer, compressed, is not stored: only its hash is."""
_ENDINGS = (".json", ".json.xz")
_NEW = ".new"
_NAME = re.compile(r"[\w+,=@~-][\w+,=@~. -]*")
LONGEST_NAME = 200
"""Bytes of the longest name of a problem: file systems allow 255 for a name with its endings."""


def check_name(name: str) -> None:
    """Refuse the name of a problem under which no file may be stored: plans and certificates are called like it.

    Raises:
        UsageError: it would lead out of its folder, is hidden, or is too long.
    """
    if _NAME.fullmatch(name) is None or len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            f"a problem of a library cannot be called {name!r:.80}: its files are. Such a name has letters, digits, "
            f"spaces and - _ . + , = @ ~, does not begin with a dot, and is of at most {LONGEST_NAME} bytes"
        )


def text_of_plan(problem: Problem, plan: Mapping[str, Any]) -> str:
    """Return the text of a plan: of the ``plan`` of a JSON answer, what is needed to read it again.

    The text is itself a plan that ``mtpp verify`` takes.
    """
    names = ["assignment", "schedule", "routes", "replicas"]
    if problem.objective.batch is None:
        names.append("transfers")
    if problem.staged or any(problem.stage_memory):
        names += ["order", "stages"]
    return text_of({name: plan[name] for name in names if plan.get(name) is not None})


def text_of(data: Mapping[str, Any]) -> str:
    """Return JSON on one line, names in their order, numbers as exactly as they are."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def write(folder: Path, name: str, text: str) -> bool:
    """Write a text beside what is stored under a name, which stays until :func:`settle`; return whether it fits.

    Raises:
        OSError: it cannot be written; nothing of it is left.
    """
    data, ending = text.encode(), ".json"
    if len(data) > PLAIN:
        data, ending = lzma.compress(data, preset=9), ".json.xz"
    if len(data) > MOST:
        return False
    folder.mkdir(exist_ok=True)
    write_bytes(folder / f"{name}{ending}{_NEW}", data)
    return True


def settle(folder: Path, name: str, sha256: str) -> None:
    """Let what has this hash be stored under a name, whether it is new or was there, and remove all else.

    With :func:`write` before, and the hash on record in between, a crash at any moment loses neither the old text nor
    the new one: call it again, for every name, when a library is opened for writing.
    """
    for ending in _ENDINGS:
        new, stored = folder / f"{name}{ending}{_NEW}", folder / f"{name}{ending}"
        if new.exists():
            if _sha256_in(new) == sha256:
                new.replace(stored)
            else:
                new.unlink()
        if stored.exists() and _sha256_in(stored) != sha256:
            stored.unlink()


def unsettled(folder: Path) -> list[str]:
    """Return the names under which something was written and not settled."""
    names = {path.name.removesuffix(_NEW) for path in folder.glob(f"*{_NEW}")}
    return sorted(name.removesuffix(".xz").removesuffix(".json") for name in names)


def _sha256_in(path: Path) -> str:
    data = read_bytes(path)
    try:
        return hashlib.sha256(_unpacked(data, path) if ".xz" in path.name else data).hexdigest()
    except UsageError:
        return "damaged"


def read_text_of(folder: Path, name: str) -> str | None:
    """Return the text that is stored under a name; None if there is none.

    Raises:
        UsageError: it cannot be read, is damaged, or is too large.
    """
    for ending in _ENDINGS:
        path = folder / f"{name}{ending}"
        if path.exists():
            data = read_bytes(path)
            return (_unpacked(data, path) if ending.endswith(".xz") else data).decode()
    return None


def _unpacked(data: bytes, path: Path) -> bytes:
    """Return what a compressed file holds, of which no more than the size of a file that is read at all."""
    try:
        opener = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=256 * 2**20)
        unpacked = opener.decompress(data, MAX_FILE_BYTES + 1)
    except lzma.LZMAError as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    if len(unpacked) > MAX_FILE_BYTES or not opener.eof:
        raise UsageError(f"{path} is cut short, or holds more than {MAX_FILE_BYTES // 2**20} MiB")
    return unpacked


def read_object(text: str, name: str) -> dict[str, Any]:
    """Return the JSON object that a text is.

    Raises:
        UsageError: it is invalid; messages call it *name*.
    """
    value = parse_json(text.encode(), name)
    if not isinstance(value, dict):
        raise UsageError(f"{name} is no JSON object")
    return value
