"""``from_hf``: a model of Hugging Face by its configuration alone, without weights and without the network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.importers.hf_configurations import configuration, few_modules, settings_of, transformers
from mtpp_dsl.exchange.importers.hf_experts import routed_experts
from mtpp_dsl.exchange.importers.hf_inputs import InputRequest, NotThisPhase, input_names, inputs_of, step_of
from mtpp_dsl.exchange.importers.hf_latent import absorbed
from mtpp_dsl.exchange.importers.hf_scans import fused_scans
from mtpp_dsl.exchange.importers.hf_steps import ATTENTION, as_step, register_attention
from mtpp_dsl.exchange.importers.hf_tower_nodes import with_silent, with_tower
from mtpp_dsl.exchange.importers.hf_towers import COVERED, SILENT, ImageTower, one_image_size, tower_of
from mtpp_dsl.exchange.importers.joined import joined, one_phase
from mtpp_dsl.exchange.importers.torch_export import cause
from mtpp_dsl.exchange.importers.torch_inputs import TYPES
from mtpp_dsl.exchange.importers.torch_model import model_of
from mtpp_dsl.exchange.importers.torch_training import Training, arguments_of, training_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Source
from mtpp_dsl.exchange.model.sizes import Size

__all__ = ["from_hf", "make_model"]

PHASES = ("prefill", "decode", "train")
IMPLEMENTATIONS = (ATTENTION, "sdpa", "eager")
"""Of attention, in the order in which they are tried."""


_AUTO = ("ForSeq2SeqLM", "ForMaskedLM", "ForImageTextToText", "ForCausalLM", "ForImageClassification", "")
"""What a model of a type is for, the first that there is: text in and out, encoders, decoders, images, or neither."""


def from_hf(
    config: str | Path | Mapping[str, Any] | Any,
    phases: str | Sequence[str] = "prefill",
    *,
    batch: int = 1,
    seq: int = 2048,
    dtype: str | None = None,
    layers: int | None = None,
    optimizer: str | int = "adam",
    backward_ratio: float | None = None,
    flops: Mapping[str, Size] | None = None,
    images: int | None = None,
    image_size: tuple[int, int] | None = None,
) -> Model:
    """Return the model of a Hugging Face configuration: its operators with their costs, in one phase or several.

    Args:
        config: the path of a ``config.json`` or of its folder, what one says, or a configuration of transformers.
        phases: "prefill", "decode" or "train", or several with commas.
        batch: default of the symbol ``batch``.
        seq: default of the symbol ``seq``: the tokens of a prompt, or those in the cache of a decoding step; those that
            images become are among them.
        dtype: of the weights, such as "bf16"; what the configuration says, else fp32.
        layers: so many layers in place of the configuration's own.
        optimizer: for training: "adam", "sgd", or the bytes held for each number of a parameter, all in all.
        backward_ratio: for training: the cost of the backward pass by that of the forward pass; None: torch derives it.
        flops: formulas for what torch cannot count, by the operation or the operator.
        images: of a model that reads images beside text: default of ``images``, those of each sequence; None: 1.
        image_size: height and width of these images in pixels; None: what the tower is made for, or 896 by 896.

    Raises:
        UsageError: the packages are absent, transformers does not know the architecture, or it cannot be exported.
    """
    names = tuple(part.strip() for part in phases.split(",")) if isinstance(phases, str) else tuple(phases)
    for name in names:
        if name not in PHASES:
            raise UsageError(f"there is no phase {name!r}{did_you_mean(name, PHASES)} (there are: {', '.join(PHASES)})")
    if "train" in names and len(names) > 1:
        raise UsageError("phase train stands alone: a pipeline that trains runs no prefill and no decode")
    if backward_ratio is not None and "train" not in names:
        raise UsageError("a ratio of the backward pass is for phase train")
    settings, digest = settings_of(config)
    if len(set(names)) < len(names):
        raise UsageError(f"the phases {', '.join(names)} name one twice")
    towers = "vision_config" in settings and settings.get("model_type") in COVERED
    if not towers and (images is not None or image_size is not None):
        what = "--images" if images is not None else "--image-size"
        raise UsageError(f"{what}: a model of type {settings.get('model_type')!r} reads no images beside text here")
    training = training_of(optimizer, backward_ratio)
    asked = InputRequest(
        batch, seq, dtype, layers, flops, training, images=1 if images is None else images, image_size=image_size
    )
    alone = towers and names == ("decode",)  # a tower is there, though it does nothing
    models = {name: _of_phase(settings, name, asked, digest) for name in (("prefill", "decode") if alone else names)}
    whole = joined(models) if len(models) > 1 else models[names[0]]
    return one_phase(whole, "decode") if alone else whole


def make_model(
    settings: Mapping[str, Any], asked: InputRequest, attention: str = ATTENTION, device: str = "meta"
) -> Any:
    """Return the module of a configuration on *device*; on "meta" without memory, elsewhere with random weights.

    Raises:
        UsageError: it cannot be made.
    """
    import torch

    package = transformers()
    register_attention()
    config = configuration(settings, asked.layers)
    kind = _class_of(package, config)
    _refuse_several_inputs(kind, config)
    try:
        with torch.device(device), few_modules():
            return kind._from_config(config, dtype=_dtype(torch, config, asked.dtype), attn_implementation=attention)
    except UsageError:
        raise
    except Exception as error:  # of the model's code
        raise UsageError(f"transformers cannot make this {config.model_type}: {cause(error)}") from error


def _dtype(torch: Any, config: Any, asked: str | None) -> Any:
    declared = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None) or "float32"
    name = asked or str(declared).removeprefix("torch.")
    if TYPES.get(name, "") not in ("float64", "float32", "float16", "bfloat16"):
        # transformers looks up in torch what the file says, and finds functions there too
        where = (
            f"--dtype {name!r}" if asked else f'"dtype": "{getattr(declared, "__name__", name)}" of the configuration'
        )
        raise UsageError(
            f"{where}: weights are bf16, fp16, fp32 or fp64; say another with --dtype, or as weight_type in the spec"
        )
    return getattr(torch, TYPES[name])


def _class_of(package: Any, config: Any) -> Any:
    """Return the class of the architecture that a configuration names, else the most usual one of its type."""
    for name in config.architectures or ():
        named = getattr(package, name, None) if isinstance(name, str) and name.isidentifier() else None
        if isinstance(named, type) and issubclass(named, package.PreTrainedModel):
            return named
    models = [getattr(package, f"AutoModel{name}")._model_mapping for name in _AUTO]
    if config.is_encoder_decoder:
        models = [models[0], models[-1]]  # its decoder alone is another model
    elif getattr(config, "is_decoder", False):
        models = models[3:]
    for mapping in models:
        if type(config) in mapping:
            mapped = mapping[type(config)]
            return mapped[0] if isinstance(mapped, (list, tuple)) else mapped
    raise UsageError(f"transformers has no model for a configuration of {config.model_type}")


def _refuse_several_inputs(kind: type, config: Any) -> None:
    """Refuse a model that reads sounds beside text, or images by a tower that is not covered.

    Fed with text alone it would be a part of itself.

    Raises:
        NotThisPhase: it is one.
    """
    parts = [name for name in getattr(config, "sub_configs", {}) if getattr(config, name, None) is not None]
    covered = config.model_type in COVERED and "vision_config" in parts
    known = {"vision_config", *(["audio_config"] if config.model_type in SILENT else [])} if covered else set()
    others = [name for name in parts if re.match("vision|audio|speech|image|video", name) and name not in known]
    if others:
        text = ', or what its "text_config" says as a config.json of its own' if "text_config" in parts else ""
        raise NotThisPhase(
            f'{kind.__name__} reads several kinds of input (it has a "{others[0]}"), and how is not known here, as '
            f"that of images is of {', '.join(COVERED)}: use mtpp import torch{text}"
        )


def _of_phase(settings: Mapping[str, Any], phase: str, asked: InputRequest, digest: str) -> Model:
    """Return the model of one phase, with the first implementation of attention that can be exported."""
    package = transformers()
    first: UsageError | None = None
    for attention in IMPLEMENTATIONS:
        try:
            return _exported(package, settings, phase, asked, digest, attention)
        except NotThisPhase:
            raise
        except UsageError as error:
            first = first or error
    assert first is not None
    raise first


def _chosen(asked: InputRequest, training: Training | None, tower: ImageTower | None) -> dict[str, Any]:
    """Return what the user chose in place of what the configuration says, the images, and how the model is trained."""
    chosen: dict[str, Any] = {"dtype": asked.dtype, "layers": asked.layers, **arguments_of(training)}
    if tower is not None:
        chosen |= {"images": asked.images, "image_size": tower.size, "image_tokens": tower.tokens}
    return {name: value for name, value in chosen.items() if value is not None}


def _exported(
    package: Any, settings: Mapping[str, Any], phase: str, asked: InputRequest, digest: str, attention: str
) -> Model:
    import torch

    module = make_model(settings, asked, attention)
    module = module.train() if phase == "train" else module.eval()
    config = module.config
    step = step_of(module, phase)
    training = asked.training if phase == "train" else None
    tower = tower_of(module, asked.image_size)
    source = Source(
        "hf",
        type(module).__name__,
        digest,
        {"torch": str(torch.__version__), "transformers": str(package.__version__)},
        {
            "phases": phase,
            "batch": asked.batch,
            "seq": asked.seq,
            "attention": attention,
            **_chosen(asked, training, tower),
        },
    )
    features = None if tower is None else tower.features
    with fused_scans(module, decoding=False), routed_experts(module):
        given, kept, places = inputs_of(module, step, asked, tower)
    made = as_step(module, step, places)
    decoding = step == "decode"
    with ExitStack() as stack:
        for changed in (fused_scans(module, decoding), absorbed(module, decoding), one_image_size(module, features)):
            stack.enter_context(changed)
        stack.enter_context(routed_experts(module))
        model = model_of(made, given, source=source, flops=asked.flops, kept=kept, training=training)
    names = input_names(module, places)
    tensors = tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in model.tensors)
    model = replace(model, tensors=tensors, warnings=(*model.warnings, *_warnings_of(config, settings, attention)))
    return model if tower is None or decoding else with_silent(with_tower(model, module, tower, asked.images), module)


def _warnings_of(config: Any, settings: Mapping[str, Any], attention: str) -> list[str]:
    """Return what the user should be told of a configuration."""
    warnings = []
    if "quantization_config" in settings:
        warnings.append(
            "quantization_config is not looked at: say weight_type = int4 or so where the spec names the graph"
        )
    if attention != ATTENTION:
        warnings.append(f"attention is that of transformers ({attention}), with masks as tensors")
    if config.is_encoder_decoder:
        warnings.append("encoder and decoder both read seq tokens; caches of keys and values are not counted")
    return warnings
