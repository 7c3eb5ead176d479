"""Models that read images beside text, small: what the import counts, beside their real modules run on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.exchange.importers.families import SHARED

IMAGES = 2
"""Of each sequence."""
PICTURE = 100
"""The token that stands for a token of an image."""
TEXT = {**SHARED, "pad_token_id": 2}
ROPE = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]}
SIGLIP = {
    "model_type": "siglip_vision_model",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 8,
    "vision_use_head": False,
}
PIXTRAL = {**SIGLIP, "model_type": "pixtral", "image_size": 64, "patch_size": 4}
QWEN = {"depth": 2, "hidden_size": 32, "num_heads": 4, "patch_size": 4, "spatial_merge_size": 2}
QWEN3 = {**QWEN, "intermediate_size": 48, "out_hidden_size": 64, "num_position_embeddings": 16}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
SCANS = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
}
GLM = {
    **QWEN,
    "image_size": 16,
    "intermediate_size": 48,
    "out_hidden_size": 64,
}
GLM_EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1}
_QWEN = {"image_token_id": PICTURE, "video_token_id": 101, "vision_start_token_id": 102, "vision_end_token_id": 103}
VISION: dict[str, tuple[dict[str, Any], tuple[int, int] | None]] = {
    "llava": (
        {
            "text_config": {"model_type": "llama", **TEXT},
            "vision_config": {**SIGLIP, "model_type": "clip_vision_model", "projection_dim": 32},
            "vision_feature_layer": -1,
            "image_token_index": PICTURE,
        },
        None,
    ),
    "mistral3": (
        {
            "text_config": {"model_type": "mistral", **TEXT, "sliding_window": None},
            "vision_config": PIXTRAL,
            "image_token_index": PICTURE,
        },
        (16, 24),
    ),
    "gemma3": (
        {
            "text_config": {
                "model_type": "gemma3_text",
                **TEXT,
                "layer_types": ["sliding_attention", "full_attention"],
            },
            "vision_config": {**SIGLIP, "patch_size": 4},
            "mm_tokens_per_image": 4,
            "image_token_index": PICTURE,
        },
        None,
    ),
    "paligemma": (
        {
            "text_config": {"model_type": "gemma", **TEXT},
            "vision_config": {**SIGLIP, "projection_dim": 64},
            "projection_dim": 64,
            "image_token_index": PICTURE,
        },
        None,
    ),
    "internvl": (
        {
            "text_config": {"model_type": "qwen2", **TEXT},
            "vision_config": {
                **{name: SIGLIP[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers")},
                "num_attention_heads": 4,
                "image_size": [16, 16],
                "patch_size": [4, 4],
            },
            "image_token_id": PICTURE,
        },
        None,
    ),
    "qwen2_vl": (
        {
            "text_config": {"model_type": "qwen2_vl_text", **TEXT, "rope_parameters": ROPE},
            "vision_config": {**QWEN, "embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2},
            **_QWEN,
        },
        (16, 24),
    ),
    "qwen2_5_vl": (
        {
            "text_config": {"model_type": "qwen2_5_vl_text", **TEXT, "rope_parameters": ROPE},
            "vision_config": {
                **QWEN,
                "intermediate_size": 48,
                "out_hidden_size": 64,
                "window_size": 16,
                "fullatt_block_indexes": [1],
            },
            **_QWEN,
        },
        (24, 16),
    ),
    "qwen3_vl": (
        {
            "text_config": {"model_type": "qwen3_vl_text", **TEXT, "rope_parameters": ROPE},
            "vision_config": {**QWEN3, "deepstack_visual_indexes": [0]},
            **_QWEN,
        },
        (16, 24),
    ),
    "qwen3_vl_moe": (
        {
            "text_config": {"model_type": "qwen3_vl_moe_text", **TEXT, **EXPERTS, "rope_parameters": ROPE},
            "vision_config": {**QWEN3, "deepstack_visual_indexes": [0]},
            **_QWEN,
        },
        (16, 24),
    ),
    "qwen3_5": (
        {
            "text_config": {"model_type": "qwen3_5_text", **TEXT, **SCANS, "rope_parameters": ROPE},
            "vision_config": QWEN3,
            **_QWEN,
        },
        (16, 24),
    ),
    "llama4": (
        {
            "text_config": {
                "model_type": "llama4_text",
                **TEXT,
                "intermediate_size_mlp": 96,
                "num_local_experts": 4,
                "num_experts_per_tok": 2,
                "interleave_moe_layer_step": 2,
                "attention_chunk_size": 16,
                "no_rope_layers": [1, 0],
            },
            "vision_config": {
                **{name: SIGLIP[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")},
                "intermediate_size": 128,
                "image_size": 16,
                "patch_size": 4,
                "projector_input_dim": 48,
                "projector_output_dim": 48,
                "vision_output_dim": 48,
                "pixel_shuffle_ratio": 0.5,
            },
            "image_token_index": PICTURE,
        },
        None,
    ),
    "gemma4": (
        {
            "text_config": {
                "model_type": "gemma4_text",
                **TEXT,
                "layer_types": ["sliding_attention", "full_attention"],
                "sliding_window": 8,
                "global_head_dim": 32,
                "hidden_size_per_layer_input": 8,
                "vocab_size_per_layer_input": 300,
                "enable_moe_block": True,
                "num_experts": 4,
                "top_k_experts": 2,
                "moe_intermediate_size": 32,
            },
            "vision_config": {
                **{name: SIGLIP[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers")},
                "num_attention_heads": 4,
                "num_key_value_heads": 4,
                "head_dim": 8,
                "patch_size": 4,
                "pooling_kernel_size": 2,
                "position_embedding_size": 16,
                "standardize": True,
            },
            "audio_config": None,
            "image_token_id": PICTURE,
        },
        (16, 24),
    ),
    "glm4v": (
        {
            "text_config": {"model_type": "glm4v_text", **TEXT, "rope_parameters": ROPE},
            "vision_config": GLM,
            **_QWEN,
        },
        (16, 24),
    ),
    "glm46v": (
        {
            "text_config": {"model_type": "glm4v_text", **TEXT, "rope_parameters": ROPE},
            "vision_config": {"model_type": "glm4v_vision", **GLM},
            **_QWEN,
        },
        (24, 16),
    ),
    "glm4v_moe": (
        {
            "text_config": {
                "model_type": "glm4v_moe_text",
                **TEXT,
                **GLM_EXPERTS,
                "rope_parameters": {**ROPE, "mrope_section": [1, 1, 2]},
            },
            "vision_config": GLM,
            **_QWEN,
        },
        (24, 16),
    ),
    "glm_ocr": (
        {
            "text_config": {"model_type": "glm_ocr_text", **TEXT, "rope_parameters": ROPE},
            "vision_config": GLM,
            **_QWEN,
        },
        (16, 24),
    ),
}
"""Configurations with two layers of text and two of a tower, and the size of their images."""


def pictures(module: Any, batch: int, size: tuple[int, int] | None) -> tuple[int, dict[str, Any]]:
    """Return how many tokens an image is, and what the forward pass is given of the images of all sequences."""
    import torch

    torch.manual_seed(1)
    config, n = module.config.vision_config, batch * IMAGES
    if hasattr(getattr(module, "model", module), "visual"):
        height, width = (side // config.patch_size for side in size or (16, 16))
        numbers = config.in_channels * config.temporal_patch_size * config.patch_size**2
        pixels = torch.randn(n * height * width, numbers, dtype=module.dtype)
        grid = torch.tensor([[1, height, width]] * n)
        return height * width // config.spatial_merge_size**2, {"pixel_values": pixels, "image_grid_thw": grid}
    height, width = size or (16, 16)
    if config.model_type == "gemma4_vision":
        rows, columns = height // config.patch_size, width // config.patch_size
        places = torch.tensor([[[column, row] for row in range(rows) for column in range(columns)]] * n)
        pixels = torch.randn(n, rows * columns, 3 * config.patch_size**2, dtype=module.dtype)
        return rows * columns // config.pooling_kernel_size**2, {"pixel_values": pixels, "image_position_ids": places}
    given: dict[str, Any] = {"pixel_values": torch.randn(n, 3, height, width, dtype=module.dtype)}
    if config.model_type == "pixtral":
        given["image_sizes"] = [(height, width)] * n
        return height * width // (config.patch_size * module.config.spatial_merge_size) ** 2, given
    return 4, given


def prompt(ids: Any, module: Any, size: tuple[int, int] | None) -> dict[str, Any]:
    """Put the tokens of images into those of a prompt; return what the forward pass is given beside them."""
    tokens, given = pictures(module, ids.shape[0], size)
    ids[ids == PICTURE] += 7
    for image in range(IMAGES):
        at = 1 + image * (tokens + 1)
        ids[:, at : at + tokens] = PICTURE
    assert int((ids == PICTURE).sum()) == ids.shape[0] * IMAGES * tokens
    if hasattr(getattr(module, "model", module), "visual"):
        given["mm_token_type_ids"] = (ids == PICTURE).int()
    return given


@contextmanager
def images_apart(module: Any) -> Iterator[None]:
    """Let attention of Pixtral multiply within each image alone, in place of all images with a mask between them."""
    import transformers

    tower = getattr(getattr(module, "model", module), "vision_tower", None)
    if type(tower).__name__ != "PixtralVisionModel":
        yield
        return
    transformers.AttentionInterface.register("images_apart", _apart)
    before, tower.config._attn_implementation = tower.config._attn_implementation, "images_apart"
    try:
        yield
    finally:
        tower.config._attn_implementation = before


def _apart(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_given: Any) -> Any:
    """Find the images as blocks of equal length in the mask, and attend within each."""
    length = int((mask[0, 0, 0] == 0).sum())
    parts = [each.unflatten(2, (-1, length)) for each in (query, key, value)]
    scores = (parts[0] @ parts[1].transpose(-1, -2) * scaling).float().softmax(-1).to(query.dtype)
    return (scores @ parts[2]).flatten(2, 3).transpose(1, 2), None
