"""Random inputs for a torch model, as its model says they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.model import Model

BATCH = "batch"
DTYPES = {
    "fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int64": "int64", "int32": "int32",
    "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "bool",
}  # fmt: skip
SAME = ("view", "to", "_to_copy", "clone", "unsqueeze", "squeeze", "expand", "reshape", "detach", "contiguous", "slice")
"""Operations behind which indices are the same numbers."""


@dataclass(frozen=True)
class Signature:
    """What a model is given.

    Attributes:
        inputs: names, types of torch, and shapes of numbers and names of symbols; see
            :data:`mtpp_dsl.runtimes.execution.stage_file.Input`.
        symbols: the open sizes, with the least and the largest value of each.
    """

    inputs: tuple[Mapping[str, Any], ...]
    symbols: Mapping[str, tuple[int, int | None]]

    @property
    def batch_dims(self) -> list[int | None]:
        """For each input the dimension that is the batch; None if it has none."""
        return [
            shape.index(BATCH) if BATCH in (shape := list(one_input["shape"])) else None for one_input in self.inputs
        ]

    def shapes(self, sizes: Mapping[str, int]) -> list[list[int]]:
        """Return the shape of each input where the symbols have these values.

        Raises:
            UsageError: one has no value, or one that the model does not take.
        """
        for name, (least, most) in self.symbols.items():
            if name not in sizes:
                raise UsageError(f"say what {name} is: --size {name}=8")
            if not least <= sizes[name] <= (most or sizes[name]):
                limit = f"at least {least}" if most is None else f"from {least} to {most}"
                raise UsageError(f"--size {name}={sizes[name]}: the model was exported for {name} {limit}")
        return [
            [sizes[size] if isinstance(size, str) else size for size in one_input["shape"]] for one_input in self.inputs
        ]


def signature_of(model: Model) -> Signature:
    """Return what a model that was imported from torch is given.

    Raises:
        UsageError: it was not, or an input is of a type or a size that cannot be made here.
    """
    if model.source.kind != "torch":
        raise UsageError(
            f"the model of this plan comes from {model.source.kind or 'elsewhere'}; what runs in torch is made by mtpp "
            "import torch"
        )
    fixed = {name for name, symbol in model.symbols.items() if symbol.least == symbol.most}
    rows = []
    for number in model.inputs:
        tensor = model.tensors[number]
        if tensor.dtype not in DTYPES:
            raise UsageError(f"the model's input {tensor.name} is of type {tensor.dtype!r}, which torch does not have")
        shape = [model.symbols[size].least if size in fixed else size for size in tensor.shape]
        rows.append({"name": tensor.name, "dtype": DTYPES[tensor.dtype], "shape": shape})
    free = {name: (limits.least, limits.most) for name, limits in model.symbols.items() if name not in fixed}
    return Signature(tuple(rows), free)


def index_limits(graph_module: Any) -> list[int | None]:
    """Return for each input of an exported graph the number of rows of the least table that it indexes, if any."""
    limits = []
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            rows = list(_tables(node, 0))
            limits.append(min(rows) if rows else None)
    return limits


def _tables(node: Any, depth: int) -> Any:
    for user in node.users:
        word = str(user.target).split(".")[1:2]
        if str(user.target).startswith("aten.embedding") and user.args[1] is node:
            yield int(user.args[0].meta["val"].shape[0])
        elif word and word[0] in SAME and depth < 20:
            yield from _tables(user, depth + 1)


def random_args(
    signature: Signature, sizes: Mapping[str, int], limits: Sequence[int | None], count: int, seed: int
) -> list[tuple[Any, ...]]:
    """Return *count* sets of random inputs: normal floats, indices that are rows of their tables, else 0 or 1."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    sets = []
    for _ in range(count):
        args = []
        for one_input, shape, limit in zip(signature.inputs, signature.shapes(sizes), limits, strict=True):
            dtype = getattr(torch, one_input["dtype"])
            if dtype.is_floating_point:
                args.append(torch.randn(shape, generator=generator).to(dtype))
            elif dtype == torch.bool:
                args.append(torch.ones(shape, dtype=dtype))
            else:
                args.append(torch.randint(0, limit or 2, shape, generator=generator).to(dtype))
        sets.append(tuple(args))
    return sets


def fake_args(signature: Signature, sizes: Mapping[str, int], device: str) -> list[Any]:
    """Return zeros of the right shapes and types."""
    import torch

    return [
        torch.zeros(shape, dtype=getattr(torch, one_input["dtype"]), device=device)
        for one_input, shape in zip(signature.inputs, signature.shapes(sizes), strict=True)
    ]
