"""Reading of an ONNX file: its graph alone, checked before the package onnx computes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core.base.files import digest, mapped, note_digest
from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.onnx.stripping import MAX_NODES, strip
from mtpp_dsl.exchange.model.kinds import TYPES as KNOWN

TYPES: Mapping[int, str] = MappingProxyType(
    {
        0: "",
        1: "fp32",
        2: "uint8",
        3: "int8",
        4: "uint16",
        5: "int16",
        6: "int32",
        7: "int64",
        8: "string",
        9: "bool",
        10: "fp16",
        11: "fp64",
        12: "uint32",
        13: "uint64",
        14: "complex64",
        15: "complex128",
        16: "bf16",
        17: "fp8",
        18: "fp8",
        19: "fp8",
        20: "fp8",
        21: "uint4",
        22: "int4",
        23: "fp4",
        24: "uint8",
        25: "int2",
        26: "int2",
        27: "fp6",
        28: "fp6",
    }
)
"""The number in the file -> our name; an exponent alone (24) is a byte, and numbers of two bits are alike."""


def bits_of_type(number: int) -> int:
    """Return the bits of one number of a type; 0 of texts, whose lengths are unknown, and where no type is given."""
    name = TYPES[number]
    return int(KNOWN[name]) if name else 0


def bytes_of_tensor(number: int, entries: int) -> int:
    """Return the bytes of a dense tensor, rounded up."""
    return -(-entries * bits_of_type(number) // 8)


MAX_BYTES = 2**31
"""No protocol buffer is larger."""
MAX_RANK = 32
MAX_TENSOR = 2**50
"""Bytes of a tensor; a larger one is refused."""
MAX_NAME = 4096

"""Characters of a name in the file."""

_GRAPH = 5
_GRAPHS = 10


@dataclass(frozen=True)
class File:
    """An ONNX file without its weights.

    Attributes:
        proto: the ModelProto; functions of its own are written out where they are called.
        name: of the file, without its folder.
        sha256: of all its bytes.
        places: for each node of the graph, where it was in the file's graph: "12", or "12.3" within a function.
        onnx: the package.
    """

    proto: Any
    name: str
    sha256: str
    places: tuple[str, ...]
    onnx: Any


def read_file(path: Path) -> File:
    """Read the graph of an ONNX file. External data is not opened; the names of its files are checked.

    Raises:
        UsageError: the package onnx is absent; the file is missing, damaged, larger than what is read, or names
            external data outside its folder.
    """
    onnx = need("onnx", "onnx")
    with mapped(path, MAX_BYTES) as data:
        stripped = strip(data, path.name)
        sha256 = digest(data)
        note_digest(path, lambda: sha256)
    try:
        proto = onnx.load_model_from_string(stripped.data)
    except Exception as error:  # of protobuf, in its own words
        raise UsageError(f"{path.name} is not an ONNX model that can be read: {_first_line(error)}") from None
    if not proto.graph.node and not proto.graph.output:
        raise UsageError(f"{path.name} is not an ONNX model that can be read: it has no graph")
    _check(proto, path, stripped.left_out)
    proto, places = _without_functions(proto, path.name)
    return File(proto, path.name, sha256, places, onnx)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def graphs_of(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the graphs within a node, by the name of the attribute."""
    for attribute in node.attribute:
        if attribute.type == _GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == _GRAPHS:
            yield from ((attribute.name, graph) for graph in attribute.graphs)


def captured(node: Any) -> Iterator[str]:
    """Yield the names of tensors that the graphs within a node read from around it."""
    for _, graph in graphs_of(node):
        own = {given.name for given in graph.input} | {tensor.name for tensor in graph.initializer}
        for inner in graph.node:
            yield from (name for name in (*inner.input, *captured(inner)) if name and name not in own)
            own |= set(inner.output)
        yield from (given.name for given in graph.output if given.name not in own)


def read_names(node: Any) -> Iterator[str]:
    """Yield the names of the tensors that a node reads, also those that graphs within it read from around it."""
    yield from (name for name in (*node.input, *captured(node)) if name)


def _check(proto: Any, path: Path, left_out: Mapping[str, int]) -> None:
    """Refuse tensors of impossible sizes, and external data that lies outside the file's folder."""
    for opset in proto.opset_import:
        _check_text(path, opset.domain)
    for opset in proto.functions:
        _check_text(path, opset.domain, opset.name, *opset.input, *opset.output)
    waiting = [proto.graph, *proto.functions]
    while waiting:
        graph = waiting.pop()
        initial = getattr(graph, "initializer", ())  # functions have none
        _check_words(graph, path)
        tensors = [*initial, *(sparse.values for sparse in getattr(graph, "sparse_initializer", ()))]
        for node in graph.node:
            waiting += [inner for _, inner in graphs_of(node)]
            tensors += [attribute.t for attribute in node.attribute if attribute.HasField("t")]
            tensors += [tensor for attribute in node.attribute for tensor in attribute.tensors]
        for tensor in tensors:
            _check_tensor(tensor, path, left_out)


def _check_words(graph: Any, path: Path) -> None:
    """Refuse names that are no text, and types that ONNX does not have."""
    typed = (*graph.input, *graph.output) if hasattr(graph, "initializer") else ()
    for given in (*typed, *graph.value_info):
        _check_text(path, given.name)
        kind = given.type.tensor_type
        if kind.elem_type not in TYPES:
            raise UsageError(f"{path.name}: {_shown(given.name)} is of type {kind.elem_type}, which ONNX does not have")
        _check_text(path, *(dim.dim_param for dim in kind.shape.dim))
    for node in graph.node:
        _check_text(path, node.op_type, node.domain, node.name, *node.input, *node.output)
        _check_text(path, *(attribute.name for attribute in node.attribute))
        _check_text(path, *(text for entry in node.metadata_props for text in (entry.key, entry.value)))
    _check_text(path, *(tensor.name for tensor in getattr(graph, "initializer", ())))


def _check_text(path: Path, *texts: object) -> None:
    """Refuse bytes in place of text, which is how the package onnx gives names that are not UTF-8."""
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"{path.name}: a name is not UTF-8: {str(text)[:80]}")
        if len(text) > MAX_NAME:
            raise UsageError(
                f"{path.name}: a name has {len(text):,} characters: {_shown(text)}; at most {MAX_NAME:,} are read"
            )


def _check_tensor(tensor: Any, path: Path, left_out: Mapping[str, int]) -> None:
    called = f"{path.name}: tensor {_shown(tensor.name)}"
    dims = tuple(tensor.dims)
    if len(dims) > MAX_RANK or any(dim < 0 for dim in dims):
        raise UsageError(f"{called} has the shape {list(dims[:8])}, which no tensor can have")
    if tensor.data_type not in TYPES:
        raise UsageError(f"{called} is of type {tensor.data_type}, which ONNX does not have")
    if prod(dims) > MAX_TENSOR:
        raise UsageError(f"{called} has the shape {list(dims)}; no tensor of more than {MAX_TENSOR:,} entries is read")
    size = bytes_of_tensor(tensor.data_type, prod(dims))
    given = left_out.get(tensor.name)
    if given is not None and size != given and not tensor.external_data:
        raise UsageError(f"{called} has {given:,} bytes of data for its shape {list(dims)}, which takes {size:,}")
    if tensor.data_location == 1 or tensor.external_data:
        _check_external({entry.key: entry.value for entry in tensor.external_data}, size, path, called)


def _check_external(entries: Mapping[str, str], size: int, path: Path, called: str) -> None:
    """Refuse external data outside the folder of the file, or too short for the tensor; no data is opened."""
    location = entries.get("location", "")
    pure = PurePosixPath(location)
    climbs = ".." in pure.parts or ".." in PureWindowsPath(location).parts
    rooted = pure.is_absolute() or PureWindowsPath(location).drive or PureWindowsPath(location).root
    if not location or climbs or rooted or "\0" in location:
        raise UsageError(f"{called} has its data in {_shown(location)}, which is outside the folder of the model")
    folder, where = path.parent.resolve(), (path.parent / location).resolve()
    if not where.is_relative_to(folder):
        raise UsageError(f"{called} has its data in {_shown(location)}, a link out of the folder of the model")
    numbers = {}
    for key in ("offset", "length"):
        text = entries.get(key, "")
        if not re.fullmatch(r"[0-9]{0,18}", text):
            raise UsageError(f"{called} has external data with the {key} {_shown(text)}, which is no number")
        numbers[key] = int(text or 0)
    if numbers["length"] and numbers["length"] < size:
        raise UsageError(f"{called} takes {size:,} bytes, and its external data has {numbers['length']:,}")
    if where.is_file() and numbers["offset"] + size > where.stat().st_size:
        raise UsageError(f"{called} takes {size:,} bytes, and {_shown(location)} ends before them")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def _without_functions(proto: Any, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the model with its own functions written out where they are called, and the places of the nodes."""
    if not proto.functions:
        return proto, tuple(str(i) for i in range(len(proto.graph.node)))
    counts = _Counts(proto, name)
    sizes = [counts.of(node) for node in proto.graph.node]
    if sum(sizes) > MAX_NODES:
        raise UsageError(f"{name} has functions that come to more than {MAX_NODES:,} nodes when they are written out")
    places = [
        place
        for i, (node, size) in enumerate(zip(proto.graph.node, sizes, strict=True))
        for place in ([f"{i}.{j}" for j in range(size)] if counts.calls(node) else [str(i)])
    ]
    inliner = need("onnx.inliner", "onnx")
    try:
        flat = inliner.inline_local_functions(proto)
    except Exception as error:
        raise UsageError(f"{name}: its functions cannot be written out: {_first_line(error)}") from None
    if len(flat.graph.node) != len(places):
        places = [""] * len(flat.graph.node)
    return flat, tuple(places)


class _Counts:
    """Counts the nodes that calls of functions come to."""

    def __init__(self, proto: Any, name: str) -> None:
        self._functions = {(function.domain, function.name): function for function in proto.functions}
        self._known: dict[tuple[str, str], int] = {}
        self._open: set[tuple[str, str]] = set()
        self._name = name

    def calls(self, node: Any) -> bool:
        """Return whether a node calls a function of the file."""
        return (node.domain, node.op_type) in self._functions

    def of(self, node: Any) -> int:
        """Return how many nodes a node comes to, at most a little above :data:`MAX_NODES`.

        Raises:
            UsageError: a function calls itself, or calls are nested too deeply.
        """
        key = node.domain, node.op_type
        if key not in self._functions:
            return 1 + sum(self.of(inner) for _, graph in graphs_of(node) for inner in graph.node)
        if key not in self._known:
            if key in self._open or len(self._open) > 100:
                raise UsageError(f"{self._name}: function {_shown(node.op_type)} calls itself, or too many others")
            self._open.add(key)
            total = sum(self.of(inner) for inner in self._functions[key].node)
            self._known[key] = min(total, MAX_NODES + 1)
            self._open.remove(key)
        return self._known[key]
