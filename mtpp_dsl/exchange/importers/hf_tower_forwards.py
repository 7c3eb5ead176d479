"""Run parts of towers of transformers on images of one size, in place of their own code, which takes many sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

__all__ = ["FORWARDS", "Size", "added"]

Size: TypeAlias = tuple[int, int]


def _pixtral(self: Any, pixel_values: Any, **given: Any) -> Any:
    """Run Pixtral's tower on images of one size: each is a sequence of its own, so that no mask parts them."""
    capture = sys.modules[type(self).__module__].capture_outputs
    return capture(_pixtral_forward)(self, pixel_values, **given)


def _pixtral_forward(self: Any, pixel_values: Any, **given: Any) -> Any:
    import torch

    patches = self.patch_conv(pixel_values)
    sides = [torch.arange(side, device=pixel_values.device) for side in patches.shape[2:]]
    places = torch.stack([one.flatten() for one in torch.meshgrid(*sides, indexing="ij")], dim=-1)
    hidden = self.ln_pre(patches.flatten(2).transpose(1, 2))
    positions = self.patch_positional_embedding(hidden, places)
    return self.transformer(hidden, attention_mask=None, position_embeddings=positions, **given)


def _merged(self: Any, image_features: Any, sides: Size) -> Any:
    """Merge squares of patches of [images, patches, width]; *sides* are the patches of a column and of a row."""
    step, width = self.spatial_merge_size, image_features.shape[2]
    grid = image_features.reshape(-1, sides[0] // step, step, sides[1] // step, step, width)
    squares_of = grid.permute(0, 1, 3, 5, 2, 4).reshape(grid.shape[0], -1, width * step**2)
    return self.merging_layer(squares_of)


def added(_self: Any, hidden_states: Any, places: Any, features: Any) -> Any:
    """Add features of images to the hidden states at their places."""
    import torch

    return torch.ops.mtpp.add_at_images(hidden_states, places, features)


def _glm(
    self: Any, patches: Any, *, grid_thw: None, position_ids: Any, sides: Size, return_dict: bool, **given: Any
) -> Any:
    """Run the tower of GLM-4V on the patches of all images; *sides* are those of a column and of a row of an image."""
    del grid_thw, return_dict
    hidden = self.post_conv_layernorm(self.patch_embed(patches))
    rotated = self.rotary_pos_emb(hidden, position_ids)
    hidden = self.embeddings(hidden, None, sides, position_ids[:, 0], position_ids[:, 1])
    for block in self.blocks:
        hidden = block(hidden, position_embeddings=rotated, **given)
    hidden, step = self.post_layernorm(hidden), self.spatial_merge_size
    merged = self.downsample(hidden.view(-1, step, step, hidden.shape[1]).permute(0, 3, 1, 2))
    merged = merged.view(-1, self.config.out_hidden_size)
    output = sys.modules[type(self).__module__].BaseModelOutputWithPooling
    return output(last_hidden_state=merged, pooler_output=self.merger(merged))


def _glm_positions(self: Any, patches: Any, _lengths: None, sides: Size, rows: Any, columns: Any) -> Any:
    """Add to patches what lies at their places in a table of positions, between its entries."""
    import torch

    table = self.position_embedding.weight
    side = int(table.shape[0] ** 0.5)
    places = [2 * (at + 0.5) / length - 1 for at, length in ((columns, sides[1]), (rows, sides[0]))]
    square = table.view(1, side, side, -1).permute(0, 3, 1, 2).float()
    at = torch.stack(places, dim=-1)[None, :, None]
    found = torch.nn.functional.grid_sample(square, at, mode="bicubic", align_corners=False, padding_mode="border")
    return patches + found[0, :, :, 0].T.to(patches.dtype)


def _gemma(self: Any, patches: Any, *, sides: Size) -> Any:
    """Run the tower of Gemma 4 on patches [images, patches, numbers]; *sides* are those of a column and of a row."""
    import torch

    shape = (*patches.shape[:2], 2)
    row, column = (torch.arange(side, device=patches.device) for side in sides)
    places = torch.stack([one.flatten() for one in torch.meshgrid(column, row, indexing="xy")], dim=-1).expand(shape)
    none = torch.zeros(shape[:2], dtype=torch.bool, device=patches.device)
    hidden = self.patch_embedder(patches, places, none)
    made = self.encoder(inputs_embeds=hidden, attention_mask=None, pixel_position_ids=places)
    pooled = self.pooler(made.last_hidden_state, sides, self.config.pooling_kernel_size).flatten(0, 1)
    if self.config.standardize:
        pooled = (pooled - self.std_bias) * self.std_scale
    made.last_hidden_state = pooled.to(hidden.dtype)
    return made


def _gemma_pooled(self: Any, hidden: Any, sides: Size, step: int) -> Any:
    """Return the means of squares of patches, scaled: [images, squares, width]."""
    rows, columns = (side // step for side in sides)
    grid = hidden.reshape(hidden.shape[0], rows, step, columns, step, hidden.shape[2])
    return grid.mean(dim=(2, 4)).flatten(1, 2).float() * self.root_hidden_size


FORWARDS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "PixtralVisionModel": _pixtral,
        "Mistral3PatchMerger": _merged,
        "Gemma4VisionModel": _gemma,
        "Gemma4VisionPooler": _gemma_pooled,
        **dict.fromkeys(("Glm4vVisionModel", "Glm4vMoeVisionModel"), _glm),
        **dict.fromkeys(("Glm4vVisionEmbeddings", "Glm4vMoeVisionEmbeddings"), _glm_positions),
    }
)
"""What stands for ``forward`` of a class of transformers, by its name."""
