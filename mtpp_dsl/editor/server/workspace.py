"""The texts that are open in an editor, and what they say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtpp_dsl.editor.server.positions import Lines, path_of, plain
from mtpp_dsl.editor.server.reading import TextReading, read_document
from mtpp_dsl.language.syntax.rereading import ParsedBefore


@dataclass(frozen=True)
class Replacement:
    """A change of a text: from a line and column up to another one; None for the whole text."""

    text: str
    range: tuple[tuple[int, int], tuple[int, int]] | None = None


@dataclass
class Document:
    """A text that is open in an editor.

    Attributes:
        uri: as the editor writes it.
        text: as the editor has it, with line ends of any kind.
        version: that the editor counts.
        encoding: in whose units columns are counted.
    """

    uri: str
    text: str
    version: int = 0
    encoding: str = "utf-16"
    _lines: Lines | None = field(default=None, repr=False)

    @property
    def path(self) -> Path | None:
        """The path of its file; None where it is in none."""
        return path_of(self.uri)

    @property
    def lines(self) -> Lines:
        """The lines of the text as the editor has it."""
        if self._lines is None or self._lines.text is not self.text:
            self._lines = Lines(self.text, self.encoding)
        return self._lines

    @property
    def plain(self) -> str:
        """The text as the language reads it."""
        return plain(self.text)

    def change(self, change: Replacement, version: int | None = None) -> None:
        """Make a change; a place that is not in the text is the nearest one that is."""
        if change.range is None:
            self.text = change.text
        else:
            (line, column), (last, end) = change.range
            start = self.lines.offset(line, column)
            stop = max(start, self.lines.offset(last, end))
            self.text = self.text[:start] + change.text + self.text[stop:]
        if version is not None:
            self.version = version


@dataclass(frozen=True, eq=False)
class ReadingJob:
    """What is needed to read a text, apart from the workspace, which may change meanwhile.

    Attributes:
        uri: of the text.
        stamp: of all that was open, by which a result is known to be late.
        text: as the language reads it.
        path: of its file; None where it is in none.
        folder: where its paths start.
        texts: the open texts that are in files, by their real paths.
        uris: of these.
        encoding: in whose units columns are counted.
    """

    uri: str
    stamp: int
    text: str
    path: Path | None
    folder: Path
    texts: Mapping[str, str]
    uris: Mapping[Path, str]
    encoding: str

    def read(self, last: TextReading | None, memories: dict[Path | None, ParsedBefore] | None = None) -> TextReading:
        """Return what the text says, with the meaning of its *last* reading; *memories* are of its files."""
        name = self.uri if self.path is None else str(self.path)
        spec = read_document(self.text, name, self.path, (), self.texts, folder=self.folder, memories=memories)
        analysis = None if last is None else last.analysis
        return TextReading(self.uri, spec, analysis, False, self.uris, self.encoding)


@dataclass
class Workspace:
    """The open texts, by URI, and what each says.

    Attributes:
        encoding: in whose units columns are counted.
        root: the folder that the editor has opened, from which texts in no file start.
        documents: the open texts.
        readings: the last reading of each, which may be of an earlier text.
        stamps: counts the changes that a text, or one that it includes, has seen.
    """

    encoding: str = "utf-16"
    root: Path = field(default_factory=Path)
    documents: dict[str, Document] = field(default_factory=dict)
    readings: dict[str, TextReading] = field(default_factory=dict)
    stamps: dict[str, int] = field(default_factory=dict)
    _plain: dict[str, tuple[str, str]] = field(default_factory=dict)

    def open(self, uri: str, text: str, version: int = 0) -> list[str]:
        """Open a text, in place of one that has the same URI; return which texts are to be read anew."""
        self.documents[uri] = Document(uri, text, version, self.encoding)
        return self._touched(uri)

    def change(self, uri: str, changes: Iterable[Replacement], version: int | None = None) -> list[str]:
        """Make changes of a text, one after another; return which texts are to be read anew.

        A text that is not open begins empty.
        """
        document = self.documents.get(uri)
        if document is None:
            document = self.documents[uri] = Document(uri, "", 0, self.encoding)
        for change in changes:
            document.change(change, version)
        return self._touched(uri)

    def close(self, uri: str) -> list[str]:
        """Close a text: what is on the disk counts again; return which texts are to be read anew."""
        touched = self._touched(uri)
        for known in (self.documents, self.readings, self.stamps, self._plain):
            known.pop(uri, None)
        return [other for other in touched if other != uri]

    def changed_on_disk(self) -> list[str]:
        """Return which texts are to be read anew after files have changed: all, as each may read some."""
        for uri in self.documents:
            self.stamps[uri] = self.stamps.get(uri, 0) + 1
        return list(self.documents)

    def _touched(self, uri: str) -> list[str]:
        """Return the texts that may say something else, now that one has changed: itself and those that include it."""
        document = self.documents.get(uri)
        path = None if document is None or document.path is None else os.path.realpath(document.path)
        touched = [uri]
        for other, reading in self.readings.items():
            if other != uri and path is not None and path in reading.files:
                touched.append(other)
        for other in touched:
            self.stamps[other] = self.stamps.get(other, 0) + 1
        return touched

    def plain(self, uri: str) -> str:
        """Return an open text as the language reads it."""
        document = self.documents[uri]
        known = self._plain.get(uri)
        if known is None or known[0] is not document.text:
            known = self._plain[uri] = (document.text, document.plain)
        return known[1]

    def job(self, uri: str) -> ReadingJob | None:
        """Return what is needed to read a text as it is now; None of one that is not open."""
        document = self.documents.get(uri)
        if document is None:
            return None
        placed = [
            (open_document.path, other)
            for other, open_document in self.documents.items()
            if open_document.path is not None
        ]
        texts = {os.path.realpath(path): self.plain(other) for path, other in placed if path is not None}
        uris = {Path(os.path.realpath(path)): other for path, other in placed if path is not None}
        path = document.path
        folder = self.root if path is None else path.parent
        stamp = self.stamps.setdefault(uri, 0)
        return ReadingJob(uri, stamp, self.plain(uri), path, folder, texts, uris, self.encoding)

    def is_late(self, job: ReadingJob) -> bool:
        """Return whether a text has changed, or was closed, since a job was made of it."""
        return self.stamps.get(job.uri) != job.stamp

    def learn(self, job: ReadingJob, reading: TextReading) -> bool:
        """Keep what a text says unless it has changed meanwhile; return whether it was kept."""
        if self.is_late(job):
            return False
        self.readings[job.uri] = reading
        return True

    def fresh(self, uri: str, *, whole: bool = False) -> TextReading | None:
        """Return the reading of a text as it is now, with its meaning where *whole*; None where it is not known yet."""
        reading, document = self.readings.get(uri), self.documents.get(uri)
        if reading is None or document is None or reading.source.text != self.plain(uri):
            return None
        return reading if reading.current or not whole else None

    def included_by(self, uri: str) -> Sequence[str]:
        """Return the open texts that include an open one."""
        document = self.documents.get(uri)
        if document is None or document.path is None:
            return ()
        path = os.path.realpath(document.path)
        return [other for other, reading in self.readings.items() if other != uri and path in reading.files]
