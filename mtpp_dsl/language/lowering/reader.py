"""Files to one list of statements: includes are followed, and near names of files that are not there are found."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import UsageError, near
from mtpp_dsl.core.text.source import Diagnostic, Fix, Source, Span
from mtpp_dsl.exchange.library.entries import FOLDER, LIBRARY
from mtpp_dsl.language.lowering.choosing import Group, Placed
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.parser import MAX_WORDS, begins_with_statement
from mtpp_dsl.language.syntax.partial import Broken, Partial, parse_partial
from mtpp_dsl.language.syntax.rereading import ParsedBefore

__all__ = ["MAX_SPEC_BYTES", "Read", "near_spec", "read_source", "read_statements"]

MAX_FILES = 500
"""Files of a folder that are compared."""

MAX_FOLDERS = 20
"""Folders in which a file is looked for that is not where it was written."""

_SUFFIX = ".mtpp"


def near_spec(name: str, places: Iterable[Path], but: Collection[Path] = ()) -> str:
    """Return what an ``include`` of a file that is not there may have meant, as ``include`` takes it; "" for nothing.

    Args:
        name: as it is written.
        places: folders in which it was looked for; the library comes after them.
        but: files that cannot be meant, as they include this one.
    """
    places = [*places, FOLDER]
    written = PurePosixPath(name)
    if not written.name:
        return ""
    wanted = written.name.removesuffix(_SUFFIX)
    here = [(written.parent / spec).as_posix() for place in places for spec in _specs(place / written.parent)]
    for names, cutoff in ((here, 0.6 if len(wanted) > 2 else 0.5), (_below(places), 0.6)):
        stems: dict[str, str] = {}
        for spec in names:
            stems.setdefault(PurePosixPath(spec).stem, spec)
        for stem in [stem for stem, spec in stems.items() if any(_real(place / spec) in but for place in places)]:
            del stems[stem]
        close = near(wanted, stems, cutoff)
        if close:
            return stems[close]
    return ""


def _real(path: Path) -> Path:
    """Return where a path leads, also by way of links that lead to themselves, which pathlib refuses."""
    return Path(os.path.realpath(path))


def _specs(folder: Path) -> Iterator[str]:
    """Yield the names of the specs in a folder; nothing of one that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_FILES):
                if entry.name.endswith(_SUFFIX) and entry.name.isprintable() and not set(entry.name) & set('"\\'):
                    yield entry.name
    except (OSError, ValueError):
        return


def _below(places: Iterable[Path]) -> Iterator[str]:
    """Yield the specs one folder below these, as ``include`` takes them."""
    for place in places:
        try:
            with os.scandir(place) as entries:
                folders = [
                    entry.name for entry in islice(entries, MAX_FILES) if entry.is_dir() and entry.name[0] != "."
                ]
        except (OSError, ValueError):
            continue
        for folder in sorted(folders)[:MAX_FOLDERS]:
            yield from (f"{folder}/{entry}" for entry in _specs(place / folder))


MAX_SPEC_BYTES = 16 * 2**20
"""A spec that is larger, with all that it includes, is refused."""


def read_source(
    path: Path, name: str, included_from: Span | None = None, texts: Mapping[str, str] | None = None
) -> Source:
    """Read a text file, or take its text from *texts*, by its real path.

    Raises:
        UsageError: it is not there, no regular file, not readable, not text (says where), or too large.
    """
    given = None if not texts else texts.get(os.path.realpath(path))
    text = read_text(path, MAX_SPEC_BYTES, name, "the text of a spec") if given is None else given
    if included_from is None and path.suffix.lower() == ".json" and text.lstrip()[:1] in ("{", "["):
        raise UsageError(
            f"{name} is JSON, and no spec: an answer stands behind its spec, as in 'mtpp verify SPEC {name}'"
        )
    return Source(name, text, included_from, path)


@dataclass(frozen=True)
class Read:
    """A text with all that it includes.

    Attributes:
        statements: those that parse, each with the folder its paths start from.
        diagnostics: the syntax errors of all files, a missing file, a cycle of includes.
        broken: what does not parse.
        own: the statements of the text itself that parse, its includes among them.
        sources: the texts, in the order in which they were read.
        included: the files that are included whatever the params.
    """

    statements: list[tuple[tree.Statement, Path]]
    diagnostics: list[Diagnostic]
    broken: list[Broken]
    own: tuple[tree.Statement, ...]
    sources: list[Source]
    included: frozenset[Path] = frozenset()


def read_statements(
    source: Source,
    folder: Path,
    search: Sequence[Path] = (),
    texts: Mapping[str, str] | None = None,
    memories: dict[Path | None, ParsedBefore] | None = None,
) -> Read:
    """Return the statements of a text and of what it includes.

    A file included twice counts once. *search* is looked through after the including file's folder, then the folders of
    the environment variable ``MTPP_PATH``, and last the library of the package. Files among *texts*, by their real
    paths, have that text, whatever is on the disk. With *memories* of each file (that of the text itself is under None)
    only the statements that have changed are parsed anew; what was read with them before is of no use then.
    """
    extra = [Path(entry) for entry in os.environ.get("MTPP_PATH", "").split(os.pathsep) if entry]
    root = None if source.path is None else source.path.resolve()
    reader = _Reader([*search, *extra], texts or {}, memories, root)
    statements = reader.read(source, folder, ())
    return Read(statements, reader.diagnostics, reader.broken, reader.own, reader.sources, frozenset(reader.done))


MAX_CHAIN = 100
"""Files that include each other so deep are read."""


class _Reader:
    def __init__(
        self,
        search: list[Path],
        texts: Mapping[str, str],
        memories: dict[Path | None, ParsedBefore] | None,
        root: Path | None,
    ) -> None:
        self.search, self.texts, self.memories = search, texts, memories
        self.root = root
        self.remembered: set[Path | None] = set()
        self.diagnostics: list[Diagnostic] = []
        self.broken: list[Broken] = []
        self.own: tuple[tree.Statement, ...] = ()
        self.sources: list[Source] = []
        self.done: set[Path] = set()
        self.characters = 0
        self.words = 0

    def read(self, source: Source, folder: Path, chain: tuple[Path, ...]) -> list[tuple[tree.Statement, Path]]:
        self.sources.append(source)
        self.characters += len(source.text)
        if self.characters > MAX_SPEC_BYTES:
            what = f"the spec has more than {MAX_SPEC_BYTES:,} characters, with all that it includes; that is the most"
            self.complain(what, source.included_from, code="MTPP-E901")
            return []
        parsed = self.parsed(source, chain[-1] if chain else None)
        self.words += parsed.words
        if parsed.diagnostics and chain and not _may_be_spec(source, chain[-1]):
            message = f"{source.name} is no spec: it does not begin with a statement"
            self.complain(message, source.included_from, code="MTPP-E702")
            return []
        self.diagnostics += parsed.diagnostics
        self.broken += parsed.broken
        if not chain:
            self.own = parsed.statements
        statements: list[tuple[tree.Statement, Path]] = []
        for statement in parsed.statements:
            statements += self.placed(statement, folder, chain)
        return statements

    def parsed(self, source: Source, path: Path | None) -> Partial:
        """Parse a text, of a file or (None) that which is read; of one that is read twice, the second time whole."""
        most = MAX_WORDS - self.words
        if self.memories is None or path in self.remembered:
            return parse_partial(source, most)
        self.remembered.add(path)
        return self.memories.setdefault(path, ParsedBefore()).parse(source, most)

    def placed(self, statement: tree.Statement, folder: Path, chain: tuple[Path, ...]) -> list[Placed]:
        """Return a statement with its folder; in place of an include the statements of the file."""
        if isinstance(statement, tree.ScenarioStatement):
            inner = [one for inside in statement.statements for one in self.aside(inside, folder, chain)]
            group = Group(span=statement.span, scenario=statement.name, clauses=None, path=None, inner=tuple(inner))
            return [(group, folder)]
        if not isinstance(statement, tree.IncludeStatement):
            return [(statement, folder)]
        if statement.clauses is None:
            return self.include(statement, folder, chain)
        read = self.aside(replace(statement, clauses=None), folder, chain)
        path = self.find(statement.path.value, folder)
        group = Group(span=statement.span, scenario=None, clauses=statement.clauses, path=path, inner=tuple(read))
        return [(group, folder)]

    def aside(self, statement: tree.Statement, folder: Path, chain: tuple[Path, ...]) -> list[Placed]:
        """Return what :meth:`placed` does; files that it includes may be included once more elsewhere."""
        done = set(self.done)
        try:
            return self.placed(statement, folder, chain)
        finally:
            self.done = done

    def include(
        self, statement: tree.IncludeStatement, folder: Path, chain: tuple[Path, ...]
    ) -> list[tuple[tree.Statement, Path]]:
        span = statement.path.span
        outer = chain if self.root is None else (self.root, *chain)
        path = self.find(statement.path.value, folder)
        if path is None:
            places = ", ".join(str(place) for place in [folder, *self.search])
            near = near_spec(statement.path.value, [folder, *self.search], outer)
            meant = f"; did you mean {near!r}?" if near else ""
            message = f"there is no file {statement.path.value!r}{meant}"
            fix = Fix.replace(Span(span.source, span.start + 1, span.stop - 1), near) if near else None
            note = f"looked in {places}, and the library of the package"
            self.unread(message, span, note, code="MTPP-E701", fix=fix)
            return []
        if path in outer:
            loop = outer[outer.index(path) :]
            shown = " -> ".join(step.name for step in [*loop, path])
            message = f"files include each other: {shown}" if len(loop) > 1 else f"{path.name} includes itself"
            self.complain(message, span, code="MTPP-E703")
            return []
        if path in self.done:
            return []
        if len(chain) >= MAX_CHAIN:
            self.unread(f"files include each other more than {MAX_CHAIN} deep", span, code="MTPP-E901")
            return []
        self.done.add(path)
        try:
            source = read_source(path, shown_path(path), span, self.texts)
        except UsageError as error:
            self.unread(str(error), span, code="MTPP-E701")
            return []
        return self.read(source, path.parent, (*chain, path))

    def find(self, name: str, folder: Path) -> Path | None:
        for place in [folder, *self.search, FOLDER]:
            try:
                if (place / name).exists():
                    return (place / name).resolve()
            except (OSError, ValueError):  # a name that no file can have
                return None
        return None

    def unread(self, message: str, span: Span, *notes: str, code: str, fix: Fix | None = None) -> None:
        """Note that a file cannot be read, which might have declared anything."""
        self.complain(message, span, *notes, code=code, fix=fix)
        self.broken.append(Broken("include", "", span))

    def complain(self, message: str, span: Span | None, *notes: str, code: str, fix: Fix | None = None) -> None:
        self.diagnostics.append(Diagnostic(message, span, notes=notes, code=code, fix=fix))


def shown_path(path: Path) -> str:
    """Return what messages call an included file: seen from the working folder, or as the library has it."""
    if path.is_relative_to(FOLDER):
        return f"{LIBRARY}/{path.relative_to(FOLDER).as_posix()}"
    return os.path.relpath(path)


def _may_be_spec(source: Source, path: Path) -> bool:
    """Return whether errors of an included file may show its lines: they may be anything if it is no spec."""
    return path.suffix == ".mtpp" or begins_with_statement(source)
