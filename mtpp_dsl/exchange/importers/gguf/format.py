"""GGUF files as a format of graphs, for ``graph from "model.gguf" (batch = 8)``."""

from __future__ import annotations

from pathlib import Path

from mtpp_dsl.exchange.formats.models import ModelFormat
from mtpp_dsl.exchange.model.model import Model

__all__ = ["Gguf"]


class Gguf(ModelFormat):
    """GGUF files of llama.cpp, with both phases; the importer is loaded when a file is read."""

    name = "gguf"
    suffixes = (".gguf",)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.importers.gguf.importer.from_gguf`."""
        from mtpp_dsl.exchange.importers.gguf.importer import from_gguf

        return from_gguf(path)
