"""Read what a ``config.json`` of Hugging Face says, as a configuration of transformers, within limits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import parse_json, read_bytes
from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError, did_you_mean

__all__ = ["configuration", "few_modules", "settings_of", "transformers"]

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


def settings_of(config: Any) -> tuple[Mapping[str, Any], str]:
    """Return what a configuration says, and the SHA-256 of the file that it was read from, if any."""
    if isinstance(config, (str, Path)):
        return read_configuration(Path(config))
    if isinstance(config, Mapping):
        return config, ""
    if hasattr(config, "to_dict"):
        return config.to_dict(), ""
    raise UsageError(f"a configuration is a path, a mapping or one of transformers, not {type(config).__name__}")


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
    if "layer" in name and "per_layer" not in name:
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
