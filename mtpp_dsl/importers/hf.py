"""``from_hf``: a model of Hugging Face by its configuration alone, without weights and without the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from mtpp_dsl.errors import UsageError, did_you_mean
from mtpp_dsl.importers.hf_config import configuration, read_configuration, transformers
from mtpp_dsl.importers.hf_steps import ATTENTION, as_step, register_attention
from mtpp_dsl.importers.joined import joined
from mtpp_dsl.importers.torch_assemble import Kept
from mtpp_dsl.importers.torch_export import cause, export_module
from mtpp_dsl.importers.torch_inputs import TYPES, Given
from mtpp_dsl.importers.torch_model import model_of
from mtpp_dsl.importers.torch_training import Training, training_of
from mtpp_dsl.model import Model, Size, Source, Symbol

__all__ = ["PHASES", "Asked", "from_hf", "make_model"]

PHASES = ("prefill", "decode", "train")
TRACED = {"batch": 3, "seq": 19, "length": 23}
IMPLEMENTATIONS = (ATTENTION, "sdpa", "eager")
"""Of attention, in the order in which they are tried."""


_Inputs: TypeAlias = tuple[Given, Kept, tuple[tuple[int, int], ...]]
_AUTO = ("ForSeq2SeqLM", "ForMaskedLM", "ForCausalLM", "ForImageClassification", "")
"""What a model of a type is for, the first that there is: text in and out, encoders, decoders, images, or neither."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a configuration.

    Attributes:
        batch, seq: defaults of the symbols; seq is the number of tokens of a prefill, and those that a decoding step
            finds in its cache.
        dtype: of the weights; None: what the configuration says, else fp32.
        layers: so many in place of the configuration's; None: its own.
        flops: formulas for what torch cannot count.
        training: how it is trained, in phase train.
    """

    batch: int = 1
    seq: int = 2048
    dtype: str | None = None
    layers: int | None = None
    flops: Mapping[str, Size] | None = None
    training: Training = field(default_factory=Training)


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
) -> Model:
    """Return the model of a Hugging Face configuration: its operators with their costs, in one phase or several.

    Args:
        config: the path of a ``config.json`` or of its folder, what one says, or a configuration of transformers.
        phases: "prefill", "decode" or "train", or several with commas.
        batch: default of the symbol ``batch``.
        seq: default of the symbol ``seq``: the tokens of a prompt, or those in the cache of a decoding step.
        dtype: of the weights, such as "bf16"; what the configuration says, else fp32.
        layers: so many layers in place of the configuration's own.
        optimizer: for training: "adam", "sgd", or the bytes held for each number of a parameter, all in all.
        backward_ratio: for training: the cost of the backward pass by that of the forward pass; None: torch derives it.
        flops: formulas for what torch cannot count, by the operation or the operator.

    Raises:
        UsageError: the packages are absent, transformers does not know the architecture, or it cannot be exported.
    """
    names = tuple(part.strip() for part in phases.split(",")) if isinstance(phases, str) else tuple(phases)
    for name in names:
        if name not in PHASES:
            raise UsageError(f"there is no phase {name!r}{did_you_mean(name, PHASES)}; there are {', '.join(PHASES)}")
    if "train" in names and len(names) > 1:
        raise UsageError("phase train stands alone: a pipeline that trains runs no prefill and no decode")
    if backward_ratio is not None and "train" not in names:
        raise UsageError("a ratio of the backward pass is for phase train")
    asked = Asked(batch, seq, dtype, layers, flops, training_of(optimizer, backward_ratio))
    said, digest = _said(config)
    if len(set(names)) < len(names):
        raise UsageError(f"the phases {', '.join(names)} name one twice")
    models = {name: _of_phase(said, name, asked, digest) for name in names}
    return joined(models) if len(models) > 1 else models[names[0]]


def _said(config: Any) -> tuple[Mapping[str, Any], str]:
    """Return what a configuration says, and the SHA-256 of the file that it was read from, if any."""
    if isinstance(config, (str, Path)):
        return read_configuration(Path(config))
    if isinstance(config, Mapping):
        return config, ""
    if hasattr(config, "to_dict"):
        return config.to_dict(), ""
    raise UsageError(f"a configuration is a path, a mapping or one of transformers, not {type(config).__name__}")


def make_model(said: Mapping[str, Any], asked: Asked, attention: str = ATTENTION, device: str = "meta") -> Any:
    """Return the module of a configuration on *device*; on "meta" without memory, elsewhere with random weights.

    Raises:
        UsageError: it cannot be made.
    """
    import torch

    package = transformers()
    register_attention()
    config = configuration(said, asked.layers)
    kind = _class_of(package, config)
    try:
        with torch.device(device):
            return kind._from_config(config, dtype=_dtype(torch, config, asked.dtype), attn_implementation=attention)
    except Exception as error:  # of the model's code
        raise UsageError(f"transformers cannot make this {config.model_type}: {cause(error)}") from error


def _dtype(torch: Any, config: Any, asked: str | None) -> Any:
    name = asked or str(getattr(config, "dtype", None) or "float32").removeprefix("torch.")
    if TYPES.get(name, "") not in ("float64", "float32", "float16", "bfloat16"):
        raise UsageError(
            f"--dtype {name!r}: weights are bf16, fp16, fp32 or fp64; say others as weight_type in the spec"
        )
    return getattr(torch, TYPES[name])


def _class_of(package: Any, config: Any) -> Any:
    """Return the class of the architecture that a configuration names, else the most usual one of its type."""
    for name in config.architectures or ():
        found = getattr(package, name, None) if isinstance(name, str) and name.isidentifier() else None
        if isinstance(found, type) and issubclass(found, package.PreTrainedModel):
            return found
    models = [getattr(package, f"AutoModel{name}")._model_mapping for name in _AUTO]
    if config.is_encoder_decoder:
        models = models[:1] + models[2:]
    elif getattr(config, "is_decoder", False):
        models = models[2:]
    for mapping in models:
        if type(config) in mapping:
            found = mapping[type(config)]
            return found[0] if isinstance(found, (list, tuple)) else found
    raise UsageError(f"transformers has no model for a configuration of {config.model_type}")


def _of_phase(said: Mapping[str, Any], phase: str, asked: Asked, digest: str) -> Model:
    """Return the model of one phase, with the first implementation of attention that can be exported."""
    package = transformers()
    first: UsageError | None = None
    for attention in IMPLEMENTATIONS:
        try:
            return _exported(package, said, phase, asked, digest, attention)
        except _NotThisPhase:
            raise
        except UsageError as error:
            first = first or error
    assert first is not None
    raise first


class _NotThisPhase(UsageError):
    """The architecture has no such phase, however its attention is computed."""


def _exported(package: Any, said: Mapping[str, Any], phase: str, asked: Asked, digest: str, attention: str) -> Model:
    import torch

    module = make_model(said, asked, attention)
    module = module.train() if phase == "train" else module.eval()
    config = module.config
    step = _step(module, phase)
    given, kept, places = _inputs(module, step, asked)
    source = Source(
        "hf",
        type(module).__name__,
        digest,
        {"torch": str(torch.__version__), "transformers": str(package.__version__)},
        {"phases": phase, "batch": asked.batch, "seq": asked.seq, "attention": attention},
    )
    training = asked.training if phase == "train" else None
    model = model_of(
        as_step(module, step, places), given, source=source, flops=asked.flops, kept=kept, training=training
    )
    names = _input_names(module)
    tensors = tuple(replace(each, name=names.get(each.name, each.name)) for each in model.tensors)
    return replace(model, tensors=tensors, warnings=(*model.warnings, *_said_of(config, said, attention)))


def _step(module: Any, phase: str) -> str:
    """Return which step of a model a phase is.

    Raises:
        UsageError: the architecture has no such phase.
    """
    generates = module.can_generate() and module.main_input_name == "input_ids"
    caches = generates and not module.config.is_encoder_decoder
    if phase == "decode" and not caches:
        why = "its decoder reads an encoder" if module.config.is_encoder_decoder else "it does not write token by token"
        raise _NotThisPhase(f"{type(module).__name__} has no decoding step here: {why}")
    return "forward" if phase == "prefill" and not caches else phase


def _inputs(module: Any, step: str, asked: Asked) -> _Inputs:
    """Return what a step is given, which of it are caches, and where those of each layer are.

    Raises:
        UsageError: nobody knows the inputs of such an architecture.
    """
    import torch

    config = module.config
    most = _positions(module)
    symbols = {"batch": Symbol(asked.batch), "seq": Symbol(asked.seq, 1, most)}
    if most is not None and asked.seq > most:
        raise _NotThisPhase(f"--seq {asked.seq}: this model has positions for {most:,} tokens")
    tokens = torch.zeros(TRACED["batch"], TRACED["seq"], dtype=torch.long, device="meta")
    both = {0: "batch", 1: "seq"}
    main = module.main_input_name
    if main == "pixel_values":
        return _images(module, step, asked), Kept(), ()
    if main != "input_ids":
        raise _NotThisPhase(
            f"{type(module).__name__} reads {main!r}; a configuration gives token or image models alone: "
            "use mtpp import torch"
        )
    if step == "prefill":
        limits = _limits(config, 2 * config.get_text_config().num_hidden_layers, 1)
        outputs = frozenset(range(1, 1 + 2 * config.get_text_config().num_hidden_layers))
        return Given((tokens,), {}, {"main": both}, symbols), Kept(frozenset(), outputs, limits), ()
    if step == "decode":
        return _decode(module, symbols)
    if step == "train":
        return Given((tokens, tokens.clone()), {}, {"main": both, "labels": both}, symbols), Kept(), ()
    if config.is_encoder_decoder:
        return Given((tokens, tokens.clone()), {}, {"main": both, "second": both}, symbols), Kept(), ()
    return Given((tokens,), {}, {"main": both}, symbols), Kept(), ()


def _images(module: Any, step: str, asked: Asked) -> Given:
    """Return a batch of images of the size that a configuration names."""
    import torch

    config = module.config
    size = getattr(config, "image_size", None)
    sides = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    channels = getattr(config, "num_channels", 3)
    if step == "train" or not all(isinstance(side, int) for side in (*sides, channels)):
        why = "training of image models" if step == "train" else "a configuration without image_size"
        raise _NotThisPhase(f"{type(module).__name__}: {why} is not known; use mtpp import torch")
    pixels = torch.zeros(TRACED["batch"], channels, *sides, dtype=module.dtype, device="meta")
    return Given((pixels,), {}, {"main": {0: "batch"}}, {"batch": Symbol(asked.batch)})


def _kept_by(module: Any) -> list[Any]:
    """Return tensors of the shapes of the keys and values of each layer, from a short prefill on ``meta``.

    Raises:
        UsageError: the model keeps something else.
    """
    import torch

    tokens = torch.zeros(TRACED["batch"], 5, dtype=torch.long, device="meta")
    kind = type(module)
    step = as_step(module, "prefill")
    try:
        with torch.no_grad():
            return list(step(tokens))[1:]
    except Exception:  # of the model's code, which may look at values unless it is exported
        try:
            (given,) = export_module(step, (tokens,), {}).graph.output_node().args
        except Exception as error:
            raise UsageError(f"{kind.__name__} keeps no keys and values that are known here: {cause(error)}") from error
        return [node.meta["val"] for node in given[1:]]
    finally:
        module.__class__ = kind


def _decode(module: Any, symbols: Mapping[str, Symbol]) -> _Inputs:
    """Return one token, and the keys and values of all layers: those of layers alike in one tensor."""
    import torch

    kept = _kept_by(module)
    limits = _limits(module.config, len(kept), 0)
    stacks: dict[tuple[Any, ...], int] = {}  # layers whose caches are alike: how many there are
    places = []
    for at in range(0, len(kept), 2):
        sizes = [(tuple(each.shape[1::2]), each.dtype) for each in kept[at : at + 2]]
        key = (*sizes, limits.get(at, {}).get("seq", "seq"))
        places.append((list(stacks).index(key) if key in stacks else len(stacks), stacks.get(key, 0)))
        stacks[key] = stacks.get(key, 0) + 1
    past: list[Any] = []
    shapes: list[dict[int, str]] = []
    formulas: dict[str, str] = {}
    for (*halves, length), count in stacks.items():
        name = "seq" if length == "seq" else f"seq_{len(formulas)}"
        if name != "seq":
            formulas[name] = length
        traced = TRACED["seq"] if name == "seq" else TRACED["length"] + 2 * len(formulas)
        for (heads, width), dtype in halves:
            past.append(torch.zeros(count, TRACED["batch"], heads, traced, width, dtype=dtype, device="meta"))
            shapes.append({1: "batch", 3: name})
    token = torch.zeros(TRACED["batch"], 1, dtype=torch.long, device="meta")
    given = Given((token, past), {}, {"main": {0: "batch"}, "past": shapes}, dict(symbols), formulas)
    return given, Kept(frozenset(range(1, 1 + len(past))), frozenset(range(1, 1 + len(kept)))), tuple(places)


def _limits(config: Any, count: int, first: int) -> dict[int, dict[str, str]]:
    """Return for the caches of layers that look back so far only, how many tokens they keep: by the place."""
    inner = config.get_text_config()
    window = getattr(inner, "sliding_window", None) or getattr(inner, "attention_chunk_size", None)
    if not isinstance(window, int):
        return {}
    types = getattr(inner, "layer_types", None) or ["sliding_attention"] * (count // 2)
    near = [at for at, kind in enumerate(types[: count // 2]) if kind in ("sliding_attention", "chunked_attention")]
    return {first + 2 * at + half: {"seq": f"min(seq, {window})"} for at in near for half in (0, 1)}


def _positions(module: Any) -> int | None:
    """Return for how many tokens a model has learned positions; None where it computes them."""
    import torch

    most = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    tables = [each for each in module.modules() if isinstance(each, torch.nn.Embedding)]
    if not isinstance(most, int) or module.main_input_name != "input_ids":
        return None
    own = [each for each in tables if each is not module.get_input_embeddings()]
    return most if any(most <= each.num_embeddings <= most + 8 for each in own) else None


def _input_names(module: Any) -> dict[str, str]:
    """Return what to call the inputs of a step: as the model does, and caches by their kind."""
    caches = {
        f"past_{2 * at + half}": f"past.{at}.{part}" for at in range(8) for half, part in enumerate(("key", "value"))
    }
    return {"main": module.main_input_name, "second": "decoder_input_ids", **caches}


def _said_of(config: Any, said: Mapping[str, Any], attention: str) -> list[str]:
    """Return what the user should be told of a configuration."""
    found = []
    if "quantization_config" in said:
        found.append(
            "quantization_config is not looked at: say weight_type = int4 or so where the spec names the graph"
        )
    if attention != ATTENTION:
        found.append(f"attention is that of transformers ({attention}), with masks as tensors")
    if config.is_encoder_decoder:
        found.append("encoder and decoder both read seq tokens; caches of keys and values are not counted")
    return found
