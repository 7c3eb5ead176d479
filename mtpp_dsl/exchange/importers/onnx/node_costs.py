"""Count what the nodes of an ONNX graph cost, with the graphs within them: branches, loops and scans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.exchange.importers.onnx.constants import Constant, OnnxScope
from mtpp_dsl.exchange.importers.onnx.contrib import DOMAIN
from mtpp_dsl.exchange.importers.onnx.formulas import OnnxFormulaCall, flop_of, kind_of, reads_rows
from mtpp_dsl.exchange.importers.onnx.inference import attributes_of, inner_place
from mtpp_dsl.exchange.importers.onnx.model_file import TYPES, bits_of_type, graphs_of
from mtpp_dsl.exchange.importers.onnx.shapes import Shape
from mtpp_dsl.exchange.importers.polynomials import Amount, Polynomial, product, size_of, symbol, whole_quotient

_PRODUCTS = ("matmul", "conv", "attention", "rnn")
_UNSIGNED = {"uint8": "int8", "uint4": "int4"}
"""Products of unsigned numbers run where those of signed ones do."""


@dataclass(frozen=True)
class OnnxCost:
    """What one node costs.

    Attributes:
        kind, dtype: see :class:`mtpp_dsl.exchange.model.parts.Operator`.
        flop: None: it cannot be counted.
        read, write: bytes of tensors, constants not counted.
        weight_read: bytes of constants that it reads; None: all.
        constants: those of the graphs within it.
        random: it makes something else each time.
        note: what the user should be told.
    """

    kind: str
    dtype: str = ""
    flop: Amount | None = None
    read: Amount = 0
    write: Amount = 0
    weight_read: Amount | None = None
    constants: Sequence[Constant] = ()
    random: bool = False
    note: str = ""


def bytes_of(shape: Shape | None, kind: int) -> Amount:
    """Return the bytes of a tensor of a type as ONNX numbers them; 0 where the shape is unknown."""
    if shape is None:
        return 0
    bits = bits_of_type(kind)
    entries = product(shape)
    return product([entries, bits // 8]) if bits % 8 == 0 else whole_quotient(entries * bits + 7, 8)


def cost_of(scope: OnnxScope, node: Any) -> OnnxCost:
    """Return the cost of a node of a graph."""
    if any(True for _ in graphs_of(node)):
        return _control(scope, node)
    kind = kind_of(node.op_type) if node.domain in ("", "ai.onnx", DOMAIN) else None
    dtype = _dtype(scope, node, kind)
    if kind == "view":
        return OnnxCost("view", dtype, 0)
    read, write = _traffic(scope, node)
    if kind is None:
        return OnnxCost("other", dtype, None, read, write)
    flop = flop_of(_call(scope, node))
    first = scope.constant(node.input[0]) if node.input and node.input[0] else None
    weight_read: Amount | None = None
    if reads_rows(node.op_type) and first is not None:
        made = product(_shape(scope, node.output[0]) or ())
        weight_read = whole_quotient(made * bits_of_type(first.kind), 8)
        kind = "embedding" if len(first.shape) == 2 and TYPES[first.made] in ("fp32", "fp16", "bf16", "fp64") else kind
    random = node.op_type.startswith(("Random", "Bernoulli", "Multinomial"))
    return OnnxCost(kind, dtype, flop, read, write, weight_read, random=random)


def _shape(scope: OnnxScope, name: str) -> Shape | None:
    if not name:
        return None
    constant = scope.constant(name)
    return constant.shape if constant else scope.shapes.dims.get(scope.key(name))


def _type(scope: OnnxScope, name: str) -> int:
    constant = scope.constant(name)
    return constant.made if constant else scope.shapes.types.get(scope.key(name), 0)


def _call(scope: OnnxScope, node: Any) -> OnnxFormulaCall:
    attributes = attributes_of(node, scope.file.onnx)
    return OnnxFormulaCall(
        node.op_type,
        attributes,
        [_shape(scope, name) for name in node.input],
        [_shape(scope, name) for name in node.output],
    )


def _dtype(scope: OnnxScope, node: Any, kind: str | None) -> str:
    """Return the type in which a node computes: that of the first input for products, else of the output."""
    name = node.input[0] if kind in _PRODUCTS and node.input else next(filter(None, node.output), "")
    dtype = TYPES.get(_type(scope, name), "") if name else ""
    return _UNSIGNED.get(dtype, dtype) if kind in _PRODUCTS else dtype


def _traffic(scope: OnnxScope, node: Any) -> tuple[Amount, Amount]:
    """Return the bytes of the tensors that a node reads, and of those that it makes."""
    names = [name for name in dict.fromkeys(node.input) if name and scope.constant(name) is None]
    sizes = {name: bytes_of(_shape(scope, name), _type(scope, name)) for name in names}
    made: Amount = 0
    for name in filter(None, node.output):
        made = made + bytes_of(_shape(scope, name), _type(scope, name))
    if reads_rows(node.op_type) and node.input and node.input[0] in sizes:
        sizes[node.input[0]] = made
    read: Amount = 0
    for size in sizes.values():
        read = read + size
    return read, made


def _control(scope: OnnxScope, node: Any) -> OnnxCost:
    """Return the cost of a node with graphs within: If, Loop, Scan."""
    inner = [_whole(scope, node, name, graph) for name, graph in graphs_of(node)]
    constants = tuple(constant for cost in inner for constant in cost.constants)
    read, write = _traffic(scope, node)
    dtype = next((cost.dtype for cost in inner if cost.dtype), "")
    rounds, note = _rounds(scope, node)
    counted = [cost.flop for cost in inner if cost.flop is not None]
    if rounds is None or len(counted) < len(inner):
        reason = note or f"the graph within {node.op_type} has operators of unknown cost"
        return OnnxCost("other", dtype, None, read, write, None, constants, True, reason)
    if len(inner) == 1:
        within = inner[0]
        return OnnxCost(
            "other",
            dtype,
            product([rounds, counted[0]]),
            product([rounds, within.read]),
            product([rounds, within.write]),
            None,
            constants,
            True,
            note,
        )
    flop = _largest(counted)
    return OnnxCost(
        "other",
        dtype,
        flop,
        _largest([read, *(cost.read for cost in inner)]),
        _largest([write, *(cost.write for cost in inner)]),
        None,
        constants,
        True,
        note,
    )


def _rounds(scope: OnnxScope, node: Any) -> tuple[Amount | None, str]:
    """Return how often the graph within a node runs, None where it is unknown, and what to tell the user."""
    if node.op_type == "If":
        return 1, "an If is counted with the costlier of its branches"
    if node.op_type == "Scan":
        given = attributes_of(node, scope.file.onnx)
        count = given.get("num_scan_inputs", 0)
        axes = given.get("scan_input_axes") or [0]
        shape = _shape(scope, node.input[-count]) if 0 < count <= len(node.input) else None
        axis = axes[0] if axes else 0
        if shape is None or not -len(shape) <= axis < len(shape):
            return None, "the number of steps of the Scan is unknown"
        return shape[axis], ""
    if node.op_type == "Loop":
        rounds = _number(scope, node.input[0]) if node.input and node.input[0] else None
        if rounds is None or rounds < 0:
            return None, "a Loop runs as often as its input says"
        return rounds, "a Loop is counted with all its rounds, though its condition may end it before"
    return None, f"the number of times that the graph within {node.op_type} runs is unknown"


def _number(scope: OnnxScope, name: str) -> int | None:
    """Return the value of a constant that is one whole number, where the file holds it."""
    around: OnnxScope | None = scope
    while around is not None:
        for tensor in around.graph.initializer:
            if tensor.name == name:
                return _value(scope, tensor)
        for node in around.graph.node:
            if node.op_type == "Constant" and name in node.output:
                tensors = [attribute.t for attribute in node.attribute if attribute.name == "value"]
                whole = [attribute.i for attribute in node.attribute if attribute.name == "value_int"]
                return _value(scope, tensors[0]) if tensors else whole[0] if whole else None
        around = around.outer
    return None


def _value(scope: OnnxScope, tensor: Any) -> int | None:
    if tensor.data_type not in (6, 7) or tensor.external_data or len(tensor.dims) > 1:
        return None
    try:
        numbers = scope.file.onnx.numpy_helper.to_array(tensor).reshape(-1)
    except (ValueError, TypeError):
        return None
    return int(numbers[0]) if len(numbers) == 1 else None


def _largest(amounts: Sequence[Amount]) -> Amount:
    if all(isinstance(amount, int) for amount in amounts):
        return max(amount for amount in amounts if isinstance(amount, int))
    if all(amount == amounts[0] for amount in amounts):
        return amounts[0]
    return symbol(f"max({', '.join(str(size_of(amount)) for amount in dict.fromkeys(amounts))})")


def _whole(scope: OnnxScope, node: Any, name: str, graph: Any) -> OnnxCost:
    """Return what all nodes of a graph within a node cost."""
    within = OnnxScope(graph, inner_place(scope.place, node, name), scope.file, scope.shapes, scope)
    flop: Amount | None = 0
    read: Amount = 0
    write: Amount = 0
    constants = {constant.name: constant for constant in within.constants.values()}
    dtype = ""
    for _, call in within.calls:
        cost = cost_of(within, call)
        flop = None if flop is None or cost.flop is None else flop + cost.flop
        read, write = read + cost.read, write + cost.write
        constants.update({constant.name: constant for constant in cost.constants})
        dtype = dtype or (cost.dtype if not _is_zero(cost.flop) else "")
    return OnnxCost("other", dtype, flop, read, write, None, tuple(constants.values()))


def _is_zero(flop: Amount | None) -> bool:
    return flop is None or (not isinstance(flop, Polynomial) and flop == 0)
