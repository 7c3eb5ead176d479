"""A client of the server for tests: a process, messages on its stdin and stdout, and nothing in between."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from typing import Any

COMMAND = [sys.executable, "-m", "mtpp_dsl", "lsp", "--stdio"]


class Session:
    """A running server; ``diagnostics`` holds what it has last published, by URI."""

    def __init__(self, capabilities: dict[str, Any] | None = None, root: str | None = None, **options: Any) -> None:
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        self.news: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.diagnostics: dict[str, dict[str, Any]] = {}
        self.published = 0
        self.log = b""
        self.number = 0
        self.asked: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._read_log, daemon=True).start()
        params = {"processId": None, "rootUri": root, "capabilities": capabilities or {}}
        self.capabilities = self.ask("initialize", params)["capabilities"]
        self.tell("initialized", {})

    def _listen(self) -> None:
        out = self.process.stdout
        assert out is not None
        while True:
            length = 0
            while line := out.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                self.news.put(None)
                return
            self.news.put(json.loads(out.read(length)))

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def tell(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> int:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def take(self, timeout: float) -> dict[str, Any] | None:
        """Return the next message, after noting what it publishes; None where none comes."""
        try:
            message = self.news.get(timeout=timeout)
        except queue.Empty:
            return None
        if message is None:
            raise EOFError(self.log.decode(errors="replace"))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
            self.published += 1
        elif "method" in message and "id" in message:
            self.asked.append(message)
            self.send({"id": message["id"], "result": None})
        return message

    def answer(self, number: int, timeout: float = 120) -> dict[str, Any]:
        """Return the answer to a request, an error among them."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            message = self.take(end - time.monotonic())
            if message is not None and message.get("id") == number and "method" not in message:
                return message
        raise TimeoutError(self.log.decode(errors="replace"))

    def ask(self, method: str, params: Any) -> Any:
        """Return the result of a request."""
        found = self.answer(self.request(method, params))
        assert "error" not in found, (found, self.log.decode(errors="replace"))
        return found["result"]

    def open(self, uri: str, text: str, version: int = 1) -> list[dict[str, Any]]:
        """Open a text and return what is wrong with it."""
        before = self.published
        self.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "mtpp", "version": version, "text": text}},
        )
        return self.wrong(uri, before, version)

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        self.tell(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)},
        )

    def wrong(self, uri: str, before: int, version: int, timeout: float = 120) -> list[dict[str, Any]]:
        """Return what is published of a version of a text, after *before* messages."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = self.diagnostics.get(uri, {})
            if self.published > before and found.get("version") == version:
                return list(found["diagnostics"])
            self.take(0.05)
        raise TimeoutError(self.log.decode(errors="replace"))

    def until(self, uri: str, severities: list[int], timeout: float = 120) -> list[dict[str, Any]]:
        """Return what is published of a text once its messages are errors (1) and warnings (2) as said."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = self.diagnostics.get(uri, {"diagnostics": []})["diagnostics"]
            if [one["severity"] for one in found] == severities:
                return list(found)
            self.take(0.05)
        raise TimeoutError(f"{self.diagnostics.get(uri)}")

    def end(self) -> int:
        """Shut the server down and return its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(120)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
