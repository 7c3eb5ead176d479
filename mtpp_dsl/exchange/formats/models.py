"""Formats that hold a model: what they become by the options of a spec, and ``model.json`` itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from mtpp_dsl.core.errors import OptionError, UsageError
from mtpp_dsl.exchange.formats.workload import Workload, says_format
from mtpp_dsl.exchange.model.graphs import graph_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import FORMAT, read, write


class ModelFormat(ABC):
    """A format whose files hold a model, which becomes a graph by options such as ``(group_by = layer, batch = 8)``."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def read_model(self, path: Path) -> Model:
        """Return the model in *path*.

        Raises:
            UsageError: it is missing, broken or no file of this format; names the file.
        """

    def read(self, path: Path) -> Workload:
        """Return the graph of the model in *path*, with the usual options; see :func:`workload_of`."""
        return workload_of(self.read_model(path), path, {})


def workload_of(model: Model, path: Path, options: Mapping[str, Any]) -> Workload:
    """Return the graph of a model that was read from *path*; see :func:`mtpp_dsl.exchange.model.graphs.graph_of`.

    Raises:
        OptionError: an option or a symbol that cannot be meant.
    """
    try:
        made = graph_of(model, **options)
    except OptionError:
        raise
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    graph, origin = made.graph, made.graph.origin
    if origin is not None:
        graph = replace(graph, origin=replace(origin, path=path.as_posix()))
    return Workload(graph, warnings=made.warnings)


class ModelJson(ModelFormat):
    """``model.json``, which ``mtpp import`` writes: see :mod:`mtpp_dsl.exchange.model.model_json`."""

    name = "model"
    suffixes = (".json",)

    def claims(self, path: Path) -> bool:
        """Return whether the file says that it is of this format."""
        return says_format(path, FORMAT)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.model.model_json.read`."""
        return read(path)

    def write_model(self, model: Model, path: Path) -> tuple[Path, ...]:
        """Write a model, and return the files that were written."""
        write(model, path)
        return (path,)
