"""Archives of torch.export as a format of graphs, for ``graph from "model.pt2" (batch = 8)``."""

from __future__ import annotations

from pathlib import Path

from mtpp_dsl.exchange.formats.models import ModelFormat
from mtpp_dsl.exchange.model.model import Model

__all__ = ["Pt2"]


class Pt2(ModelFormat):
    """Archives of torch.export; the importer is loaded when a file is read."""

    name = "pt2"
    suffixes = (".pt2",)

    def read_model(self, path: Path) -> Model:
        """Return the model in *path*; see :func:`mtpp_dsl.exchange.importers.pt2.importer.from_pt2`."""
        from mtpp_dsl.exchange.importers.pt2.importer import from_pt2

        return from_pt2(path)
