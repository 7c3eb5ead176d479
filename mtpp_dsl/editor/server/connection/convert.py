"""Convert what readings and features give, as the protocol writes it."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from mtpp_dsl.core.text.source import Edit, Span
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.features.problems import EditorMessage
from mtpp_dsl.editor.server.features.symbols import Fold, TextSymbol
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.editor.server.workspace import Document, Replacement

_KINDS = {
    "graph": types.SymbolKind.Module,
    "block": types.SymbolKind.Class,
    "scenario": types.SymbolKind.Namespace,
    "node": types.SymbolKind.Object,
    "use": types.SymbolKind.Object,
    "port": types.SymbolKind.Interface,
    "edge": types.SymbolKind.Event,
    "device": types.SymbolKind.Struct,
    "type": types.SymbolKind.Struct,
    "switch": types.SymbolKind.Struct,
    "interconnect": types.SymbolKind.Interface,
    "link": types.SymbolKind.Interface,
    "param": types.SymbolKind.Variable,
    "let": types.SymbolKind.Constant,
    "def": types.SymbolKind.Function,
    "objective": types.SymbolKind.Operator,
    "constraint": types.SymbolKind.Property,
    "file": types.SymbolKind.File,
    "phase": types.SymbolKind.EnumMember,
    "time": types.SymbolKind.Number,
    "target": types.SymbolKind.Package,
    "assert": types.SymbolKind.Boolean,
    "version": types.SymbolKind.Key,
}


def range_of(reading: TextReading, span: Span) -> types.Range:
    """Return the range of a span, in its own text."""
    (line, column), (last, end) = reading.position(span)
    return types.Range(types.Position(line, column), types.Position(last, end))


def location(reading: TextReading, span: Span) -> types.Location | None:
    """Return the place of a span; None where its text is in no file."""
    uri = reading.uri_of(span.source)
    return None if uri is None else types.Location(uri, range_of(reading, span))


def replacement(change: types.TextDocumentContentChangeEvent) -> Replacement:
    """Return a change of a text as documents take it."""
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return Replacement(change.text)
    start, end = change.range.start, change.range.end
    return Replacement(change.text, ((start.line, start.character), (end.line, end.character)))


def diagnostic(reading: TextReading, problem: EditorMessage, link: str | None) -> types.Diagnostic:
    """Return a message; *link* is what its code is added to, for the page that explains it."""
    original = problem.diagnostic
    places = [(place, location(reading, place.span)) for place in problem.places]
    return types.Diagnostic(
        range_of(reading, problem.span),
        problem.message,
        severity=types.DiagnosticSeverity.Error if original.severity == "error" else types.DiagnosticSeverity.Warning,
        code=original.code or None,
        code_description=types.CodeDescription(link + original.code.lower()) if link and original.code else None,
        source="mtpp",
        tags=[types.DiagnosticTag.Unnecessary] if problem.unused else None,
        related_information=[
            types.DiagnosticRelatedInformation(where, visible(place.says))
            for place, where in places
            if where is not None
        ]
        or None,
    )


def text_edits(reading: TextReading, edits: Iterable[Edit], document: Document | None) -> list[types.TextEdit]:
    """Return changes of one text, with the line ends that the editor's text has."""
    end = "\r\n" if document is not None and "\r\n" in document.text else "\n"
    return [types.TextEdit(range_of(reading, edit.span), edit.text.replace("\n", end)) for edit in edits]


def changes_of(reading: TextReading, edits: Iterable[Edit], documents: dict[str, Document]) -> types.WorkspaceEdit:
    """Return changes of several texts."""
    by_uri: dict[str, list[Edit]] = {}
    for edit in edits:
        uri = reading.uri_of(edit.span.source)
        if uri is not None:
            by_uri.setdefault(uri, []).append(edit)
    return types.WorkspaceEdit(
        changes={uri: text_edits(reading, own, documents.get(uri)) for uri, own in by_uri.items()}
    )


def symbol(reading: TextReading, text_symbol: TextSymbol) -> types.DocumentSymbol:
    """Return a part of the outline, with what is in it."""
    return types.DocumentSymbol(
        text_symbol.name,
        _KINDS[text_symbol.kind],
        range_of(reading, text_symbol.span),
        range_of(reading, text_symbol.named),
        detail=text_symbol.detail or None,
        children=[symbol(reading, child) for child in text_symbol.children] or None,
    )


def fold(lines: Fold) -> types.FoldingRange:
    """Return lines that may be folded."""
    return types.FoldingRange(lines.first, lines.last, kind=types.FoldingRangeKind(lines.kind))
