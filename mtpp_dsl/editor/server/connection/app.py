"""Answer the requests of editors, about a text and about words and names in it, and start the server."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from mtpp_dsl.core.text.source import Edit
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.connection import convert
from mtpp_dsl.editor.server.connection.server import HANDLERS, Refusal, Server, handles
from mtpp_dsl.editor.server.features import completion, definition, hover, inlay, references, rename
from mtpp_dsl.editor.server.features.formatting import format_lines, format_text
from mtpp_dsl.editor.server.features.problems import all_safe, fixes
from mtpp_dsl.editor.server.features.references import found_symbols
from mtpp_dsl.editor.server.features.symbols import folds, symbols
from mtpp_dsl.editor.server.features.tokens import MODIFIERS, TYPES, encoded, tokens
from mtpp_dsl.editor.server.reading import TextReading

__all__ = ["log_to_stderr", "made", "start"]

# The requests about one text and what is wrong with it.

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
    actions: list[types.CodeAction] = []
    if _asks(only, types.CodeActionKind.QuickFix.value):
        start = reading.offset(params.range.start.line, params.range.start.character)
        stop = reading.offset(params.range.end.line, params.range.end.character)
        known = params.context.diagnostics
        kind = types.CodeActionKind.QuickFix
        actions += [_action(ls, reading, offer, kind, known) for offer in fixes(reading, start, stop)]
    if _asks(only, FIX_ALL):
        safe = all_safe(reading)
        if safe is not None:
            actions.append(_action(ls, reading, safe, FIX_ALL, ()))
    return actions


def _asks(only: list[str], kind: str) -> bool:
    return any(not asked or kind == asked or kind.startswith(f"{asked}.") for asked in only)


def _action(ls: Server, reading: Any, offer: Any, kind: Any, known: Any) -> types.CodeAction:
    """Return an offer, with those of the client's messages that it answers."""
    codes = {
        (message.code, reading.position(message.span)[0]) for message in offer.diagnostics if message.span is not None
    }
    answered = [
        message
        for message in known
        if (message.code, (message.range.start.line, message.range.start.character)) in codes
    ]
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
    return None if reading is None else [convert.symbol(reading, outlined) for outlined in symbols(reading)]


@handles(types.TEXT_DOCUMENT_FOLDING_RANGE)
async def folding(ls: Server, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
    """Say what may be folded."""
    reading = await ls.reading(params.text_document.uri)
    return None if reading is None else [convert.fold(lines) for lines in folds(reading)]


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


# The requests about words and names: completion, hover, definitions, references, names anew, hints.


@handles(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list(completion.TRIGGERS)))
async def complete(ls: Server, params: types.CompletionParams) -> types.CompletionList | None:
    """Offer what may be written at a place."""
    reading = await ls.reading(params.text_document.uri, named=True)
    if reading is None:
        return None
    at = params.position
    client = ls.protocol.client_capabilities.text_document
    item = client.completion.completion_item if client is not None and client.completion is not None else None
    snippets = bool(item is not None and item.snippet_support)
    typed = (params.context.trigger_character if params.context is not None else "") or ""
    return completion.complete(
        reading, at.line, at.character, with_snippets=snippets, docs=ls.documentation, typed=typed
    )


@handles(types.TEXT_DOCUMENT_HOVER)
async def hovered(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """Say what is at a place."""
    reading = await ls.reading(params.text_document.uri, whole=True)
    at = params.position
    return None if reading is None else hover.hover(reading, at.line, at.character, docs=ls.documentation)


@handles(types.TEXT_DOCUMENT_DEFINITION)
async def defined(ls: Server, params: types.DefinitionParams) -> list[types.Location] | None:
    """Say where a name is declared."""
    reading = await ls.reading(params.text_document.uri, named=True)
    at = params.position
    return None if reading is None else definition.definition(reading, at.line, at.character)


@handles(types.TEXT_DOCUMENT_REFERENCES)
async def referred(ls: Server, params: types.ReferenceParams) -> list[types.Location] | None:
    """Say where a thing is named, in all open texts."""
    reading = await ls.reading(params.text_document.uri)
    if reading is None:
        return None
    at, declaration = params.position, params.context.include_declaration
    others = await _others(ls, reading)
    return references.references(reading, at.line, at.character, declaration=declaration, others=others)


@handles(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
async def highlighted(ls: Server, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight] | None:
    """Say where a text names a thing."""
    reading = await ls.reading(params.text_document.uri)
    at = params.position
    return None if reading is None else references.highlights(reading, at.line, at.character)


@handles(types.TEXT_DOCUMENT_PREPARE_RENAME)
async def prepare_rename(ls: Server, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    """Say what would be renamed."""
    reading = await ls.reading(params.text_document.uri, whole=True)
    if reading is None:
        return None
    try:
        where, name = rename.prepare_rename(reading, params.position.line, params.position.character)
    except rename.RenameRefused as refused:
        raise Refusal(str(refused)) from None
    return types.PrepareRenamePlaceholder(where, name)


@handles(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
async def renamed(ls: Server, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """Give a thing another name in all open texts and what they include."""
    reading = await ls.reading(params.text_document.uri, whole=True)
    if reading is None:
        return None
    at = params.position
    others = await _others(ls, reading, whole=True)
    try:
        changes = rename.rename(reading, at.line, at.character, params.new_name, others=others)
    except rename.RenameRefused as refused:
        raise Refusal(str(refused)) from None
    return types.WorkspaceEdit(changes=changes)


@handles(types.TEXT_DOCUMENT_INLAY_HINT)
async def hinted(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """Give the hints of some lines; where values are not known soon, the client is told to ask again."""
    reading = await ls.reading(params.text_document.uri, whole=True)
    if reading is None or not reading.current:
        ls.late.add(params.text_document.uri)
        return None
    return inlay.hints(reading, params.range.start.line, params.range.end.line, kinds_of(ls.options))


@handles(types.WORKSPACE_SYMBOL)
async def searched(ls: Server, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
    """Find what the open specs declare by a part of its name."""
    readings = [await ls.reading(uri) for uri in list(ls.texts.documents)]
    return found_symbols([reading for reading in readings if reading is not None], params.query)


def kinds_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the kinds of hints that the client's options leave: all, none for ``false``, or those not ``false``.

    >>> kinds_of({}), kinds_of({"inlayHints": False}), kinds_of({"inlayHints": {"rates": False}})
    (('families', 'values', 'rates'), (), ('families', 'values'))
    """
    setting = options.get("inlayHints", True)
    if isinstance(setting, Mapping):
        return tuple(kind for kind in inlay.KINDS if setting.get(kind, True) is not False)
    return () if setting is False else inlay.KINDS


async def _others(ls: Server, reading: TextReading, *, whole: bool = False) -> list[TextReading]:
    """Return the readings of the other open texts."""
    readings = [await ls.reading(uri, whole=whole) for uri in list(ls.texts.documents) if uri != reading.uri]
    return [other for other in readings if other is not None]


# A server that answers all requests, and its start.


def made(version: str) -> Server:
    """Return a server that answers all requests, and has no client yet."""
    server = Server(version)
    for method, options, function in HANDLERS:
        server.feature(method, options)(function)
    return server


def start(version: str) -> int:
    """Serve the client on stdin and stdout until it ends; return the exit code.

    What else is written to stdout, by a plug-in say, goes to stderr, where it does not break the protocol.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = made(version)
    try:
        server.start_io(sys.stdin.buffer, out)
    finally:
        server.worker.end()
    return 0


def log_to_stderr(level: int = logging.ERROR) -> None:
    """Have what the server logs go to stderr, where editors keep it."""
    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
