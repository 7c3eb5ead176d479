"""The JSON within a ``.pt2`` archive. Members that hold weights or pickles are never opened."""

from __future__ import annotations

import errno
import hashlib
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import MAX_FILE_BYTES, note_digest, open_regular, parse_json
from mtpp_dsl.core.errors import UsageError

MAX_DIRECTORY = 16 * 2**20
"""Bytes of the table of members."""
_END = b"PK\x05\x06"
_END_BYTES = 22
_COMMENT = 2**16
_MODEL = re.compile(r"([^/]{1,200}/)?models/([^/]{1,200})\.json")


@dataclass(frozen=True)
class Archive:
    """What is read of an archive.

    Attributes:
        name: of the file, without its folder.
        program: the JSON of the exported program.
        weights: the JSON that says where each weight is stored; None where the archive has none.
        sha256: of both texts.
    """

    name: str
    program: Any
    weights: Any
    sha256: str


def read_archive(path: Path) -> Archive:
    """Read ``models/model.json`` of an archive, and the table of its weights.

    Raises:
        UsageError: it is no archive of torch.export, is damaged, or larger than what is read.
    """
    try:
        with open_regular(path, str(path)) as file:
            _check_directory(file, path.name)
            with zipfile.ZipFile(file) as archive:
                names = {info.filename: info for info in archive.infolist()}
                member = _member(names, path.name)
                text = _read(archive, names[member], path.name)
                folder = member.rpartition("models/")[0]
                table = names.get(f"{folder}data/weights/model_weights_config.json")
                more = _read(archive, table, path.name) if table is not None else b""
    except UsageError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        ValueError,
        RuntimeError,
    ) as error:
        raise _wrong(path.name, str(error) or type(error).__name__) from None
    except OSError as error:
        if error.errno == errno.EINVAL:  # a place before the beginning of the file
            raise _wrong(path.name, "the table of its members is damaged") from None
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    sha256 = hashlib.sha256(text + more).hexdigest()
    note_digest(path, lambda: sha256)
    program = parse_json(text, f"{path.name}: {member}")
    return Archive(path.name, program, parse_json(more, f"{path.name}: {table}") if more else None, sha256)


def _wrong(name: str, what: str) -> UsageError:
    return UsageError(f"{name} is not an archive of torch.export that can be read: {what.splitlines()[0][:200]}")


def _check_directory(file: Any, name: str) -> None:
    """Refuse a table of members that is too large, before anything is made of it."""
    size = file.seek(0, 2)
    tail = min(size, _END_BYTES + _COMMENT)
    file.seek(size - tail)
    data = file.read(tail)
    at = data.rfind(_END)
    if at < 0 or len(data) - at < _END_BYTES:
        raise _wrong(name, "it is no zip file, or is truncated")
    (length,) = struct.unpack_from("<I", data, at + 12)
    if length == 2**32 - 1 or length > MAX_DIRECTORY:
        raise _wrong(name, f"the table of its members takes more than {MAX_DIRECTORY >> 20} MiB")
    file.seek(0)


def _member(names: dict[str, zipfile.ZipInfo], name: str) -> str:
    """Return the name of the member that holds the program."""
    matches = [match for member in names if (match := _MODEL.fullmatch(member))]
    chosen = [match for match in matches if match[2] == "model"] or matches
    if not chosen:
        raise _wrong(name, "it has no models/model.json")
    if len(chosen) > 1:
        listed = ", ".join(sorted(match[0] for match in chosen)[:4])
        raise _wrong(name, f"it has {len(chosen)} models ({listed}); one is read")
    return str(chosen[0][0])


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    """Return the bytes of a member, however small it claims to be, up to the limit of every file."""
    if member.flag_bits & 1:
        raise _wrong(name, f"{member.filename[:80]} is encrypted")
    with archive.open(member) as inside:
        data = inside.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise _wrong(name, f"{member.filename[:80]} is larger than {MAX_FILE_BYTES >> 20} MiB")
    return data
