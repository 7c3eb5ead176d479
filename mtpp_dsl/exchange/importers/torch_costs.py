"""Count what one call of a graph of torch.export costs, by running it on fake tensors, which have no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.exchange.importers.torch_kinds import GATHERS, UNREAD, WRITES_PART, kind_of, operation
from mtpp_dsl.exchange.importers.torch_scans import NAMESPACE, scan_flop

__all__ = ["COUNTED", "Counter", "TorchCost", "attention_inputs", "bytes_of", "tensors_in"]

COUNTED = ("matmul", "conv", "attention", "rnn")
"""Kinds whose work is that of products of matrices: no count at all means that they were not counted."""
WRAPPERS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")
"""Higher-order operations that run one graph once."""


@dataclass(frozen=True)
class TorchCost:
    """What a call costs; the numbers are those of torch, and may be symbolic.

    Attributes:
        flop: floating-point operations; None: unknown.
        reads: bytes read of each tensor among the inputs, in the order of ``node.all_input_nodes``.
        write: bytes written.
        shares: for each tensor that it gives the place of the input whose data it is, or None.
    """

    flop: Any
    reads: tuple[Any, ...]
    write: Any
    shares: tuple[int | None, ...]


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in what a call gives or takes: one, several, or none."""
    return [part for part in (value if isinstance(value, (list, tuple)) else (value,)) if hasattr(part, "element_size")]


def bytes_of(tensor: Any) -> Any:
    """Return the bytes of a tensor's data; what is expanded along an axis is there once."""
    total = tensor.element_size()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if not (isinstance(stride, int) and stride == 0):
            total = total * size
    return total


class Counter:
    """Counts calls, each kind of call with each shapes of its tensors once.

    Args:
        graph_module: whose graph they are of.
    """

    def __init__(self, graph_module: Any) -> None:
        import torch
        from torch.utils.flop_counter import FlopCounterMode

        self._torch, self._flops = torch, FlopCounterMode
        self._owner = graph_module
        self._known: dict[object, TorchCost] = {}
        values = [part for node in graph_module.graph.nodes for part in tensors_in(node.meta.get("val"))]
        modes: list[Any] = [value.fake_mode for value in values if hasattr(value, "fake_mode")]
        self.fake_mode: Any = modes[0] if modes else nullcontext()

    def cost(self, node: Any) -> TorchCost:
        """Return what a call costs."""
        key = self.key(node)
        if key not in self._known:
            self._known[key] = self._count(node)
        return self._known[key]

    def key(self, node: Any) -> object:
        """Return what two calls share that cost the same: the operation, and shapes in place of tensors."""
        return node.target, self._signature(node, node.args), self._signature(node, node.kwargs), _routed_to(node)

    def arguments(self, node: Any) -> tuple[Any, Any]:
        """Return what a call is given: fake tensors and numbers in place of nodes."""
        return self._torch.fx.node.map_arg((node.args, node.kwargs), self.value)  # type: ignore[no-any-return]

    def value(self, node: Any) -> Any:
        """Return what a node stands for: a fake tensor, several, a number, or a part of the program."""
        if node.op == "get_attr":
            value: Any = self._owner
            for part in node.target.split("."):
                value = getattr(value, part)
            return value
        return node.meta.get("val")

    def _signature(self, node: Any, given: Any) -> object:
        """Return *given* as text, with shapes in place of tensors and the number of each input."""
        numbers = {source: number for number, source in enumerate(node.all_input_nodes)}

        def shown(source: Any) -> str:
            value = self.value(source)
            if hasattr(value, "element_size"):
                return f"{numbers[source]}:{value.dtype}{tuple(map(str, value.shape))}{tuple(map(str, value.stride()))}"
            return f"{numbers[source]}:{value if not hasattr(value, 'graph') else id(value)}"

        return str(self._torch.fx.node.map_arg(given, lambda source: _Text(shown(source))))

    def _count(self, node: Any) -> TorchCost:
        inputs = [(number, self.value(source)) for number, source in enumerate(node.all_input_nodes)]
        given = tensors_in(node.meta.get("val"))
        flop, shares = self._run(node, [value for _, value in inputs], len(given))
        reads, write = _traffic(node, [value for _, value in inputs], given, shares)
        if operation(node.target) in WRAPPERS:
            flop, inner = self._inner(node)
            write = write + inner
        return TorchCost(flop, tuple(reads), write, shares)

    def _run(self, node: Any, inputs: list[Any], made: int) -> tuple[Any, tuple[int | None, ...]]:
        """Return the FLOP of a call, and whose data each tensor is that it gives: run on its fake tensors."""
        args, kwargs = self.arguments(node)
        flop = _by_formula(node, args, kwargs)
        if kind_of(node.target) == "rnn":  # which runs step by step, and would make numbers of the sizes
            return flop, (None,) * made
        try:
            with self.fake_mode, self._flops(display=False) as counted, self._torch.no_grad():
                value = tensors_in(node.target(*args, **kwargs))
        except Exception:  # of a plug-in of torch's: what cannot be run cannot be counted
            return flop, (None,) * made
        storages = [_storage(tensor) if hasattr(tensor, "element_size") else None for tensor in inputs]
        shares = tuple(
            next((at for at, own in enumerate(storages) if own == _storage(tensor)), None) for tensor in value
        )
        if len(shares) != made:
            shares = (None,) * made
        if flop is None:
            flop = counted.get_total_flops()
            kind = kind_of(node.target)
            if isinstance(flop, int) and flop == 0 and kind in (*COUNTED, "other"):
                flop = None
        return flop, shares

    def _inner(self, node: Any) -> tuple[Any, Any]:
        """Return the FLOP of the graph that a call runs once, and the bytes that move within it."""
        inner = next(self.value(source) for source in node.all_input_nodes if hasattr(self.value(source), "graph"))
        counter = Counter(inner)
        flop: Any = 0
        moved: Any = 0
        for call in inner.graph.nodes:
            if call.op == "call_function" and tensors_in(call.meta.get("val")) and hasattr(call.target, "namespace"):
                cost = counter.cost(call)
                flop = None if flop is None or cost.flop is None else flop + cost.flop
                moved = moved + cost.write + sum(cost.reads)
        return flop, moved


class _Text(str):
    """A text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def attention_inputs(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return query, key and value of a call of fused attention."""
    return [args[at] if at < len(args) else kwargs[name] for at, name in enumerate(("query", "key", "value"))]


def attention_flop(query: Any, key: Any, value: Any) -> Any:
    """Return the FLOP of fused attention: the scores and their product with the values, counted in full."""
    rows: Any = 1
    for size in query.shape[:-1]:
        rows = rows * size
    return 2 * rows * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _tensors(given: Any) -> bool:
    """Return whether an argument is a list of tensors."""
    return isinstance(given, (list, tuple)) and bool(given) and all(hasattr(tensor, "element_size") for tensor in given)


def _by_formula(node: Any, args: Any, kwargs: Any) -> Any:
    """Return the FLOP of what torch does not count everywhere, or None.

    Fused attention is counted by torch only where its device takes it apart. Of a grouped product each row is
    multiplied by the matrix of one group. A recurrent layer multiplies each step of each sequence by each of its
    matrices: torch runs it step by step, for which it makes sizes the numbers of a sample.
    """
    name = operation(node.target)
    if getattr(node.target, "namespace", "") == NAMESPACE:
        return scan_flop(name, args)
    if kind_of(node.target) == "rnn":
        matrices = (
            args[2:4] if name.endswith("_cell") else next(argument for argument in reversed(args) if _tensors(argument))
        )
        return (
            2 * args[0].numel() // args[0].shape[-1] * sum(matrix.numel() for matrix in matrices if matrix.dim() == 2)
        )
    if name in ("scaled_dot_product_attention", "flex_attention"):
        return attention_flop(*attention_inputs(args, kwargs))
    if name == "grouped_mm" and len(args) > 1 and args[0].dim() == 2 and args[1].dim() == 3:
        return 2 * args[0].shape[0] * args[0].shape[1] * args[1].shape[2]
    return None


def _traffic(node: Any, inputs: list[Any], given: list[Any], shares: tuple[int | None, ...]) -> tuple[list[Any], Any]:
    """Return the bytes that a call reads of each input, and those that it writes."""
    name = operation(node.target)
    schema = getattr(node.target, "_schema", None)
    tensors = [value if hasattr(value, "element_size") else None for value in inputs]
    reads: list[Any] = [0 if value is None else bytes_of(value) for value in tensors]
    in_place = schema is not None and schema.is_mutable
    if not in_place and shares and all(share is not None for share in shares):
        return [0] * len(inputs), 0  # a view
    write: Any = sum(bytes_of(value) for value, share in zip(given, shares, strict=True) if in_place or share is None)
    if name in GATHERS and reads:
        reads[0] = write
    elif name in UNREAD and reads:
        reads[0] = 0
    elif name == "grouped_mm" and len(inputs) > 2 and inputs[1].dim() == 3:
        count, rows = inputs[1].shape[0], inputs[0].shape[0]
        reads[1] = _experts(count, _routed_to(node), rows) * (bytes_of(inputs[1]) // count)
    if in_place and name in WRITES_PART and len(reads) > 1:
        reads[0], write = 0, reads[-1]
    return reads, write


def _routed_to(node: Any) -> int:
    """Return how many experts each token uses, of a product by experts: what the nearest ``topk`` before it takes.

    1 where there is none: each row is then taken for a token of its own. The router's product ends the search.
    """
    if operation(node.target) != "grouped_mm":
        return 0
    waiting, seen = [source for source in (*node.args[2:3], node.kwargs.get("offs")) if source is not None], set()
    for source in waiting:  # grows
        if operation(source.target) == "topk":
            return int(source.args[1])
        if source.op == "call_function" and kind_of(source.target) not in COUNTED:
            waiting += [one for one in source.all_input_nodes if one not in seen]
            seen.update(source.all_input_nodes)
    return 1


def _experts(count: int, used: int, rows: Any) -> Any:
    """Return the experts that *rows* rows read, *used* for each token: a function of sizes, see there."""
    import sympy
    from torch.fx.experimental.sym_node import SymNode

    symbolic = hasattr(rows, "node")
    tokens = (rows.node.expr if symbolic else sympy.Integer(rows)) / used
    read = sympy.Function("experts", integer=True, nonnegative=True)(count, used, tokens)
    if not symbolic:
        return read
    import torch

    return torch.SymInt(SymNode(read, rows.node.shape_env, int, count))  # the hint, which nothing here asks for
