"""Model files of frameworks as formats of graphs, for ``graph from "model.onnx" (batch = 8)``.

Each importer is loaded when a file is read.
"""

from __future__ import annotations

from pathlib import Path

from mtpp_dsl.exchange.formats.models import ModelFormat
from mtpp_dsl.exchange.model.model import Model


class Onnx(ModelFormat):
    """ONNX files."""

    name = "onnx"
    suffixes = (".onnx",)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.importers.onnx.importer.from_onnx`."""
        from mtpp_dsl.exchange.importers.onnx.importer import from_onnx

        return from_onnx(path)


class Pt2(ModelFormat):
    """Archives of torch.export."""

    name = "pt2"
    suffixes = (".pt2",)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.importers.pt2.importer.from_pt2`."""
        from mtpp_dsl.exchange.importers.pt2.importer import from_pt2

        return from_pt2(path)


class Gguf(ModelFormat):
    """GGUF files of llama.cpp, with both phases."""

    name = "gguf"
    suffixes = (".gguf",)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.importers.gguf.importer.from_gguf`."""
        from mtpp_dsl.exchange.importers.gguf.importer import from_gguf

        return from_gguf(path)
