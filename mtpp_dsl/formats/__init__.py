"""File formats of graphs, and reading a file in one of them.

A format is a class with ``name``, ``suffixes`` and ``read`` (:class:`mtpp_dsl.contracts.Format`),
found through the registry. Formats import problems, contracts and the registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mtpp_dsl import registry
from mtpp_dsl.base.pickling import Picklable
from mtpp_dsl.base.shown import Short
from mtpp_dsl.contracts import Format
from mtpp_dsl.errors import PluginError, UsageError, did_you_mean
from mtpp_dsl.problem import Device, Interconnect
from mtpp_dsl.problem.graph import Graph

__all__ = ["Workload", "read"]


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Short, Picklable):
    """What a file holds: a graph, and devices where it has them.

    Attributes:
        graph: the graph.
        devices: in the file's order; empty if it has none.
        interconnect: what joins the devices; None if the file does not say.
        warnings: what the user should be told about this file.
    """

    graph: Graph
    devices: tuple[Device, ...] = ()
    interconnect: Interconnect | None = None
    warnings: tuple[str, ...] = ()


def read(path: Path | str, format_name: str | None = None) -> Workload:
    """Read *path* in the format of that name; without a name, in the only format that can read it.

    Raises:
        UsageError: the file is missing, broken or not in the format (names the file and the
            field), or more than one format could be meant (names them).
        PluginError: there is no such format.
    """
    path = Path(path)
    _check_exists(path)
    if format_name is not None:
        return _read_as(path, format_name)
    names = _by_suffix(path)
    if len(names) == 1:
        return _read_as(path, names[0])
    found: dict[str, Workload] = {}
    refused: dict[str, str] = {}
    for name in names:
        try:
            found[name] = _read_as(path, name)
        except UsageError as error:
            refused[name] = str(error)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise UsageError(f"{path} could be {' or '.join(found)}; say which with (format = …)")
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in refused.items())
    raise UsageError(f"{path} is in none of the formats {', '.join(refused)}:{reasons}")


def _read_as(path: Path, name: str) -> Workload:
    reader: Format = registry.load(registry.FORMATS, name)()
    workload = reader.read(path)
    if not isinstance(workload, Workload):
        raise PluginError(f"format {name!r} returned a {type(workload).__name__}, not a Workload")
    return workload


def _by_suffix(path: Path) -> list[str]:
    names = list(registry.available(registry.FORMATS))
    fitting = [name for name in names if path.suffix.lower() in registry.load(registry.FORMATS, name).suffixes]
    if not fitting:
        raise UsageError(
            f"no format has files named *{path.suffix or path.name} ({path}); say which with (format = …), "
            f"one of {', '.join(names)}"
        )
    return fitting


def _check_exists(path: Path) -> None:
    """Complain, with a near name, about a file that is not there."""
    try:
        exists = path.exists()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not exists:
        raise UsageError(f"there is no file {path}{_near(path)}")


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f": there is no folder {path.parent}"
    return did_you_mean(path.name, (other.name for other in path.parent.iterdir()))
