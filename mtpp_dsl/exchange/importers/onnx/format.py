"""ONNX files as a format of graphs, for ``graph from "model.onnx" (batch = 8)``."""

from __future__ import annotations

from pathlib import Path

from mtpp_dsl.exchange.formats.models import ModelFormat
from mtpp_dsl.exchange.model.model import Model

__all__ = ["Onnx"]


class Onnx(ModelFormat):
    """ONNX files; the importer is loaded when a file is read."""

    name = "onnx"
    suffixes = (".onnx",)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.importers.onnx.importer.from_onnx`."""
        from mtpp_dsl.exchange.importers.onnx.importer import from_onnx

        return from_onnx(path)
