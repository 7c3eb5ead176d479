"""The requests about one text and what is wrong with it."""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types

from mtpp_dsl.core.text.source import Edit
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.connection import convert
from mtpp_dsl.editor.server.connection.handling import handles
from mtpp_dsl.editor.server.connection.server import Server
from mtpp_dsl.editor.server.features.fixes import all_safe, fixes
from mtpp_dsl.editor.server.features.folding import folds
from mtpp_dsl.editor.server.features.formatting import format_lines, format_text
from mtpp_dsl.editor.server.features.symbols import symbols
from mtpp_dsl.editor.server.features.tokens import MODIFIERS, TYPES, encoded, tokens
from mtpp_dsl.editor.server.reading import TextReading

FIX_ALL = "source.fixAll.mtpp"
MAX_COLOURED = 1_000_000
"""Characters of a text whose words are told all at once."""


@handles(types.INITIALIZE)
def initialize(ls: Server, params: types.InitializeParams) -> None:
    """Take over what the client says of itself."""
    ls.initialise(params)


@handles(types.INITIALIZED)
def initialized(ls: Server, _: types.InitializedParams) -> None:
    """Ask the client to tell when files change on the disk."""
    if ls.can("workspace", "did_change_watched_files", "dynamic_registration"):
        watched = [types.FileSystemWatcher("**/*.{mtpp,json,csv,toml}")]
        ls.client_register_capability(
            types.RegistrationParams(
                [
                    types.Registration(
                        "mtpp-files",
                        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                        types.DidChangeWatchedFilesRegistrationOptions(watched),
                    )
                ]
            )
        )


@handles(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def files_changed(ls: Server, _: types.DidChangeWatchedFilesParams) -> None:
    """Read all texts anew, as each may include or read a file that has changed."""
    ls.touch(ls.texts.changed_on_disk())


@handles(types.TEXT_DOCUMENT_DID_SAVE)
def saved(ls: Server, _: types.DidSaveTextDocumentParams) -> None:
    """Read all texts anew: not every client tells of other files that have changed."""
    ls.touch(ls.texts.changed_on_disk())


@handles(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
def configured(ls: Server, _: types.DidChangeConfigurationParams) -> None:
    """Have no settings that may change."""


@handles(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]),
)
async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    """Offer the changes that mend what is wrong at a place, and all safe ones together."""
    reading = await ls.reading(params.text_document.uri, whole=True)
    if reading is None or not reading.current:
        return None
    only = [str(getattr(kind, "value", kind)) for kind in params.context.only or ("",)]
    found: list[types.CodeAction] = []
    if _asks(only, types.CodeActionKind.QuickFix.value):
        start = reading.offset(params.range.start.line, params.range.start.character)
        stop = reading.offset(params.range.end.line, params.range.end.character)
        known = params.context.diagnostics
        kind = types.CodeActionKind.QuickFix
        found += [_action(ls, reading, offer, kind, known) for offer in fixes(reading, start, stop)]
    if _asks(only, FIX_ALL):
        safe = all_safe(reading)
        if safe is not None:
            found.append(_action(ls, reading, safe, FIX_ALL, ()))
    return found


def _asks(only: list[str], kind: str) -> bool:
    return any(not asked or kind == asked or kind.startswith(f"{asked}.") for asked in only)


def _action(ls: Server, reading: Any, offer: Any, kind: Any, known: Any) -> types.CodeAction:
    """Return an offer, with those of the client's messages that it answers."""
    codes = {(each.code, reading.position(each.span)[0]) for each in offer.diagnostics if each.span is not None}
    answered = [each for each in known if (each.code, (each.range.start.line, each.range.start.character)) in codes]
    return types.CodeAction(
        visible(offer.title),
        kind=kind,
        diagnostics=answered or None,
        is_preferred=offer.preferred or None,
        edit=convert.changes_of(reading, offer.edits, ls.texts.documents),
    )


@handles(types.TEXT_DOCUMENT_FORMATTING)
async def formatting(ls: Server, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """Set a text in the one layout; the client's wishes for it do not count."""
    uri = params.text_document.uri
    reading = await ls.reading(uri)
    if reading is None:
        return None
    edits = await asyncio.to_thread(format_text, reading)
    return _still(ls, reading, edits)


def _still(ls: Server, reading: TextReading, edits: list[Edit]) -> list[types.TextEdit] | None:
    """Return changes of a text that was not edited while they were being found; else None."""
    document = ls.texts.documents.get(reading.uri)
    if document is None or ls.texts.plain(reading.uri) != reading.text:
        return None
    return convert.text_edits(reading, edits, document)


@handles(types.TEXT_DOCUMENT_RANGE_FORMATTING)
async def range_formatting(ls: Server, params: types.DocumentRangeFormattingParams) -> list[types.TextEdit] | None:
    """Set some lines of a text in the one layout."""
    uri = params.text_document.uri
    reading = await ls.reading(uri)
    if reading is None:
        return None
    last = params.range.end.line - (params.range.end.character == 0 and params.range.end.line > params.range.start.line)
    edits = await asyncio.to_thread(format_lines, reading, params.range.start.line, last)
    return _still(ls, reading, edits)


@handles(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
async def document_symbols(ls: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
    """Outline a text."""
    reading = await ls.reading(params.text_document.uri)
    return None if reading is None else [convert.symbol(reading, each) for each in symbols(reading)]


@handles(types.TEXT_DOCUMENT_FOLDING_RANGE)
async def folding(ls: Server, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
    """Say what may be folded."""
    reading = await ls.reading(params.text_document.uri)
    return None if reading is None else [convert.fold(each) for each in folds(reading)]


_LEGEND = types.SemanticTokensLegend(list(TYPES), list(MODIFIERS))


@handles(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)
async def semantic_tokens(ls: Server, params: types.SemanticTokensParams) -> types.SemanticTokens | None:
    """Say what the words of a text are; of a very long one only lines are told (its patterns colour the rest)."""
    reading = await ls.reading(params.text_document.uri)
    if reading is None or len(reading.text) > MAX_COLOURED:
        return None
    data = encoded(reading, tokens(reading))
    return types.SemanticTokens(data, result_id=ls.keep_tokens(params.text_document.uri, data))


@handles(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, _LEGEND)
async def semantic_tokens_delta(
    ls: Server, params: types.SemanticTokensDeltaParams
) -> types.SemanticTokens | types.SemanticTokensDelta | None:
    """Say what has changed in that since the client asked last."""
    reading = await ls.reading(params.text_document.uri)
    if reading is None or len(reading.text) > MAX_COLOURED:
        return None
    uri = params.text_document.uri
    old = ls.kept_tokens(uri, params.previous_result_id)
    data = encoded(reading, tokens(reading))
    result = ls.keep_tokens(uri, data)
    if old is None:
        return types.SemanticTokens(data, result_id=result)
    return types.SemanticTokensDelta(_edits(old, data), result_id=result)


def _edits(old: list[int], new: list[int]) -> list[types.SemanticTokensEdit]:
    """Return the one stretch of whole tokens that differs."""
    most = min(len(old), len(new)) // 5
    start = next((n for n in range(most) if old[5 * n : 5 * n + 5] != new[5 * n : 5 * n + 5]), most)
    left = most - start
    same = next((n for n in range(left) if _last(old, n) != _last(new, n)), left)
    removed, added = len(old) - 5 * (start + same), new[5 * start : len(new) - 5 * same]
    return [types.SemanticTokensEdit(5 * start, removed, added)] if removed or added else []


def _last(data: list[int], n: int) -> list[int]:
    return data[len(data) - 5 * (n + 1) : len(data) - 5 * n]


@handles(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, _LEGEND)
async def semantic_tokens_range(ls: Server, params: types.SemanticTokensRangeParams) -> types.SemanticTokens | None:
    """Say what the words of some lines are."""
    reading = await ls.reading(params.text_document.uri)
    if reading is None:
        return None
    lines = reading.lines()
    first = lines.offset(params.range.start.line, 0)
    last = lines.end(min(params.range.end.line, len(lines) - 1))
    return types.SemanticTokens(encoded(reading, tokens(reading, first, last)))
