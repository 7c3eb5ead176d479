"""Types and shapes of all tensors of an ONNX graph, node by node, where the inputs have numbers for sizes.

The package onnx knows the rules of the operators; what it is given here are the values of small tensors as well, since
exporters compute shapes by operators. Graphs within nodes are gone through by the rules of If, Loop and Scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.exchange.importers.onnx.contrib import DOMAIN, Typed, made_by
from mtpp_dsl.exchange.importers.onnx.model_file import File, graphs_of

__all__ = ["UNKNOWN", "Key", "attributes_of", "infer", "inner_place"]

Key: TypeAlias = tuple[str, str]
"""Where a graph is, "" for the outermost, and the name of a tensor in it."""
UNKNOWN = -1
_BOOL, _INT64 = 9, 7
_TENSOR = 4

Array: TypeAlias = npt.NDArray[Any]
MOST = 1024
"""Tensors of more entries are not followed."""
_SHAPE_OPERATORS = """
    Identity Cast Gather Concat Slice Squeeze Unsqueeze Reshape Transpose Add Sub Mul Div Mod Min Max Pow Neg Abs Floor
    Ceil Sqrt Not And Or Equal Less LessOrEqual Greater GreaterOrEqual Where Range ConstantOfShape Expand Tile NonZero
    ReduceProd ReduceSum ReduceMax ReduceMin
"""
_COMPUTED = frozenset(_SHAPE_OPERATORS.split())
"""The operators with which exporters compute shapes."""
_BOUNDED = ("NonZero", "LessOrEqual", "GreaterOrEqual")
"""Those of them whose outputs are small where their inputs are; the package onnx does not always know their shapes."""


def attributes_of(node: Any, onnx: Any) -> dict[str, Any]:
    """Return the attributes of a node that are numbers, texts, lists of them, or small tensors as arrays."""
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type in (1, 2, 3, 6, 7, 8):
            attributes[attribute.name] = onnx.helper.get_attribute_value(attribute)
        elif attribute.type == _TENSOR:
            value = array_of(attribute.t, onnx)
            if value is not None:
                attributes[attribute.name] = value
    return attributes


def array_of(tensor: Any, onnx: Any) -> Array | None:
    """Return the values of a small tensor; None where the file does not hold them."""
    entries = 1
    for size in tensor.dims:
        entries *= size
    if entries > MOST or tensor.external_data or tensor.data_location == 1 or tensor.data_type == 8:
        return None
    try:
        array: Array = onnx.numpy_helper.to_array(tensor)
    except Exception:  # of damaged files: the values are then not known
        return None
    return array


def inner_place(place: str, node: Any, name: str) -> str:
    """Return where the graph of an attribute of a node is; outputs have names of their own, nodes need not."""
    return f"{place}/{node.output[0] if node.output else ''}.{name}"


def infer(file: File, given: Mapping[str, Typed], declared: Mapping[Key, Typed]) -> dict[Key, Typed]:
    """Return the types and shapes of all tensors of a model.

    Args:
        file: the model.
        given: types of the inputs of its graph.
        declared: what the file says of the others, for outputs of unknown operators.
    """
    types: dict[Key, Typed] = {}
    _Graph(file, file.proto.graph, "", declared, types, None).run(given, {})
    return types


@lru_cache(10_000)
def _reference(node: bytes, opset: int) -> Callable[..., list[Any]]:
    """Return what computes the outputs of one node, of an operator of the standard."""
    onnx = need("onnx", "onnx")
    evaluator = need("onnx.reference", "onnx").ReferenceEvaluator(onnx.NodeProto.FromString(node), opsets={"": opset})
    run: Callable[..., list[Any]] = evaluator.run
    return run


class _Graph:
    """One graph: what is known of its tensors, and where they are around it."""

    def __init__(
        self,
        file: File,
        graph: Any,
        place: str,
        declared: Mapping[Key, Typed],
        types: dict[Key, Typed],
        outer: _Graph | None,
    ) -> None:
        self.file, self.graph, self.place = file, graph, place
        self.declared, self.types, self.outer = declared, types, outer
        self.values: dict[str, Array] = {}
        self.opsets = {opset.domain: opset.version for opset in file.proto.opset_import}

    def run(self, given: Mapping[str, Typed], values: Mapping[str, Array]) -> None:
        """Find the types of all tensors where the inputs have these types, and some of them these values."""
        self.values.update(values)
        for name, typed in given.items():
            self.types[self.place, name] = typed
        for tensor in self.graph.initializer:
            self.types[self.place, tensor.name] = tensor.data_type, tuple(tensor.dims)
            self._note(tensor.name, array_of(tensor, self.file.onnx))
        for sparse in self.graph.sparse_initializer:
            self.types[self.place, sparse.values.name] = sparse.values.data_type, tuple(sparse.dims)
        for node in self.graph.node:
            self._node(node)

    def _note(self, name: str, value: Array | None) -> None:
        if value is not None and name:
            self.values[name] = value

    def type_of(self, name: str) -> Typed | None:
        """Return the type of a tensor here, or around this graph."""
        typed = self.types.get((self.place, name))
        return typed if typed is not None or self.outer is None else self.outer.type_of(name)

    def value(self, name: str) -> Array | None:
        """Return the value of a tensor here, or around this graph, where it is known."""
        array = self.values.get(name)
        return array if array is not None or self.outer is None else self.outer.value(name)

    def _node(self, node: Any) -> None:
        attributes = attributes_of(node, self.file.onnx)
        read = [self.type_of(name) if name else None for name in node.input]
        if any(True for _ in graphs_of(node)):
            made = self._control(node, attributes, read)
        elif node.domain == DOMAIN:
            made = made_by(node.op_type, attributes, read)
        else:
            made = list(self._standard(node))
        for number, name in enumerate(node.output):
            typed = made[number] if number < len(made) else None
            if typed is None or typed[1] is None or UNKNOWN in typed[1]:
                typed = self.declared.get((self.place, name), typed)
            if name and typed is not None:
                self.types[self.place, name] = typed
        if node.output:
            self._note(node.output[0], self._value(node, attributes, read))

    def _value(self, node: Any, attributes: Mapping[str, Any], read: Sequence[Typed | None]) -> Array | None:
        """Return the value of the first output, where it is small and follows from what is known."""
        if node.domain not in ("", "ai.onnx"):
            return None
        if node.op_type in ("Shape", "Size"):
            shape = read[0][1] if read and read[0] is not None else None
            if shape is None or UNKNOWN in shape:
                return None
            if node.op_type == "Size":
                return np.array(np.prod(shape, dtype=object)).astype(np.int64)
            return np.array(shape[attributes.get("start", 0) : attributes.get("end", len(shape))], np.int64)
        if node.op_type == "Constant":
            for name in ("value", "value_int", "value_ints", "value_float", "value_floats"):
                if name in attributes:
                    attribute = attributes[name]
                    kind = np.int64 if "int" in name else np.float32
                    return attribute if name == "value" else np.array(attribute, kind)
            return None
        return self._computed(node)

    def _computed(self, node: Any) -> Array | None:
        """Return the first output as the package onnx's own reference computes it, where it is known to be small."""
        feeds = {name: self.value(name) for name in node.input if name}
        typed = self.types.get((self.place, node.output[0]))
        if node.op_type not in _COMPUTED or not feeds or any(array is None for array in feeds.values()):
            return None
        if node.op_type not in _BOUNDED and (
            typed is None or typed[1] is None or min(typed[1], default=0) < 0 or prod(typed[1]) > MOST
        ):
            return None
        try:
            with np.errstate(all="ignore"):
                run = _reference(node.SerializeToString(), self.opsets.get("", self.opsets.get("ai.onnx", 0)))
                array = np.asarray(run(None, feeds)[0])
        except Exception:  # of operators that do not take these values: they are then not known
            return None
        return array if array.size <= MOST else None

    def _standard(self, node: Any) -> Iterator[Typed | None]:
        """Yield what the package onnx says of the outputs of an operator of the standard, or another that it knows."""
        onnx = self.file.onnx
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = self.opsets.get(domain, self.opsets.get("ai.onnx", 0) if not domain else 0)
        types = {name: _proto(typed, onnx) for name in node.input if name and (typed := self.type_of(name))}
        if not all(name in types for name in node.input if name):
            return
        data = {}
        for name in types:
            value = self.value(name)
            if value is not None and value.dtype.kind in "iufb" and value.dtype != np.float16:
                data[name] = onnx.numpy_helper.from_array(np.array(value, order="C"), name)
        try:
            schema = onnx.defs.get_schema(node.op_type, version, domain)
            imports = [onnx.helper.make_opsetid(domain, version)]
            outputs = onnx.shape_inference.infer_node_outputs(
                schema, node, types, data, opset_imports=imports, ir_version=self.file.proto.ir_version
            )
        except Exception:  # of C++, in its own words: the node's outputs are then unknown
            return
        yield from (_typed(outputs[name]) if name in outputs else None for name in node.output)

    def _inner(self, node: Any, name: str, graph: Any, given: Sequence[Typed | None]) -> list[Typed | None]:
        """Return the types of the outputs of a graph within a node, whose inputs have these types."""
        within = _Graph(self.file, graph, inner_place(self.place, node, name), self.declared, self.types, self)
        names = [value.name for value in graph.input]
        types = {input_name: typed for input_name, typed in zip(names, given, strict=False) if typed is not None}
        within.run(types, {})
        return [within.type_of(value.name) for value in graph.output]

    def _control(self, node: Any, attributes: Mapping[str, Any], read: Sequence[Typed | None]) -> list[Typed | None]:
        """Return the types of the outputs of If, Loop and Scan."""
        inner = dict(graphs_of(node))
        if node.op_type == "If" and {"then_branch", "else_branch"} <= set(inner):
            both = [self._inner(node, name, inner[name], []) for name in ("then_branch", "else_branch")]
            chosen = self.value(node.input[0]) if node.input else None
            if chosen is not None and chosen.size == 1:
                return both[0] if chosen.reshape(-1)[0] else both[1]
            return [_merged(first, second) for first, second in zip(*both, strict=False)]
        if node.op_type == "Loop" and "body" in inner:
            carried = list(read[2:])
            made = self._inner(node, "body", inner["body"], [(_INT64, ()), (_BOOL, ()), *carried])[1:]
            rounds = self.value(node.input[0]) if node.input and node.input[0] else None
            times = (
                int(rounds.reshape(-1)[0]) if rounds is not None and rounds.size == 1 and not node.input[1] else UNKNOWN
            )
            return [*carried, *(_stacked(typed, 0, times) for typed in made[len(carried) :])]
        if node.op_type == "Scan" and "body" in inner:
            return self._scan(node, inner["body"], attributes, read)
        for name, graph in inner.items():
            self._inner(node, name, graph, [])
        return []

    def _scan(
        self, node: Any, body: Any, attributes: Mapping[str, Any], read: Sequence[Typed | None]
    ) -> list[Typed | None]:
        count = attributes.get("num_scan_inputs", 0)
        if not 0 < count <= len(read) or self.opsets.get("", 0) < 9:
            return []
        state, scanned = list(read[:-count]), read[-count:]
        axes = list(attributes.get("scan_input_axes") or [0] * count)
        length, given = UNKNOWN, []
        for typed, axis in zip(scanned, axes, strict=False):
            shape = None if typed is None else typed[1]
            if typed is None or shape is None or not -len(shape) <= axis < len(shape):
                return []
            axis %= len(shape)
            length = shape[axis]
            given.append((typed[0], shape[:axis] + shape[axis + 1 :]))
        made = self._inner(node, "body", body, [*state, *given])
        outputs = list(attributes.get("scan_output_axes") or [])
        types: list[Typed | None] = list(state)
        for number, typed in enumerate(made[len(state) :]):
            types.append(_stacked(typed, outputs[number] if number < len(outputs) else 0, length))
        return types


def _stacked(typed: Typed | None, axis: int, length: int) -> Typed | None:
    """Return the type of one tensor for each round, along a new axis."""
    if typed is None or typed[1] is None or not -len(typed[1]) - 1 <= axis <= len(typed[1]):
        return None
    axis %= len(typed[1]) + 1
    return typed[0], (*typed[1][:axis], length, *typed[1][axis:])


def _merged(first: Typed | None, second: Typed | None) -> Typed | None:
    """Return what is known of a tensor that is one of two."""
    if first is None or second is None or first[1] is None or second[1] is None or len(first[1]) != len(second[1]):
        return None
    return first[0], tuple(a if a == b else UNKNOWN for a, b in zip(first[1], second[1], strict=True))


def _proto(typed: Typed, onnx: Any) -> Any:
    """Return a type as the package onnx takes it."""
    proto = onnx.TypeProto()
    proto.tensor_type.elem_type = typed[0]
    if typed[1] is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for size in typed[1]:
            dim = shape.dim.add()
            if size >= 0:
                dim.dim_value = size
    return proto


def _typed(proto: Any) -> Typed | None:
    if not proto.HasField("tensor_type"):
        return None
    kind = proto.tensor_type
    if not kind.HasField("shape"):
        return kind.elem_type, None
    return kind.elem_type, tuple(dim.dim_value if dim.HasField("dim_value") else UNKNOWN for dim in kind.shape.dim)
