"""Mark the operators of what reads images: no layers of the text, blocks of their own, and idle without an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf_towers import ImageTower, silent_parts
from mtpp_dsl.exchange.importers.module_paths import with_layers
from mtpp_dsl.exchange.importers.torch_kinds import dtype_name
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator, Weight

__all__ = ["with_silent", "with_tower"]

ADDITION = "mtpp.add_at_images.default"
"""What adds the features of a layer of the tower to the results of one of the text."""


def with_tower(model: Model, module: Any, tower: ImageTower, images: int) -> Model:
    """Return a model whose tower is none of the layers of its text, and whose prompts have room for images.

    Args:
        model: of a step that reads images.
        module: of transformers, which it is of.
        tower: what reads them.
        images: default of the symbol.

    Raises:
        UsageError: the prompts are shorter than the tokens of their images.
    """
    seq, tokens = model.symbols["seq"], tower.tokens * images
    if seq.default is not None and seq.default < tokens:
        height, width = tower.size
        raise UsageError(
            f"--seq {seq.default}: seq counts the tokens of images, and --images {images} of {height}x{width} pixels "
            f"are {tokens:,}: say --seq {tokens + 256} or so"
        )
    inside = [any(_within(one.path, path) for path in tower.paths) for one in model.operators]
    others = iter(_with_additions(with_layers([o for o, own in zip(model.operators, inside, strict=True) if not own])))
    parts = dict(module.named_modules())
    blocks = sorted((block for path in tower.paths for block in _blocks(path, parts[path])), key=len, reverse=True)
    operators: list[Operator] = []
    block = next((path for one in model.operators if (path := _block(one, blocks))), "")
    for one, own in zip(model.operators, inside, strict=True):
        block = _block(one, blocks) or block  # what is between two blocks is of the first
        operators.append(_of_tower(model, one, block) if own else next(others))
    symbols = {**model.symbols, "seq": replace(seq, at_least=f"{tower.tokens}*images")}
    if model.symbols["images"].most is None:  # it stayed open
        symbols["images"] = replace(model.symbols["images"], default=images, least=0)
    return replace(model, operators=tuple(operators), symbols=symbols)


def with_silent(model: Model, module: Any) -> Model:
    """Return a model with what reads sounds in a node of its own, which takes memory and does nothing."""
    parts = silent_parts(module)
    if not parts:
        return model
    operators, weights = list(model.operators), list(model.weights)
    for path, part in parts.items():
        first = len(weights)
        for name, one in part.named_parameters(prefix=path):
            weights.append(Weight(name, one.numel() * one.element_size(), dtype_name(one.dtype), tuple(one.shape)))
        own = tuple(range(first, len(weights)))
        operators.append(
            Operator(f"{path}.silent", path=path, role="tower", flop=0, weights=own, weight_read=0, block=path)
        )
    told = f"{' and '.join(parts)} take memory and do nothing: sounds are not counted"
    return replace(model, operators=tuple(operators), weights=tuple(weights), warnings=(*model.warnings, told))


def _with_additions(operators: Sequence[Operator]) -> Iterator[Operator]:
    """Yield operators of the text, with what adds to the results of a layer as part of this layer (Qwen3-VL)."""
    last = None
    for one in operators:
        if last is not None and one.layer is None and one.op == ADDITION:
            words = last.path.split(".")
            yield replace(
                one, layer=last.layer, role=last.role, path=".".join(words[: words.index(str(last.layer)) + 1])
            )
        else:
            last = one if one.layer is not None else last
            yield one


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}.")


def _blocks(path: str, module: Any) -> Iterator[str]:
    """Yield the paths of the parts of a module that are placed as one: each of a list, and what has no list."""
    import torch

    if not any(isinstance(part, torch.nn.ModuleList) for part in module.modules()):
        yield path
        return
    for name, part in module.named_children():
        if isinstance(part, torch.nn.ModuleList):
            yield from (f"{path}.{name}.{number}" for number in range(len(part)))
        else:
            yield from _blocks(f"{path}.{name}", part)


def _block(operator: Operator, blocks: list[str]) -> str:
    """Return the block that an operator is of; "" where it is of none."""
    return next((path for path in blocks if _within(operator.path, path)), "")


def _of_tower(model: Model, operator: Operator, block: str) -> Operator:
    """Return an operator as part of a tower, whose weights nobody reads where there is no image."""
    read = operator.weight_read
    if read is None and operator.weights:
        read = f"{sum(model.weights[w].bytes for w in operator.weights)}*min(1, images)"
    return replace(operator, layer=None, role="tower", block=block, weight_read=read)
