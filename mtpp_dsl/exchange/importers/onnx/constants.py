"""Which tensors of an ONNX graph are the same for every input, and what they take as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.onnx.contrib import DOMAIN
from mtpp_dsl.exchange.importers.onnx.inference import Key
from mtpp_dsl.exchange.importers.onnx.model_file import TYPES, File, bytes_of_tensor, captured, graphs_of
from mtpp_dsl.exchange.importers.onnx.shapes import Shapes

_RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
_OWN = ("", "ai.onnx", DOMAIN)


@dataclass(frozen=True)
class Constant:
    """A tensor that is the same for every input.

    Attributes:
        name: in the file.
        kind: its type as it is stored, as ONNX numbers them: of quantised weights, that of the small numbers.
        shape: its sizes.
        bytes: what it takes as it is stored, with the scales of quantised weights.
        made: the type in which others read it.
    """

    name: str
    kind: int
    shape: tuple[int, ...]
    bytes: int
    made: int

    @property
    def dtype(self) -> str:
        """The type as it is stored, by our name."""
        return TYPES[self.kind]


class OnnxScope:
    """A graph of the file: its constants, and the nodes that are left."""

    def __init__(self, graph: Any, place: str, file: File, shapes: Shapes, outer: OnnxScope | None = None) -> None:
        self.graph, self.place, self.file, self.shapes, self.outer = graph, place, file, shapes, outer
        self.constants: dict[str, Constant] = {}
        self.calls: list[tuple[int, Any]] = []
        known = self.known = {given.name for given in graph.input}
        for tensor in graph.initializer:
            size = bytes_of_tensor(tensor.data_type, _entries(tuple(tensor.dims)))
            self.constants[tensor.name] = Constant(
                tensor.name, tensor.data_type, tuple(tensor.dims), size, tensor.data_type
            )
        for sparse in graph.sparse_initializer:
            self._sparse(sparse)
        known |= set(self.constants)
        for i, node in enumerate(graph.node):
            self._node(i, node, known)

    def _sparse(self, sparse: Any) -> None:
        values, indices = sparse.values, sparse.indices
        size = sum(bytes_of_tensor(part.data_type, _entries(tuple(part.dims))) for part in (values, indices))
        shape, kind = tuple(sparse.dims), values.data_type
        if any(dim < 0 for dim in shape):
            raise UsageError(f"{self.file.name}: sparse tensor {values.name[:80]!r} has a size below zero")
        self.constants[values.name] = Constant(values.name, kind, shape, size, kind)

    def _node(self, i: int, node: Any, known: set[str]) -> None:
        """Note a node as a constant or a call."""
        inner = {name for name in captured(node) if name not in known}
        for name in (*filter(None, node.input), *inner):
            if name not in known and not (self.outer and self.outer.has(name)):
                raise UsageError(
                    f"{self.file.name}: node {_node_name(i, node)} reads {name[:80]!r}, which nothing before it makes"
                )
        for name in filter(None, node.output):
            if name in known:
                raise UsageError(f"{self.file.name}: two nodes make {name[:80]!r}")
            known.add(name)
        if not self._folded(node):
            self.calls.append((i, node))

    def has(self, name: str) -> bool:
        """Return whether this graph, or one around it, has a tensor of that name."""
        return name in self.known or bool(self.outer and self.outer.has(name))

    def constant(self, name: str) -> Constant | None:
        """Return the constant of that name here, or around this graph."""
        own = self.constants.get(name)
        return own if own or self.outer is None else self.outer.constant(name)

    def key(self, name: str) -> Key:
        """Return where the shape of a tensor is noted."""
        key = self.place, name
        return key if self.outer is None or key in self.shapes.types else self.outer.key(name)

    def _folded(self, node: Any) -> bool:
        """Note the outputs of a node that depends on constants alone; return whether it does."""
        if node.op_type in _RANDOM or node.domain not in _OWN or any(graphs_of(node)):
            return False
        if not node.input and node.op_type != "Constant":
            return False
        read = [self.constant(name) for name in filter(None, node.input)]
        if not all(read):
            return False
        if node.op_type == "Identity" and read[0]:  # another name of the same storage
            self.constants[node.output[0]] = read[0]
            return True
        made: list[Constant] = []
        for name in filter(None, node.output):
            key = self.key(name)
            shape = self.shapes.dims.get(key)
            if shape is None or not all(isinstance(size, int) for size in shape):
                return False
            sizes = tuple(size for size in shape if isinstance(size, int))
            kind = self.shapes.types[key]
            stored, size = kind, bytes_of_tensor(kind, _entries(sizes))
            if node.op_type == "DequantizeLinear" and read[0]:  # stays as small as it is in the file
                stored, size = read[0].kind, sum(constant.bytes for constant in read if constant)
            made.append(Constant(name, stored, sizes, size, kind))
        self.constants.update({constant.name: constant for constant in made})
        return True


def _entries(shape: tuple[int, ...]) -> int:
    entries = 1
    for size in shape:
        entries *= size
    return entries


def _node_name(i: int, node: Any) -> str:
    return f"{i} ({node.op_type[:40]})"
