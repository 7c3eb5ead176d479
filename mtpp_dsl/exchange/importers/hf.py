"""``from_hf``: a model of Hugging Face by its configuration alone, without weights and without the network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import parse_json, read_bytes
from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.importers.hf_inputs import InputRequest, NotThisPhase, input_names, inputs_of, step_of
from mtpp_dsl.exchange.importers.hf_latent import absorbed
from mtpp_dsl.exchange.importers.hf_scans import fused_scans
from mtpp_dsl.exchange.importers.hf_steps import ATTENTION, as_step, register_attention
from mtpp_dsl.exchange.importers.joined import joined
from mtpp_dsl.exchange.importers.torch_export import cause
from mtpp_dsl.exchange.importers.torch_inputs import TYPES
from mtpp_dsl.exchange.importers.torch_model import model_of
from mtpp_dsl.exchange.importers.torch_training import Training, arguments_of, training_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Source
from mtpp_dsl.exchange.model.sizes import Size

__all__ = ["configuration", "from_hf"]

PHASES = ("prefill", "decode", "train")
IMPLEMENTATIONS = (ATTENTION, "sdpa", "eager")
"""Of attention, in the order in which they are tried."""


_AUTO = ("ForSeq2SeqLM", "ForMaskedLM", "ForCausalLM", "ForImageClassification", "")
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
            raise UsageError(f"there is no phase {name!r}{did_you_mean(name, PHASES)} (there are: {', '.join(PHASES)})")
    if "train" in names and len(names) > 1:
        raise UsageError("phase train stands alone: a pipeline that trains runs no prefill and no decode")
    if backward_ratio is not None and "train" not in names:
        raise UsageError("a ratio of the backward pass is for phase train")
    asked = InputRequest(batch, seq, dtype, layers, flops, training_of(optimizer, backward_ratio))
    settings, digest = _settings_of(config)
    if len(set(names)) < len(names):
        raise UsageError(f"the phases {', '.join(names)} name one twice")
    models = {name: _of_phase(settings, name, asked, digest) for name in names}
    return joined(models) if len(models) > 1 else models[names[0]]


def _settings_of(config: Any) -> tuple[Mapping[str, Any], str]:
    """Return what a configuration says, and the SHA-256 of the file that it was read from, if any."""
    if isinstance(config, (str, Path)):
        return read_configuration(Path(config))
    if isinstance(config, Mapping):
        return config, ""
    if hasattr(config, "to_dict"):
        return config.to_dict(), ""
    raise UsageError(f"a configuration is a path, a mapping or one of transformers, not {type(config).__name__}")


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
    declared = getattr(config, "dtype", None) or "float32"
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
        models = models[2:]
    for mapping in models:
        if type(config) in mapping:
            mapped = mapping[type(config)]
            return mapped[0] if isinstance(mapped, (list, tuple)) else mapped
    raise UsageError(f"transformers has no model for a configuration of {config.model_type}")


def _refuse_several_inputs(kind: type, config: Any) -> None:
    """Refuse a model that reads images or sounds beside text: fed with text alone it would be a part of itself.

    Raises:
        NotThisPhase: it is one.
    """
    parts = [name for name in getattr(config, "sub_configs", {}) if getattr(config, name, None) is not None]
    other = next((name for name in parts if re.match("vision|audio|speech|image|video", name)), None)
    if other is not None:
        text = ', or what its "text_config" says as a config.json of its own' if "text_config" in parts else ""
        raise NotThisPhase(
            f'{kind.__name__} reads several kinds of input (it has a "{other}"); a configuration gives token or image '
            f"models alone: use mtpp import torch{text}"
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


def _chosen(asked: InputRequest, training: Training | None) -> dict[str, Any]:
    """Return what the user chose in place of what the configuration says, and how the model is trained."""
    chosen: dict[str, Any] = {"dtype": asked.dtype, "layers": asked.layers, **arguments_of(training)}
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
    source = Source(
        "hf",
        type(module).__name__,
        digest,
        {"torch": str(torch.__version__), "transformers": str(package.__version__)},
        {"phases": phase, "batch": asked.batch, "seq": asked.seq, "attention": attention, **_chosen(asked, training)},
    )
    with fused_scans(module, decoding=False):
        given, kept, places = inputs_of(module, step, asked)
    made = as_step(module, step, places)
    decoding = step == "decode"
    with fused_scans(module, decoding), absorbed(module, decoding):
        model = model_of(made, given, source=source, flops=asked.flops, kept=kept, training=training)
    names = input_names(module, places)
    tensors = tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in model.tensors)
    return replace(model, tensors=tensors, warnings=(*model.warnings, *_warnings_of(config, settings, attention)))


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


EXTRA = "hf"
MAX_BYTES = 4 * 2**20
MAX_DEPTH = 40
MAX_LAYERS = 2_000
MAX_COUNT = 1_000_000
MAX_NUMBER = 2**40
MAX_MODULES = 200_000
LEFT_OUT = frozenset(
    """auto_map quantization_config transformers_version _name_or_path use_kernels kernel_config attn_implementation
    _attn_implementation _attn_implementation_internal experts_implementation _experts_implementation
    _experts_implementation_internal torchscript _commit_hash""".split()  # noqa: SIM905
)
"""What is not handed on: what names code, kernels to download, or how weights are stored."""


def transformers() -> Any:
    """Return the package transformers, told never to use the network.

    Raises:
        UsageError: it is not installed.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    need("torch", EXTRA)
    return need("transformers", EXTRA)


def read_configuration(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a ``config.json`` says, and the SHA-256 of its bytes; *path* may be the folder that it is in.

    Raises:
        UsageError: there is no such file, it is too large, or it is no JSON object.
    """
    file = path / "config.json" if path.is_dir() else path
    if not file.exists() and len(path.parts) == 2 and not path.parent.is_dir() and not path.suffix == ".json":
        raise UsageError(
            f"there is no folder {str(path)!r} here, and nothing is downloaded: get the model's config.json, as by "
            f"'hf download {path} config.json --local-dir .', and name it"
        )
    data = read_bytes(file, MAX_BYTES)
    settings = parse_json(data, str(file))
    if not isinstance(settings, dict):
        raise UsageError(f"{str(file)!r} is no configuration: it must be a JSON object")
    return settings, sha256(data).hexdigest()


def configuration(settings: Mapping[str, Any], layers: int | None = None) -> Any:
    """Return the configuration of transformers for what a ``config.json`` says.

    Args:
        settings: the JSON object.
        layers: so many layers in place of its own.

    Raises:
        UsageError: ``model_type`` is absent, or transformers does not know it; a number is out of all reason.
    """
    package = transformers()
    kind = settings.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise UsageError('the configuration has no "model_type", such as "llama"; it says which architecture it is of')
    known = package.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    if kind not in known:
        own = "; the code that its auto_map names is never run" if "auto_map" in settings else ""
        raise UsageError(
            f"transformers {package.__version__} has no architecture {kind[:60]!r}{did_you_mean(kind, known)}{own}"
        )
    _check(settings)
    plain = {name: setting for name, setting in _plain(settings).items() if name != "model_type"}
    try:
        made_config = package.AutoConfig.for_model(kind, **plain)
    except Exception as error:  # of the configuration's class
        raise UsageError(f"transformers does not take this configuration of {kind}: {_first_line(error)}") from error
    if layers is not None:
        _cut(made_config, layers)
    count = getattr(made_config.get_text_config(), "num_hidden_layers", 0) or 0
    if not isinstance(count, int) or not 0 <= count <= MAX_LAYERS:
        raise UsageError(f"the configuration has {count!r} layers; at most {MAX_LAYERS:,} are read")
    return made_config


@contextmanager
def few_modules() -> Iterator[None]:
    """Refuse to make more modules than any model has, while they are made.

    Raises:
        UsageError: there are more.
    """
    made = 0

    def count(_module: Any, _name: str, _part: Any) -> None:
        nonlocal made
        made += 1
        if made > MAX_MODULES:
            raise UsageError(f"the configuration makes more than {MAX_MODULES:,} modules")

    handle = need("torch.nn.modules.module", EXTRA).register_module_module_registration_hook(count)
    try:
        yield
    finally:
        handle.remove()


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is handed on of a configuration, also of those within it."""
    return {
        name: _plain(setting) if isinstance(setting, Mapping) else setting
        for name, setting in settings.items()
        if name not in LEFT_OUT
    }


def _check(settings: Any, depth: int = 0) -> None:
    """Refuse numbers that no model has, and nesting that none needs."""
    if depth > MAX_DEPTH:
        raise UsageError(f"the configuration is nested more deeply than {MAX_DEPTH} levels")
    for name, setting in settings.items() if isinstance(settings, Mapping) else (("", one) for one in settings):
        if isinstance(setting, (Mapping, list)):
            _check(setting, depth + 1)
        elif isinstance(setting, int) and abs(setting) > _most(name):
            raise UsageError(
                f"the configuration has {name or 'the number'} {setting!s:.30}; at most {_most(name):,} is read"
            )


def _most(name: str) -> int:
    """Return how large a number of that name, or of a list, may be: many layers or labels are many objects."""
    if "layer" in name:
        return MAX_LAYERS
    few = not name or (name.startswith(("num_", "n_")) and "positions" not in name)
    return MAX_COUNT if few else MAX_NUMBER


def _cut(config: Any, layers: int) -> None:
    """Give a configuration another number of layers."""
    if layers > MAX_LAYERS:  # before a list of so many types is made
        raise UsageError(f"--layers {layers:,}: at most {MAX_LAYERS:,} are read")
    inner = config.get_text_config()
    if not hasattr(inner, "num_hidden_layers"):
        raise UsageError(f"--layers: a configuration of {config.model_type} says nothing of its number of layers")
    for name in ("layer_types", "layers_block_type"):
        types = getattr(inner, name, None)
        if types:
            with suppress(AttributeError):  # of one that follows from the number of layers, or from the other
                setattr(inner, name, [types[at % len(types)] for at in range(layers)])
    with suppress(AttributeError):
        inner.num_hidden_layers = layers
    if inner.num_hidden_layers != layers:
        raise UsageError(f"--layers: a configuration of {config.model_type} takes no other number of layers")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
