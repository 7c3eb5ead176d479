"""Weights of ONNX models in files of their own: found only inside the model's folder, and written beside each part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.onnx.model_file import read_file

__all__ = ["MOST_INLINE", "WeightFile", "read_model"]

MOST_INLINE = 2**30
"""Bytes of weights that a part keeps in its own file; protocol buffers end at 2 GiB."""
LEAST_OUTSIDE = 1024
ALIGNED = 4096
CHUNK = 2**24


def read_model(path: Path) -> Any:
    """Read an ONNX file; weights that lie in other files stay there, and those files must be in its folder.

    Raises:
        UsageError: the package onnx is absent, the file cannot be read, or names data outside its folder.
    """
    read_file(path)  # checks sizes and places of all tensors before the data is loaded
    onnx = need("onnx", "onnx")
    model = onnx.load(str(path), load_external_data=False)
    for tensor in model.graph.initializer:
        if external(tensor, onnx):
            _place(tensor, path.parent)
    return model


def external(tensor: Any, onnx: Any) -> bool:
    """Return whether the data of a tensor is in a file of its own."""
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL)


def _place(tensor: Any, folder: Path) -> tuple[Path, int, int]:
    """Return the file that holds a tensor, where its data begins there, and how long it is.

    Raises:
        UsageError: the file is outside the folder, is missing, or ends before the data.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    called = f"tensor {tensor.name[:80]!r}"
    where = (folder / entries.get("location", "")).resolve()
    if not entries.get("location") or not where.is_relative_to(folder.resolve()):
        raise UsageError(f"{called} has its data in {entries.get('location', '')!r}, outside the folder of the model")
    if not where.is_file():
        raise UsageError(f"{called} has its data in {entries['location']!r}, and there is no such file")
    numbers = [entries.get(key, "") for key in ("offset", "length")]
    if not all(re.fullmatch("[0-9]{0,18}", text) for text in numbers):
        raise UsageError(f"{called} has external data whose offset or length is no number")
    offset, size = int(numbers[0] or 0), where.stat().st_size
    length = int(numbers[1]) if numbers[1] else size - offset
    if length < 0 or offset + length > size:
        raise UsageError(f"{called} takes {length:,} bytes, and {entries['location']!r} ends before them")
    return where, offset, length


class WeightFile:
    """The weights of a part that go into a file beside it, if there are enough of them.

    Attributes:
        name: of the file.
        needed: whether there is such a file; if so, the part names it.
    """

    def __init__(self, proto: Any, folder: Path, name: str, most_inline: int = MOST_INLINE) -> None:
        """Take the large weights out of *proto*, whose external data lies in *folder*, where they are too many."""
        self.name = name
        onnx = need("onnx", "onnx")
        self._rows: list[tuple[int, bytes | tuple[Path, int, int]]] = []
        tensors = proto.graph.initializer
        outside = any(external(tensor, onnx) for tensor in tensors)
        self.needed = outside or sum(len(tensor.raw_data) for tensor in tensors) > most_inline
        at = 0
        for tensor in tensors if self.needed else ():
            given = external(tensor, onnx)
            if not given and len(tensor.raw_data) < LEAST_OUTSIDE:
                continue
            data = _place(tensor, folder) if given else bytes(tensor.raw_data)
            length = data[2] if isinstance(data, tuple) else len(data)
            at = -(-at // ALIGNED) * ALIGNED
            self._rows.append((at, data))
            tensor.ClearField("raw_data")
            del tensor.external_data[:]
            for key, value in {"location": name, "offset": at, "length": length}.items():
                entry = tensor.external_data.add()
                entry.key, entry.value = key, str(value)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            at += length

    def write(self, file: BinaryIO) -> None:
        """Write the weights, a piece at a time."""
        position = 0
        for at, data in self._rows:
            file.write(b"\0" * (at - position))
            position = at
            for piece in _pieces(data):
                file.write(piece)
                position += len(piece)


def _pieces(data: bytes | tuple[Path, int, int]) -> Iterator[bytes]:
    if isinstance(data, bytes):
        yield data
        return
    path, offset, left = data
    with path.open("rb") as file:
        file.seek(offset)
        while left:
            piece = file.read(min(CHUNK, left))
            if not piece:
                raise UsageError(f"{path.name} became shorter while it was read")
            left -= len(piece)
            yield piece
