"""Cut an ONNX model into parts, each a model of its own: its nodes, their weights, and what goes in and out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.onnx.model_file import read_names

LEAST_IR = 8
"""Older files list weights as inputs, which the parts do not."""


@dataclass(frozen=True)
class OnnxPart:
    """A part of a model.

    Attributes:
        proto: the part as a ModelProto. Weights whose data is in a file beside the whole model are still there.
        nodes: the numbers of its nodes in the whole model, rising.
        inputs, outputs: the tensors that it takes and gives.
        sources: for each input the number of the part that makes it; -1: the model is given it.
    """

    proto: Any
    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sources: tuple[int, ...]


def cut(model: Any, parts: Sequence[Iterable[int]], name: str) -> list[OnnxPart]:
    """Return the parts of a model, whose weights may be absent if they lie in files of their own.

    Args:
        model: a ModelProto.
        parts: numbers of nodes. One may be in several parts: each of these computes it. Nodes in no part, such as those
            that only fill weights or ask for shapes, are computed wherever they are read.
        name: of the model, for messages.

    Raises:
        UsageError: a tensor that leaves a part has an unknown type; a part reads what a later one makes.
    """
    nodes = list(model.graph.node)
    reads = [tuple(dict.fromkeys(read_names(node))) for node in nodes]
    makers = {tensor: i for i, node in enumerate(nodes) for tensor in node.output if tensor}
    places = _places(reads, makers, [frozenset(part) for part in parts], model, name)
    given = _inputs(model)
    needs, sources = _needs(reads, makers, places, given, len(parts), name)
    results = [output.name for output in model.graph.output]
    outputs = _outputs(nodes, places, needs, sources, results, makers)
    types = _Types(model, name)
    cut_parts = []
    for s in range(len(parts)):
        inside = tuple(i for i in range(len(nodes)) if s in places[i])
        proto = _proto(model, s, inside, reads, needs[s], outputs[s], types)
        origins = tuple(sources[s][tensor] for tensor in needs[s])
        cut_parts.append(OnnxPart(proto, inside, tuple(needs[s]), tuple(outputs[s]), origins))
    return cut_parts


def _inputs(model: Any) -> frozenset[str]:
    """Return the tensors that the model is given; old files list weights as inputs."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return frozenset(value.name for value in model.graph.input if value.name not in weights)


def _places(
    reads: Sequence[tuple[str, ...]],
    makers: Mapping[str, int],
    parts: Sequence[frozenset[int]],
    model: Any,
    name: str,
) -> list[set[int]]:
    """Return the parts that each node goes into."""
    places: list[set[int]] = [set() for _ in reads]
    for s, part in enumerate(parts):
        for i in part:
            if not 0 <= i < len(reads):
                raise UsageError(f"{name} has no node {i}: it has {len(reads)}; is it the model that the plan is for?")
            places[i].add(s)
    placed = [bool(where) for where in places]
    for output in model.graph.output:
        maker = makers.get(output.name)
        if maker is not None and not placed[maker]:
            places[maker].add(len(parts) - 1)
    for i in range(len(reads) - 1, -1, -1):
        for tensor in reads[i]:
            maker = makers.get(tensor)
            if maker is not None and not placed[maker]:
                places[maker] |= places[i]
    return places


def _needs(
    reads: Sequence[tuple[str, ...]],
    makers: Mapping[str, int],
    places: Sequence[set[int]],
    given: frozenset[str],
    count: int,
    name: str,
) -> tuple[list[list[str]], list[dict[str, int]]]:
    """Return for each part the tensors that it takes, and which part each of them comes from."""
    needs: list[list[str]] = [[] for _ in range(count)]
    sources: list[dict[str, int]] = [{} for _ in range(count)]
    for i, where in enumerate(places):
        for s in sorted(where):
            for tensor in reads[i]:
                maker = makers.get(tensor)
                if tensor in sources[s] or (maker is None and tensor not in given):
                    continue
                if maker is not None and s in places[maker]:
                    continue
                origin = -1 if maker is None else min(places[maker])
                if origin > s:
                    raise UsageError(f"{name}: part {s} reads {tensor!r}, which part {origin} makes, a later one")
                sources[s][tensor] = origin
                needs[s].append(tensor)
    return needs, sources


def _outputs(
    nodes: Sequence[Any],
    places: Sequence[set[int]],
    needs: Sequence[list[str]],
    sources: Sequence[Mapping[str, int]],
    results: Sequence[str],
    makers: Mapping[str, int],
) -> list[list[str]]:
    """Return for each part the tensors that it gives: to other parts in the order of their nodes, then as results."""
    wanted: list[set[str]] = [set() for _ in needs]
    for s, tensors in enumerate(needs):
        for tensor in tensors:
            if sources[s][tensor] >= 0:
                wanted[sources[s][tensor]].add(tensor)
    for tensor in results:
        if tensor not in makers:
            raise UsageError(f"the result {tensor!r} is an input or a weight of the model: no part makes it")
        wanted[min(places[makers[tensor]])].add(tensor)
    return [
        [tensor for i, node in enumerate(nodes) if s in places[i] for tensor in node.output if tensor in wanted[s]]
        for s in range(len(needs))
    ]


class _Types:
    """Types and shapes of tensors: as the file says, else as they are inferred."""

    def __init__(self, model: Any, name: str) -> None:
        onnx = need("onnx", "onnx")
        self._name = name
        try:
            typed = onnx.shape_inference.infer_shapes(_lightened(model, onnx), data_prop=True).graph
        except Exception as error:  # of C++, in its own words
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
            raise UsageError(f"{name}: the shapes of its tensors cannot be inferred: {reason}") from None
        self.known = {value.name: value for value in (*typed.value_info, *typed.output, *typed.input)}

    def of(self, tensor: str) -> Any:
        """Return the ValueInfoProto of a tensor.

        Raises:
            UsageError: its type is unknown.
        """
        info = self.known.get(tensor)
        if info is None or not info.type.WhichOneof("value"):
            raise UsageError(
                f"{self._name}: a part would end at tensor {tensor!r}, whose type cannot be inferred: keep the nodes "
                "that make and read it on one device"
            )
        return info


def _lightened(model: Any, onnx: Any) -> Any:
    """Return the model for the inference of shapes, without the data of its large weights."""
    light = onnx.ModelProto()
    light.CopyFrom(model)
    for tensor in light.graph.initializer:
        if tensor.data_location != tensor.EXTERNAL and len(tensor.raw_data) > 1024:
            tensor.raw_data = b""
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", "left out"
            tensor.data_location = tensor.EXTERNAL
    return light


def _proto(
    model: Any,
    s: int,
    inside: Sequence[int],
    reads: Sequence[tuple[str, ...]],
    inputs: Sequence[str],
    outputs: Sequence[str],
    types: _Types,
) -> Any:
    """Return a part as a model."""
    onnx = need("onnx", "onnx")
    proto = onnx.ModelProto()
    proto.ir_version = max(model.ir_version, LEAST_IR)
    proto.opset_import.extend(model.opset_import)
    proto.functions.extend(model.functions)
    proto.producer_name = "mtpp"
    graph = proto.graph
    graph.name = f"{model.graph.name or 'graph'}_part{s}"
    graph.node.extend(model.graph.node[i] for i in inside)
    read = {tensor for i in inside for tensor in reads[i]}
    inner = {tensor for i in inside for tensor in model.graph.node[i].output if tensor}
    graph.initializer.extend(tensor for tensor in model.graph.initializer if tensor.name in read)
    graph.sparse_initializer.extend(tensor for tensor in model.graph.sparse_initializer if tensor.values.name in read)
    graph.input.extend(types.of(tensor) for tensor in inputs)
    graph.output.extend(types.of(tensor) for tensor in outputs)
    graph.value_info.extend(
        value for value in model.graph.value_info if value.name in inner and value.name not in outputs
    )
    graph.quantization_annotation.extend(
        annotation for annotation in model.graph.quantization_annotation if annotation.tensor_name in read | inner
    )
    return proto
