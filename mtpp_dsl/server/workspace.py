"""The texts that are open in an editor, and what they say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mtpp_dsl.language.analysis import Analysis
from mtpp_dsl.server.document import Document, Replacement
from mtpp_dsl.server.reading import Reading, read_document

__all__ = ["Workspace"]


@dataclass
class Workspace:
    """The open texts, by URI.

    Attributes:
        encoding: in whose units columns are counted.
        root: the folder that the editor has opened, from which texts in no file start.
    """

    encoding: str = "utf-16"
    root: Path = field(default_factory=Path)
    documents: dict[str, Document] = field(default_factory=dict)
    _readings: dict[str, Reading] = field(default_factory=dict)

    def open(self, uri: str, text: str, version: int = 0) -> Document:
        """Open a text, in place of one that has the same URI."""
        self.documents[uri] = Document(uri, text, version, self.encoding)
        self._readings.clear()
        return self.documents[uri]

    def change(self, uri: str, changes: list[Replacement], version: int | None = None) -> Document:
        """Make changes of an open text, one after another; one that is not open begins empty."""
        document = self.documents.get(uri) or self.open(uri, "")
        for change in changes:
            document.change(change, version)
        self._readings.clear()
        return document

    def close(self, uri: str) -> None:
        """Close a text: what is on the disk counts again."""
        self.documents.pop(uri, None)
        self._readings.clear()

    def texts(self) -> Mapping[str, str]:
        """Return the open texts that are in files, by their real paths, as the language reads them."""
        return {os.path.realpath(path): each.plain for each in self.documents.values() if (path := each.path)}

    def uris(self) -> Mapping[Path, str]:
        """Return the URIs of the open texts that are in files, by their real paths."""
        return {path.resolve(): each.uri for each in self.documents.values() if (path := each.path)}

    def reading(self, uri: str) -> Reading | None:
        """Return what an open text says; None of one that is not open."""
        document = self.documents.get(uri)
        if document is None:
            return None
        if uri not in self._readings:
            path = document.path
            name = uri if path is None else str(path)
            spec = read_document(document.plain, name, path, (), self.texts())
            analysis: Analysis = spec.analyse()
            self._readings[uri] = Reading(uri, spec.source, spec.parsed, analysis, True, self.uris(), self.encoding)
        return self._readings[uri]
