"""Protocol buffers as bytes: a walk over an ONNX file that leaves out its weights before anybody takes memory for them.

Field numbers are those of onnx.proto (ONNX 1.23), the encoding that of the protocol buffers' documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from mmap import mmap
from typing import TypeAlias

from mtpp_dsl.core.errors import UsageError

__all__ = ["MAX_NODES", "SCOPES", "strip"]

Data: TypeAlias = bytes | mmap

MAX_FIELDS = 4_000_000
"""Fields of nodes, attributes and tensors; more are refused, so that what parses the rest needs less than 2 GB."""
MAX_NODES = 100_000
MAX_KEPT = 16 * 2**20
"""Bytes of names, shapes and types, apart from nodes and weights."""
MAX_VALUES = 1024
"""Bytes of a tensor whose values are kept, since shapes are computed from them; larger ones are weights."""
SCOPES = b"pkg.torch.onnx.name_scopes"
"""Metadata of a node in which torch's exporter writes the paths of modules: all other metadata is left out."""
MAX_DEPTH = 20
"""Graphs within nodes within graphs."""

_GRAPH, _NODE, _ATTRIBUTE, _TENSOR, _SPARSE, _FUNCTION = "graph", "node", "attribute", "tensor", "sparse", "function"
_INNER = {
    "model": {7: _GRAPH, 25: _FUNCTION},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _FUNCTION: {7: _NODE, 11: _ATTRIBUTE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
}
"""The messages that may hold tensors: what the fields of each are."""
_DROPPED = {
    "model": {6, 14, 20, 26},  # documentation, metadata, training, configurations of devices
    _GRAPH: {10, 14, 16},  # documentation, quantisation annotations, metadata
    _FUNCTION: {8, 14},
    _NODE: {6, 10},
    _ATTRIBUTE: {13},
    _TENSOR: {12, 16},
    _SPARSE: set(),
}
"""What is not read: documentation and metadata."""
_VALUES = {4, 5, 6, 7, 9, 10, 11}
"""The fields of a tensor that hold its values; 9 is ``raw_data``."""


@dataclass
class Stripped:
    """An ONNX file without its weights.

    Attributes:
        data: the model with the values of large tensors left out.
        left_out: the bytes of the raw values that were left out, by the name of the tensor.
        nodes: how many nodes there are, those of inner graphs and functions among them.
    """

    data: bytes = b""
    left_out: dict[str, int] = field(default_factory=dict)
    nodes: int = 0


def strip(data: Data, name: str) -> Stripped:
    """Return what an ONNX file holds apart from its weights; messages call the file *name*.

    Raises:
        UsageError: it is truncated, or no protocol buffer, or larger than what is read of such files.
    """
    walk = _Walk(data, name)
    kept = walk.message("model", 0, len(data), 0)
    walk.stripped.data = bytes(data[:]) if kept is None else kept
    return walk.stripped


class _Walk:
    """Goes through one file once, and counts."""

    def __init__(self, data: Data, name: str) -> None:
        self.data, self.name = data, name
        self.stripped = Stripped()
        self.fields = self.kept = 0

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.name} is not an ONNX model that can be read: {what}")

    def number(self, at: int, end: int) -> tuple[int, int]:
        """Return the whole number that begins at a byte, and where it ends."""
        number = shift = 0
        while at < end and shift < 70:
            byte = self.data[at]
            at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number, at
            shift += 7
        raise self.wrong(f"it breaks off, or is damaged, at byte {at:,}")

    def parts(self, start: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield the fields of a message: number, wire type, and where it, its content and what follows it begin."""
        at = start
        while at < end:
            self.fields += 1
            if self.fields > MAX_FIELDS:
                raise self.wrong(f"it has more than {MAX_FIELDS:,} fields")
            begin = at
            key = self.data[at]
            if key < 128:
                at += 1
            else:
                key, at = self.number(at, end)
            wire = key & 7
            if wire == 2:
                length, at = self.number(at, end)
                content, at = at, at + length
            elif wire == 0:
                content = at
                _, at = self.number(at, end)
            elif wire in (1, 5):
                content, at = at, at + (8 if wire == 1 else 4)
            else:
                raise self.wrong(f"a field of an unknown kind at byte {begin:,}")
            if at > end:
                raise self.wrong(f"it breaks off, or is damaged, at byte {begin:,}")
            yield key >> 3, wire, begin, content, at

    def message(self, kind: str, start: int, end: int, depth: int) -> bytes | None:
        """Return a message without weights, or None where it can stay as it is."""
        if depth > MAX_DEPTH * 3:
            raise self.wrong(f"graphs are nested more than {MAX_DEPTH} deep")
        inner, dropped = _INNER[kind], _DROPPED[kind]
        self.stripped.nodes += kind == _NODE
        if self.stripped.nodes > MAX_NODES:
            raise self.wrong(f"it has more than {MAX_NODES:,} nodes")
        pieces: list[bytes] = []
        since, changed = start, False
        for number, wire, begin, content, after in self.parts(start, end):
            if number in inner and wire == 2:
                below = inner[number]
                new = (
                    self.tensor(content, after) if below == _TENSOR else self.message(below, content, after, depth + 1)
                )
                if new is None:
                    continue
                replaced = _field(number, new)
            elif number in dropped or (kind == _NODE and number == 9 and not self.says(SCOPES, content, after)):
                replaced = b""
            else:
                self.keep(kind, after - begin)
                continue
            pieces += (self.data[since:begin], replaced)
            since, changed = after, True
        if not changed:
            return None
        pieces.append(self.data[since:end])
        return b"".join(pieces)

    def says(self, text: bytes, start: int, end: int) -> bool:
        """Return whether a short entry of metadata speaks of *text*."""
        return end - start < 2**12 and text in self.data[start:end]

    def keep(self, kind: str, length: int) -> None:
        """Count what is kept as it is, of graphs and the model."""
        if kind in ("model", _GRAPH, _FUNCTION) or length > 2**16:
            self.kept += length
        if self.kept > MAX_KEPT:
            raise self.wrong(f"its names, shapes and types take more than {MAX_KEPT >> 20} MiB")

    def tensor(self, start: int, end: int) -> bytes | None:
        """Return a tensor without its values where they are large, or None where it can stay as it is."""
        if end - start <= MAX_VALUES:
            self.fields += 8
            return None
        pieces: list[bytes] = []
        called, raw = "", 0
        for number, wire, begin, content, after in self.parts(start, end):
            if number in _VALUES or number in _DROPPED[_TENSOR]:
                raw += after - content if number == 9 and wire == 2 else 0
                continue
            if number == 8 and wire == 2:
                called = bytes(self.data[content:after]).decode("utf-8", "replace")
            self.kept += after - begin
            if self.kept > MAX_KEPT:
                raise self.wrong(f"its names, shapes and types take more than {MAX_KEPT >> 20} MiB")
            pieces.append(self.data[begin:after])
        if raw:
            self.stripped.left_out[called] = raw
        return b"".join(pieces)


def _field(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | 2) + _encoded(len(content)) + content


def _encoded(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
