"""Find what one version of an open text says, with all that it includes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.editor.server.index import Index
from mtpp_dsl.editor.server.names import index_of
from mtpp_dsl.editor.server.positions import Lines, plain, uri_of
from mtpp_dsl.language.lowering.analysis import Analysis
from mtpp_dsl.language.lowering.lower import Spec
from mtpp_dsl.language.lowering.reader import Read
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.rereading import ParsedBefore
from mtpp_dsl.language.values.scope import SpecScope

_CACHED = ("index", "files", "_lines")


@dataclass(frozen=True, eq=False)
class TextReading:
    """What one version of a text says: statements, places and names at once, values and meaning once they are known.

    Spans are in :attr:`source` or in one of the :attr:`sources` that it includes; :meth:`range` and :meth:`offset`
    translate them to and from what an editor counts.

    Attributes:
        uri: of the text.
        spec: the text and the statements of all that it includes.
        analysis: what the statements mean: of this text where :attr:`current` is true, else of the last one before it
            that was looked at, whose values and names are near, and whose spans are of no use here; None before the
            first.
        current: whether the analysis is of this very text.
        uris: of open texts, by their real paths, as the editor writes them.
        encoding: in whose units columns are counted.
    """

    uri: str
    spec: Spec
    analysis: Analysis | None
    current: bool
    uris: Mapping[Path, str]
    encoding: str = "utf-16"

    @property
    def source(self) -> Source:
        """The text as the language reads it; its lines and columns are those of the editor's text."""
        return self.spec.source

    @property
    def read(self) -> Read:
        """The statements that parse, with those of all files that are included, and the syntax errors."""
        return self.spec.parsed

    @property
    def text(self) -> str:
        """The text as the language reads it."""
        return self.source.text

    @property
    def statements(self) -> tuple[tree.Statement, ...]:
        """The statements of the text itself that parse, its includes among them."""
        return self.read.own

    @property
    def sources(self) -> tuple[Source, ...]:
        """The text and those that it includes, in the order in which they were read."""
        return tuple(dict.fromkeys(self.read.sources))

    @cached_property
    def files(self) -> frozenset[str]:
        """The real paths of the files that are included, and of those that were looked for."""
        paths = {os.path.realpath(source.path) for source in self.read.sources if source.path is not None}
        missing = (statement for statement in self.statements if isinstance(statement, tree.IncludeStatement))
        folder = Path() if self.source.path is None else self.source.path.parent
        paths |= {
            os.path.realpath(folder / statement.path.value) for statement in missing if "\0" not in statement.path.value
        }
        return frozenset(paths)

    @property
    def scope(self) -> SpecScope:
        """What the names mean, as far as that is known; it may be that of an earlier text: see :attr:`current`."""
        return SpecScope() if self.analysis is None else self.analysis.scope

    @property
    def problem(self) -> Problem | None:
        """What the spec says, where this text was looked at and is without an error."""
        return self.analysis.problem if self.analysis is not None and self.current else None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All that was found wrong; only errors of syntax where nothing else is known of this text yet."""
        return self.analysis.diagnostics if self.analysis is not None and self.current else tuple(self.read.diagnostics)

    @cached_property
    def index(self) -> Index:
        """Where names are declared and used, in the text and in what it includes."""
        return index_of(self.read.statements, self.read.own)

    def analysed(self, analysis: Analysis) -> TextReading:
        """Return this reading with the analysis of its text."""
        analysed = replace(self, analysis=analysis, current=True)
        analysed.__dict__.update({name: self.__dict__[name] for name in _CACHED if name in self.__dict__})
        return analysed

    @cached_property
    def _lines(self) -> dict[Source, Lines]:
        return {}

    def lines(self, source: Source | None = None) -> Lines:
        """Return the lines of a source; of the text itself where none is given."""
        source = source or self.source
        if source not in self._lines:
            self._lines[source] = Lines(source.text, self.encoding)
        return self._lines[source]

    def position(self, span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the line and column where a span begins and where it ends, both from 0, as the editor counts."""
        lines = self.lines(span.source)
        return lines.position(span.start), lines.position(span.stop)

    def offset(self, line: int, column: int) -> int:
        """Return the offset in the text of a line and column, as the editor counts."""
        return self.lines().offset(line, column)

    def uri_of(self, source: Source) -> str | None:
        """Return the URI of a source, as the editor writes it; None of one that is in no file."""
        if source is self.source:
            return self.uri
        if source.path is None:
            return None
        known = self.uris.get(Path(source.path).resolve())
        return uri_of(Path(source.path)) if known is None else known


def reading_of(
    text: str, *, path: Path | None = None, uri: str = "untitled:1", search: Sequence[Path] = ()
) -> TextReading:
    """Return the reading of a text with its analysis, as a server has it between two changes: for tests and tools.

    Args:
        text: as an editor has it.
        path: of its file, which need not exist; its folder is where includes are looked for.
        uri: of the text where it is in no file.
        search: folders where ``include`` looks after the including file's own.
    """
    uri = uri if path is None else uri_of(path)
    spec = read_document(plain(text), uri if path is None else path.name, path, search)
    return TextReading(uri, spec, spec.analyse(), True, {})


def read_document(
    text: str,
    name: str,
    path: Path | None,
    search: Sequence[Path] = (),
    texts: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    memories: dict[Path | None, ParsedBefore] | None = None,
) -> Spec:
    """Read and parse a text, broken or not, with what it includes.

    Args:
        text: as the language reads it: see :func:`~mtpp_dsl.editor.server.positions.plain`.
        name: what messages call it.
        path: of its file, whatever is in that; None for a text that is in none.
        search: folders where ``include`` looks after the including file's own.
        texts: texts of files by their real paths, which count in place of what is on the disk.
        folder: where its paths start; None is the folder of its file, or the working one.
        memories: see :meth:`~mtpp_dsl.language.lowering.lower.Spec.of`.
    """
    folder = folder or (Path() if path is None else path.parent)
    return Spec.of(Source(name, text, path=path), folder, search, texts, memories)
