"""Read a file in one of the formats of graphs and models, found by its name or by what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import OptionError, PluginError, UsageError, did_you_mean
from mtpp_dsl.exchange.formats.workload import Workload

if TYPE_CHECKING:
    from mtpp_dsl.exchange.model.model import Model


def read(path: Path | str, format_name: str | None = None, options: Mapping[str, Any] | None = None) -> Workload:
    """Read *path* in the format of that name; without a name, in the only format that can read it.

    Args:
        path: of the file.
        format_name: of the format.
        options: of a model: ``group_by``, ``phase``, ``weight_type``, ``ties``, ``experts_read``, and its symbols.

    Raises:
        UsageError: the file is missing, broken or not in the format (names the file and the
            field), or more than one format could be meant (names them).
        OptionError: an option that cannot be meant, or that files of this format do not take.
        PluginError: there is no such format.
    """
    path = Path(path)
    _check_exists(path)
    names = [format_name] if format_name is not None else _by_suffix(path)
    if len(names) == 1:
        return _read_as(path, names[0], options or {})
    workloads: dict[str, Workload] = {}
    refused: dict[str, str] = {}
    for name in names:
        try:
            workloads[name] = _read_as(path, name, options or {})
        except UsageError as error:
            refused[name] = str(error)
    if len(workloads) == 1:
        return next(iter(workloads.values()))
    if workloads:
        raise UsageError(f"{path} could be {' or '.join(workloads)}; say which with (format = …)")
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in refused.items())
    raise UsageError(f"{path} is in none of the formats {', '.join(refused)}:{reasons}")


def read_model(path: Path | str, format_name: str | None = None) -> Model | None:
    """Read the model that *path* holds; None if it is of a format whose files hold graphs. See :func:`read`."""
    from mtpp_dsl.exchange.formats.models import ModelFormat

    path = Path(path)
    _check_exists(path)
    names = [format_name] if format_name is not None else _by_suffix(path)
    reader = registry.load(registry.FORMATS, names[0])() if len(names) == 1 else None
    return reader.read_model(path) if isinstance(reader, ModelFormat) else None


def format_of(path: Path | str) -> str | None:
    """Return the name of the only format that files named as *path* are of; None where there are several.

    Raises:
        UsageError: there is none.
    """
    names = _by_suffix(Path(path))
    return names[0] if len(names) == 1 else None


def _read_as(path: Path, name: str, options: Mapping[str, Any]) -> Workload:
    reader = registry.load(registry.FORMATS, name)()
    if hasattr(reader, "read_model"):
        from mtpp_dsl.exchange.formats.models import workload_of

        return workload_of(reader.read_model(path), path, options)
    for option in options:
        raise OptionError(f"files of format {name} have no option {option!r}; those of models do", option, unknown=True)
    workload = reader.read(path)
    if not isinstance(workload, Workload):
        raise PluginError(f"format {name!r} returned a {type(workload).__name__}, not a Workload")
    return workload


OTHERS = {
    ".mtpp": "{0} is a spec, and no graph: 'mtpp solve {0}' solves it; in another spec, 'include \"{0}\"' reads it",
    ".py": "{0} is a program: 'mtpp import torch {0}:CALLABLE -o model.json' makes a model of what it returns",
    ".toml": "{0} is a sweep, and no graph: 'mtpp bench {0}' runs it",
    **dict.fromkeys(
        (".pt", ".pth", ".bin", ".ckpt", ".safetensors"),
        "{0} holds weights, and no graph: 'mtpp import torch MODULE:CALLABLE -o model.json' makes a model of the code, "
        "'mtpp import hf config.json -o model.json' of a configuration, and torch.export.save writes a .pt2",
    ),
}
"""Messages about files that hold no graph, by the end of their names."""


def _by_suffix(path: Path) -> list[str]:
    """Return the formats that a file may be of by its name: the one alone that the file itself says that it is of."""
    names = list(registry.available(registry.FORMATS))
    fitting = [name for name in names if path.suffix.lower() in registry.load(registry.FORMATS, name).suffixes]
    if not fitting:
        ending, known = path.suffix.lower(), ", ".join(names)
        other = f"no format has files named *{path.suffix or path.name} ({path}); say its format, one of {known}"
        raise UsageError(OTHERS[ending].format(path) if ending in OTHERS else other)
    if len(fitting) > 1 and path.is_file():
        readers = {name: registry.load(registry.FORMATS, name)() for name in fitting}
        claimed = [name for name, reader in readers.items() if hasattr(reader, "claims") and reader.claims(path)]
        rest = [name for name in fitting if not hasattr(readers[name], "claims")]
        return claimed if len(claimed) == 1 else rest or fitting
    return fitting


def _check_exists(path: Path) -> None:
    """Complain, with a near name, about a file that is not there."""
    try:
        exists = path.exists()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if path.is_symlink() and not exists:
        raise UsageError(f"cannot read {path}: it is a link that leads to no file")
    if not exists:
        raise UsageError(f"there is no file {path}{_near(path)}")


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    return did_you_mean(path.name, (other.name for other in path.parent.iterdir()))
