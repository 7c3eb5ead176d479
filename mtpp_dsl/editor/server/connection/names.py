"""The requests about words and names: completion, hover, definitions, references, names anew, hints."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types

from mtpp_dsl.editor.server.connection.handling import handles
from mtpp_dsl.editor.server.connection.server import Refusal, Server
from mtpp_dsl.editor.server.features import completion, definition, hover, inlay, references, rename
from mtpp_dsl.editor.server.features.search import found_symbols
from mtpp_dsl.editor.server.reading import TextReading


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
    return found_symbols([each for each in readings if each is not None], params.query)


def kinds_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the kinds of hints that the client's options leave: all, none for ``false``, or those not ``false``.

    >>> kinds_of({}), kinds_of({"inlayHints": False}), kinds_of({"inlayHints": {"rates": False}})
    (('families', 'values', 'rates'), (), ('families', 'values'))
    """
    said = options.get("inlayHints", True)
    if isinstance(said, Mapping):
        return tuple(kind for kind in inlay.KINDS if said.get(kind, True) is not False)
    return () if said is False else inlay.KINDS


async def _others(ls: Server, reading: TextReading, *, whole: bool = False) -> list[TextReading]:
    """Return the readings of the other open texts."""
    found = [await ls.reading(uri, whole=whole) for uri in list(ls.texts.documents) if uri != reading.uri]
    return [each for each in found if each is not None]
