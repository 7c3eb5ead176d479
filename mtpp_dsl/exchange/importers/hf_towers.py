"""Run the parts of transformers' models that read images: which are covered, and how, with all images of one size.

Transformers' code takes images of many sizes, and goes through them in loops of Python, so that their number could not
stay open. Here all images are of one size, and stand behind each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType, MethodType
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf_tower_forwards import FORWARDS, Size, added
from mtpp_dsl.exchange.importers.torch_export import cause
from mtpp_dsl.exchange.importers.torch_scans import register, squares

__all__ = [
    "COVERED",
    "IMAGE_ATTENTION",
    "SILENT",
    "ImageTower",
    "Within",
    "one_image_size",
    "silent_parts",
    "tower_of",
]

IMAGE_ATTENTION = "mtpp_flash_image"
"""The name of attention within images among those of transformers, which hands lengths to names with "flash"."""
USUAL = 896
"""Pixels of a side where neither the model nor the user says how large an image is."""
USUAL_GEMMA = 768
"""The same of Gemma 4, whose processor scales images to 280 tokens at most."""


@dataclass(frozen=True)
class ImageTower:
    """What turns images of one size into tokens of the text.

    Attributes:
        paths: of its modules in the model: the tower, and what projects to the text's width.
        shape: of the numbers of one image, as the tower reads them.
        size: height and width of an image in pixels, as it is scaled to.
        tokens: that one image is among those of the text.
        features: returns what the model's own encoder would, of numbers [batch, images, *shape].
    """

    paths: tuple[str, ...]
    shape: tuple[int, ...]
    size: Size
    tokens: int
    features: Callable[[Any], Any]


@dataclass(frozen=True)
class Within:
    """Who looks at whom in one image: *pairs* pairs of its *tokens* tokens; it stands for transformers' lengths."""

    tokens: int
    pairs: int


def tower_of(model: Any, size: Size | None) -> ImageTower | None:
    """Return the part of a model of transformers that reads images; None where it reads text alone.

    Args:
        model: of transformers, on "meta".
        size: height and width of images; None: those that the tower is made for, or :data:`USUAL` for each side.

    Raises:
        UsageError: the tower does not read images of that size, or is none of those that are covered.
    """
    if getattr(model.config, "vision_config", None) is None:
        if size is not None:
            raise UsageError(f"--image-size: {type(model).__name__} reads no images beside text")
        return None
    import torch

    register()
    paths, shape, chosen, features = COVERED[model.config.model_type](model, size)
    try:
        with torch.no_grad(), one_image_size(model, features):
            made = features(torch.zeros(1, 1, *shape, dtype=model.dtype, device="meta")).pooler_output
    except Exception as error:  # of the model's code
        raise UsageError(
            f"transformers cannot run what reads images in {type(model).__name__}: {cause(error)}"
        ) from error
    tokens = sum(one.numel() // one.shape[-1] for one in (made if isinstance(made, list) else [made]))
    return ImageTower(paths, shape, chosen, tokens, features)


@contextmanager
def one_image_size(model: Any, features: Callable[[Any], Any] | None) -> Iterator[None]:
    """Put the code for images of one size in the place of transformers' own, while it lasts.

    Args:
        model: of transformers.
        features: of :class:`ImageTower`; None: the model reads text alone, and nothing is changed.
    """
    if features is None:
        yield
        return
    inner = getattr(model, "model", model)  # of Llama 4 the whole
    changed: list[tuple[Any, str, Callable[..., Any]]]
    changed = [
        (part, "forward", FORWARDS[type(part).__name__]) for part in model.modules() if type(part).__name__ in FORWARDS
    ]
    changed += [(part, "_deepstack_process", added) for part in model.modules() if hasattr(part, "_deepstack_process")]
    changed.append((inner, "get_image_features", lambda _self, pixel_values, *_args, **_given: features(pixel_values)))
    for part, name, function in changed:
        setattr(part, name, MethodType(function, part))
    try:
        yield
    finally:
        for part, name, _ in changed:
            delattr(part, name)


def _sides(size: Any) -> Size:
    """Return height and width of what a configuration calls a size."""
    return (int(size[0]), int(size[1])) if isinstance(size, (list, tuple)) else (int(size), int(size))


def _fixed(model: Any, size: Size | None) -> Size:
    """Return the size of the images of a tower that reads one alone.

    Raises:
        UsageError: another one is asked for.
    """
    own = _sides(model.config.vision_config.image_size)
    if size is not None and size != own:
        raise UsageError(
            f"--image-size {size[0]}x{size[1]}: {type(model).__name__} reads images of {own[0]}x{own[1]} pixels; "
            "others are scaled to that, or cut into pieces that each count as an image (--images)"
        )
    return own


def _scaled(size: Size, step: int) -> Size:
    """Return height and width as the nearest multiples of *step*, one of them at least.

    >>> _scaled((1080, 1920), 28)
    (1092, 1932)
    """
    height, width = (max(step, (2 * side + step) // (2 * step) * step) for side in size)
    return height, width


_Run = tuple[tuple[str, ...], tuple[int, ...], Size, Callable[[Any], Any]]


def _plain(model: Any, size: Size | None) -> _Run:
    """Run towers that read pictures of one size as one batch: SigLIP of Gemma 3 and PaliGemma, InternViT."""
    height, width = _fixed(model, size)
    inner, vision = model.model, model.config.vision_config
    own = type(inner).get_image_features

    def features(pixels: Any) -> Any:
        return own(inner, pixel_values=pixels.flatten(0, 1), return_dict=True)

    return _PROJECTED, (getattr(vision, "num_channels", 3), height, width), (height, width), features


def _llava(model: Any, size: Size | None) -> _Run:
    """Run towers of which some layers are projected: CLIP, SigLIP, and Pixtral, which reads images of any size."""
    inner, config = model.model, model.config
    vision = config.vision_config
    kind = vision.model_type
    if kind not in ("clip_vision_model", "siglip_vision_model", "pixtral"):
        raise UsageError(f"{type(model).__name__} with a tower {kind!r}: CLIP, SigLIP and Pixtral are covered")
    sizes: tuple[Any, ...] = ()
    if kind == "pixtral":
        merge, patch = getattr(config, "spatial_merge_size", 1), _sides(vision.patch_size)[0]
        height, width = _scaled(size or (USUAL, USUAL), patch * merge)
        most = _scaled(_sides(vision.image_size), patch * merge)
        if height > most[0] or width > most[1]:
            raise UsageError(f"--image-size {height}x{width}: images are scaled down to {most[0]}x{most[1]}: say so")
        sizes = ((height // patch, width // patch),) if model.config.model_type == "mistral3" else ()
    else:
        height, width = _fixed(model, size)
    wanted = config.vision_feature_layer
    layers = [wanted] if isinstance(wanted, int) else list(wanted)
    crop = getattr(config, "vision_feature_select_strategy", "full") == "default"

    def features(pixels: Any) -> Any:
        import torch

        made = inner.vision_tower(pixels.flatten(0, 1), return_dict=True, output_hidden_states=True)
        chosen = [made.hidden_states[layer][:, 1:] if crop else made.hidden_states[layer] for layer in layers]
        hidden = chosen[0] if len(chosen) == 1 else torch.cat(chosen, dim=-1)
        made.pooler_output = [inner.multi_modal_projector(hidden, *sizes).flatten(0, 1)]
        return made

    return _PROJECTED, (vision.num_channels, height, width), (height, width), features


def _grid(model: Any, size: Size | None) -> _Run:
    """Run towers of Qwen, which read patches of images of any size, some layers within windows."""
    inner, vision = model.model, model.config.vision_config
    tower = inner.visual
    if not hasattr(sys.modules[type(tower).__module__], "get_vision_attention_seqlens"):
        raise UsageError(f"images of {type(model).__name__} need transformers 5.23 or later")
    tower.config._attn_implementation = IMAGE_ATTENTION
    patch, merge = vision.patch_size, vision.spatial_merge_size
    height, width = _scaled(size or (USUAL, USUAL), patch * merge)
    rows, columns = height // (patch * merge), width // (patch * merge)
    count = rows * columns * merge**2
    whole = Within(count, count**2)
    window = getattr(tower, "window_size", 0) // (patch * merge)
    near = Within(count, merge**4 * squares(rows, window) * squares(columns, window)) if window else whole

    def features(pixels: Any) -> Any:
        import torch

        total = pixels.shape[0] * pixels.shape[1] * count
        whole_numbers: dict[str, Any] = {"dtype": torch.long, "device": pixels.device}
        facts: dict[str, Any] = {
            "position_ids": torch.zeros(total, 2, **whole_numbers),
            "cu_seqlens": whole,
            "max_seqlen": count,
        }
        if window:
            facts["window_index"] = torch.arange(total // merge**2, **whole_numbers)
            facts |= {"cu_window_seqlens": near, "max_window_seqlen": count}
        if hasattr(tower, "embeddings"):  # of GLM-4V
            facts["sides"] = (height // patch, width // patch)
        if hasattr(tower, "pos_embed"):
            facts["interp_indices"] = torch.zeros(total, 4, **whole_numbers)
            facts["interp_weights"] = torch.zeros(total, 4, device=pixels.device)
        made = tower(pixels.flatten(0, 2), grid_thw=None, return_dict=True, **facts)
        made.pooler_output = [made.pooler_output]
        if hasattr(made, "deepstack_features"):
            made.deepstack_features = [[one] for one in made.deepstack_features]
        return made

    numbers = vision.in_channels * vision.temporal_patch_size * patch**2
    return ("model.visual",), (count, numbers), (height, width), features


def _llama4(model: Any, size: Size | None) -> _Run:
    """Run the tower of Llama 4, whose tokens the model itself projects."""
    height, width = _fixed(model, size)

    def features(pixels: Any) -> Any:
        made = model.vision_model(pixels.flatten(0, 1), return_dict=True)
        made.pooler_output = made.last_hidden_state
        return made

    channels = model.config.vision_config.num_channels
    return ("vision_model", "multi_modal_projector"), (channels, height, width), (height, width), features


def _gemma4(model: Any, size: Size | None) -> _Run:
    """Run the tower of Gemma 4, which reads patches of images of any size and joins squares of them to tokens."""
    inner, vision = model.model, model.config.vision_config
    patch, step = vision.patch_size, vision.pooling_kernel_size
    height, width = _scaled(size or (USUAL_GEMMA, USUAL_GEMMA), patch * step)
    rows, columns = height // patch, width // patch

    def features(pixels: Any) -> Any:
        made = inner.vision_tower(pixels.flatten(0, 1), sides=(rows, columns))
        made.pooler_output = [inner.embed_vision(inputs_embeds=made.last_hidden_state)]
        return made

    return ("model.vision_tower", "model.embed_vision"), (rows * columns, 3 * patch**2), (height, width), features


_PROJECTED = ("model.vision_tower", "model.multi_modal_projector")
COVERED: Mapping[str, Callable[[Any, Size | None], _Run]] = MappingProxyType(
    {
        **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"), _grid),
        **dict.fromkeys(("glm4v", "glm4v_moe", "glm46v", "glm_ocr"), _grid),
        **dict.fromkeys(("llava", "mistral3"), _llava),
        "llama4": _llama4,
        "gemma4": _gemma4,
        **dict.fromkeys(("gemma3", "internvl", "paligemma"), _plain),
    }
)
"""How the towers of a type of models are run; others are refused."""
SILENT: Mapping[str, tuple[str, ...]] = MappingProxyType({"gemma4": ("model.audio_tower", "model.embed_audio")})
"""What reads sounds in a type of models that reads images, too: it takes memory, and is not run."""


def silent_parts(model: Any) -> dict[str, Any]:
    """Return the modules of a model that read sounds, by their paths."""
    parts = dict(model.named_modules())
    return {path: parts[path] for path in SILENT.get(model.config.model_type, ()) if path in parts}
