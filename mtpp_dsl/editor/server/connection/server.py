"""The server's state: open texts, their readings, and what its client has been told."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from mtpp_dsl.editor.server.connection import convert
from mtpp_dsl.editor.server.connection.worker import Worker
from mtpp_dsl.editor.server.features.problems import problems
from mtpp_dsl.editor.server.positions import path_of
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.editor.server.workspace import ReadingJob, Workspace

HANDLERS: list[tuple[str, Any, Callable[..., Any]]] = []
"""Methods, the options that the client is told of, and functions of a server (called ``ls``) and of parameters."""


def handles(method: str, options: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that has a function answer a method of the protocol.

    A function that may take long, or waits for a text to be read, is a coroutine: the client can then cancel it.
    """

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        HANDLERS.append((method, options, function))
        return function

    return noted


PATIENCE = 0.6
"""Seconds that a request waits for the text to be read; then it is answered by what is known."""
FIRST = 60.0
"""Seconds that it waits where nothing is known yet, as the text was never read before."""
SOON = 0.1
"""Seconds after which errors of syntax are told without waiting for the meaning of the text."""

logger = logging.getLogger(__name__)


class Refusal(JsonRpcException):
    """The answer to a request that is understood and cannot be done, with the reason; no error of the server's."""

    CODE = -32803
    MESSAGE = "request failed"


class _Protocol(LanguageServerProtocol):
    """Keeps texts as :mod:`mtpp_dsl.editor.server.workspace` does: pygls ends lines at more than the protocol says."""

    _server: Server

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Make sense of a message; a request that makes none is answered by an error, not left waiting."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "jsonrpc" in data and "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """Answer a request; a refusal is not logged as an error."""
        refused = None if future.cancelled() else future.exception()
        if not isinstance(refused, Refusal):
            super()._send_handler_result(future, msg_id=msg_id)
            return
        self._request_futures.pop(msg_id, None)
        self._send_response(msg_id, error=refused.to_response_error())

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._server.touch(self._server.texts.open(document.uri, document.text, document.version))

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        changes = [convert.replacement(change) for change in params.content_changes]
        self._server.touch(self._server.texts.change(params.text_document.uri, changes, params.text_document.version))

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.close(params.text_document.uri)


class Server(LanguageServer):
    """The language server of mtpp.

    Attributes:
        texts: that are open.
        link: what the code of a message is added to, for the page that explains it; None where there is none.
        options: what the client said when it began.
        late: texts whose hints were asked for before their meaning was known: the client is told to ask again.
    """

    def __init__(self, version: str) -> None:
        super().__init__("mtpp", version, types.TextDocumentSyncKind.Incremental, protocol_cls=_Protocol, max_workers=2)
        self.texts = Workspace()
        self.link: str | None = None
        self.options: Mapping[str, object] = {}
        self.late: set[str] = set()
        self.worker = Worker(self._delivered, self._failed)
        self._unreadable: set[str] = set()
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._told: dict[str, dict[str, list[types.Diagnostic]]] = {}
        self._shown: dict[str, list[types.Diagnostic]] = {}
        self._told_tokens: dict[str, tuple[str, list[int]]] = {}
        self._results = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None

    # what the client does

    def touch(self, uris: list[str]) -> None:
        """Have texts read anew."""
        self._loop = self._loop or asyncio.get_running_loop()
        self._unreadable.difference_update(uris)
        for uri in reversed(uris):
            job = self.texts.job(uri)
            if job is not None:
                self.worker.ask(job, self.texts.readings.get(uri))

    def close(self, uri: str) -> None:
        """Close a text, and tell no more of what is wrong with it."""
        touched = self.texts.close(uri)
        self.worker.forget(uri)
        self._wake(uri)
        self._told_tokens.pop(uri, None)
        old = self._told.pop(uri, {})
        self._show({uri, *old}, uri)
        self.touch(touched)

    async def reading(self, uri: str, *, whole: bool = False, named: bool = False) -> TextReading | None:
        """Return what a text says as it is now; with its meaning where *whole*, if that is known soon.

        After :data:`PATIENCE` it is a reading with the meaning of the text before, or None where there is none; a text
        that was never read is waited for. So is, where *named*, the first meaning, whose names and values stay near.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        while uri in self.texts.documents:
            fresh, last = self.texts.fresh(uri, whole=whole), self.texts.readings.get(uri)
            meant = not (whole or named) or (last is not None and last.analysis is not None)
            known = uri in self._unreadable or (last is not None and meant)
            left = began + (PATIENCE if known else FIRST) - loop.time()
            if (fresh is not None and (meant or known)) or left <= 0:
                return fresh or self.texts.fresh(uri)
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.setdefault(uri, []).append(future)
            await asyncio.wait([future], timeout=left)
        return None

    def keep_tokens(self, uri: str, data: list[int]) -> str:
        """Keep what the client was told of the words of a text, and return by what it asks for changes of that."""
        self._told_tokens[uri] = str(next(self._results)), data
        return self._told_tokens[uri][0]

    def kept_tokens(self, uri: str, result: str) -> list[int] | None:
        """Return what the client was told last, if that is what it asks for changes of."""
        known = self._told_tokens.get(uri)
        return known[1] if known is not None and known[0] == result else None

    # what the worker tells

    def _delivered(self, job: ReadingJob, reading: TextReading) -> None:
        """Take a reading over to the server's thread."""
        self._soon(self._learn, job, reading)

    def _failed(self, job: ReadingJob) -> None:
        """Release all that wait for a text that an error of ours keeps from being read."""
        self._soon(self._give_up, job)

    def _soon(self, function: Callable[..., None], *given: object) -> None:
        """Call a function in the server's thread."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(function, *given)
        except RuntimeError:  # the server has ended
            self.worker.end()

    def _give_up(self, job: ReadingJob) -> None:
        if not self.texts.is_late(job):
            self._unreadable.add(job.uri)
            self._wake(job.uri)

    def _learn(self, job: ReadingJob, reading: TextReading) -> None:
        if not self.texts.learn(job, reading):
            return
        self._wake(job.uri)
        if reading.current:
            self._tell(reading)
            if job.uri in self.late and self.can("workspace", "inlay_hint", "refresh_support"):
                self.workspace_inlay_hint_refresh(None)
            self.late.discard(job.uri)
        elif reading.diagnostics:
            assert self._loop is not None
            self._loop.call_later(SOON, self._tell_syntax, reading)

    def _wake(self, uri: str) -> None:
        for future in self._waiting.pop(uri, []):
            if not future.done():
                future.set_result(None)

    def _tell_syntax(self, reading: TextReading) -> None:
        """Tell errors of syntax where the meaning of the text takes longer."""
        if self.texts.readings.get(reading.uri) is reading:
            self._tell(reading)

    def _tell(self, reading: TextReading) -> None:
        """Tell the client what is wrong with a text and with what it includes."""
        messages = {
            uri: [convert.diagnostic(reading, problem, self.link) for problem in own]
            for uri, own in problems(reading).items()
        }
        old = self._told.get(reading.uri, {})
        self._told[reading.uri] = messages
        self._show({*old, *messages}, reading.uri)

    def _show(self, uris: set[str], always: str) -> None:
        """Publish what is wrong with texts: with one *always*, with others where it is not what the client shows."""
        for uri in sorted(uris):
            document = self.texts.documents.get(uri)
            others = [root for root in self._told if root != uri and self._includes(root, uri)]
            roots = others or [root for root in (uri,) if root in self._told]
            roots += [root for root in self._told if root not in (*roots, uri)]
            shown: list[types.Diagnostic] = []
            for root in roots:
                shown += [message for message in self._told[root].get(uri, ()) if message not in shown]
            if uri != always and shown == self._shown.get(uri, []):
                continue
            self._shown.pop(uri, None)
            if shown:
                self._shown[uri] = shown
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, shown, version=None if document is None else document.version)
            )

    def _includes(self, root: str, uri: str) -> bool:
        """Return whether an open text includes another, so that what the other lacks on its own is not missing."""
        return root in self.texts.included_by(uri)

    # around it

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error of the server's; a request that it belongs to is answered by it."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)

    def can(self, *path: str) -> bool:
        """Return whether the client has a capability, by its names from the outermost."""
        capability: Any = self.protocol.client_capabilities
        for name in path:
            capability = getattr(capability, name, None)
        return bool(capability)

    def initialise(self, params: types.InitializeParams) -> None:
        """Take over what the client says of itself."""
        encodings = (params.capabilities.general and params.capabilities.general.position_encodings) or ()
        known = [str(getattr(encoding, "value", encoding)) for encoding in encodings]
        self.texts.encoding = next(
            (encoding for encoding in known if encoding in ("utf-8", "utf-16", "utf-32")), "utf-16"
        )
        folders = params.workspace_folders or ()
        uri = folders[0].uri if folders else params.root_uri
        root = path_of(uri) if uri else None
        self.texts.root = root or Path()
        options = params.initialization_options
        self.options = options if isinstance(options, Mapping) else {}
        self.link = _link(self.options)

    @property
    def documentation(self) -> str:
        """The address of the pages of the documentation, which the client's option ``documentation`` gives; or ""."""
        given = self.options.get("documentation", "")
        return given if isinstance(given, str) else ""


def _link(options: Mapping[str, object]) -> str | None:
    """Return the address of a code without the code: on the site that the client names, else in a checkout of mtpp."""
    site = options.get("documentation")
    if isinstance(site, str) and site:
        return f"{site.rstrip('/')}/errors.html#"
    page = Path(__file__).parents[4] / "docs" / "errors.md"
    return f"{page.as_uri()}#" if page.is_file() else None
