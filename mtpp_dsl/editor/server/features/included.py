"""List what the library has, and the ``include`` that a text needs for it."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from mtpp_dsl.core.text.source import Edit, Span
from mtpp_dsl.editor.server.features.candidate import Candidate
from mtpp_dsl.editor.server.features.context import Context
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import LibraryEntry, entries
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.words.meanings import Meaning

__all__ = ["including", "library_types"]


def library_types(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the types of devices of the library that are not included yet, each with the include that it needs."""
    declared = reading.index.declared.kinds.get("type", frozenset())
    for entry in entries().values():
        if entry.kind == "type" and entry.name not in declared and entry.name.startswith(context.prefix):
            meaning = Meaning(" ".join(entry.remarks), entry.text, "costs.md#the-library")
            edit = including(reading, entry)
            yield Candidate(entry.name, types.CompletionItemKind.Struct, 2, f"in {entry.file}", meaning, edits=(edit,))


def including(reading: TextReading, entry: LibraryEntry) -> Edit:
    """Return the change that includes the file of an entry: behind other includes, or else the version."""
    text = reading.text
    before = [each for each in reading.statements if isinstance(each, (tree.IncludeStatement, tree.VersionStatement))]
    if not before:
        return Edit(Span(reading.source, 0, 0), f'include "{entry.file}"\n')
    stop = text.find("\n", max(each.span.stop for each in before))
    at = len(text) if stop < 0 else stop
    return Edit(Span(reading.source, at, at), f'\ninclude "{entry.file}"')
