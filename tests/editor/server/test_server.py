"""The server as its clients see it: a process that reads and writes messages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.editor.server.session import COMMAND, Session
from tests.tools import edit_specs
from tests.tree import ROOT

SPEC = (ROOT / "examples" / "quickstart.mtpp").read_text()


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND))
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
    params = types.InitializeParams(capabilities=client_capabilities("visual_studio_code"))
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_a_mistake_is_shown_and_mended(client: LanguageClient, tmp_path: Path) -> None:
    """A misspelt word is reported with its code and a link, and its fix leaves nothing wrong."""
    uri = (tmp_path / "a b é.mtpp").as_uri()
    text = SPEC.replace("acyclic", "acylic")
    item = types.TextDocumentItem(uri, "mtpp", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    (wrong,) = client.diagnostics[uri]
    assert wrong.code == "MTPP-E012"
    assert wrong.severity == types.DiagnosticSeverity.Error
    assert wrong.code_description is not None
    assert wrong.code_description.href.endswith("#mtpp-e012")
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), wrong.range, types.CodeActionContext([wrong]))
    )
    assert actions
    action = actions[0]
    assert isinstance(action, types.CodeAction)
    assert list(action.diagnostics or ()) == [wrong]
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[uri]
    changes = [types.TextDocumentContentChangePartial(edit.range, edit.new_text)]
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(2, uri), changes)
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert not client.diagnostics[uri]
    outline = await client.text_document_document_symbol_async(
        types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))
    )
    assert outline


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session() as running:
        yield running
        assert b"Traceback" not in running.log, running.log.decode()
        assert running.end() == 0


def everywhere(uri: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield requests about a text."""
    text = {"textDocument": {"uri": uri}}
    area = {"start": {"line": 0, "character": 1}, "end": {"line": 999_999, "character": 999_999}}
    options = {"tabSize": 2, "insertSpaces": True}
    yield "textDocument/codeAction", {**text, "range": area, "context": {"diagnostics": []}}
    yield "textDocument/formatting", {**text, "options": options}
    yield "textDocument/rangeFormatting", {**text, "range": area, "options": options}
    yield "textDocument/documentSymbol", text
    yield "textDocument/foldingRange", text
    yield "textDocument/semanticTokens/full", text
    yield "textDocument/semanticTokens/range", {**text, "range": area}


ODD = {
    "empty": "",
    "binary": "".join(map(chr, range(256))) * 20,
    "surrogates": 'let a = \ud83d 3 ms\n# \udc00\ud800\nlet b = "😀\ud83d"\nlet c = d\n',
    "one line": "(" * 50_000,
    "junk": "let let let = = =\n" * 2_000,
    "ends": "let a = 1\rlet b = c\r\nlet d = e\u2028f\n",
    "mark": "\ufefflet a = b\n",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_answered(session: Session, name: str) -> None:
    """Whatever a text is, no request fails."""
    uri = f"untitled:{name}"
    session.open(uri, ODD[name])
    for method, params in everywhere(uri):
        session.ask(method, params)
    session.change(
        uri, 2, {"text": "\udc00", "range": {"start": {"line": 0, "character": 1}, "end": {"line": 9, "character": 3}}}
    )
    for method, params in everywhere(uri):
        session.ask(method, params)
    session.tell("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_columns_are_those_of_the_editor(session: Session) -> None:
    """Columns count in units of UTF-16, and lines end where the protocol ends them."""
    text = 'let a = "😀\u2028" + b1\r\nlet c = 3 # 😀\rlet d = "😀" + e1\n'
    found = session.open("untitled:columns", text + SPEC.replace("mtpp 1\n", ""))
    places = [one["range"] for one in found if "'b1'" in one["message"] or "'e1'" in one["message"]]
    starts = {place["start"]["line"]: place["start"]["character"] for place in places}
    assert starts == {0: 16, 2: 15}


def test_included_texts_count_as_they_are_open(session: Session, tmp_path: Path) -> None:
    """An open text counts in place of its file; errors in it are told under its own URI, until they are mended."""
    part, main = tmp_path / "part.mtpp", tmp_path / "main.mtpp"
    part.write_text("let w = 1 ms\n")
    text = SPEC.replace("mtpp 1\n", 'mtpp 1\ninclude "part.mtpp"\nlet v = 2 * w\n')
    assert [one["severity"] for one in session.open(main.as_uri(), text)] == [2]
    session.open(part.as_uri(), "let w = = 1 ms\n")
    session.until(part.as_uri(), [1])
    session.change(part.as_uri(), 2, {"text": "let w = 1 ms\nlet more = w\n"})
    session.until(part.as_uri(), [])
    session.tell("textDocument/didClose", {"textDocument": {"uri": part.as_uri()}})
    part.write_text("let x = 1 ms\n")
    session.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": part.as_uri(), "type": 2}]})
    (wrong,) = session.until(main.as_uri(), [1])
    assert "'w'" in wrong["message"]
    session.tell("textDocument/didClose", {"textDocument": {"uri": main.as_uri()}})


def test_words_change_by_little(session: Session) -> None:
    """What is told of changed words is the difference to what was told before."""
    uri = "untitled:delta"
    session.open(uri, SPEC)
    old = session.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})
    session.change(
        uri, 2, {"range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}, "text": "# hm\n"}
    )
    params = {"textDocument": {"uri": uri}, "previousResultId": old["resultId"]}
    delta = session.ask("textDocument/semanticTokens/full/delta", params)
    new = session.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})
    (edit,) = delta["edits"]
    data = old["data"]
    assert data[: edit["start"]] + edit["data"] + data[edit["start"] + edit["deleteCount"] :] == new["data"]
    assert len(edit["data"]) <= 15


def test_an_unknown_method_is_an_error_and_no_end(session: Session) -> None:
    """What the server does not know is answered as such."""
    assert session.answer(session.request("textDocument/nonsense", {}))["error"]["code"] == -32601
    assert session.answer(session.request("textDocument/foldingRange", {"textDocument": 3}))["error"]
    assert session.open("untitled:after", SPEC) == []
    session.log = b""  # which has the error of the message that makes no sense


@pytest.mark.long
def test_a_long_text_is_waited_for_by_nobody(session: Session) -> None:
    """While a megabyte is formatted, other requests are answered; a request that is cancelled is answered as such."""
    uri = "untitled:long"
    session.open(uri, "# nothing\n" * 100_000)
    options = {"tabSize": 2, "insertSpaces": True}
    slow = session.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": options})
    session.tell("$/cancelRequest", {"id": slow})
    assert session.answer(slow)["error"]["code"] == -32800
    slow = session.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": options})
    session.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    assert session.answer(slow)["result"] == []
    session.tell("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_hostile_names_are_shown_safely(session: Session) -> None:
    """Control characters and marks that turn the direction of writing are made visible in messages."""
    text = SPEC.replace("constraint acyclic", 'constraint pin "\x1b[31m<b>\u202e`*x" on stage[0]')
    (wrong,) = session.open("untitled:hostile", text)
    assert "<b>" in wrong["message"]
    assert not {"\x1b", "\u202e"} & set(wrong["message"])
    for one in session.ask("textDocument/documentSymbol", {"textDocument": {"uri": "untitled:hostile"}}):
        assert not {"\x1b", "\u202e"} & set(one["name"] + one.get("detail", ""))


def test_it_ends_with_its_client() -> None:
    """A server whose client has gone ends by itself."""
    process = subprocess.run(COMMAND, input=b"", capture_output=True, timeout=120, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


def test_a_missing_extra_is_named() -> None:
    """Without pygls the command says what to install."""
    code = "import sys; sys.modules['pygls'] = None; from mtpp_dsl.cli.run import run; sys.exit(run(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'mtpp-dsl[lsp]'" in done.stderr


def test_random_edits() -> None:
    """No edit of a spec makes the server fail, be late, or say what a fresh reading does not (10,000 by the tool)."""
    seen = edit_specs.run(120, seed=1, paths=edit_specs.specs()[::6], every=6)
    assert edit_specs.faults(seen) == []
    assert seen.asked
