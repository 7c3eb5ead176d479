"""Measure the operators of an ONNX model on this machine, in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.onnx.model_file import read_names
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.execution.clocks import TimeSpread
from mtpp_dsl.runtimes.execution.onnx_weights import read_model
from mtpp_dsl.runtimes.profiling.jobs import MeasuringJob
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort, measure

__all__ = ["onnx_jobs"]


def onnx_jobs(
    path: Path, model: Model, symbols: Mapping[str, int], effort: MeasuringEffort, threads: int
) -> list[MeasuringJob]:
    """Return what measures each operator of the model in an ONNX file.

    Raises:
        UsageError: the file is not the one that was imported, or the shape of a tensor is not known.
    """
    from mtpp_dsl.runtimes.execution.onnx_plan import check_same

    check_same(path, model)
    whole = read_model(path)
    operators = [operator for operator in model.operators if operator.id.isdigit()]
    calls = onnx_calls(whole, [int(operator.id) for operator in operators], symbols)
    return [
        MeasuringJob(
            operator.name, call.op, f"{call.key} in onnxruntime", partial(_measure, call, whole, effort, threads)
        )
        for operator, call in zip(operators, calls, strict=True)
    ]


def _measure(call: OnnxCall, model: Any, effort: MeasuringEffort, threads: int) -> TimeSpread:
    """Return the time of a node: of many copies in one model, less what a run takes of itself."""
    pair = onnx_runner(call, model, threads)
    long, short = measure(pair.long, effort), measure(pair.short, effort)

    def one(many: float, few: float) -> float:
        return max(0.0, (many - few) / pair.copies)

    low, high = one(long.low, short.high), one(long.high, short.low)
    median = one(long.median, short.median)
    waited = long.processor / long.median if long.processor is not None and long.median else 1.0
    return TimeSpread(median, low, high, long.runs, median * waited)


REPEATS = 24
"""So many copies of a node stand in one model: what a run of the model itself takes is thus shared."""
COLD_BYTES = 96 * 2**20
"""The copies have weights of their own, up to so many bytes in all."""
LEAST_COPIES = 3
ONES_TYPES = {9}


@dataclass(frozen=True)
class OnnxCall:
    """A node of the model.

    Attributes:
        number: in the file.
        op: what it is: ``Conv``.
        key: the node with the shapes and types of its tensors: what the time depends on.
        node: its NodeProto.
        types: element type and shape of each tensor that it reads, by name.
        fixed: those that the model keeps: weights, and constants with their values where these are few.
    """

    number: int
    op: str
    key: str
    node: Any
    types: Mapping[str, tuple[int, tuple[int, ...]]]
    fixed: Mapping[str, Any]


@dataclass(frozen=True)
class OnnxPair:
    """Two models with different numbers of copies of a node: the difference of their times is that of the nodes."""

    long: Callable[[], object]
    short: Callable[[], object]
    copies: int


def onnx_calls(model: Any, numbers: Iterator[int] | range | list[int], symbols: Mapping[str, int]) -> list[OnnxCall]:
    """Return the nodes with these numbers; *symbols* are the values of the sizes that are none.

    Raises:
        UsageError: the type or the shape of a tensor that one reads is not known.
    """
    onnx = need("onnx", "onnx")
    types, constants = _typed(model, symbols, onnx)
    return [_call(model.graph.node[i], i, types, constants, onnx) for i in numbers]


def _typed(model: Any, symbols: Mapping[str, int], onnx: Any) -> tuple[dict[str, tuple[int, Any]], dict[str, Any]]:
    """Return type and shape of all tensors, and those that the model keeps or computes of what it keeps."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in (*copy.graph.input, *copy.graph.output, *copy.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param") and dim.dim_param in symbols:
                dim.dim_value = int(symbols[dim.dim_param])
    typed = onnx.shape_inference.infer_shapes(copy, data_prop=True).graph
    types: dict[str, tuple[int, Any]] = {}
    for value in (*typed.value_info, *typed.output, *typed.input):
        tensor = value.type.tensor_type
        dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
        types[value.name] = (tensor.elem_type, tuple(dims) if None not in dims else None)
    constants: dict[str, Any] = {}
    for tensor in model.graph.initializer:
        types[tensor.name] = (tensor.data_type, tuple(tensor.dims))
        constants[tensor.name] = tensor
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
            tensor = node.attribute[0].t
            types[node.output[0]] = (tensor.data_type, tuple(tensor.dims))
            constants[node.output[0]] = tensor
        elif all(name in constants for name in read_names(node)):
            constants.update(dict.fromkeys(node.output))
    return types, constants


def _call(node: Any, number: int, types: Mapping[str, Any], constants: Mapping[str, Any], onnx: Any) -> OnnxCall:
    read = list(dict.fromkeys(read_names(node)))
    shown = []
    for name in read:
        if name not in types or types[name][1] is None:
            raise UsageError(f"node {number} ({node.op_type}) reads {name!r}, whose shape is not known")
        kind, shape = types[name]
        value = _few(constants.get(name), onnx)
        text = onnx.TensorProto.DataType.Name(kind).lower() + f"[{','.join(map(str, shape))}]"
        shown.append(("weight " if name in constants else "") + text + ("" if value is None else f"={value.tolist()}"))
    attributes = sorted(onnx.helper.printable_attribute(attribute) for attribute in node.attribute)
    key = f"{node.op_type}({', '.join(shown)}){{{', '.join(attributes)}}}"
    fixed = {name: constants[name] for name in read if name in constants}
    return OnnxCall(number, node.op_type, key, node, {name: types[name] for name in read}, fixed)


def _few(tensor: Any, onnx: Any) -> Any:
    """Return the values of a small constant of whole numbers, on which an operator's result may depend."""
    if tensor is None or tensor.data_location == tensor.EXTERNAL or len(tensor.raw_data) > 512:
        return None
    if tensor.data_type not in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
        return None
    return onnx.numpy_helper.to_array(tensor)


def onnx_runner(call: OnnxCall, model: Any, threads: int) -> OnnxPair:
    """Return what runs one node by itself; what is random in it is the same each time."""
    weights = sum(_bytes(call.types[name]) for name in call.fixed)
    most = max(LEAST_COPIES, COLD_BYTES // max(weights, 1)) if weights else REPEATS
    copies = int(min(REPEATS, most))
    return OnnxPair(_session(call, model, threads, copies + 1), _session(call, model, threads, 1), copies)


def _bytes(typed: tuple[int, tuple[int, ...]]) -> int:
    return 4 * int(np.prod(typed[1], dtype=np.int64))


def _session(call: OnnxCall, model: Any, threads: int, copies: int) -> Callable[[], object]:
    onnx, runtime = need("onnx", "onnx"), need("onnxruntime", "onnx")
    generator = np.random.default_rng(0)
    proto = onnx.ModelProto()
    proto.ir_version = max(model.ir_version, 8)
    proto.opset_import.extend(model.opset_import)
    graph = proto.graph
    graph.name = "one"
    feed: dict[str, Any] = {}
    for name, (kind, shape) in call.types.items():
        if name not in call.fixed:
            graph.input.append(onnx.helper.make_tensor_value_info(name, kind, shape))
            feed[name] = _example(kind, shape, onnx, generator)
    for i in range(copies):
        node = graph.node.add()
        node.CopyFrom(call.node)
        node.name = f"n{i}"
        own = {name: f"{name}.{i}" for name in call.fixed}
        node.input[:] = [own.get(name, name) for name in node.input]
        node.output[:] = [f"{name}.{i}" if name else "" for name in node.output]
        for name, tensor in call.fixed.items():
            graph.initializer.append(_weight(tensor, own[name], call.types[name], onnx, generator))
    wanted = [name for node in graph.node for name in node.output if name]
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).strip().splitlines()[0][:300]
        raise UsageError(f"node {call.number} ({call.op}) cannot be run by itself: {reason}") from None
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    for name in wanted:
        binding.bind_output(name)
    return lambda: session.run_with_iobinding(binding)


def _example(kind: int, shape: tuple[int, ...], onnx: Any, generator: Any) -> Any:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    if np.issubdtype(dtype, np.floating):
        return generator.standard_normal(shape).astype(dtype)
    return np.ones(shape, dtype) if kind in ONES_TYPES else np.zeros(shape, dtype)


def _weight(tensor: Any, name: str, typed: tuple[int, tuple[int, ...]], onnx: Any, generator: Any) -> Any:
    """Return a weight of its own: with its values where these are few, else with random ones."""
    if tensor is not None and tensor.data_location != tensor.EXTERNAL and len(tensor.raw_data) <= 512:
        array = onnx.numpy_helper.to_array(tensor)
    else:
        array = _example(*typed, onnx, generator)
    return onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
