"""Count what the backward pass of one call costs, and what it keeps; torch derives it on fake tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.exchange.importers.torch_costs import COUNTED, Counter, attention_inputs, bytes_of, tensors_in
from mtpp_dsl.exchange.importers.torch_graph import ProgramCall
from mtpp_dsl.exchange.importers.torch_kinds import kind_of, operation
from mtpp_dsl.exchange.importers.torch_scans import NAMESPACE

__all__ = ["Backward", "Derived"]


@dataclass(frozen=True)
class Derived:
    """The backward pass of one call; the numbers are those of torch, and may be symbolic.

    Attributes:
        flop: floating-point operations.
        reads: bytes read of each tensor among the inputs of the call, in the order of ``node.all_input_nodes``.
        others: bytes read of what the call gave, of its gradient, and of what is made on the way.
        write: bytes written.
        keeps: which inputs of the call are kept for it.
        keeps_output: whether what the call gave is kept.
        internal: bytes kept that are neither.
    """

    flop: Any
    reads: tuple[Any, ...]
    others: Any
    write: Any
    keeps: tuple[bool, ...]
    keeps_output: bool
    internal: Any


class Backward:
    """Derives calls, each kind of call with each shapes of its tensors once."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._known: dict[object, Derived | None] = {}

    def __call__(self, call: ProgramCall, needs: Sequence[bool]) -> Derived | None:
        """Return the backward pass of a call; None where torch has none, or cannot run it on fake tensors.

        Args:
            call: of the program.
            needs: of which inputs a gradient is wanted, in the order of ``node.all_input_nodes``.
        """
        key = (self._counter.key(call.node), tuple(needs))
        if key not in self._known:
            try:
                self._known[key] = derived(self._counter, call, needs)
            except Exception:  # of torch, or of a plug-in of it: what cannot be run cannot be counted
                self._known[key] = None
        return self._known[key]


def derived(counter: Counter, call: ProgramCall, needs: Sequence[bool]) -> Derived:
    """Return the backward pass of a call."""
    node = call.node
    inputs = [counter.value(source) for source in node.all_input_nodes]
    if operation(node.target) in ("scaled_dot_product_attention", "image_attention"):
        return _attention(counter, call, inputs)
    if operation(node.target) in ("masked_scatter", "add_at_images"):
        return _at_places(call, inputs)
    if getattr(node.target, "namespace", "") == NAMESPACE:
        return _scan(call, inputs)
    return _by_autograd(counter, call, inputs, needs)


def _attention(counter: Counter, call: ProgramCall, inputs: list[Any]) -> Derived:
    """Return the backward pass of fused attention, as its kernels run it.

    They keep the logarithm of the sum of each row and not the scores, which they compute anew: five products in place
    of the two of the forward pass.
    """
    args, kwargs = counter.arguments(call.node)
    query, key, value = attention_inputs(args, kwargs)
    rows: Any = 1
    for size in query.shape[:-1]:
        rows = rows * size
    one, other = query.shape[-1], value.shape[-1]
    (made,) = tensors_in(call.node.meta["val"])
    reads = tuple(bytes_of(tensor) if hasattr(tensor, "element_size") else 0 for tensor in inputs)
    return Derived(
        flop=None if call.cost.flop is None else call.cost.flop * (3 * one + 2 * other) // (one + other),
        reads=reads,
        others=2 * bytes_of(made) + 4 * rows,
        write=bytes_of(query) + bytes_of(key) + bytes_of(value),
        keeps=tuple(hasattr(tensor, "element_size") for tensor in inputs),
        keeps_output=True,
        internal=4 * rows,
    )


def _scan(call: ProgramCall, inputs: list[Any]) -> Derived:
    """Return the backward pass of a scan or a short convolution, as its kernels run it.

    Each product of the forward pass has two of the backward pass. Kernels of scans keep no states of chunks, and run
    the forward pass anew.
    """
    made = tensors_in(call.node.meta["val"])[0]
    passes = 2 if kind_of(call.node.target) == "conv" else 3
    reads = tuple(bytes_of(tensor) if hasattr(tensor, "element_size") else 0 for tensor in inputs)
    return Derived(
        flop=None if call.cost.flop is None else passes * call.cost.flop,
        reads=reads,
        others=bytes_of(made),
        write=sum(reads),
        keeps=tuple(hasattr(tensor, "element_size") for tensor in inputs),
        keeps_output=False,
        internal=0,
    )


def _at_places(call: ProgramCall, inputs: list[Any]) -> Derived:
    """Return the backward pass of putting features at some places of a tensor, or of adding them there.

    The places are kept. The gradient of the features is what stands at the places; where they were put, that of the
    tensor is zero there.
    """
    (made,) = tensors_in(call.node.meta["val"])
    _, places, features = inputs
    write = bytes_of(features) + (bytes_of(made) if operation(call.node.target) == "masked_scatter" else 0)
    return Derived(0, (0, bytes_of(places), 0), bytes_of(made), write, (False, True, False), False, 0)


def _by_autograd(counter: Counter, call: ProgramCall, inputs: list[Any], needs: Sequence[bool]) -> Derived:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    node = call.node
    traffic = _traffic_mode()
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        kept[_storage(tensor)] = tensor
        return tensor

    with counter.fake_mode, torch.enable_grad():
        leaves = [
            torch.empty_strided(
                one_tensor.shape, one_tensor.stride(), dtype=one_tensor.dtype, device=one_tensor.device
            ).requires_grad_()
            if need
            else one_tensor
            for one_tensor, need in zip(inputs, needs, strict=True)
        ]
        standing = dict(zip(node.all_input_nodes, leaves, strict=True))
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:  # what is changed in place must be no leaf
            pairs = zip(standing.items(), needs, strict=True)
            standing = {tensor: leaf.clone() if need else leaf for (tensor, leaf), need in pairs}
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), standing.__getitem__)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            given = [one_tensor for one_tensor in tensors_in(node.target(*args, **kwargs)) if one_tensor.requires_grad]
        wanted = [leaf for leaf, need in zip(leaves, needs, strict=True) if need]
        gradients = [torch.empty_like(one_tensor) for one_tensor in given]
        with traffic, FlopCounterMode(display=False) as counted:
            torch.autograd.grad(given, wanted, gradients, allow_unused=True)
    flop = counted.get_total_flops()
    if isinstance(flop, int) and flop == 0 and kind_of(node.target) in COUNTED:
        flop = None if call.cost.flop is None else 2 * call.cost.flop  # a product for each of the two gradients
    own = [_storage(one_tensor) if hasattr(one_tensor, "element_size") else None for one_tensor in leaves]
    results = {_storage(one_tensor) for one_tensor in given}
    return Derived(
        flop=flop,
        reads=tuple(0 if one is None else traffic.read.pop(one, 0) for one in own),
        others=sum(traffic.read.values()),
        write=traffic.written,
        keeps=tuple(one in kept for one in own),
        keeps_output=bool(results & set(kept) - set(own)),
        internal=sum(bytes_of(tensor) for one, tensor in kept.items() if one not in results and one not in own),
    )


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _traffic_mode() -> Any:
    """Return a mode of torch that adds up the bytes which operations read of each tensor, and write."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Traffic(TorchDispatchMode):  # type: ignore[misc]
        """Adds up bytes; views cost nothing."""

        def __init__(self) -> None:
            super().__init__()
            self.read: dict[int, Any] = {}
            self.written: Any = 0
            self.kept: list[Any] = []  # so that no storage takes the place of one that is gone

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            result = func(*args, **(kwargs or {}))
            taken = {
                _storage(tensor): tensor
                for tensor in tree_leaves((args, kwargs or {}))
                if hasattr(tensor, "element_size")
            }
            made = [tensor for tensor in tree_leaves(result) if hasattr(tensor, "element_size")]
            self.kept += [*taken.values(), *made]
            if func._schema.is_mutable or any(_storage(tensor) not in taken for tensor in made):
                for one, tensor in taken.items():
                    self.read[one] = self.read.get(one, 0) + bytes_of(tensor)
                self.written = self.written + sum(bytes_of(tensor) for tensor in made)
            return result

    return Traffic()
