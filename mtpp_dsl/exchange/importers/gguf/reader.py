"""The header of a GGUF file: its metadata and the table of its tensors. The weights behind them are not read.

The layout is that of docs/gguf.md of ggml, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from mmap import mmap
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from mtpp_dsl.core.base.files import digest, mapped, note_digest
from mtpp_dsl.core.errors import UsageError

__all__ = ["GgufTensor", "Header", "read_table"]

Value: TypeAlias = int | float | bool | str | tuple[int | float | bool, ...]

MAX_FILE = 2**46
MAX_HEADER = 2**27
"""Bytes before the weights: 15 MiB of them are a large vocabulary. A file with holes may claim any number."""
MAX_TENSORS = 30_000
MAX_FIELDS = 10_000
MAX_TEXT = 2**20
MAX_NAME = 512
MAX_LIST = 2**24
MAX_TEXTS = 2**22
"""Texts of all lists together: vocabularies have some 300,000, and as many merges. Each is gone through by itself."""
MAX_KEPT = 4_096
"""Numbers of a list that is kept; longer ones, such as vocabularies, are skipped."""
MAX_BYTES = 2**50
MAX_SPLITS = 1_000

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9

BLOCKS: Mapping[int, tuple[str, int, int]] = MappingProxyType(
    {
        0: ("fp32", 1, 4),
        1: ("fp16", 1, 2),
        2: ("q4_0", 32, 18),
        3: ("q4_1", 32, 20),
        6: ("q5_0", 32, 22),
        7: ("q5_1", 32, 24),
        8: ("q8_0", 32, 34),
        9: ("q8_1", 32, 36),
        10: ("q2_k", 256, 84),
        11: ("q3_k", 256, 110),
        12: ("q4_k", 256, 144),
        13: ("q5_k", 256, 176),
        14: ("q6_k", 256, 210),
        15: ("q8_k", 256, 292),
        16: ("iq2_xxs", 256, 66),
        17: ("iq2_xs", 256, 74),
        18: ("iq3_xxs", 256, 98),
        19: ("iq1_s", 256, 50),
        20: ("iq4_nl", 32, 18),
        21: ("iq3_s", 256, 110),
        22: ("iq2_s", 256, 82),
        23: ("iq4_xs", 256, 136),
        24: ("int8", 1, 1),
        25: ("int16", 1, 2),
        26: ("int32", 1, 4),
        27: ("int64", 1, 8),
        28: ("fp64", 1, 8),
        29: ("iq1_m", 256, 56),
        30: ("bf16", 1, 2),
        34: ("tq1_0", 256, 54),
        35: ("tq2_0", 256, 66),
        39: ("mxfp4", 32, 17),
        40: ("nvfp4", 64, 36),
        41: ("q1_0", 128, 18),
    }
)
"""The types of ggml (ggml.h): our name, the numbers in a block, and its bytes with its scales."""


@dataclass(frozen=True)
class GgufTensor:
    """One tensor of the table.

    Attributes:
        name: such as "blk.3.attn_q.weight".
        shape: the outermost size first: [outputs, inputs] of a product; ggml has it the other way.
        dtype: one of :data:`mtpp_dsl.exchange.model.kinds.TYPES`.
        bytes: with scales.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True)
class Header:
    """What the files of one model say before their weights.

    Attributes:
        name: of the first file, without its folder.
        metadata: numbers, texts and short lists of numbers, by their keys.
        tensors: by their names, of all files of a model that is split.
        sha256: of the headers, one after another.
    """

    name: str
    metadata: Mapping[str, Value]
    tensors: Mapping[str, GgufTensor]
    sha256: str


def read_table(path: Path) -> Header:
    """Read the header of a model, and those of its other files where it is split (``…-00001-of-00003.gguf``).

    Raises:
        UsageError: a file is missing, no GGUF, damaged, truncated, or beyond the limits.
    """
    first = read_header(path)
    count = first.metadata.get("split.count", 1)
    if not isinstance(count, int) or count <= 1:
        return first
    match = re.fullmatch(r"(.+)-([0-9]{5})-of-([0-9]{5})\.gguf", path.name)
    if match is None or int(match[3]) != count or count > MAX_SPLITS:
        raise UsageError(f"{path.name} is one of {count} files of a model; keep their names …-00001-of-{count:05}.gguf")
    tensors = dict(first.tensors)
    metadata, hashes = dict(first.metadata), ""
    for number in range(1, count + 1):
        other = path.with_name(f"{match[1]}-{number:05}-of-{match[3]}.gguf")
        header = first if other == path else read_header(other)
        twice = next((name for name in header.tensors if name in tensors and header is not first), None)
        if twice is not None:
            raise UsageError(f"{other.name} and another file of the model both have the tensor {twice[:80]!r}")
        tensors.update(header.tensors)
        metadata = {**header.metadata, **metadata}
        hashes += header.sha256
    return Header(path.name, MappingProxyType(metadata), MappingProxyType(tensors), _of_text(hashes))


def _of_text(text: str) -> str:
    return digest(text.encode())


def read_header(path: Path) -> Header:
    """Read the header of one file; see :func:`read_table`."""
    with mapped(path, MAX_FILE) as data:
        reader = _Reader(data, path.name)
        reader.read()
        sha256 = digest(data, reader.at)
    note_digest(path, lambda: sha256)
    return Header(path.name, MappingProxyType(reader.metadata), MappingProxyType(reader.tensors), sha256)


@dataclass
class _Reader:
    """Goes through a header once."""

    data: bytes | mmap
    name: str
    at: int = 0
    texts: int = 0
    metadata: dict[str, Value] = field(default_factory=dict)
    tensors: dict[str, GgufTensor] = field(default_factory=dict)

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.name} is not a GGUF file that can be read: {what}")

    def take(self, form: str) -> int | float | bool:
        """Return the next number."""
        (number,) = struct.unpack_from(f"<{form}", self.data, self.over(struct.calcsize(f"<{form}")))
        return number  # type: ignore[no-any-return]

    def over(self, size: int) -> int:
        """Go over so many bytes, which are there; return where they begin."""
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise self.wrong("it breaks off within its header")
        if self.at > MAX_HEADER:
            raise self.wrong(f"its header is longer than {MAX_HEADER >> 20} MiB")
        return start

    def count(self, form: str, most: int, what: str) -> int:
        """Return the next number, of things of which there are at most *most*."""
        number = int(self.take(form))
        if number > most:
            raise self.wrong(f"it has {number:,} {what}; at most {most:,} are read")
        return number

    def text(self, most: int, what: str) -> str:
        """Return the next text."""
        length = self.count("Q", most, f"bytes in {what}")
        start = self.over(length)
        encoded = self.data[start : self.at]
        try:
            return encoded.decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong(f"{what} is not UTF-8, before byte {self.at:,}") from None

    def read(self) -> None:
        """Read the whole header."""
        if len(self.data) < 4 or self.data[:4] != b"GGUF":
            raise self.wrong("it does not begin with GGUF")
        self.at = 4
        version = int(self.take("I"))
        if version not in (2, 3):
            known = "it is big-endian" if version in (2 << 24, 3 << 24) else f"its version is {version}"
            raise self.wrong(f"{known}; versions 2 and 3 in little-endian are read")
        tensors = self.count("Q", MAX_TENSORS, "tensors")
        for _ in range(self.count("Q", MAX_FIELDS, "fields")):
            self._field()
        table = [self._tensor() for _ in range(tensors)]
        self._check_data(table)

    def _field(self) -> None:
        key = self.text(MAX_NAME, "a key")
        value = self._value(int(self.take("I")), key)
        if key in self.metadata:
            raise self.wrong(f"it has the key {key[:80]!r} twice")
        if value is not None:
            self.metadata[key] = value

    def _value(self, kind: int, key: str) -> Value | None:
        """Return a value; None of a list that is not kept."""
        if kind in _SCALARS:
            return self.take(_SCALARS[kind])
        if kind == _TEXT:
            return self.text(MAX_TEXT, f"the value of {key[:80]!r}")
        if kind != _LIST:
            raise self.wrong(f"the value of {key[:80]!r} is of an unknown type ({kind})")
        return self._list(key)

    def _list(self, key: str) -> Value | None:
        kind = int(self.take("I"))
        count = self.count("Q", MAX_LIST, f"entries in {key[:80]!r}")
        if kind == _TEXT:
            self.texts += count
            if self.texts > MAX_TEXTS:
                raise self.wrong(f"its lists have {self.texts:,} texts; at most {MAX_TEXTS:,} are read")
            for _ in range(count):
                self.over(int(self.take("Q")))
            return None
        if kind not in _SCALARS:
            raise self.wrong(f"the list {key[:80]!r} has entries of an unknown type ({kind})")
        form = f"<{count}{_SCALARS[kind]}"
        start = self.over(struct.calcsize(f"<{_SCALARS[kind]}") * count)
        return struct.unpack_from(form, self.data, start) if count <= MAX_KEPT else None

    def _tensor(self) -> tuple[GgufTensor, int]:
        """Read one line of the table; return it with the place of its data."""
        name = self.text(MAX_NAME, "the name of a tensor")
        called = f"tensor {name[:80]!r}"
        sizes = tuple(int(self.take("Q")) for _ in range(self.count("I", 8, f"dimensions of {called}")))
        kind, offset = int(self.take("I")), int(self.take("Q"))
        if kind not in BLOCKS:
            raise self.wrong(f"{called} is of the unknown type {kind}")
        dtype, entries, size = BLOCKS[kind]
        if any(one_size < 1 for one_size in sizes) or prod(sizes) > MAX_BYTES:
            raise self.wrong(f"{called} has the shape {list(sizes)}")
        if sizes and sizes[0] % entries:
            raise self.wrong(f"{called} has rows of {sizes[0]:,} numbers, which are no whole blocks of {dtype}")
        if name in self.tensors:
            raise self.wrong(f"it has two tensors called {name[:80]!r}")
        tensor = GgufTensor(name, tuple(reversed(sizes)), dtype, prod(sizes) // entries * size if sizes else size)
        self.tensors[name] = tensor
        return tensor, offset

    def _check_data(self, tensors: list[tuple[GgufTensor, int]]) -> None:
        """Refuse tensors whose data would lie behind the end of the file."""
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 2**20:
            raise self.wrong(f"its alignment is {alignment}")
        start = -(-self.at // alignment) * alignment
        for table, offset in tensors:
            if start + offset + table.bytes > len(self.data):
                raise self.wrong(f"it breaks off before the end of tensor {table.name[:80]!r}")
