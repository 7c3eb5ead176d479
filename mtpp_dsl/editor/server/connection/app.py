"""A server that answers all requests, and its start."""

from __future__ import annotations

import logging
import os
import sys

from mtpp_dsl.editor.server.connection import names, requests
from mtpp_dsl.editor.server.connection.handling import HANDLERS
from mtpp_dsl.editor.server.connection.server import Server

__all__ = ["REQUESTS", "log_to_stderr", "made", "start"]

REQUESTS = (requests, names)
"""The modules whose functions answer requests."""


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
