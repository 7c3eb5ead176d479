"""The projectors of llama.cpp's towers: what makes tokens of the text of patches, by its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.reader import Header
from mtpp_dsl.exchange.importers.gguf.tower_operators import GgufTower
from mtpp_dsl.exchange.importers.gguf.towers import PROJECTORS, QWEN, Tower

__all__ = ["with_projector"]


def with_projector(header: Header, phases: Sequence[str], tower: Tower) -> GgufTower:
    """Return all operators of a tower; the first of its features stands in the place of embeddings.

    Args:
        header: with the tensors of the text and those of the tower.
        phases: of the model.
        tower: what is in the file of the tower.

    Raises:
        UsageError: a tensor is missing, or has a shape that does not fit.
    """
    made = GgufTower(header, phases, tower)
    stream = made.body()
    made.features.insert(0, _PROJECT[tower.projector](made, stream))
    if made.each_image != tower.tokens:
        raise UsageError(f"--mmproj {tower.header.name} makes {made.each_image} rows of an image, not {tower.tokens}")
    return made


def _mlp(tower: GgufTower, stream: int) -> int:
    """LLaVA: the patches alone; with norms behind each product for Yi."""
    stream = _without_class(tower, stream)
    if not tower.has("mm.3"):
        return tower.network(["mm.0", *(["mm.2"] if tower.has("mm.2") else [])], stream)
    stream = tower.matmul("mm.0", stream)
    stream = tower.norm("mm.1", stream, tower.wide[stream])
    stream = tower.operator("mm.act", "act", "elementwise", [stream], {}, tower.wide[stream])
    stream = tower.matmul("mm.3", stream)
    return tower.norm("mm.4", stream, tower.wide[stream])


def _gemma3(tower: GgufTower, stream: int) -> int:
    """Gemma 3: the means of squares, a norm, and a product with a matrix that lies the other way round."""
    tower.rows(tower.each_image // tower.tower.merge**2)
    stream = tower.operator("mm.pool", "pool_2d", "pool", [stream], {}, tower.width)
    stream = tower.norm("mm.soft_emb_norm", stream)
    table = tower.need("mm.input_projection.weight", 2)
    if table.shape[0] != tower.width:
        raise tower.wrong(table.name, table)
    work = tower.times(tower.tokens, 2 * prod(table.shape))
    return tower.operator("mm.input_projection", "mul_mat", "matmul", [stream], work, table.shape[1], [table.name])


def _idefics3(tower: GgufTower, stream: int) -> int:
    return tower.matmul("mm.model.fc", _squares(tower, stream))


def _internvl(tower: GgufTower, stream: int) -> int:
    stream = _squares(tower, _without_class(tower, stream))
    at = "mm.model.mlp."
    return tower.network([f"{at}1", f"{at}3"], tower.norm(f"{at}0", stream, tower.wide[stream]))


def _janus(tower: GgufTower, stream: int) -> int:
    return tower.network(["mm.0", "mm.1"], stream)


def _kimivl(tower: GgufTower, stream: int) -> int:
    stream = _squares(tower, stream)
    return tower.network(["mm.1", "mm.2"], tower.norm("mm.input_norm", stream, tower.wide[stream]))


def _phi4(tower: GgufTower, stream: int) -> int:
    return tower.network(["mm.0", "mm.2"], stream)


def _pixtral(tower: GgufTower, stream: int) -> int:
    """Pixtral and Mistral Small 3.1: squares are multiplied together, and a token ends each row but the last."""
    if tower.has("mm.patch_merger"):
        stream = tower.matmul("mm.patch_merger", _squares(tower, tower.norm("mm.input_norm", stream)))
    elif tower.tower.merge != 1:
        raise UsageError(
            f"--mmproj {tower.tower.header.name} merges patches, and has no tensor 'mm.patch_merger.weight'"
        )
    stream = tower.network(["mm.1", "mm.2"], stream)
    tower.rows(tower.tower.tokens)
    tower.need("v.token_embd.img_break", 1)
    return tower.operator(
        "v.token_embd.img_break", "concat", "copy", [stream], {}, tower.wide[stream], ["v.token_embd.img_break"]
    )


def _qwen(tower: GgufTower, stream: int) -> int:
    return tower.network(["mm.0", "mm.2"], tower.merged(stream))


_PROJECT: Mapping[str, Callable[[GgufTower, int], int]] = MappingProxyType(
    {
        "mlp": _mlp,
        "gemma3": _gemma3,
        "idefics3": _idefics3,
        "internvl": _internvl,
        "janus_pro": _janus,
        "kimivl": _kimivl,
        "phi4": _phi4,
        "pixtral": _pixtral,
        **dict.fromkeys(QWEN, _qwen),
    }
)
assert set(_PROJECT) == set(PROJECTORS)


def _without_class(tower: GgufTower, stream: int) -> int:
    """Leave out the row of the class, where there is one."""
    patches = prod(tower.tower.grid)
    if tower.each_image == patches:
        return stream
    tower.rows(patches)
    return tower.operator("mm.patches", "get_rows", "copy", [stream], {}, tower.width, rows=tower.tokens)


def _squares(tower: GgufTower, stream: int) -> int:
    """Copy the patches of each square behind one another, as one row."""
    squares = tower.tower.merge**2
    tower.rows(tower.each_image // squares)
    return tower.operator("mm.merge", "permute", "copy", [stream], {}, tower.width * squares)
