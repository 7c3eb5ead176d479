"""Completion, hover, names and hints as a client asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from mtpp_dsl.editor.server.connection import server as connection
from mtpp_dsl.editor.server.connection.app import kinds_of, made
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.editor.server.workspace import ReadingJob, Replacement
from tests.editor.server.session import COMMAND, Session

TEXT = """mtpp 1
include "common.mtpp"
graph {
  node a[i in 0..<k] (work = 2 ms)
}
device gpu[2] (mem
"""


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND))
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
    params = types.InitializeParams(
        capabilities=client_capabilities("visual_studio_code"),
        initialization_options={"inlayHints": {"rates": False}, "documentation": "https://docs.example"},
    )
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_a_client_asks_before_the_text_was_looked_at(client: LanguageClient) -> None:
    """Whatever needs the nodes of a graph waits for the first analysis, in place of an answer without them."""
    document, at = types.TextDocumentIdentifier("untitled:a"), types.Position(3, 15)
    text = "param k = 3\ngraph from generator chain (nodes = 3000)\ndevice d\nconstraint pin v[0] on d"
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem("untitled:a", "mtpp", 1, text))
    )
    places, offered, said, renamed = await asyncio.gather(
        client.text_document_definition_async(types.DefinitionParams(document, at)),
        client.text_document_completion_async(types.CompletionParams(document, at)),
        client.text_document_hover_async(types.HoverParams(document, at)),
        client.text_document_prepare_rename_async(types.PrepareRenameParams(document, types.Position(0, 6))),
    )
    assert isinstance(places, list)
    assert [(place.range.start.line, place.range.end.character) for place in places] == [(1, 41)]
    assert isinstance(offered, types.CompletionList)
    assert "v" in {item.label for item in offered.items}
    assert said is not None
    assert "is read by `v[1]`" in str(said.contents)
    assert renamed is not None


@pytest.mark.asyncio
async def test_a_client_asks_for_words_and_names(client: LanguageClient, tmp_path: Path) -> None:
    """One session: complete a broken statement, hover, go to an included file, rename over both, see hints."""
    common = tmp_path / "common.mtpp"
    common.write_text("param k: int = 3\n")
    uri, other = (tmp_path / "spec.mtpp").as_uri(), common.as_uri()
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mtpp", 1, TEXT)))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    about = client.diagnostics[uri][0].code_description
    assert about is not None
    assert about.href.startswith("https://docs.example/errors.html#mtpp-e")
    document = types.TextDocumentIdentifier(uri)
    found = await client.text_document_completion_async(types.CompletionParams(document, types.Position(5, 18)))
    assert isinstance(found, types.CompletionList)
    item = next(each for each in found.items if each.label == "memory")
    assert isinstance(item.text_edit, types.TextEdit)
    assert item.text_edit.new_text == "memory = $1"
    fixed = types.TextEdit(item.text_edit.range, "memory = 3 GB)")
    change = types.TextDocumentContentChangePartial(fixed.range, fixed.new_text)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), [change])
    )
    at_k = types.Position(3, 18)
    said = await client.text_document_hover_async(types.HoverParams(document, at_k))
    assert said is not None
    assert isinstance(said.contents, types.MarkupContent)
    assert "= `3`" in said.contents.value
    places = await client.text_document_definition_async(types.DefinitionParams(document, at_k))
    assert isinstance(places, list)
    assert [getattr(place, "uri", "") for place in places] == [other]
    context = types.ReferenceContext(include_declaration=True)
    used = await client.text_document_references_async(types.ReferenceParams(context, document, at_k))
    assert used is not None
    assert sorted(place.uri for place in used) == sorted([uri, other])
    marks = await client.text_document_document_highlight_async(types.DocumentHighlightParams(document, at_k))
    assert marks is not None
    assert len(marks) == 1
    ready = await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, at_k))
    assert isinstance(ready, types.PrepareRenamePlaceholder)
    assert ready.placeholder == "k"
    changes = await client.text_document_rename_async(types.RenameParams(document, at_k, "layers"))
    assert changes is not None
    assert changes.changes is not None
    assert {key: len(edits) for key, edits in changes.changes.items()} == {uri: 1, other: 1}
    with pytest.raises(JsonRpcException, match="a word of the language"):
        await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, types.Position(2, 2)))
    whole = types.Range(types.Position(0, 0), types.Position(9, 0))
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
    assert hints is not None
    assert [hint.label for hint in hints] == ["3 nodes"]


def test_a_refused_rename_says_why_and_is_no_error_in_the_log() -> None:
    with Session() as session:
        session.open("untitled:a", "mtpp 1\nlet a = 3\n")
        place = {"textDocument": {"uri": "untitled:a"}, "position": {"line": 0, "character": 1}}
        answer = session.answer(session.request("textDocument/prepareRename", place))
        assert answer["error"] == {"code": -32803, "message": "'mtpp' is a word of the language"}
        assert session.end() == 0
        assert session.log == b""


def test_hints_may_be_switched_off() -> None:
    assert kinds_of({}) == ("families", "values", "rates")
    assert kinds_of({"inlayHints": False}) == ()
    assert kinds_of({"inlayHints": {"values": False}}) == ("families", "rates")
    assert kinds_of({"inlayHints": "nonsense"}) == ("families", "values", "rates")


@pytest.mark.asyncio
async def test_the_first_reading_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks for the meaning of a text that was never read waits for it; later it takes what is known."""
    monkeypatch.setattr(connection, "PATIENCE", 0.0)
    server, uri = made("0"), "untitled:a.mtpp"
    server.touch(server.texts.open(uri, "graph { node v[i in 0..2000] (work = 1) }\ndevice d\ninterconnect shared"))
    first = await server.reading(uri, whole=True)
    assert first is not None
    assert first.current
    server.touch(server.texts.change(uri, [Replacement(" ", ((0, 0), (0, 0)))]))
    assert await server.reading(uri, whole=True) is None
    server.worker.end()


@pytest.mark.asyncio
async def test_nobody_waits_for_what_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of ours in the reading of a text is logged, and whoever waits for it is told that nothing is known."""

    def broken(*_: object) -> TextReading:
        raise AssertionError("broken")

    monkeypatch.setattr(ReadingJob, "read", broken)
    server, uri = made("0"), "untitled:a.mtpp"
    server.touch(server.texts.open(uri, "device d"))
    assert await asyncio.wait_for(server.reading(uri, whole=True), 30) is None
    server.worker.end()
